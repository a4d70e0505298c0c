/** The indices of a market from the raw rows of the input: what their contracts cost a year ago and now, and their series. */
import { DAY, HOUR, iso, type RawMarket, type RawTier } from "./naive-levels.ts";
import { isWithinDepth, naiveIndex, type NaiveIndex } from "./naive-market.ts";
import { closeText, publishedSeries, type SeriesContract, type SeriesRun } from "./naive-series.ts";
import { indexOf } from "./raw-markets.ts";

/** A point of a series, with its close before it is rounded. */
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
    const series = naiveSeries(part, Date.parse(headUtc)).filter(({ date }) => noonOf(date) <= at);
    return {
      id: name.toLowerCase().replaceAll(/[^a-z0-9]/g, "-"),
      name,
      index: naiveIndex(part, iso(at), null),
      base: series[0]?.date ?? null,
      history: series.filter(({ date }) => isWithinDepth(date, iso(at), tier)),
    };
  });
}

const noonOf = (date: string): number => Date.parse(date) + DAY / 2;

/** Every point of the series of all contracts of the market, as a store's first publication has it at the instant. */
export function naiveSeries(raw: RawMarket, at: number): NaivePoint[] {
  const contracts = raw.contracts.map(({ id, delisted_on, max_carry_days }): SeriesContract => ({
    id,
    index: "segment",
    delistedDay: delisted_on === null ? null : Date.parse(delisted_on) / DAY,
    limitDays: max_carry_days ?? raw.max_carry_days,
  }));
  const levels = raw.levels.map((row) => ({
    id: row.id,
    session: indexOf(row.session_utc),
    usd: row.spot_usd,
    isBreak: row.break !== null,
  }));
  const ascending = levels.toSorted((a, b) => a.session - b.session);
  const run: SeriesRun = {
    number: 1,
    session: indexOf(iso(at)),
    contracts,
    ledger: Map.groupBy(ascending, ({ id }) => id),
    calculates: true,
    restates: null,
  };
  const series = publishedSeries(new Map(), false, run, (_index, _day, value) => closeText(value));
  return [...(series.get("composite")?.closes ?? [])].map(([day, { value }]) => ({
    date: iso(day * DAY).slice(0, 10),
    value,
  }));
}
