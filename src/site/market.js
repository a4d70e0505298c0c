/** The market page in the browser: sorting, filtering, and the caller's own tier. */
import { ask, askJson } from "./api.js";
import { boardTable, coverageLine, sessionLine } from "./board.js";
import { sparkline } from "./chart.js";
import { withKey } from "./key.js";
import { recentCloses } from "./recent-closes.js";
import { filterRows, makeSortable } from "./table.js";
import { changeHtml, counted, escaped, figureHtml } from "./text.js";

/** @typedef {import("./board.js").Board} Board */

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));

const find = /** @type {HTMLInputElement} */ (byId("find"));
const segment = /** @type {HTMLSelectElement} */ (byId("segment"));
const box = byId("board-box");

/** The order of the rows in words; empty: the board's own. */
let order = "";

/** Shows the rows of the chosen segment that hold every word, and says how many they are. */
function filter() {
  const table = box.querySelector("table");
  if (table === null) return;
  const words = find.value.toLowerCase().split(/\s+/);
  const count = filterRows(table, ({ dataset, textContent }) => {
    const text = (textContent ?? "").toLowerCase();
    const isChosen = segment.value === "" || segment.value === dataset["segment"];
    return isChosen && words.every((word) => text.includes(word));
  });
  const all = table.tBodies[0]?.rows.length ?? 0;
  const isAll = count === all && order === "";
  const sorted = order === "" ? "" : `, ${order}`;
  byId("shown").textContent = isAll ? "" : `${count} of ${counted(all, "contract")}${sorted}`;
}

/** Prepares the controls for the table that stands on the page. */
function control() {
  const table = box.querySelector("table");
  byId("controls").hidden = table === null;
  if (table === null) return;
  order = "";
  makeSortable(table, (words) => {
    order = words;
    filter();
  });
  offerSegments(table);
  filter();
}

/**
 * Offers the segments of a table, below the names of the boards. What was chosen stays chosen.
 *
 * @param {HTMLTableElement} table
 */
function offerSegments(table) {
  const chosen = segment.value;
  const rows = [...(table.tBodies[0]?.rows ?? [])];
  const groups = [...Map.groupBy(rows, ({ dataset }) => dataset["board"] ?? "")].map(
    ([board, listed]) => {
      const group = document.createElement("optgroup");
      group.label = board;
      const names = new Set(listed.map(({ dataset }) => dataset["segment"] ?? ""));
      group.append(...[...names].map((name) => new Option(name, name)));
      return group;
    },
  );
  segment.replaceChildren(new Option("all", ""), ...groups);
  segment.value = chosen;
  if (segment.selectedIndex < 0) segment.value = "";
}

/**
 * Says what is missing on the page, and why.
 *
 * @param {string} text
 */
function tellProblem(text) {
  const problem = byId("board-problem");
  problem.textContent = `${problem.textContent} ${text}`.trim();
  problem.hidden = false;
}

async function showBoard() {
  const { body, snapshot, problem } = await askJson("prices");
  if (problem !== null) {
    return tellProblem(`${problem.detail} The page shows what everybody sees.`);
  }
  const board = /** @type {Board} */ (body);
  byId("session").innerHTML = sessionLine(board);
  byId("credit").textContent = board.attribution;
  byId("license").textContent = board.license;
  byId("coverage").textContent = coverageLine(board);
  const isEmpty = board.memory.length + board.semiconductor.length === 0;
  box.innerHTML = isEmpty ? "" : boardTable(board, true);
  control();
  await Promise.all([showIndex(snapshot), showHistory(board, snapshot)]);
}

/**
 * Shows the composite index. One of a newer snapshot than the board's waits for the next view.
 *
 * @param {string | null} ofBoard
 */
async function showIndex(ofBoard) {
  const { body, snapshot, problem } = await askJson("index");
  if (problem !== null) return tellProblem(`The index is missing: ${problem.detail}`);
  if (snapshot !== ofBoard || body.level === null) return;
  const { level, chg_24h_pct, chg_30d_pct, base, constituents, carried = 0 } = body;
  /** @param {string} name @param {string} html */
  const figure = (name, html) => `<div><dt>${name}</dt><dd>${html}</dd></div>`;
  byId("index-figures").innerHTML =
    figure("Level, points", figureHtml(level)) +
    figure("24 h, %", changeHtml(chg_24h_pct)) +
    figure("30 d, %", changeHtml(chg_30d_pct));
  byId("index-base").innerHTML =
    `${escaped(base.date)} = ${base.level}; ${counted(constituents, "constituent")}` +
    (carried === 0 ? "" : `, ${carried} carried`);
  byId("index").hidden = false;
}

/**
 * Draws the sparklines into the board, when the histories have arrived.
 *
 * @param {Board} board
 * @param {string | null} ofBoard
 */
async function showHistory({ session_utc }, ofBoard) {
  const { response, problem } = await ask("history.csv");
  if (response === null) {
    return tellProblem(`The lines of 90 days are missing: ${problem.detail}`);
  }
  if (response.body === null || response.headers.get("x-snapshot") !== ofBoard) return;
  const to = session_utc.slice(0, 10);
  try {
    const closes = await recentCloses(response.body, to);
    for (const row of box.querySelectorAll("tr")) {
      const drawn = sparkline(closes.get(row.dataset["id"] ?? "") ?? [], to);
      // The change over the same days stands beside it.
      row.querySelector("td.quarter")?.insertAdjacentHTML("afterbegin", drawn);
    }
  } catch {
    tellProblem("The lines of 90 days are missing: the answer broke off.");
  }
}

find.addEventListener("input", filter);
segment.addEventListener("change", filter);
control();
await withKey(showBoard);
