/** Keeps a page's state in its address, as parameters: `?q=hbm&sort=-chg_yoy_pct`. */

/**
 * The value of a parameter of the page's address; empty: it has none.
 *
 * @param {string} name
 */
export const fromAddress = (name) => new URL(location.href).searchParams.get(name) ?? "";

/**
 * Writes parameters into the page's address. Other parameters and the fragment stay.
 *
 * @param {Record<string, string>} values an empty value removes its parameter. A value with a key
 *   also removes it, because people share addresses and servers log them
 */
export function keepInAddress(values) {
  const address = new URL(location.href);
  for (const [name, value] of Object.entries(values)) {
    if (value === "" || value.includes("cbk_")) address.searchParams.delete(name);
    else address.searchParams.set(name, value);
  }
  // Browsers refuse an address that is replaced too often.
  if (address.href !== location.href) history.replaceState(history.state, "", address);
}
