/** Sorts and filters a table. Heads with `data-sort` sort it; heads with class `n` sort by numbers. */

/**
 * Makes the heads of the table buttons that sort it. The first press sorts texts upwards and numbers
 * downwards, the second the other way, the third restores the order that the table came with. Rows
 * without a figure come last. A cell sorts by its `data-value`; texts need none.
 *
 * Returns a function that sorts by the `data-sort` of a head, after `-` if the order descends.
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
    const valued = original.map((row) => ({
      row,
      value: valueOf(row.cells[column], isNumeric(head)),
    }));
    valued.sort((a, b) => compared(a.value, b.value, order === "descending"));
    body?.append(...valued.map(({ row }) => row));
    const sign = order === "descending" ? "-" : "";
    tell(`sorted by ${head.textContent}, ${order}`, `${sign}${head.dataset["sort"]}`);
  }
  return (order) => {
    const field = order.replace("-", "");
    const head = heads.find(({ dataset }) => dataset["sort"] === field);
    sort(head, order === field ? "ascending" : "descending");
  };
}

/** @param {HTMLElement} head */
const isNumeric = ({ classList }) => classList.contains("n");

/**
 * @param {HTMLTableCellElement | undefined} cell
 * @param {boolean} isNumber
 * @returns {string | number | null}
 */
function valueOf(cell, isNumber) {
  if (!isNumber) return cell?.textContent ?? null;
  const value = cell?.dataset["value"];
  return value === undefined ? null : Number(value);
}

const collator = new Intl.Collator("en", { numeric: true });

/**
 * @param {string | number | null} a
 * @param {string | number | null} b
 * @param {boolean} descends
 */
function compared(a, b, descends) {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order = typeof a === "number" ? a - Number(b) : collator.compare(a, String(b));
  return descends ? -order : order;
}

/**
 * Shows only the rows of a segment that hold every word, in their texts, id or source. Returns how many.
 *
 * @param {HTMLTableElement} table
 * @param {string} query
 * @param {string} segment empty: all
 */
export function filterRows(table, query, segment) {
  const words = query.toLowerCase().split(/\s+/);
  const found = [...(table.tBodies[0]?.rows ?? [])].filter((row) => {
    const text =
      searched.get(row) ?? [...Object.values(row.dataset), row.textContent].join(" ").toLowerCase();
    searched.set(row, text);
    const isOfSegment = segment === "" || segment === row.dataset["segment"];
    const isFound = isOfSegment && words.every((word) => text.includes(word));
    if (!isFound) row.hidden = true;
    return isFound;
  });
  void show(found);
  return found.length;
}

const SHOWN_AT_ONCE = 60;
let shows = 0;

/** Shows rows: the first at once, the others frame by frame, so that a keystroke need not wait for a thousand; the next keystroke ends that. @param {readonly HTMLTableRowElement[]} rows */
async function show(rows) {
  const turn = (shows += 1);
  for (const [at, row] of rows.entries()) {
    if (at % SHOWN_AT_ONCE === SHOWN_AT_ONCE - 1) await new Promise(requestAnimationFrame);
    if (turn !== shows) return;
    row.hidden = false;
  }
}

/** The texts of rows: to read them again at each keystroke takes as long as to show the rows. @type {WeakMap<HTMLTableRowElement, string>} */
const searched = new WeakMap();
