/**
 * Text and figures as HTML, the same in Node and in the browser. Figures are decimals as the API gives
 * them: a number of the API has at most 15 significant digits, so JavaScript writes it back exactly.
 */
import { dayText } from "./axis.js";
import { rounded } from "./decimal.js";

/** @type {Readonly<Record<string, string>>} */
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/**
 * Text for an element or a quoted attribute. Control characters, which HTML forbids, become U+FFFD.
 *
 * @param {string} text
 */
export const escaped = (text) =>
  text
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g, "\u{FFFD}")
    .replace(/[&<>"']/g, (character) => /** @type {string} */ (ENTITIES[character]));

/**
 * The text that was escaped.
 *
 * @param {string} html in which other entities stay
 */
export const unescaped = (html) =>
  // `&` is last: it may begin the text of another entity.
  Object.entries(ENTITIES).reduceRight(
    (text, [character, entity]) => text.replaceAll(entity, character),
    html,
  );

/**
 * Text from the feeds: escaped, and unable to change the direction of the text around it (`bdi`).
 *
 * @param {string} text
 */
export const foreign = (text) => `<bdi>${escaped(text)}</bdi>`;

/**
 * A link to an address from the feeds or the operator; only the text if it is of another scheme.
 *
 * @param {string} address
 * @param {string} text
 */
export const foreignLink = (address, text) =>
  /^(?:https?:\/\/|mailto:)/i.test(address)
    ? `<a href="${escaped(address)}" rel="noopener noreferrer">${foreign(text)}</a>`
    : foreign(text);

/** A missing figure. */
export const NO_FIGURE = '<span class="none">n/a</span>';

/**
 * A decimal with its thousands apart: `11,000.00`. At least `decimals` places.
 *
 * @param {string} decimal
 * @param {number} [decimals]
 */
export function grouped(decimal, decimals = 2) {
  const [whole = "", fraction = ""] = decimal.split(".");
  const apart = whole.replace("-", "\u{2212}").replace(/\d(?=(?:\d{3})+$)/g, "$&,");
  const padded = fraction.padEnd(decimals, "0");
  return padded === "" ? apart : `${apart}.${padded}`;
}

/**
 * A figure, with its thousands apart, or `n/a`.
 *
 * @param {string | number | null | undefined} figure
 * @param {number} [decimals] at least so many
 */
export const figureHtml = (figure, decimals = 2) =>
  figure == null ? NO_FIGURE : grouped(String(figure), decimals);

/**
 * A figure for people: rounded to so many decimals, half away from zero; `Infinity`: as given.
 *
 * @param {string | number} figure a decimal
 * @param {number} decimals
 */
export const roundedText = (figure, decimals) =>
  grouped(decimals === Infinity ? String(figure) : (rounded(String(figure), decimals) ?? ""));

/**
 * A change with its sign: `+1.20`, `−0.35`, `0.00`. At least `decimals` places.
 *
 * @param {string} change a decimal
 * @param {number} [decimals]
 */
export function signedText(change, decimals = 2) {
  const sign = { up: "+", down: "\u{2212}", flat: "" }[direction(change)];
  return sign + grouped(change.replace("-", ""), decimals);
}

/**
 * The direction of a change.
 *
 * @param {string} change a decimal
 * @returns {"up" | "down" | "flat"}
 */
function direction(change) {
  if (!/[1-9]/.test(change)) return "flat";
  return change.startsWith("-") ? "down" : "up";
}

/**
 * A change, coloured by its direction; a percentage unless the text around it says otherwise.
 *
 * @param {string | number | null | undefined} change
 * @param {number} [decimals] at least so many
 */
export function changeHtml(change, decimals = 2) {
  if (change == null) return NO_FIGURE;
  const decimal = String(change);
  return `<span class="${direction(decimal)}">${signedText(decimal, decimals)}</span>`;
}

/**
 * `2026-11-21 00:00 UTC`, marked up with the instant.
 *
 * @param {string} instant ISO 8601 in UTC
 */
export const instantHtml = (instant) =>
  `<time datetime="${escaped(instant)}">${escaped(instant.slice(0, 10))} ${escaped(instant.slice(11, 16))} UTC</time>`;

/**
 * A text of the API for people: each instant in it as `1 Dec 2026, 00:00 UTC`.
 *
 * @param {string} text
 */
export const readableText = (text) =>
  text.replace(/\d{4}-\d\d-\d\dT(\d\d:\d\d):\d\d\.\d{3}Z/g, (instant, time) =>
    Number.isNaN(Date.parse(instant)) ? instant : `${dayText(instant.slice(0, 10))}, ${time} UTC`,
  );

/**
 * A count with its noun: `1 session`, `3 sessions`.
 *
 * @param {number} count
 * @param {string} noun
 */
export const counted = (count, noun) =>
  `${grouped(String(count), 0)} ${noun}${count === 1 ? "" : "s"}`;

/**
 * The content of a JSON text in which each number is its decimal, digit by digit. Throws SyntaxError.
 *
 * @param {string} json
 */
export const withDecimals = (json) =>
  JSON.parse(
    json.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g, (token) =>
      token.startsWith('"') ? token : `"${token}"`,
    ),
  );
