/**
 * Logarithm and exponential function from the four basic operations, whose results IEEE 754 fixes to the
 * last bit. ECMAScript leaves the last bits of `Math.log` and `Math.exp` to the implementation: published bytes
 * would depend on the processor.
 */

/** (√2 − 1) / (√2 + 1) to the power of 25 is below 10⁻¹⁹: the terms left out do not count. */
const LAST_ODD_POWER = 23;
/** (ln √2)¹⁶ / 16! is below 10⁻²⁰. */
const LAST_POWER = 15;

/**
 * ln(now / then), with a relative error of a few 10⁻¹⁶; exactly 0 if the two are equal. Both are whole
 * numbers from 1 to 2⁵¹.
 */
export function logRatio(now: number, then: number): number {
  let a = now;
  let b = then;
  let doublings = 0;
  // Doubling is exact. Afterwards a / b is between 1/√2 and √2.
  for (; a > b * Math.SQRT2; b *= 2) doublings += 1;
  for (; b > a * Math.SQRT2; a *= 2) doublings -= 1;
  // ln(a / b) = 2 · (z + z³/3 + z⁵/5 + …). Sum and difference are exact, because both are below 2⁵³.
  const z = (a - b) / (a + b);
  let sum = 0;
  for (let power = LAST_ODD_POWER; power > 0; power -= 2) sum = sum * z * z + 1 / power;
  return doublings * Math.LN2 + 2 * z * sum;
}

/** e to the power of x, with a relative error of at most (2 + |x|) · 2.3 · 10⁻¹⁶. */
export function exponential(x: number): number {
  const doublings = Math.round(x / Math.LN2);
  const rest = x - doublings * Math.LN2;
  let result = 1;
  for (let power = LAST_POWER; power > 0; power -= 1) result = 1 + (result * rest) / power;
  for (let done = 0; done < doublings; done += 1) result *= 2;
  for (let done = 0; done > doublings; done -= 1) result /= 2;
  return result;
}
