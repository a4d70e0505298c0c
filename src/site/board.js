/** The board as a table, the same in Node and in the browser. */
import { dayText } from "./axis.js";
import { contractLink, tableHtml } from "./html.js";
import { changeHtml, counted, escaped, figureHtml, foreign } from "./text.js";

/**
 * The body of `/prices`, with what the table shows of its records.
 *
 * @typedef {import("zod").infer<typeof import("../public/payload-schemas.ts").board>} Declared
 * @typedef {Pick<import("zod").infer<typeof import("../public/payload-schemas.ts").contractRecord>, "break">
 *   & Record<"id" | "ticker" | "name" | "segment" | "unit" | "basis" | "as_of" | "source", string>
 *   & Record<"chg_24h_pct" | "chg_30d_pct" | "chg_90d_pct" | "chg_yoy_pct", number | null>
 *   & { spot_usd: number, age_days?: number, usd_per_gb?: number | null }} BoardRow
 * @typedef {Omit<Declared, "memory" | "semiconductor">
 *   & Record<"memory" | "semiconductor", readonly BoardRow[]>} Board
 */

/**
 * What everybody may know of a contract: the board shows it where the caller's tier has no level.
 *
 * @typedef {Record<"id" | "ticker" | "name" | "segment" | "unit" | "source", string>} LockedRow
 */

/** @typedef {import("./html.js").TableColumn<BoardRow>} MarketColumn */

/**
 * @param {string} name
 * @param {"chg_24h_pct" | "chg_30d_pct" | "chg_90d_pct" | "chg_yoy_pct"} field
 * @param {string} label
 * @returns {MarketColumn}
 */
const change = (name, field, label) => ({
  name,
  field,
  label,
  value: (row) => row[field],
  html: (row) => changeHtml(row[field]),
});

/**
 * Whether a level is older than its cadence (overdue.js).
 *
 * @typedef {(row: BoardRow) => boolean} IsOverdue
 */

/** The head of the levels: for a unit, or for a gigabyte. */
export const LEVEL_LABELS = { unit: "Level", gb: "USD per GB" };

/** A fraction has a width of its own, so that the points stand below each other. @param {number} level */
const alignedHtml = (level) => figureHtml(level).replace(/\.\d+$/, "<span>$&</span>");

/**
 * The level of a row for its unit or for a gigabyte, as a cell has it. Without a capacity it has none for a gigabyte.
 *
 * @param {BoardRow} row
 * @param {keyof typeof LEVEL_LABELS} scale
 */
export function levelCell({ spot_usd, usd_per_gb }, scale) {
  const level = scale === "gb" ? usd_per_gb && Number(usd_per_gb.toFixed(3)) : spot_usd;
  return { html: level == null ? "" : alignedHtml(level), value: level };
}

/** @type {MarketColumn} */
const CONTRACT = { name: "contract", field: "name", label: "Contract", html: contractHtml };

/** @param {IsOverdue} isOverdue @returns {readonly MarketColumn[]} */
const columnsWith = (isOverdue) => [
  CONTRACT,
  { name: "segment", field: "segment", label: "Segment", html: ({ segment }) => foreign(segment) },
  {
    name: "level",
    field: "spot_usd",
    label: LEVEL_LABELS.unit,
    html: ({ spot_usd }) => alignedHtml(spot_usd),
    value: ({ spot_usd }) => spot_usd,
  },
  { name: "unit", field: "unit", label: "Unit", html: ({ unit }) => unitHtml(unit) },
  change("day", "chg_24h_pct", "24 h %"),
  change("month", "chg_30d_pct", "30 d %"),
  { name: "line", label: "90 days", html: () => "" },
  change("quarter", "chg_90d_pct", "90 d %"),
  change("year", "chg_yoy_pct", "1 year %"),
  {
    name: "basis",
    field: "basis",
    label: "Basis",
    // Only a level that is older than its cadence needs a mark and a date.
    html: (row) =>
      isOverdue(row)
        ? `${basisHtml(row.basis, true)} <time>${escaped(row.as_of)}</time>`
        : basisHtml(row.basis),
  },
];

/** Only callers who may see history get a place for the line, and the change over the same days. */
const OF_HISTORY = ["line", "quarter"];

/**
 * @param {Board} board
 * @param {IsOverdue} isOverdue
 * @param {boolean} hasHistory whether the table has the columns of 90 days
 * @param {readonly LockedRow[]} [locked] rows without figures, after the others
 */
export function boardTable({ memory, semiconductor }, isOverdue, hasHistory, locked = []) {
  const columns = columnsWith(isOverdue);
  const rows = [...memory, ...semiconductor];
  const firsts = new Set(rows.filter(({ segment }, at) => rows[at - 1]?.segment !== segment));
  return tableHtml(
    ` class="board${hasHistory ? " lined" : ""}" id="board"`,
    hasHistory
      ? columns.with(0, { ...CONTRACT, html: pickedHtml })
      : columns.filter(({ name = "" }) => !OF_HISTORY.includes(name)),
    rows,
    (row) => attributesOf(row) + (firsts.has(row) ? " data-group" : ""),
  ).replace("\n</tbody>", () => `\n${locked.map(lockedRow).join("\n")}\n</tbody>`);
}

