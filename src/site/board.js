/** The board as a table, the same in Node and in the browser. */
import { sparkline } from "./chart.js";
import { changeHtml, counted, escaped, figureHtml, foreign, instantHtml } from "./text.js";

/**
 * What the table shows of a record of `/prices`.
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
 * @property {string} basis
 * @property {string} as_of
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
 * @property {readonly BoardRow[]} memory
 * @property {readonly BoardRow[]} semiconductor
 */

/** @typedef {ReadonlyMap<string, readonly import("./chart.js").Point[]>} Sparks the closes of 90 days, by contract */

const COLUMNS = [
  { label: "Contract", sort: "text" },
  { label: "Segment", sort: "text" },
  { label: "Level", sort: "number" },
  { label: "Unit", sort: "text" },
  { label: "24 h %", sort: "number" },
  { label: "30 d %", sort: "number" },
  { label: "1 year %", sort: "number" },
  { label: "Basis", sort: "text" },
  { label: "As of", sort: "text" },
];

/**
 * Both boards in one table. A cell's `data-value` is what it is sorted by; a cell without a figure has
 * none.
 *
 * @param {Board} board
 * @param {Sparks | null} sparks null: no column of sparklines
 */
export function boardTable(board, sparks) {
  const rows = [...board.memory, ...board.semiconductor];
  const head = COLUMNS.map(
    ({ label, sort }) =>
      `<th scope="col" data-sort="${sort}"${sort === "number" ? ' class="n"' : ""}>${label}</th>`,
  ).join("");
  const to = board.session_utc.slice(0, 10);
  return `<table class="board" id="board">
<thead><tr>${head}${sparks === null ? "" : '<th scope="col">90 days</th>'}</tr></thead>
<tbody>
${rows.map((row) => rowHtml(row, to, sparks)).join("\n")}
</tbody>
</table>`;
}

/**
 * @param {BoardRow} row
 * @param {string} to
 * @param {Sparks | null} sparks
 */
function rowHtml(row, to, sparks) {
  const spark = sparks === null ? "" : `<td>${sparkline(sparks.get(row.id) ?? [], to)}</td>`;
  return (
    `<tr data-segment="${escaped(row.segment)}">` +
    `<th scope="row" data-value="${escaped(row.name)}"><a href="contracts/${encodeURIComponent(row.id)}">${foreign(row.name)}</a> <small>${foreign(row.ticker)}</small></th>` +
    `<td>${foreign(row.segment)}</td>` +
    `<td class="n" data-value="${row.spot_usd}">${figureHtml(row.spot_usd)}</td>` +
    `<td class="unit">${foreign(row.unit)}</td>` +
    [row.chg_24h_pct, row.chg_30d_pct, row.chg_yoy_pct].map(changeCell).join("") +
    `<td>${basisHtml(row.basis)}</td><td>${escaped(row.as_of)}</td>${spark}</tr>`
  );
}

/** @param {number | null} change */
const changeCell = (change) =>
  `<td class="n"${change === null ? "" : ` data-value="${change}"`}>${changeHtml(change)}</td>`;

/**
 * A basis. One that is no new level is marked.
 *
 * @param {string} basis
 */
export const basisHtml = (basis) =>
  basis === "carried" || basis === "discontinued"
    ? `<span class="tag">${basis}</span>`
    : escaped(basis);

/**
 * The session of a payload, when the next one is due, and how late the payload is.
 *
 * @param {Pick<Board, "session_utc" | "next_session_utc" | "delayed_sessions">} board
 * @param {number} tierDelay sessions that the tier is behind when nothing is late
 */
export function sessionLine({ session_utc, next_session_utc, delayed_sessions }, tierDelay) {
  const late = delayed_sessions - tierDelay;
  const behind =
    tierDelay === 0 ? "the live session" : `${counted(tierDelay, "session")} behind the newest`;
  const said = `<p class="session">Session ${instantHtml(session_utc)}, ${behind}. Next session due ${instantHtml(next_session_utc)}.</p>`;
  if (late <= 0) return said;
  return `${said}\n<p class="late" role="status">Late: ${counted(late, "session")} overdue. The levels are older than they should be.</p>`;
}
