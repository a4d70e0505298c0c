/** Sorts and filters a table whose heads say how: `data-sort` is `text` or `number`. */

/**
 * Makes the heads of the table buttons that sort it. The first press sorts texts upwards and numbers
 * downwards, the second the other way, the third restores the order that the table came with. Rows
 * without a figure come last. A cell's `data-value` is what it is sorted by; texts need none.
 *
 * @param {HTMLTableElement} table
 * @param {(order: string) => void} tell gets the new order in words; empty: the original order
 */
export function makeSortable(table, tell) {
  const body = table.tBodies[0];
  if (body === undefined) return;
  const original = [...body.rows];
  for (const head of table.querySelectorAll("th[data-sort]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    const isNumber = head.getAttribute("data-sort") === "number";
    const orders = isNumber ? ["descending", "ascending"] : ["ascending", "descending"];
    button.addEventListener("click", () => {
      const order = orders[orders.indexOf(head.getAttribute("aria-sort") ?? "") + 1];
      for (const other of table.querySelectorAll("[aria-sort]")) other.removeAttribute("aria-sort");
      if (order !== undefined) head.setAttribute("aria-sort", order);
      const column = [.../** @type {HTMLElement} */ (head.parentElement).children].indexOf(head);
      body.append(...(order === undefined ? original : sorted(original, column, isNumber, order)));
      tell(order === undefined ? "" : `sorted by ${button.textContent}, ${order}`);
    });
  }
}

/**
 * @param {readonly HTMLTableRowElement[]} rows
 * @param {number} column
 * @param {boolean} isNumber
 * @param {string} order
 */
function sorted(rows, column, isNumber, order) {
  const valued = rows.map((row) => ({ row, value: valueOf(row.cells[column], isNumber) }));
  valued.sort((a, b) => compared(a.value, b.value, order === "descending"));
  return valued.map(({ row }) => row);
}

/**
 * @param {HTMLTableCellElement | undefined} cell
 * @param {boolean} isNumber
 * @returns {string | number | null}
 */
function valueOf(cell, isNumber) {
  if (!isNumber) return cell?.textContent ?? "";
  const value = cell?.dataset["value"];
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
 * Shows only the rows that pass. Returns how many do.
 *
 * @param {HTMLTableElement} table
 * @param {(row: HTMLTableRowElement) => boolean} passes
 */
export function filterRows(table, passes) {
  const rows = [...(table.tBodies[0]?.rows ?? [])];
  for (const row of rows) row.hidden = !passes(row);
  return rows.filter((row) => !row.hidden).length;
}
