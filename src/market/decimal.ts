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

/** Decimals that a number of micro-units holds. */
export const MICRO_DECIMALS = 6;
/** Micro-units of one: micro-dollars of a dollar, millionths of a percent. */
export const MICROS_PER_UNIT = 1e6;
/** No level is above it, in US dollars. */
export const MAX_LEVEL_USD = 1e9;
const MAX_WHOLE_DIGITS = 10;
const POWERS_OF_TEN = [1, 10, 100, 1e3, 1e4, 1e5, 1e6] as const;

/** `12.5` for 12,500,000 micro-units; from 0 to 10¹⁵ of them. */
export const formatMicros = (micros: Micros): Decimal => formatScaled(micros, MICRO_DECIMALS);

/**
 * `units` (a whole number from 0) of 10^-`decimals` (at most 6). By integers: writing a double by
 * its shortest form takes several times as long.
 */
export function formatScaled(units: number, decimals: number): Decimal {
  const scale = POWERS_OF_TEN[decimals] as number;
  const whole = Math.floor(units / scale);
  let fraction = units - whole * scale;
  if (fraction === 0) return String(whole);
  let places = decimals;
  for (; fraction % 10 === 0; places -= 1) fraction /= 10;
  return `${whole}.${String(fraction).padStart(places, "0")}`;
}

/**
 * The micro-dollars of a level read as a JSON number. Exact: a level has at most 15 digits, which a
 * double keeps, and the rounding finds the very integer.
 */
export const microsOf = (usd: number): Micros => Math.round(usd * MICROS_PER_UNIT);

/**
 * Reads a plain decimal (`12`, `12.5`; no sign, no exponent, at most 6 decimals) into micro-units.
 * Null for anything else, or where it is above `maxUnits`. By characters: this is done for every
 * level of every input, and a regular expression takes several times as long.
 */
export function parseMicros(text: string, maxUnits: number): Micros | null {
  const { length } = text;
  let whole = 0;
  let at = 0;
  let digit = digitAt(text, at);
  for (; digit >= 0; digit = digitAt(text, (at += 1))) whole = whole * 10 + digit;
  if (at === 0 || at > MAX_WHOLE_DIGITS) return null;
  let micros = whole * MICROS_PER_UNIT;
  if (at < length) {
    const decimals = length - at - 1;
    if (text[at] !== "." || decimals === 0 || decimals > MICRO_DECIMALS) return null;
    let fraction = 0;
    for (at += 1; at < length; at += 1) {
      digit = digitAt(text, at);
      if (digit < 0) return null;
      fraction = fraction * 10 + digit;
    }
    micros += fraction * (POWERS_OF_TEN[MICRO_DECIMALS - decimals] as number);
  }
  return micros <= maxUnits * MICROS_PER_UNIT ? micros : null;
}

/** The ASCII digit there, 0 to 9; below 0 where there is none. */
function digitAt(text: string, at: number): number {
  const digit = text.charCodeAt(at) - 48;
  return digit >= 0 && digit <= 9 ? digit : -1;
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

/** The fraction as it is given, not reduced. `denominator` must be above 0. */
export const ratio = (numerator: bigint, denominator: bigint): Ratio => ({
  numerator,
  denominator,
});

/**
 * The exact sum, added pairwise so that the operands stay of equal size: with thousands of
 * different denominators the running sum would otherwise be as long as all of them at every step.
 */
export function sumRatios(terms: readonly Ratio[]): Ratio {
  if (terms.length === 0) return ratio(0n, 1n);
  if (terms.length === 1) return terms[0] as Ratio;
  const half = terms.length >> 1;
  const left = sumRatios(terms.slice(0, half));
  const right = sumRatios(terms.slice(half));
  if (left.denominator === right.denominator) {
    return ratio(left.numerator + right.numerator, left.denominator);
  }
  return ratio(
    left.numerator * right.denominator + right.numerator * left.denominator,
    left.denominator * right.denominator,
  );
}
