/** Published closes that are no longer the values as known now: corrections came after them. */
import { closeOn, closeText, firstCloseDay, roundedUnits } from "./chained.ts";
import type { Decimal } from "./decimal.ts";
import type { IndexSeries, SeriesByIndex } from "./published-series.ts";
import type { Day } from "./session.ts";

export interface DifferingCloses {
  /** The id of the index. */
  readonly index: string;
  /** The first such day. */
  readonly from: Day;
  /** The largest difference of a value from its close, in percent of the close. */
  readonly largestPct: number;
  /** The last day of the series, its close, and its value as known now. */
  readonly last: Day;
  readonly close: Decimal;
  readonly value: Decimal;
}

/** The indices that have such closes. */
export const differingCloses = (series: SeriesByIndex): DifferingCloses[] =>
  [...series].flatMap(([id, each]) => differingClosesOf(id, each) ?? []);

/** The differing closes of one index; null: it has none. */
export function differingClosesOf(
  index: string,
  { chained, values }: Pick<IndexSeries, "chained" | "values">,
): DifferingCloses | null {
  if (chained === null || values === null) return null;
  const { last } = chained;
  let from: Day | null = null;
  let largestPct = 0;
  for (let day = Math.max(values.from, firstCloseDay(chained)); day <= last; day += 1) {
    const published = closeOn(chained, day)?.value;
    const now = values.at(day);
    if (published === undefined || roundedUnits(published) === roundedUnits(now)) continue;
    from ??= day;
    const pct = (now / published - 1) * 100;
    if (Math.abs(pct) > Math.abs(largestPct)) largestPct = pct;
  }
  if (from === null) return null;
  const close = closeText(closeOn(chained, last)?.value ?? values.at(last));
  const value = closeText(values.at(last));
  return { index, from, largestPct: Number(largestPct.toPrecision(4)), last, close, value };
}
