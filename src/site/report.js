/** The report in the browser: sorts and filters the board. The page is whole without it. */
import { filterRows, makeSortable } from "./table.js";

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const table = /** @type {HTMLTableElement} */ (byId("contracts"));
const find = /** @type {HTMLInputElement} */ (byId("find"));
const segment = /** @type {HTMLSelectElement} */ (byId("segment"));
const shown = byId("shown");
const count = table.tBodies[0]?.rows.length ?? 0;
/** The columns that are searched: id, name, segment, basis. */
const SEARCHED = [0, 1, 2, 7];
let order = "";

function filter() {
  const words = find.value.toLowerCase().split(/\s+/);
  const left = filterRows(table, ({ cells }) => {
    const text = SEARCHED.map((at) => cells[at]?.textContent ?? "")
      .join(" ")
      .toLowerCase();
    const inSegment = segment.selectedIndex === 0 || cells[2]?.textContent === segment.value;
    return inSegment && words.every((word) => text.includes(word));
  });
  const noun = count === 1 ? "contract" : "contracts";
  shown.textContent = `${left} of ${count} ${noun}${order === "" ? "" : `, ${order}`}`;
}

makeSortable(table, (told) => {
  order = told;
  filter();
});
find.addEventListener("input", filter);
segment.addEventListener("change", filter);
byId("controls").hidden = false;
filter();
