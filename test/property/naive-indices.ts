/**
 * The indices of a market from the raw rows of the input, by plain loops: what their contracts cost a year
 * ago and now, and the moves of their continuous series as fractions.
 */
import { ONE, over, times, type Fraction } from "./naive-fraction.ts";
import { DAY, HOUR, iso, levelsOf, usdOf, type RawMarket, type RawTier } from "./naive-levels.ts";
import { isWithinDepth, naiveIndex, type NaiveIndex } from "./naive-market.ts";

/** A point of a series, by what happened since the point before it. */
export interface NaivePoint {
  readonly date: string;
  /** The close is the one before it × the root of degree `count` of `product`; null: the base, a close of 100. */
  readonly move: { readonly product: Fraction; readonly count: number } | null;
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
    if (points.length > 0) points.push({ date, move: { product, count } });
    else if (isAnyInForce) points.push({ date, move: null });
  }
  return points;
}
