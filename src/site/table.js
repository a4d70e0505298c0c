/** Sorts and filters a table whose heads say how: `data-sort` is `text` or `number`. */

/**
 * Makes the heads of the table buttons that sort it. The first click sorts texts upwards and numbers
 * downwards, the next one the other way; rows without a figure come last.
 *
 * @param {HTMLTableElement} table
 */
export function makeSortable(table) {
  const body = table.tBodies[0];
  if (body === undefined) return;
  for (const head of table.querySelectorAll("th[data-sort]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const column = [.../** @type {HTMLElement} */ (head.parentElement).children].indexOf(head);
      const isNumber = head.getAttribute("data-sort") === "number";
      const before = head.getAttribute("aria-sort");
      const descends = before === null ? isNumber : before === "ascending";
      for (const other of table.querySelectorAll("[aria-sort]")) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", descends ? "descending" : "ascending");
      const rows = [...body.rows].map((row) => ({ row, value: valueOf(row, column, isNumber) }));
      rows.sort((a, b) => compared(a.value, b.value, descends));
      body.append(...rows.map(({ row }) => row));
    });
  }
}

/**
 * @param {HTMLTableRowElement} row
 * @param {number} column
 * @param {boolean} isNumber
 * @returns {string | number | null}
 */
function valueOf(row, column, isNumber) {
  const cell = row.cells[column];
  const value = cell?.dataset["value"];
  if (!isNumber) return value ?? cell?.textContent ?? "";
  return value === undefined ? null : Number(value);
}

const texts = new Intl.Collator("en", { numeric: true });

/**
 * @param {string | number | null} a
 * @param {string | number | null} b
 * @param {boolean} descends
 */
function compared(a, b, descends) {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order = typeof a === "number" ? a - Number(b) : texts.compare(a, String(b));
  return descends ? -order : order;
}

/**
 * Shows only the rows that pass, and says how many.
 *
 * @param {HTMLTableElement} table
 * @param {(row: HTMLTableRowElement) => boolean} passes
 * @param {HTMLElement} shown
 */
export function filterRows(table, passes, shown) {
  const rows = [...(table.tBodies[0]?.rows ?? [])];
  for (const row of rows) row.hidden = !passes(row);
  const count = rows.filter((row) => !row.hidden).length;
  shown.textContent = count === rows.length ? "" : `${count} of ${rows.length} shown`;
}
