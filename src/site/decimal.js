/** Exact arithmetic on decimals as the API writes them, the same in Node and in the browser. */

/**
 * A decimal as a whole number of its `decimals`-th places, rounded half away from zero.
 *
 * @param {string} decimal `12.5`, `-0.35`; no exponent
 * @param {number} decimals
 */
export function placesOf(decimal, decimals) {
  const [whole = "", fraction = ""] = decimal.replace("-", "").split(".");
  const kept = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, "0"));
  const places = (fraction[decimals] ?? "0") < "5" ? kept : kept + 1n;
  return decimal.startsWith("-") ? -places : places;
}

/**
 * The other way: the decimal with exactly `decimals` places, never `-0`.
 *
 * @param {bigint} places
 * @param {number} decimals
 */
export function decimalOf(places, decimals) {
  const digits = String(places)
    .replace("-", "")
    .padStart(decimals + 1, "0");
  const cut = digits.length - decimals;
  const fraction = decimals === 0 ? "" : `.${digits.slice(cut)}`;
  return `${places < 0n ? "-" : ""}${digits.slice(0, cut)}${fraction}`;
}

/**
 * A decimal with `decimals` places, rounded half away from zero. Null: there is none.
 *
 * @param {string | null | undefined} decimal
 * @param {number} [decimals]
 */
export const rounded = (decimal, decimals = 2) =>
  decimal == null ? null : decimalOf(placesOf(decimal, decimals), decimals);

/** More places than a level of an index has. */
const EXACT = 9;

/**
 * The change from one decimal above 0 to another, in percent with two decimals, rounded half away from zero.
 *
 * @param {string} then
 * @param {string} now
 */
export function changeBetween(then, now) {
  const [before, after] = [placesOf(then, EXACT), placesOf(now, EXACT)];
  const moved = (after - before) * 20_000n;
  const half = moved < 0n ? -before : before;
  return decimalOf((moved + half) / (2n * before), 2);
}

/**
 * How far a level is from the 100 of its base, in percent and exactly: `8.8192` of `108.8192`.
 *
 * @param {string | null} level
 */
export const changeOf = (level) =>
  level === null ? null : decimalOf(placesOf(level, EXACT) - placesOf("100", EXACT), EXACT);

/**
 * A decimal divided by another one above 0, with six decimals, rounded half away from zero.
 *
 * @param {string} decimal at least 0
 * @param {string} divisor
 */
export function quotient(decimal, divisor) {
  const above = placesOf(decimal, EXACT) * 1_000_000n;
  const below = placesOf(divisor, EXACT);
  return decimalOf((2n * above + below) / (2n * below), 6);
}
