/** The contracts of a basket as a table with fields for their amounts, and what a contract costs. */
import { escaped, figureHtml, foreign } from "./text.js";

/** @typedef {import("./board.js").BoardRow} BoardRow */

const AMOUNT_NAMES = { weights: "Weight", quantities: "Quantity" };

/**
 * The table. Each row has a place for its error; the row and its button have the contract's id.
 *
 * @param {import("./requests.js").Basket} basket
 * @param {ReadonlyMap<string, BoardRow>} board the contracts that can be picked, by id
 */
export function partsTable(basket, board) {
  if (basket.parts.size === 0) {
    return `<p class="empty">No contract yet. Type a name above, or press the down arrow there to see all ${board.size}.</p>`;
  }
  const amountName = basket.weighting === "equal" ? null : AMOUNT_NAMES[basket.weighting];
  const rows = [...basket.parts].map(([id, amount], at) => {
    const row = board.get(id);
    const name = row?.name ?? id;
    const said = `aria-describedby="error-${at}"`;
    const amountCell =
      amountName === null
        ? ""
        : `<td class="n"><input data-id="${id}" inputmode="decimal" autocomplete="off" ` +
          `value="${escaped(amount)}" aria-label="${amountName} of ${escaped(name)}" ${said}/></td>`;
    return (
      `<tr data-id="${id}"><th scope="row">${foreign(name)} ` +
      `<small>${row === undefined ? "not on the board" : levelHtml(row)}</small>` +
      `<p class="error" id="error-${at}"></p></th>${amountCell}<td class="n">` +
      `<button type="button" data-remove="${id}" aria-label="Remove ${escaped(name)}" ${said}>Remove</button></td></tr>`
    );
  });
  const head = amountName === null ? "" : `<th scope="col" class="n">${amountName}</th>`;
  return (
    `<table class="parts"><thead><tr><th scope="col">Contract</th>${head}` +
    `<th scope="col"><span class="unseen">Remove</span></th></tr></thead>` +
    `<tbody>${rows.join("")}</tbody></table>`
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
 * Says what is wrong with a contract, or with its amount, at its row.
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

/** The first contract with a fault. @param {HTMLElement} box */
export const faulty = (box) => box.querySelector("tr:has(.error:not(:empty))");

/** Goes there, if there is one. @param {HTMLElement} box */
export function focusFault(box) {
  const row = faulty(box);
  (row?.querySelector("input") ?? row?.querySelector("button"))?.focus();
}
