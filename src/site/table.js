/** Sorts and filters a table whose heads say how: `data-sort` is `text` or `number`. */

/**
 * Makes the heads of the table buttons that sort it. The first press sorts texts upwards and numbers
 * downwards, the second the other way, the third restores the order that the table came with. Rows
 * without a figure come last. A cell's `data-value` is what it is sorted by; texts need none.
 *
 * Returns a function that sorts by the `data-field` of a head, after `-` if the order descends.
 *
 * @param {HTMLTableElement} table
 * @param {(words: string, order: string) => void} tell gets the new order in words, and as that function
 *   takes it; both empty: the original order
 * @returns {(order: string) => void}
 */
export function makeSortable(table, tell) {
  const body = table.tBodies[0];
  const original = [...(body?.rows ?? [])];
  /** @type {NodeListOf<HTMLElement>} */
  const found = table.querySelectorAll("th[data-sort]");
  const heads = [...found];
  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    const orders = isNumeric(head) ? ["descending", "ascending"] : ["ascending", "descending"];
    button.addEventListener("click", () => {
      sort(head, orders[orders.indexOf(head.getAttribute("aria-sort") ?? "") + 1]);
    });
  }
  /**
   * @param {HTMLElement | undefined} head
   * @param {string | undefined} order undefined: the original one
   */
  function sort(head, order) {
    for (const other of heads) other.removeAttribute("aria-sort");
    if (head === undefined || order === undefined) {
      body?.append(...original);
      return tell("", "");
    }
    head.setAttribute("aria-sort", order);
    const column = [.../** @type {HTMLElement} */ (head.parentElement).children].indexOf(head);
    body?.append(...sorted(original, column, isNumeric(head), order));
    const sign = order === "descending" ? "-" : "";
    tell(`sorted by ${head.textContent}, ${order}`, `${sign}${head.dataset["field"] ?? ""}`);
  }
  return (order) => {
    const field = order.replace("-", "");
    const head = heads.find(({ dataset }) => dataset["field"] === field);
    sort(head, order === field ? "ascending" : "descending");
  };
}

/** @param {HTMLElement} head */
const isNumeric = ({ dataset }) => dataset["sort"] === "number";

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
