/** The report in the browser: sorts and filters the board. The page is whole without it. */
import { filterRows, makeSortable } from "./table.js";

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const table = /** @type {HTMLTableElement} */ (byId("contracts"));
const find = /** @type {HTMLInputElement} */ (byId("find"));
const segment = /** @type {HTMLSelectElement} */ (byId("segment"));
const shown = byId("shown");
const count = table.tBodies[0]?.rows.length ?? 0;
let order = "";

function filter() {
  const left = filterRows(table, find.value, segment.value);
  const noun = count === 1 ? "contract" : "contracts";
  shown.textContent = `${left} of ${count} ${noun}${order === "" ? "" : `, ${order}`}`;
}

makeSortable(table, (orderText) => {
  order = orderText;
  filter();
});
find.addEventListener("input", filter);
segment.addEventListener("change", filter);
byId("controls").hidden = false;
filter();
