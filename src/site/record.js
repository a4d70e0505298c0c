/** A contract's record as HTML, the same in Node and in the browser. */
import { dateWords, dayOf } from "./axis.js";
import { basisHtml, placeLine } from "./board.js";
import {
  changeHtml,
  counted,
  escaped,
  figureHtml,
  foreign,
  foreignLink,
  instantHtml,
} from "./text.js";

/** @typedef {import("./board.js").BoardRow} BoardRow */

/**
 * A body of `/prices/{id}`. Snapshots of format 1 lack some fields.
 *
 * @typedef {object} ContractBody
 * @property {string} session_utc
 * @property {number} delayed_sessions
 * @property {string} license
 * @property {string} attribution
 * @property {string} id
 * @property {string} ticker
 * @property {string} name
 * @property {string} segment
 * @property {string} unit
 * @property {number} spot_usd
 * @property {number | null} chg_24h_pct
 * @property {number | null} chg_30d_pct
 * @property {number | null} chg_yoy_pct
 * @property {number} ai_exposure_pct
 * @property {string} basis
 * @property {string} as_of
 * @property {string} source
 * @property {string} source_url
 * @property {number | null} capacity_gb
 * @property {number | null} usd_per_gb
 * @property {number | null} [chg_7d_pct]
 * @property {number | null} [chg_60d_pct]
 * @property {number | null} [chg_90d_pct]
 * @property {number | null} [chg_180d_pct]
 * @property {number | null} [low_52w_usd]
 * @property {number | null} [high_52w_usd]
 * @property {string | null} [prev_as_of]
 * @property {number} [age_days]
 * @property {string | null} [price_type]
 * @property {number | null} [low_usd]
 * @property {number | null} [high_usd]
 * @property {number | null} [inputs]
 * @property {string | null} [rationale]
 * @property {string | null} [delisted_on]
 * @property {Break | null} break
 * @property {readonly { date: string, close_usd: number }[]} history
 * @property {readonly Break[]} breaks
 * @property {readonly Correction[]} corrections
 *
 * @typedef {{ session_utc: string, reason: string }} Break
 * @typedef {{ session_utc: string, old_usd: number | null, new_usd: number | null, reason: string, corrected_in: string }} Correction
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
const DAY_MS = 86_400_000;

/**
 * Session, level and changes. Each figure stands in an element with its field's name in `data-field`.
 *
 * @param {ContractBody} body
 * @param {{ delaySessions: number, depthDays: number }} tier how many sessions it is behind when nothing
 *   is late, and how deep its history is
 */
