/** Days that a page was sent with: of most contracts, and of others by id (pages/catalog-days.ts). */

/**
 * @param {string} name of the attribute: `carry`, how many days a level is in force; or `cadence`, how many days lie
 *   between prices
 * @returns {(id: string) => number}
 */
export function daysOnPage(name) {
  const place = /** @type {HTMLElement} */ (document.querySelector(`[data-${name}]`));
  /** @type {{ days: number, others: Record<string, number> }} */
  const { days, others } = JSON.parse(place.dataset[name] ?? "");
  return (id) => others[id] ?? days;
}
