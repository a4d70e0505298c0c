/**
 * The changes of an index's series from close to close over the ranges of RANGES, and what each contract contributed.
 *
 * The logarithm of a ratio of values is a sum over days and contracts. The logarithmic mean of two closes turns its
 * parts into index points, which then add up to the change: closes that are not known as they were published leave a
 * rest, the points of corrections (M. B. Reinsdorf, W. E. Diewert and C. Ehemann, Additive decompositions for Fisher,
 * Törnqvist and geometric mean indexes, 2002).
 */
import { closeOn, lastCloseDay, roundedUnits, type ChainedSeries } from "./chained.ts";
import { changePct, HORIZONS, RANGES } from "./change.ts";
import type { Decimal } from "./decimal.ts";
import { logRatio } from "./logarithm.ts";
import { eachRelative, idsIn, type IndexValues } from "./members.ts";
import type { Series } from "./series.ts";
import { closeSessionOf, dayOf, type Day } from "./session.ts";
import { historyFloor } from "./tier.ts";
import type { TierView } from "./view.ts";

export type Range = (typeof RANGES)[number];

/** Points, in whole units of 0.0001. */
type PointUnits = number;

/** The change of a series over a range. */
export interface SeriesChange {
  readonly range: Range;
  /** The day of the close that the last close is compared with. */
  readonly date: Day;
  /** Null before the base, and beyond the depth of the tier. In whole units of 0.0001. */
  readonly closeUnits: number | null;
  /** Percent, two decimals; null with the close. */
  readonly changePct: Decimal | null;
  /** Of each contract that has a relative in the range; null with the close, and before a link. */
  readonly contributions: readonly (readonly [id: string, PointUnits])[] | null;
  /** The rest of the change; null with the contributions. */
  readonly correctionUnits: PointUnits | null;
}

/** The changes up to the last close that the view's tier sees; none if there is no close. */
export function seriesChanges(
  { tier, session }: TierView,
  series: ChainedSeries | null,
  values: IndexValues | null,
  seriesOf: (id: string) => Series | undefined,
): SeriesChange[] {
  if (series === null) return [];
  const to = Math.min(series.last, lastCloseDay(session));
  const last = closeOn(series, to);
  if (last === undefined) return [];
  const now = roundedUnits(last.value);
  const floor = historyFloor(tier, session) ?? Infinity;
  const starts = RANGES.map((range) => {
    const date = dayOf(HORIZONS[range](closeSessionOf(to)));
    const close = date > floor && date >= series.base ? closeOn(series, date) : undefined;
    return { range, date, units: close && roundedUnits(close.value) };
  });
  const isCompared = ({ date, units }: (typeof starts)[number]): boolean =>
    values !== null && date >= values.from && units !== undefined;
  const shares =
    values === null
      ? new Map<Day, ReadonlyMap<string, number>>()
      : sharesSince(starts.filter(isCompared), to, series, values, seriesOf);
  return starts.map((start): SeriesChange => {
    const { range, date, units } = start;
    if (units === undefined) {
      const none = { closeUnits: null, changePct: null, contributions: null };
      return { range, date, ...none, correctionUnits: null };
    }
    const compared = {
      range,
      date,
      closeUnits: units,
      changePct: units > 0 ? changePct(now, units) : null,
    };
    const parts = shares.get(date);
    if (parts === undefined) return { ...compared, contributions: null, correctionUnits: null };
    const mean = logarithmicMean(now, units);
    const points = [...parts].map(([id, share]) => [id, mean * share] as const);
    const rest = points.reduce((left, [, each]) => left - each, now - units);
    return {
      ...compared,
      contributions: points.map(([id, each]) => [id, halfUp(each)]),
      correctionUnits: halfUp(rest),
    };
  });
}

/**
 * By the first day of each range, and by contract: the sum of its relatives' logarithms, each divided by the number of
 * relatives of its day.
 */
function sharesSince(
  starts: readonly { readonly date: Day }[],
  to: Day,
  history: ChainedSeries,
  values: IndexValues,
  seriesOf: (id: string) => Series | undefined,
): Map<Day, Map<string, number>> {
  const shares = new Map(starts.map(({ date }) => [date, new Map<string, number>()]));
  const first = Math.min(...shares.keys());
  for (const id of idsIn(history)) {
    eachRelative(id, history, seriesOf(id), (day, log, anchor) => {
      if (day <= first || day > to) return;
      const whileAway = values.logBetween(anchor.day, day - 1);
      const share = (log - whileAway) / (values.counts[day - values.from] as number);
      for (const [date, sums] of shares) {
        if (day > date) sums.set(id, (sums.get(id) ?? 0) + share);
      }
    });
  }
  return shares;
}

/** (a − b) / ln(a / b), which lies between the two; both are whole numbers from 0 up. */
const logarithmicMean = (a: number, b: number): number =>
  a === b ? a : a === 0 || b === 0 ? 0 : (a - b) / logRatio(a, b);

/** To a whole number, never -0. */
const halfUp = (units: number): PointUnits => Math.round(units) + 0;
