/**
 * Exact decimals. A level is a whole number of micro-dollars (10⁻⁶ USD), at most 10¹⁵, so a
 * JavaScript number holds it exactly. Everything derived is a ratio of integers (bigint), rounded
 * once, half away from zero, and carried from then on as its shortest decimal text: no exponent,
 * no trailing zero, never `-0`.
 */

/** A whole number of micro-units: micro-dollars, or millionths of a percent or a gigabyte. */
export type Micros = number;
/** The shortest decimal text of a number: `12.5`, `-0.35`, `0`. */
export type Decimal = string;

/** An exact fraction; the denominator is above 0. */
export interface Ratio {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** Micro-units in one unit: micro-dollars in a dollar, millionths in one percent. */
export const MICROS_PER_UNIT = 1e6;
/** The highest level, in US dollars. */
export const MAX_LEVEL_USD = 1e9;

/**
 * 12.5 for 12,500,000 micro-units. `micros` is from 0 to 10¹⁵. Its text, in JSON too, is exact: a double
 * holds 15 digits, and its shortest text has those digits, without an exponent from 10⁻⁶ up.
 */
export const unitsOf = (micros: Micros): number => micros / MICROS_PER_UNIT;

/** The same as text. */
export const formatMicros = (micros: Micros): Decimal => String(unitsOf(micros));

/** The micro-units of a level from a JSON number. The integer is exact, because unitsOf is. */
export const microsOf = (usd: number): Micros => Math.round(usd * MICROS_PER_UNIT);

/**
 * Reads a plain decimal (`12`, `12.5`; no sign, no exponent, at most 6 decimals) into micro-units.
 * Null for any other text, and for more than `maxUnits`.
 */
export function parseMicros(text: string, maxUnits: number): Micros | null {
  const parts = /^(\d{1,10})(?:\.(\d{1,6}))?$/.exec(text);
  if (parts === null) return null;
  const [, whole, fraction = ""] = parts;
  const micros = Number(whole) * MICROS_PER_UNIT + Number(fraction.padEnd(6, "0"));
  return micros <= maxUnits * MICROS_PER_UNIT ? micros : null;
}

/** Rounds numerator / denominator half away from zero to `decimals` places. */
export function roundRatio({ numerator, denominator }: Ratio, decimals: number): Decimal {
  const negative = numerator < 0n;
  const magnitude = negative ? -numerator : numerator;
  const scaled = (magnitude * 10n ** BigInt(decimals) * 2n + denominator) / (denominator * 2n);
  if (scaled === 0n) return "0";
  const digits = scaled.toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "");
  return `${negative ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}

/** How many digits a figure has that is no exact decimal. */
const SIGNIFICANT_DIGITS = 12;

/** The number with 12 significant digits. It is not below 0. */
export function roundSignificant(value: number): Decimal {
  const [digits = "", power = "0"] = value.toExponential(SIGNIFICANT_DIGITS - 1).split("e");
  const scale = SIGNIFICANT_DIGITS - 1 - Number(power);
  const whole = BigInt(digits.replace(".", ""));
  return scale > 0
    ? roundRatio(ratio(whole, 10n ** BigInt(scale)), scale)
    : String(whole * 10n ** BigInt(-scale));
}

/** The fraction, not reduced. `denominator` must be above 0. */
export const ratio = (numerator: bigint, denominator: bigint): Ratio => ({
  numerator,
  denominator,
});

/**
 * The exact sum, not reduced; 0 of none. It adds in pairs, so that the operands have similar sizes: with
 * thousands of different denominators, a running sum would soon be as long as all of them.
 */
export function sumOfRatios(terms: readonly Ratio[]): Ratio {
  if (terms.length < 2) return terms[0] ?? ratio(0n, 1n);
  const half = terms.length >> 1;
  const a = sumOfRatios(terms.slice(0, half));
  const b = sumOfRatios(terms.slice(half));
  return ratio(
    a.numerator * b.denominator + b.numerator * a.denominator,
    a.denominator * b.denominator,
  );
}
