/** A contract's record as HTML, the same in Node and in the browser. */
import { DAY_MS, dateText, dateWords, dayOf } from "./axis.js";
import { basisHtml, LOCK, placeLine, sessionLine } from "./board.js";
import { rounded } from "./decimal.js";
import { scrolling, section, tableHtml } from "./html.js";
import { sessionOf } from "./levels.js";
import {
  changeHtml,
  counted,
  escaped,
  figureHtml,
  foreign,
  foreignLink,
  grouped,
  instantHtml,
} from "./text.js";

/** @typedef {import("./board.js").BoardRow} BoardRow */
/** @typedef {import("./levels.js").Level} Point */

/**
 * The body of `/prices/{id}`.
 *
 * @typedef {BoardRow & import("zod").infer<typeof import("../public/payload-schemas.ts").contract>
 *   & Record<"chg_7d_pct" | "chg_60d_pct" | "chg_180d_pct" | "low_52w_usd" | "high_52w_usd", number | null>
 *   & Record<"capacity_gb" | "usd_per_gb" | "low_usd" | "high_usd" | "inputs", number | null>
 *   & Record<"source_url", string> & Record<"prev_as_of" | "price_type", string | null>
 *   & Record<"ai_exposure_pct" | "age_days", number>} ContractBody
 */

/** The fields of changes, with their labels and how many days they look back. */
const CHANGES = /** @type {const} */ ([
  ["chg_24h_pct", "24 hours", 1],
  ["chg_7d_pct", "7 days", 7],
  ["chg_30d_pct", "30 days", 30],
  ["chg_60d_pct", "60 days", 60],
  ["chg_90d_pct", "90 days", 90],
  ["chg_180d_pct", "180 days", 180],
  ["chg_yoy_pct", "1 year", 365],
]);

/**
 * Session, level and changes. Each figure stands in an element with its field's name in `data-field`.
 *
 * @param {ContractBody} body
 * @param {{ delaySessions: number, depthDays: number }} tier how many sessions it is behind when nothing
 *   is late, and how deep its history is
 * @param {string | null} next when the board's next session is due; null: of a page as known on a day
 */
export function levelHtml(body, { delaySessions, depthDays }, next) {
  const changes = CHANGES.map(([field, label, days]) => {
    const why = body[field] == null ? whyMissing(body, days, depthDays) : "";
    return `<div><dt>${label}, %</dt><dd data-field="${field}">${changeHtml(body[field])}</dd><dd class="sub">${why}</dd></div>`;
  });
  const isLast = next === null || body.basis === "discontinued";
  const place = isLast
    ? placeLine(body, delaySessions)
    : sessionLine({ ...body, next_session_utc: next });
  return `${place}
${discontinuedLine(body)}<dl class="figures level">
<div><dt>Level, <span data-field="unit">${foreign(body.unit)}</span></dt><dd data-field="spot_usd">${figureHtml(body.spot_usd)}</dd>
<dd class="sub"><span data-field="basis">${basisHtml(body.basis)}</span> as of <time data-field="as_of">${escaped(body.as_of)}</time></dd></div>
</dl>
<dl class="figures changes"${body.basis === "discontinued" ? " hidden" : ""}>
${changes.join("\n")}
</dl>`;
}

/**
 * Why a change is missing, as far as the answer tells: a break, or a first level, since then.
 *
 * @param {ContractBody} body
 * @param {number} days
 * @param {number} depthDays
 */
function whyMissing({ session_utc, break: latest, history }, days, depthDays) {
  const since = Date.parse(session_utc) - days * DAY_MS;
  if (latest !== null && Date.parse(latest.session_utc) > since) {
    return `break on ${dateWords(latest.session_utc.slice(0, 10))}`;
  }
  const first = history[0]?.date;
  // A history that begins with the tier's depth may have begun before.
  const isFirst =
    first !== undefined && dayOf(first) > dayOf(session_utc.slice(0, 10)) - depthDays + 1;
  return isFirst && Date.parse(first) > since ? `first level on ${dateWords(first)}` : "";
}

/** The part below the chart: breaks, corrections and particulars. @param {ContractBody} body */
export const detailsHtml = (body) =>
  breaksHtml(body) +
  correctionsHtml(body) +
  section(
    "particulars",
    "Particulars",
    `<dl class="facts">
${facts(body).join("\n")}
</dl>
<p class="note">Levels are US dollars per unit, changes percent.
<a href="../methodology#basis">What each basis means</a>. ${escaped(body.license)}</p>`,
  );

