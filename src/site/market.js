/** The market page in the browser: sorting, filtering, and the caller's own tier. */
import { askJson } from "./api.js";
import { boardTable, sessionLine } from "./board.js";
import { withKey } from "./key.js";
import { filterRows, makeSortable } from "./table.js";

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));

const find = /** @type {HTMLInputElement} */ (byId("find"));
const segment = /** @type {HTMLSelectElement} */ (byId("segment"));
const box = byId("board-box");
const shown = byId("shown");

function table() {
  return box.querySelector("table");
}

function filter() {
  const wanted = find.value.trim().toLowerCase();
  const board = table();
  if (board === null) return;
  filterRows(
    board,
    (row) =>
      (segment.value === "" || row.dataset["segment"] === segment.value) &&
      (row.textContent ?? "").toLowerCase().includes(wanted),
    shown,
  );
}

/** Makes the controls of the table that stands on the page. */
function control() {
  const board = table();
  if (board === null) return;
  makeSortable(board);
  const segments = new Set(
    [...(board.tBodies[0]?.rows ?? [])].map((row) => row.dataset["segment"] ?? ""),
  );
  const chosen = segment.value;
  segment.replaceChildren(
    new Option("all", ""),
    ...[...segments].map((name) => new Option(name, name, false, name === chosen)),
  );
  byId("controls").hidden = false;
  filter();
}

find.addEventListener("input", filter);
segment.addEventListener("change", filter);
control();

await withKey(async ({ tier }) => {
  const { body, problem } = await askJson("prices");
  if (problem !== null) {
    byId("coverage").textContent = problem.detail;
    return;
  }
  byId("session").innerHTML = sessionLine(body, tier === "pro" ? 0 : 1);
  byId("coverage").textContent = "";
  byId("attribution").textContent = body.attribution;
  box.innerHTML = boardTable(body, null);
  control();
});
