/**
 * The indices of a market from the raw rows of the input, by plain loops: what their contracts cost a year
 * ago and now, and their continuous series with roots of big integers.
 */
import { ONE, over, times, type Fraction } from "./naive-fraction.ts";
import { DAY, HOUR, iso, levelsOf, usdOf, type RawMarket, type RawTier } from "./naive-levels.ts";
import { isWithinDepth, naiveIndex, type NaiveIndex } from "./naive-market.ts";

/** One unit of a close. */
export const SCALE = 10n ** 30n;

/** A point of a series, its close in units of 1 / SCALE. */
export interface NaivePoint {
  readonly date: string;
  readonly close: bigint;
}

export interface NaiveSegmentIndex {
  readonly id: string;
  readonly name: string;
  readonly index: NaiveIndex;
  /** The first day of the whole series; null: no day. */
  readonly base: string | null;
  /** As deep as the tier. */
  readonly history: readonly NaivePoint[];
}

/** The indices of a tier in the snapshot of `headUtc`, in their order. */
export function naiveIndices(raw: RawMarket, headUtc: string, tier: RawTier): NaiveSegmentIndex[] {
  const at = Date.parse(headUtc) - (tier === "pro" ? 0 : 12 * HOUR);
  const onBoard = (board: string) => raw.contracts.filter((contract) => contract.board === board);
  const ordered = [...onBoard("memory"), ...onBoard("semiconductor")];
  const names = ["composite", ...new Set(ordered.map(({ segment }) => segment))];
  return names.map((name, place) => {
    const contracts = place === 0 ? ordered : ordered.filter(({ segment }) => segment === name);
    const part = { ...raw, contracts };
    const series = naiveSeries(part, at);
    return {
      id: name.toLowerCase().replaceAll(/[^a-z0-9]/g, "-"),
      name,
      index: naiveIndex(part, iso(at), null),
      base: series[0]?.date ?? null,
      history: series.filter(({ date }) => isWithinDepth(date, iso(at), tier)),
    };
  });
}

/** Every point of the continuous series of all contracts of the market, up to the instant. */
export function naiveSeries(raw: RawMarket, at: number): NaivePoint[] {
  const contracts = raw.contracts.map((contract) => ({
    contract,
    levels: levelsOf(raw, contract.id, at),
    limit: (contract.max_carry_days ?? raw.max_carry_days) * DAY,
  }));
  const firsts = contracts.flatMap(({ levels }) => levels[0]?.at ?? []);
  if (firsts.length === 0) return [];
  const start = Date.parse(iso(firsts.reduce((a, b) => Math.min(a, b))).slice(0, 10)) + DAY / 2;

  const points: NaivePoint[] = [];
  /** Of each contract, how many levels are given by the noon. */
  const counts = contracts.map(() => 0);
  /** Of each contract, how many levels were given when one was used last; 0: none is kept. */
  const used = contracts.map(() => 0);
  for (let noon = start; noon <= at; noon += DAY) {
    const date = iso(noon).slice(0, 10);
    let product = ONE;
    let count = 0;
    let isAnyInForce = false;
    for (const [place, { contract, levels, limit }] of contracts.entries()) {
      let given = counts[place] as number;
      while ((levels[given]?.at ?? Infinity) <= noon) given += 1;
      counts[place] = given;
      const level = levels[given - 1];
      const isDelisted = contract.delisted_on !== null && date >= contract.delisted_on;
      const isBroken = levels.slice(used[place], given).some(({ row }) => row.break !== null);
      if (isDelisted || isBroken) used[place] = 0;
      if (level === undefined || isDelisted || noon - level.at > limit) continue;
      isAnyInForce = true;
      const then = levels[(used[place] as number) - 1];
      if (then !== undefined) {
        count += 1;
        product = times(product, over(usdOf(level), usdOf(then)));
      }
      used[place] = given;
    }
    const last = points.at(-1);
    if (last !== undefined) {
      points.push({ date, close: count === 0 ? last.close : moved(last.close, product, count) });
    } else if (isAnyInForce) {
      points.push({ date, close: 100n * SCALE });
    }
  }
  return points;
}

/** The close moved by the root of that degree of the product, rounded to 4 decimals, half up. */
function moved(close: bigint, { over: top, under }: Fraction, degree: number): bigint {
  if (top === under) return close;
  const n = BigInt(degree);
  const value = (top * SCALE ** n) / under;
  // Newton's method, from above: twice the root in floating point.
  const estimate = Math.exp((lnOf(top) - lnOf(under)) / degree);
  let root = (BigInt(Math.ceil(estimate * 1e15)) * 2n * SCALE) / 10n ** 15n;
  for (;;) {
    const next = ((n - 1n) * root + value / root ** (n - 1n)) / n;
    // Roots are cut off: a value within this error below the middle counts as the middle.
    if (next >= root) return rounded((close * root) / SCALE + SCALE / 10n ** 18n);
    root = next;
  }
}

function rounded(close: bigint): bigint {
  const unit = SCALE / 10_000n;
  return ((close + unit / 2n) / unit) * unit;
}

/** The logarithm of a big integer, to the digits of a double. */
function lnOf(value: bigint): number {
  const digits = value.toString();
  return Math.log(Number(`0.${digits.slice(0, 17)}`)) + digits.length * Math.LN10;
}