/** @param {ContractBody} body */
function discontinuedLine({ basis, as_of, delisted_on: day }) {
  if (basis !== "discontinued") return "";
  const delisted = day == null ? "" : ` It was delisted on <time>${escaped(day)}</time>.`;
  return `<p class="late">Discontinued: this contract is off the board. Its last level is of <time>${escaped(as_of)}</time>; there are no changes.${delisted}</p>\n`;
}

/** The particulars that the answer gives, and that say something. @param {ContractBody} body */
function facts(body) {
  /** @param {keyof ContractBody} field @param {string} html */
  const value = (field, html) => `<span data-field="${field}">${html}</span>`;
  /** @param {keyof ContractBody & ("inputs" | "age_days" | "ai_exposure_pct" | "capacity_gb")} field */
  const count = (field) => body[field] != null && value(field, figureHtml(body[field], 0));
  /** @param {"low_usd" | "low_52w_usd"} low @param {"high_usd" | "high_52w_usd"} high */
  const range = (low, high) =>
    body[low] != null &&
    body[high] != null &&
    `${value(low, figureHtml(body[low]))} to ${value(high, figureHtml(body[high]))}`;
  const dayBefore = dateText(dayOf(body.session_utc.slice(0, 10)) - 1);
  const { prev_as_of: compared } = body;
  /** @type {readonly (readonly [string, string | null | undefined | false])[]} */
  const given = [
    ["Source", value("source", foreignLink(body.source_url, body.source))],
    ["Price type", body.price_type && value("price_type", foreign(body.price_type))],
    ["Capacity, GB", count("capacity_gb")],
    [
      "Price per GB, USD",
      body.usd_per_gb != null && value("usd_per_gb", perGbText(body.usd_per_gb)),
    ],
    ["Inputs", count("inputs")],
    ["Range of the inputs, USD", range("low_usd", "high_usd")],
    ["Lowest to highest given in a year, USD", range("low_52w_usd", "high_52w_usd")],
    ["AI exposure, % of demand", count("ai_exposure_pct")],
    [
      "24-hour change against the level of",
      compared && compared !== dayBefore && value("prev_as_of", escaped(compared)),
    ],
    ["Age of the level, days", body.age_days > 0 && count("age_days")],
    ["Rationale", body.rationale && value("rationale", foreign(body.rationale))],
  ];
  return given.flatMap(([label, html]) =>
    html ? [`<div><dt>${label}</dt><dd>${html}</dd></div>`] : [],
  );
}

/** A price per gigabyte: at most three decimals, at least two. @param {number} usd */
const perGbText = (usd) => grouped((rounded(String(usd), 3) ?? "").replace(/0$/, ""));

const CLOSES_SHOWN = 30;

/**
 * The last closes as a table, the newest first.
 *
 * @param {readonly Point[]} points
 */
export function closesTable(points) {
  const newest = points.slice(-CLOSES_SHOWN).toReversed();
  const isMarked = newest.some(({ breakReason, isCorrected }) => breakReason || isCorrected);
  const columns = isMarked ? [...CLOSES, MARK] : CLOSES;
  const table = scrolling("Table of closes", tableHtml(' id="closes"', columns, newest));
  return section("last", `Last ${counted(newest.length, "close")}`, table);
}

/** @typedef {import("./html.js").TableColumn<Point>} CloseColumn */

/** @type {readonly CloseColumn[]} */
const CLOSES = [
  { label: "Date", html: ({ date }) => `<time>${escaped(date)}</time>` },
  { label: "Close, USD", name: "n", html: ({ text }) => figureHtml(text) },
];

/** @type {CloseColumn} */
const MARK = {
  label: "Mark",
  name: "long",
  html: ({ breakReason, isCorrected }) =>
    [breakReason && `break: ${foreign(breakReason)}`, isCorrected && "corrected"]
      .filter(Boolean)
      .join(", "),
};

const OTHERS_SHOWN = 12;

/**
 * Of another contract; without figures if the caller's tier has none of it.
 *
 * @typedef {Pick<BoardRow, "id" | "name" | "segment"> & ({ spot_usd: null }
 *   | Pick<BoardRow, "spot_usd" | "chg_24h_pct" | "chg_yoy_pct">)} OtherRow
 */