export function levelHtml(body, { delaySessions, depthDays }) {
  const changes = CHANGES.map(([field, label, days]) => {
    const why = body[field] == null ? whyMissing(body, days, depthDays) : "";
    return `<div><dt>${label}, %</dt><dd data-field="${field}">${changeHtml(body[field])}</dd><dd class="sub">${why}</dd></div>`;
  });
  return `${placeLine(body, delaySessions)}
${discontinuedLine(body)}<dl class="figures level">
<div><dt>Level, ${foreign(body.unit)}</dt><dd data-field="spot_usd">${figureHtml(body.spot_usd)}</dd>
<dd class="sub"><span data-field="basis">${basisHtml(body.basis)}</span>, as of <time data-field="as_of">${escaped(body.as_of)}</time></dd></div>
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

/** What stands below the chart: breaks, corrections and particulars. @param {ContractBody} body */
export function detailsHtml(body) {
  return `${breaksHtml(body)}${correctionsHtml(body)}<section aria-labelledby="details-title">
<h2 id="details-title">Particulars</h2>
<dl class="facts">
${facts(body).join("\n")}
</dl>
<p class="note">Levels are US dollars per unit, changes percent.
<a href="../methodology#basis">What each basis means</a>. ${escaped(body.license)}</p>
</section>`;
}

/** @param {ContractBody} body */
function discontinuedLine({ basis, as_of, delisted_on: day }) {
  if (basis !== "discontinued") return "";
  const delisted = day == null ? "" : ` It was delisted on <time>${escaped(day)}</time>.`;
  return `<p class="late">Discontinued: this contract is off the board. Its last level is of <time>${escaped(as_of)}</time>; there are no changes.${delisted}</p>\n`;
}

/** The particulars that the answer gives. @param {ContractBody} body */
function facts(body) {
  /** @type {readonly (readonly [keyof ContractBody, string, string | null | undefined | false])[]} */
  const given = [
    ["source", "Source", foreignLink(body.source_url, body.source)],
    ["price_type", "Price type", body.price_type && foreign(body.price_type)],
    ["unit", "Unit", foreign(body.unit)],
    ["capacity_gb", "Capacity, GB", figure(body.capacity_gb, 0)],
    ["usd_per_gb", "Per gigabyte, USD", figure(body.usd_per_gb)],
    ["ai_exposure_pct", "AI exposure, % of demand", figure(body.ai_exposure_pct, 0)],
    ["prev_as_of", "Compared with (24 hours)", body.prev_as_of && escaped(body.prev_as_of)],
    ["age_days", "Age, days", figure(body.age_days, 0)],
    ["inputs", "Inputs", figure(body.inputs, 0)],
    ["low_usd", "Lowest input, USD", figure(body.low_usd)],
    ["high_usd", "Highest input, USD", figure(body.high_usd)],
    ["low_52w_usd", "Lowest of the year, USD", figure(body.low_52w_usd)],
    ["high_52w_usd", "Highest of the year, USD", figure(body.high_52w_usd)],
    ["rationale", "Rationale", body.rationale && foreign(body.rationale)],
  ];
  return given.flatMap(([field, label, value]) =>
    value ? [`<div><dt>${label}</dt><dd data-field="${field}">${value}</dd></div>`] : [],
  );
}

/** @param {number | null | undefined} value @param {number} [decimals] */
const figure = (value, decimals) => (value == null ? "" : figureHtml(value, decimals));

const CLOSES_SHOWN = 30;

/**
 * The last closes as a table, the newest first.
 *
 * @param {readonly import("./chart.js").Point[]} points
 */
export function closesTable(points) {
  const rows = points.slice(-CLOSES_SHOWN - 1).map((point, at, all) => {
    const before = point.isBreak ? undefined : all[at - 1]?.close;
    const change =
      before === undefined ? null : Number(((point.close / before - 1) * 100).toFixed(2));
    const marks = [
      point.breakReason ? `break: ${foreign(point.breakReason)}` : "",
      point.isCorrected ? "corrected" : "",
    ];
    return (
      `<tr><th scope="row"><time>${escaped(point.date)}</time></th><td class="n">${figureHtml(point.text)}</td>` +
      `<td class="n">${changeHtml(change)}</td><td class="long">${marks.filter(Boolean).join(", ")}</td></tr>`
    );
  });
  const shown = rows.slice(-CLOSES_SHOWN).toReversed();
  return `<h3>Last ${counted(shown.length, "close")}</h3>
<div class="scroll" role="region" aria-label="Table of closes" tabindex="0">
<table id="closes">
<thead><tr><th scope="col">Date</th><th scope="col" class="n">Close, USD</th><th scope="col" class="n">Change, %</th><th scope="col">Mark</th></tr></thead>
<tbody>
${shown.join("\n")}
</tbody>
</table>
</div>`;
}

const OTHERS_SHOWN = 12;

/**
 * The contracts of a segment beside one of them: the one before and the one after, and those near it.
 *
 * @param {readonly BoardRow[]} rows all of the segment, in the order of the board
 * @param {string} id
 */
export function othersHtml(rows, id) {
  const at = rows.findIndex((row) => row.id === id);
  const others = rows.filter((row) => row.id !== id);
  if (others.length === 0) return "";
  const start = Math.max(0, Math.min(at - OTHERS_SHOWN / 2, others.length - OTHERS_SHOWN));
  /** @param {BoardRow} row @param {string} [more] */
  const link = (row, more = "") =>
    `<a href="${encodeURIComponent(row.id)}"${more}>${foreign(row.name)}</a>`;
  const [before, after] = at < 0 ? [] : [rows[at - 1], rows[at + 1]];
  const cells = others
    .slice(start, start + OTHERS_SHOWN)
    .map(
      (row) =>
        `<tr data-id="${escaped(row.id)}"><th scope="row">${link(row)}</th><td class="n">${figureHtml(row.spot_usd)}</td>` +
        `<td class="n">${changeHtml(row.chg_24h_pct)}</td><td class="n">${changeHtml(row.chg_yoy_pct)}</td></tr>`,
    );
  return `<section aria-labelledby="others-title">
<h2 id="others-title">Others in ${foreign(others[0]?.segment ?? "")}</h2>
<p class="beside-it">${before ? `<span>Previous: ${link(before, ' rel="prev"')}</span>` : ""}${after ? ` <span>Next: ${link(after, ' rel="next"')}</span>` : ""}</p>
<div class="scroll" role="region" aria-label="Others in the segment" tabindex="0">
<table>
<thead><tr><th scope="col">Contract</th><th scope="col" class="n">Level, USD</th><th scope="col" class="n">24 h %</th><th scope="col" class="n">1 year %</th></tr></thead>
<tbody>
${cells.join("\n")}
</tbody>
</table>
</div>
</section>`;
}

/** @param {ContractBody} body */
function breaksHtml({ breaks, break: latest, history }) {
  const all = breaks.length === 0 && latest !== null ? [latest] : breaks;
  if (all.length === 0) return "";
  const items = all.map(
    ({ session_utc, reason }) => `<li>${instantHtml(session_utc)}: ${foreign(reason)}</li>`,
  );
  return `<section aria-labelledby="breaks-title">
<h2 id="breaks-title">Breaks</h2>
<p class="note">Levels from a break on are not comparable with earlier ones.${history.length === 0 ? "" : " The chart mutes closes before the last one."}</p>
<ul id="breaks">
${items.join("\n")}
</ul>
</section>
`;
}

/** @param {ContractBody} body */
function correctionsHtml({ corrections, history }) {
  if (corrections.length === 0) return "";
  const rows = corrections.map(
    ({ session_utc, old_usd, new_usd, reason, corrected_in }) =>
      `<tr><th scope="row">${instantHtml(session_utc)}</th><td class="n">${figureHtml(old_usd)}</td>` +
      `<td class="n">${figureHtml(new_usd)}</td><td class="long">${foreign(reason)}</td>` +
      `<td><code>${escaped(corrected_in)}</code></td></tr>`,
  );
  return `<section aria-labelledby="corrections-title">
<h2 id="corrections-title">Corrections</h2>
<p class="note">Published levels that were changed later.${history.length === 0 ? "" : " The chart marks a corrected close with an open circle."}</p>
<div class="scroll" role="region" aria-label="Table of corrections" tabindex="0">
<table id="corrections">
<thead><tr><th scope="col">Session</th><th scope="col" class="n">Old level, USD</th><th scope="col" class="n">New level, USD</th><th scope="col">Reason</th><th scope="col">Corrected in</th></tr></thead>
<tbody>
${rows.join("\n")}
</tbody>
</table>
</div>
</section>
`;
}
