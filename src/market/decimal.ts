/**
 * Exact decimals. A level is a whole number of micro-dollars (10⁻⁶ USD), at most 10¹⁵, so a
 * JavaScript number holds it exactly. Everything derived is a ratio of integers (bigint), rounded
 * once, half away from zero, and carried from then on as its shortest decimal text: no exponent,
 * no trailing zero, never `-0`.
 */
export type Micros = number;
export type Decimal = string;

/** An exact fraction; the denominator is above 0. */
export interface Ratio {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

const MICRO_DECIMALS = 6;

/**
 * `12.5` for 12,500,000 micro-units. A quotient of at most 15 significant digits is the double
 * nearest to that decimal, so its shortest form is the decimal itself; from 10⁻⁶ on, without
 * exponent.
 */
export const formatMicros = (micros: Micros): Decimal => String(micros / 1e6);

const PLAIN_DECIMAL = /^(\d{1,10})(?:\.(\d{1,6}))?$/;

/**
 * Reads a plain decimal (`12`, `12.5`; no sign, no exponent, at most 6 decimals) into micro-units.
 * Null for anything else, or where it is above `maxUnits`.
 */
export function parseMicros(text: string, maxUnits: number): Micros | null {
  const parts = PLAIN_DECIMAL.exec(text);
  if (parts === null) return null;
  const micros = Number(parts[1]) * 1e6 + Number((parts[2] ?? "").padEnd(MICRO_DECIMALS, "0"));
  return micros <= maxUnits * 1e6 ? micros : null;
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
