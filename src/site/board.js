/** The board as a table, the same in Node and in the browser. */
import { tableHtml } from "./html.js";
import { changeHtml, counted, escaped, figureHtml, foreign, instantHtml } from "./text.js";

/**
 * The body of `/prices`, with what the table shows of its records.
 *
 * @typedef {import("zod").infer<typeof import("../render/payload-schemas.ts").board>} Declared
 * @typedef {Pick<import("zod").infer<typeof import("../render/payload-schemas.ts").contractRecord>, "break">
 *   & Record<"id" | "ticker" | "name" | "segment" | "unit" | "basis" | "as_of" | "source", string>
 *   & Record<"chg_24h_pct" | "chg_30d_pct" | "chg_90d_pct" | "chg_yoy_pct", number | null>
 *   & { spot_usd: number }} BoardRow
 * @typedef {Omit<Declared, "memory" | "semiconductor">
 *   & Record<"memory" | "semiconductor", readonly BoardRow[]>} Board
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

/** @type {readonly MarketColumn[]} */
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
  { name: "line", label: "90 days", html: () => "" },
  change("quarter", "chg_90d_pct", "90 d %"),
  change("year", "chg_yoy_pct", "1 year %"),
  { name: "basis", field: "basis", label: "Basis", html: ({ basis }) => basisHtml(basis) },
  { name: "as-of", field: "as_of", label: "As of", html: ({ as_of }) => escaped(as_of) },
];

/** Only callers who may see history get a place for the line, and the change over the same days. */
const OF_HISTORY = ["line", "quarter"];

/**
 * @param {Board} board
 * @param {boolean} hasHistory whether the table has the columns of 90 days
 */
export const boardTable = ({ memory, semiconductor }, hasHistory) =>
  tableHtml(
    ` class="board${hasHistory ? " lined" : ""}" id="board"`,
    COLUMNS.filter(({ name = "" }) => hasHistory || !OF_HISTORY.includes(name)),
    [...memory, ...semiconductor],
    ({ id, segment, source }) =>
      ` data-id="${escaped(id)}" data-segment="${escaped(segment)}" data-source="${escaped(source)}"`,
  );

/** @param {BoardRow} row */
function contractHtml({ id, name, ticker, break: latest }) {
  const mark =
    latest === null
      ? ""
      : ` <span class="tag" title="${escaped(latest.reason)}">break ${escaped(latest.session_utc.slice(0, 10))}</span>`;
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
  const due = delayed_sessions > behind ? "was due" : "is due";
  const next = behind === 0 ? "next session" : "next one appears with the next publication, which";
  return placeLine(board, behind, ` The ${next} ${due} ${instantHtml(next_session_utc)}.`);
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
