/** The board as a table, the same in Node and in the browser. */
import { changeHtml, counted, escaped, figureHtml, foreign, instantHtml } from "./text.js";

/**
 * What the table shows of a record of `/prices`. Records of older snapshots lack `chg_90d_pct`.
 *
 * @typedef {object} BoardRow
 * @property {string} id
 * @property {string} ticker
 * @property {string} name
 * @property {string} segment
 * @property {string} unit
 * @property {number} spot_usd
 * @property {number | null} chg_24h_pct
 * @property {number | null} chg_30d_pct
 * @property {number | null} chg_yoy_pct
 * @property {number | null} [chg_90d_pct]
 * @property {string} basis
 * @property {string} as_of
 * @property {string} source
 * @property {{ session_utc: string } | null} break
 */

/**
 * What the market page shows of the body of `/prices`.
 *
 * @typedef {object} Board
 * @property {string} session_utc
 * @property {number} delayed_sessions
 * @property {string} next_session_utc
 * @property {string} attribution
 * @property {string} license
 * @property {{ memory: number, semiconductor: number }} counts
 * @property {readonly BoardRow[]} memory
 * @property {readonly BoardRow[]} semiconductor
 */

/**
 * A column: the class of its cells, the field of the API that it shows, the label in its head, and the
 * cell's content. What `value` gives is what the column is sorted by; a column without it is sorted by its
 * text, and one without a field is not sorted.
 *
 * @typedef {object} Column
 * @property {string} name
 * @property {string} [field]
 * @property {string} label
 * @property {(row: BoardRow) => string} html
 * @property {(row: BoardRow) => number | null | undefined} [value]
 */

/**
 * @param {string} name
 * @param {"chg_24h_pct" | "chg_30d_pct" | "chg_90d_pct" | "chg_yoy_pct"} field
 * @param {string} label
 * @returns {Column}
 */
const change = (name, field, label) => ({
  name,
  field,
  label,
  value: (row) => row[field],
  html: (row) => changeHtml(row[field]),
});

/** @type {readonly Column[]} */
const COLUMNS = [
  { name: "contract", field: "name", label: "Contract", html: contractHtml },
  { name: "segment", field: "segment", label: "Segment", html: ({ segment }) => foreign(segment) },
  {
    name: "level",
    field: "spot_usd",
    label: "Level",
    // A fraction has a width of its own, so that the points stand below each other.
    html: ({ spot_usd }) => figureHtml(spot_usd).replace(/\.\d+$/, "<span>$&</span>"),
    value: ({ spot_usd }) => spot_usd,
  },
  { name: "unit", field: "unit", label: "Unit", html: ({ unit }) => foreign(unit) },
  change("day", "chg_24h_pct", "24 h %"),
  change("month", "chg_30d_pct", "30 d %"),
  change("year", "chg_yoy_pct", "1 year %"),
  { name: "basis", field: "basis", label: "Basis", html: ({ basis }) => basisHtml(basis) },
  { name: "as-of", field: "as_of", label: "As of", html: ({ as_of }) => escaped(as_of) },
];

const QUARTER_AT = COLUMNS.findIndex(({ name }) => name === "year");
/** For callers who may see history: a place for the line, and the change over the same days. */
/** @type {readonly Column[]} */
const QUARTER = [
  { name: "line", label: "90 days", html: () => "" },
  change("quarter", "chg_90d_pct", "90 d %"),
];

/**
 * Both boards in one table.
 *
 * @param {Board} board
 * @param {boolean} hasHistory whether the table has the columns of 90 days
 */
export function boardTable({ memory, semiconductor }, hasHistory) {
  const columns = hasHistory ? COLUMNS.toSpliced(QUARTER_AT, 0, ...QUARTER) : COLUMNS;
  const head = columns.map(({ name, field, label, value }) => {
    const sort = value === undefined ? "text" : "number";
    const sorted = field === undefined ? "" : ` data-sort="${sort}" data-field="${field}"`;
    const kind = value === undefined ? name : `n ${name}`;
    return `<th scope="col" class="${kind}"${sorted}>${label}</th>`;
  });
  return `<table class="board${hasHistory ? " lined" : ""}" id="board">
<thead><tr>${head.join("")}</tr></thead>
<tbody>
${[...memory, ...semiconductor].map((row) => rowHtml(row, columns)).join("\n")}
</tbody>
</table>`;
}

/**
 * @param {BoardRow} row
 * @param {readonly Column[]} columns
 */
function rowHtml(row, columns) {
  const cells = columns.map(({ name, html, value }) => {
    if (name === "contract") return `<th scope="row" class="contract">${html(row)}</th>`;
    if (value === undefined) return `<td class="${name}">${html(row)}</td>`;
    const figure = value(row) ?? null;
    const sorted = figure === null ? "" : ` data-value="${figure}"`;
    return `<td class="n ${name}"${sorted}>${html(row)}</td>`;
  });
  const { id, segment, source } = row;
  const data = `data-segment="${escaped(segment)}" data-source="${escaped(source)}"`;
  return `<tr data-id="${escaped(id)}" ${data}>${cells.join("")}</tr>`;
}

/** @param {BoardRow} row */
function contractHtml({ id, name, ticker, break: latest }) {
  const mark =
    latest === null
      ? ""
      : ` <span class="tag">break ${escaped(latest.session_utc.slice(0, 10))}</span>`;
  return `<a href="contracts/${encodeURIComponent(id)}">${foreign(name)}</a> <small>${foreign(ticker)}${mark}</small>`;
}

/**
 * A basis. One that is no new level is marked.
 *
 * @param {string} basis
 */
export const basisHtml = (basis) =>
  basis === "carried" || basis === "discontinued"
    ? `<span class="tag">${basis}</span>`
    : escaped(basis);

const SESSION_MS = 12 * 3_600_000;

/**
 * The session of a board, when the next one is due, and how late the board is.
 *
 * @param {Pick<Board, "session_utc" | "next_session_utc" | "delayed_sessions">} board
 */
export function sessionLine(board) {
  const { session_utc, next_session_utc, delayed_sessions } = board;
  const behind = (Date.parse(next_session_utc) - Date.parse(session_utc)) / SESSION_MS - 1;
  const next = delayed_sessions > behind ? "was due" : "is due";
  return placeLine(board, behind, ` The next session ${next} ${instantHtml(next_session_utc)}.`);
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
  const newest = late > 0 ? "the last published" : "the newest";
  const place = behind === 0 ? newest : `${counted(behind, "session")} behind ${newest}`;
  const said = `<p class="session">Session ${instantHtml(session_utc)}, ${place}.${more}</p>`;
  if (late <= 0) return said;
  return `${said}\n<p class="late" role="status">Late: ${counted(late, "session")} overdue. These levels are older than they should be.</p>`;
}

/**
 * How many contracts the board has, and how many of them have no level of the session.
 *
 * @param {Board} board
 */
export function coverageLine({ counts, memory, semiconductor }) {
  const all = counts.memory + counts.semiconductor;
  if (all === 0) return "No contract has a level at this session yet.";
  const carried = [...memory, ...semiconductor].filter(({ basis }) => basis === "carried").length;
  const fresh =
    carried === 0
      ? "all with a level of this session"
      : `${carried} carried from an earlier session`;
  return `${counted(all, "contract")} in catalog order: ${counts.memory} memory, ${counts.semiconductor} semiconductor; ${fresh}.`;
}
