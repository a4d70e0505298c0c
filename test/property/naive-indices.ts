/**
 * The indices of a market from the raw rows of the input, by plain loops: what their contracts cost a year
 * ago and now, and their continuous series with roots of big integers.
 */
import { ONE, over, times, type Fraction } from "./naive-fraction.ts";
import {
  DAY,
  HOUR,
  iso,
  levelsOf,
  usdOf,
  type Level,
  type RawMarket,
  type RawTier,
} from "./naive-levels.ts";
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
  /** How many levels of each contract were given by the noon before; 0: none in force then. */
  let before = contracts.map(() => 0);
  for (let noon = start; noon <= at; noon += DAY) {
    const date = iso(noon).slice(0, 10);
    let product = ONE;
    let count = 0;
    const now = contracts.map(({ contract, levels, limit }, place) => {
      const then = before[place] as number;
      let given = then;
      while (given < levels.length && (levels[given] as Level).at <= noon) given += 1;
      const level = levels[given - 1];
      if (level === undefined || noon - level.at > limit) return 0;
      if (contract.delisted_on !== null && date >= contract.delisted_on) return 0;
      const isBroken = levels.slice(then, given).some(({ row }) => row.break !== null);
      if (then > 0 && !isBroken) {
        count += 1;
        if (given > then)
          product = times(product, over(usdOf(level), usdOf(levels[then - 1] as Level)));
      }
      return given;
    });
    const last = points.at(-1);
    if (last !== undefined) {
      points.push({ date, close: count === 0 ? last.close : moved(last.close, product, count) });
    } else if (now.some((given) => given > 0)) {
      points.push({ date, close: 100n * SCALE });
    }
    before = now;
  }
  return points;
}

/** The close moved by the root of that degree of the product. */
function moved(close: bigint, { over: top, under }: Fraction, degree: number): bigint {
  if (top === under) return close;
  const n = BigInt(degree);
  const value = (top * SCALE ** n) / under;
  // Newton's method, from above: twice the root in floating point.
  const estimate = Math.exp((lnOf(top) - lnOf(under)) / degree);
  let root = (BigInt(Math.ceil(estimate * 1e15)) * 2n * SCALE) / 10n ** 15n;
  for (;;) {
    const next = ((n - 1n) * root + value / root ** (n - 1n)) / n;
    if (next >= root) return (close * root) / SCALE;
    root = next;
  }
}

/** The logarithm of a big integer, to the digits of a double. */
function lnOf(value: bigint): number {
  const digits = value.toString();
  return Math.log(Number(`0.${digits.slice(0, 17)}`)) + digits.length * Math.LN10;
}
