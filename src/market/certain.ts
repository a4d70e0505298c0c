/**
 * Rounding in double precision, where it is certain to be right. Exact fractions of many
 * constituents are long; nearly always a double with a bound on its error tells already which
 * decimal is nearest. Where it does not, the exact way decides.
 */
import { formatScaled, type Decimal } from "./decimal.ts";

/** What one operation on doubles may be wrong by, relative to its result (IEEE 754). */
const UNIT_ROUNDOFF = 2 ** -53;
/** Above this a scaled value leaves too few bits behind the point. */
const SCALED_MAX = 2 ** 46;

/**
 * Bounds the error of a sum of `terms` products and quotients of a few factors each, relative to
 * the sum of the terms' magnitudes: one rounding for each addition and, generously, 32 for the rest.
 */
export const errorBoundOf = (terms: number): number => (terms + 32) * UNIT_ROUNDOFF;

/**
 * `value` rounded half away from zero to `decimals` places (at most 6), given that the exact value
 * lies within `error` of it. Null where that leaves more than one answer.
 */
export function roundCertain(value: number, error: number, decimals: number): Decimal | null {
  const scale = 10 ** decimals;
  const scaled = Math.abs(value) * scale;
  const slack = error * scale + scaled * UNIT_ROUNDOFF;
  // Also false for what is no number.
  if (!(scaled < SCALED_MAX)) return null;
  const floor = Math.floor(scaled);
  const fraction = scaled - floor;
  if (!(Math.abs(fraction - 0.5) > slack)) return null;
  const rounded = fraction > 0.5 ? floor + 1 : floor;
  if (rounded === 0) return slack < 0.5 ? "0" : null;
  return value < 0 ? `-${formatScaled(rounded, decimals)}` : formatScaled(rounded, decimals);
}
