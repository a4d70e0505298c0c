/**
 * The indices of a market from the raw rows of the input, by plain loops: what their contracts cost a year
 * ago and now, and the values of their continuous series.
 */
import { DAY, HOUR, iso, levelsOf, type RawMarket, type RawTier } from "./naive-levels.ts";
import { isWithinDepth, naiveIndex, type NaiveIndex } from "./naive-market.ts";

/** A point of a series, before its value is rounded. */
export interface NaivePoint {
  readonly date: string;
  readonly value: number;
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

/**
 * Every point of the continuous series of all contracts of the market, up to the instant. A contract's relative
 * compares with the last noon on which it was in force, and is divided by the factors of the days in between.
 */
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
  /** Of each contract, the noon on which it was in force last, and how many levels were given by then. */
  const anchors = contracts.map((): { noon: number; given: number } | null => null);
  /** The factors of the noons so far. */
  const factors = new Map<number, number>();
  for (let noon = start; noon <= at; noon += DAY) {
    const date = iso(noon).slice(0, 10);
    const logs: number[] = [];
    let isAnyInForce = false;
    for (const [place, { contract, levels, limit }] of contracts.entries()) {
      let given = counts[place] as number;
      while ((levels[given]?.at ?? Infinity) <= noon) given += 1;
      counts[place] = given;
      const level = levels[given - 1];
      const isDelisted = contract.delisted_on !== null && date >= contract.delisted_on;
      if (level === undefined || isDelisted || noon - level.at > limit) continue;
      isAnyInForce = true;
      const anchor = anchors[place] as { noon: number; given: number } | null;
      anchors[place] = { noon, given };
      if (anchor === null) continue;
      if (levels.slice(anchor.given, given).some(({ row }) => row.break !== null)) continue;
      const then = levels[anchor.given - 1] as (typeof levels)[number];
      let log = Math.log(Number(level.row.spot_usd)) - Math.log(Number(then.row.spot_usd));
      for (let away = anchor.noon + DAY; away < noon; away += DAY) {
        log -= Math.log(factors.get(away) as number);
      }
      logs.push(log);
    }
    const mean = logs.length === 0 ? 0 : logs.reduce((sum, log) => sum + log, 0) / logs.length;
    factors.set(noon, Math.exp(mean));
    const before = points.at(-1);
    if (before !== undefined) points.push({ date, value: before.value * Math.exp(mean) });
    else if (isAnyInForce) points.push({ date, value: 100 });
  }
  return points;
}
