/** The settled months of a contract or an index: a table that is asked for when the reader opens its place. */
import { ask, BROKEN_OFF, endProblem, tellProblem } from "./api.js";
import { rowsOf } from "./history.js";
import { scrolling, tableHtml } from "./html.js";
import { escaped, figureHtml } from "./text.js";

/** @typedef {(name: string) => string} Cell the value of a column in a row */

/** @type {readonly import("./html.js").TableColumn<Cell>[]} */
const COLUMNS = [
  { label: "Month", html: (cell) => `<time>${escaped(cell("month"))}</time>` },
  ...[
    ["Average", "average"],
    ["Last", "last"],
    ["High", "high"],
    ["Low", "low"],
  ].map(([label = "", name = ""]) => ({
    label,
    name: "n",
    html: (/** @type {Cell} */ cell) => figureOf(cell, name),
  })),
  { label: "Days", name: "n", html: (cell) => escaped(cell("days")) },
  { label: "Average as known now", name: "n", html: (cell) => figureOf(cell, "average_now") },
  { label: "Publication", name: "n", html: (cell) => escaped(cell("settled_by")) },
];

/** @param {Cell} cell @param {string} name */
function figureOf(cell, name) {
  const text = cell(name);
  return text === ""
    ? `<span class="none">${escaped(cell("reason") || "–")}</span>`
    : figureHtml(text);
}

/**
 * The table, newest month first.
 *
 * @param {string} csv a selection of `/settlements.csv`
 * @param {"contract" | "index"} kind one id may be of both
 */
function settlementsTable(csv, kind) {
  const rows = rowsOf(csv)
    .map(({ cell }) => cell)
    .filter((cell) => cell("kind") === kind)
    .toReversed();
  if (rows.length === 0) return "<p>No month is settled yet.</p>";
  return scrolling("Table of settled months", tableHtml(' id="settled"', COLUMNS, rows));
}

/** The place's question of now: of two answers the later question counts. @type {string} */
let asked = "";
/** Ends the place's listener of before. */
let former = new AbortController();

/**
 * Closes the place, and asks for the months when it is opened.
 *
 * @param {HTMLDetailsElement} place
 * @param {"contract" | "index"} kind
 * @param {string} id
 * @param {string} query the moment as of which the page is shown
 * @param {boolean} isOffered whether the caller's tier has them
 */
export function offerSettlements(place, kind, id, query, isOffered) {
  const [problemAt, table] = /** @type {HTMLElement[]} */ ([
    ...place.querySelectorAll("[role=alert], div"),
  ]);
  if (problemAt === undefined || table === undefined) return;
  const path = `settlements.csv?ids=${encodeURIComponent(id)}${query === "" ? "" : `&${query}`}`;
  asked = `${kind} ${path}`;
  place.hidden = !isOffered;
  place.open = false;
  table.replaceChildren();
  endProblem(problemAt);
  const show = async () => {
    const own = `${kind} ${path}`;
    if (!place.open || own !== asked || table.firstChild !== null) return;
    const { response, problem } = await ask(path);
    const csv = response === null ? null : await response.text().catch(() => null);
    if (own !== asked) return;
    if (csv === null) tellProblem(problemAt, problem ?? BROKEN_OFF, () => void show());
    else table.innerHTML = settlementsTable(csv, kind);
  };
  former.abort();
  former = new AbortController();
  place.addEventListener("toggle", () => void show(), { signal: former.signal });
}