/** @param {LockedRow} row */
const attributesOf = ({ id, segment, source }) =>
  ` data-id="${escaped(id)}" data-segment="${escaped(segment)}" data-source="${escaped(source)}"`;

/** Stands where a key would show a level. */
export const LOCK = '<span class="lock">needs a key</span>';

/** It ends after the unit: a board may have a thousand. @param {LockedRow} row @param {number} at */
const lockedRow = (row, at) =>
  `<tr${at === 0 ? ' id="locked"' : ""}${attributesOf(row)}><th scope="row" class="contract">${nameHtml(row)}</small></th>` +
  `<td class="segment">${foreign(row.segment)}</td><td class="n level">${LOCK}</td><td class="unit">${unitHtml(row.unit)}</td></tr>`;

/** Without the end of its last element. @param {LockedRow} row */
const nameHtml = ({ id, name, ticker }) => `${contractLink(id, name)} <small>${foreign(ticker)}`;

const PER = "USD per ";

/** A unit; on paper its start goes, which a note below the board says once. @param {string} unit */
export const unitHtml = (unit) =>
  unit.startsWith(PER) && unit !== LEVEL_LABELS.gb
    ? `<span class="usd">${PER}</span>${foreign(unit.slice(PER.length))}`
    : foreign(unit);

/** @param {BoardRow} row */
function contractHtml(row) {
  const { break: latest } = row;
  const mark =
    latest === null
      ? ""
      : ` <span class="tag" title="${escaped(latest.reason)}">break ${escaped(latest.session_utc.slice(0, 10))}</span>`;
  return `${nameHtml(row)}${mark}</small>`;
}

/** With a box that chooses the contract for a comparison. @param {BoardRow} row */
const pickedHtml = (row) =>
  `<label class="pick"><input type="checkbox" value="${escaped(row.id)}" aria-label="Compare ${escaped(row.name)}" /></label>${contractHtml(row)}`;

/**
 * A basis. One that says that the level is too old is marked.
 *
 * @param {string} basis
 * @param {boolean} [isOverdue] whether a carried level is older than its cadence
 */
export const basisHtml = (basis, isOverdue = false) =>
  isOverdue || basis === "discontinued"
    ? `<span class="tag">${escaped(basis)}</span>`
    : escaped(basis);

const SESSION_HOURS = 12;
export const SESSION_MS = SESSION_HOURS * 3_600_000;

/** `26 Nov, 00:00 UTC`, marked up with the instant. @param {string} instant ISO 8601 in UTC */
const momentHtml = (instant) =>
  `<time datetime="${escaped(instant)}">${dayText(instant.slice(0, 10)).replace(/ \d+$/, "")}, ${escaped(instant.slice(11, 16))} UTC</time>`;

/**
 * The session of a board, when the next one is due, and how late the board is.
 *
 * @param {Pick<Board, "session_utc" | "next_session_utc" | "delayed_sessions">} board
 * @param {boolean} [isDue] whether the next session has begun, although nothing is late yet
 */
export function sessionLine(board, isDue = false) {
  const { session_utc, next_session_utc, delayed_sessions } = board;
  const behind = (Date.parse(next_session_utc) - Date.parse(session_utc)) / SESSION_MS - 1;
  const next = isDue || delayed_sessions > behind ? "The next update was due" : "Next update";
  return placeLine(board, behind, ` ${next} ${momentHtml(next_session_utc)}.`);
}

/**
 * The session of a payload, and how late it is: the sessions that it is behind beyond those that its
 * tier is behind when nothing is late.
 *
 * @param {{ session_utc: string, delayed_sessions: number }} payload
 * @param {number} behind
 * @param {string} [more] HTML
 */
export function placeLine({ session_utc, delayed_sessions }, behind, more = "") {
  const late = delayed_sessions - behind;
  const delay = behind === 0 ? "" : ` (${behind * SESSION_HOURS} hours delayed)`;
  const said = `<p class="session">Prices of ${momentHtml(session_utc)}${delay}.${more}</p>`;
  if (late <= 0) return said;
  return `${said}\n<p class="late" role="status">Late: ${counted(late, "session")} overdue. These prices are older than they should be.</p>`;
}

/**
 * How many contracts the board has: of how many, or how many of them have a level older than their cadence. HTML.
 *
 * @param {Board} board
 * @param {IsOverdue} isOverdue
 * @param {number} [locked] how many rows have no figures
 */
export function coverageLine({ counts, memory, semiconductor }, isOverdue, locked = 0) {
  const all = counts.memory + counts.semiconductor;
  if (all === 0) return "No contract has a level at this session yet.";
  if (locked > 0) {
    const contracts = counted(all + locked, "contract");
    return `${all} of ${contracts}<span class="keyless">, free. <a href="#locked">See all ${all + locked}</a></span>.`;
  }
  const overdue = [...memory, ...semiconductor].filter(isOverdue).length;
  const fresh = overdue === 0 ? "all priced on time" : `${overdue} older than their cadence`;
  return `${counted(all, "contract")}: ${counts.memory} memory, ${counts.semiconductor} semiconductor; ${fresh}.`;
}