/**
 * The contracts of a segment beside one of them: the one before and the one after, those near it, and the way to all.
 *
 * @param {readonly OtherRow[]} board all rows, in their order
 * @param {string} id
 * @param {string} segment its name
 */
export function othersHtml(board, id, segment) {
  const rows = board.filter((row) => row.segment === segment);
  const at = rows.findIndex((row) => row.id === id);
  const others = rows.filter((row) => row.id !== id);
  if (others.length === 0) return "";
  const start = Math.max(0, Math.min(at - OTHERS_SHOWN / 2, others.length - OTHERS_SHOWN));
  /** @param {OtherRow} row @param {string} [more] */
  const link = (row, more = "") =>
    `<a href="${encodeURIComponent(row.id)}"${more}>${foreign(row.name)}</a>`;
  const [before, after] = at < 0 ? [] : [rows[at - 1], rows[at + 1]];
  const beside =
    (before ? `<span>Previous: ${link(before, ' rel="prev"')}</span>` : "") +
    (after ? ` <span>Next: ${link(after, ' rel="next"')}</span>` : "");
  const table = tableHtml(
    "",
    [
      { label: "Contract", html: (row) => link(row) },
      {
        label: "Level, USD",
        name: "n",
        html: ({ spot_usd }) => (spot_usd === null ? LOCK : figureHtml(spot_usd)),
      },
      {
        label: "24 h %",
        name: "n",
        html: (row) => (row.spot_usd === null ? "" : changeHtml(row.chg_24h_pct)),
      },
      {
        label: "1 year %",
        name: "n",
        html: (row) => (row.spot_usd === null ? "" : changeHtml(row.chg_yoy_pct)),
      },
    ],
    others.slice(start, start + OTHERS_SHOWN),
    (row) => ` data-id="${escaped(row.id)}"`,
  );
  const all =
    others.length <= OTHERS_SHOWN
      ? ""
      : `\n<p><a href="../?segment=${encodeURIComponent(segment)}">Show all ${rows.length} in ${foreign(segment)}</a></p>`;
  return section(
    "near",
    `Others in ${foreign(segment)}`,
    `<p class="beside-it">${beside}</p>\n${scrolling("Others in the segment", table)}${all}`,
  );
}

/** @param {ContractBody} body */
function breaksHtml({ breaks, break: latest, history }) {
  const all = breaks.length === 0 && latest !== null ? [latest] : breaks;
  if (all.length === 0) return "";
  const items = all.map(
    ({ session_utc, reason }) => `<li>${instantHtml(session_utc)}: ${foreign(reason)}</li>`,
  );
  return section(
    "breaks",
    "Breaks",
    `<p class="note">${history.length === 0 ? "Prices before a break cannot be compared with later ones." : "Prices before a break are drawn grey: they cannot be compared with later ones."}</p>
<ul>
${items.join("\n")}
</ul>`,
  );
}

/** @param {ContractBody} body */
function correctionsHtml({ corrections, history }) {
  if (corrections.length === 0) return "";
  const sessions = new Set(
    history.map(({ date, session_utc }) => sessionOf({ date, session: session_utc })),
  );
  const isDrawn = corrections.some(({ session_utc }) => sessions.has(session_utc));
  return section(
    "corrections",
    "Corrections",
    `<p class="note">Published levels that were changed later. <a href="../corrections">Corrections of all contracts</a>.${isDrawn ? " An open circle marks a corrected close on the chart." : ""}</p>
${scrolling("Table of corrections", tableHtml(' class="stacked"', CORRECTIONS, corrections))}`,
  );
}

/** @type {readonly import("./html.js").TableColumn<ContractBody["corrections"][number]>[]} */
const CORRECTIONS = [
  { label: "Session", head: "Session", html: ({ session_utc }) => instantHtml(session_utc) },
  {
    label: "Old level, USD",
    head: "Old, USD",
    name: "n",
    html: ({ old_usd }) => figureHtml(old_usd),
  },
  {
    label: "New level, USD",
    head: "New, USD",
    name: "n",
    html: ({ new_usd }) => figureHtml(new_usd),
  },
  { label: "Reason", head: "Reason", name: "long", html: ({ reason }) => foreign(reason) },
  {
    label: "Corrected in",
    head: "Corrected in",
    html: ({ corrected_in }) => `<code>${escaped(corrected_in)}</code>`,
  },
];
