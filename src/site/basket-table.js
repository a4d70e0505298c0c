/** The contracts of a basket as a table with fields for their amounts, and what a contract costs. */
import { tableHtml } from "./html.js";
import { escaped, figureHtml, foreign } from "./text.js";

/** @typedef {import("./board.js").BoardRow} BoardRow */

const AMOUNT_NAMES = { weights: "Weight", quantities: "Quantity", equal: "" };

/**
 * The table. Each row has a place for its error; the row and its button have the contract's id.
 *
 * @param {import("./requests.js").Basket} basket
 * @param {ReadonlyMap<string, BoardRow>} board the contracts that can be picked, by id
 */
export function partsTable({ weighting, parts }, board) {
  if (parts.size === 0) {
    return `<p class="empty">No contract yet. Type a name above, or press the down arrow there to see all ${board.size}.</p>`;
  }
  const rows = [...parts].map(([id, amount]) => ({ id, amount, row: board.get(id) }));
  const amountName = AMOUNT_NAMES[weighting];
  /** @type {readonly import("./html.js").TableColumn<typeof rows[number]>[]} */
  const columns = [
    {
      label: "Contract",
      html: ({ id, row }, at) =>
        `${foreign(row?.name ?? id)} <small>${row === undefined ? "not on the board" : levelHtml(row)}</small>` +
        `<p class="error" id="error-${at}"></p>`,
    },
    {
      label: amountName,
      name: "n",
      html: ({ id, amount, row }, at) =>
        `<input data-id="${id}" inputmode="decimal" autocomplete="off" required ` +
        'pattern="\\d{1,9}(\\.\\d{1,9})?" title="A decimal with a point, such as 1.5" ' +
        `value="${escaped(amount)}" aria-label="${amountName} of ${escaped(row?.name ?? id)}" aria-describedby="error-${at}"/>`,
    },
    {
      label: '<span class="unseen">Remove</span>',
      name: "n",
      html: ({ id, row }, at) =>
        `<button type="button" data-remove="${id}" aria-label="Remove ${escaped(row?.name ?? id)}" aria-describedby="error-${at}">Remove</button>`,
    },
  ];
  return tableHtml(
    ' class="parts"',
    weighting === "equal" ? columns.toSpliced(1, 1) : columns,
    rows,
    ({ id }) => ` data-id="${id}"`,
  );
}

/**
 * Ticker, and level with its unit.
 *
 * @param {BoardRow} row
 */
export const levelHtml = ({ ticker, spot_usd, unit }) =>
  `${foreign(ticker)} · <span data-field="spot_usd">${figureHtml(spot_usd)}</span> ${foreign(unit)}`;

/**
 * Shows the problem of a contract, or of its amount, at its row.
 *
 * @param {HTMLElement} box of the table
 * @param {string} id
 * @param {boolean} isOfAmount
 * @param {string} why
 */
export function sayAt(box, id, isOfAmount, why) {
  const row = rowOf(box, id);
  if (isOfAmount) row?.querySelector("input")?.setAttribute("aria-invalid", "true");
  row?.querySelector(".error")?.append(why);
}

/**
 * @param {HTMLElement} box
 * @param {string} id
 */
export function takeBack(box, id) {
  const row = rowOf(box, id);
  row?.querySelector("input")?.removeAttribute("aria-invalid");
  row?.querySelector(".error")?.replaceChildren();
}

/** @param {HTMLElement} box @param {string} id */
const rowOf = (box, id) => box.querySelector(`tr[data-id="${id}"]`);

/** Goes to the first contract with a fault, if there is one. @param {HTMLElement} box */
export function focusFault(box) {
  /** @type {HTMLElement | null} */
  const field = box.querySelector("tr:has(.error:not(:empty)) :is(input, button)");
  field?.focus();
}
