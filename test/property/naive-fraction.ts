/** Fractions of big integers, for the naive calculation. */

/** A fraction; the denominator is positive. */
export interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}

export const ZERO: Fraction = { over: 0n, under: 1n };
export const ONE: Fraction = { over: 1n, under: 1n };
export const HUNDRED: Fraction = { over: 100n, under: 1n };

/** The fraction of a plain decimal's text. */
export function fractionOf(text: string): Fraction {
  const [whole = "", decimals = ""] = text.split(".");
  return { over: BigInt(whole + decimals), under: 10n ** BigInt(decimals.length) };
}

export const plus = (a: Fraction, b: Fraction): Fraction =>
  reduced(a.over * b.under + b.over * a.under, a.under * b.under);
export const minus = (a: Fraction, b: Fraction): Fraction =>
  reduced(a.over * b.under - b.over * a.under, a.under * b.under);
export const times = (a: Fraction, b: Fraction): Fraction =>
  reduced(a.over * b.over, a.under * b.under);
/** `b` is positive. */
export const over = (a: Fraction, b: Fraction): Fraction =>
  reduced(a.over * b.under, a.under * b.over);

export const isLess = (a: Fraction, b: Fraction): boolean => a.over * b.under < b.over * a.under;

function reduced(top: bigint, bottom: bigint): Fraction {
  let [a, b] = [top < 0n ? -top : top, bottom];
  while (b !== 0n) [a, b] = [b, a % b];
  return { over: top / a, under: bottom / a };
}

/** (now / then − 1) × 100, two decimals. */
export const percentChange = (now: Fraction, then: Fraction): string =>
  rounded(times(HUNDRED, minus(over(now, then), ONE)), 2);

/** Rounds half away from zero. Returns `#` and the shortest text of the result. */
export function rounded({ over: top, under }: Fraction, decimals: number): string {
  const scaled = (top < 0n ? -top : top) * 10n ** BigInt(decimals);
  let units = scaled / under;
  if ((scaled % under) * 2n >= under) units += 1n;
  const digits = units.toString().padStart(decimals + 1, "0");
  const point = digits.length - decimals;
  const text = `${digits.slice(0, point)}.${digits.slice(point)}`.replace(/\.?0+$/, "");
  return `#${top < 0n && units !== 0n ? "-" : ""}${text}`;
}
