/** The gate on index series: a day's move, and what corrections make of the last published day. */
import { formatMicros, type Decimal } from "../market/decimal.ts";
import { closeText, type ChainedSeries, type Days } from "../market/chained.ts";
import { eachRelative, type IndexValues } from "../market/members.ts";
import { stayingDays } from "../market/published-series.ts";
import type { Series } from "../market/series.ts";
import { dateText, type Day } from "../market/session.ts";
import type { GateFinding, GateInput, GateLimits } from "./finding.ts";

/** In percent: a larger change of a published day's value is refused. */
const MAX_CORRECTION_PCT = 1;
/** Values have an error of a few 10⁻¹⁶ for each day. */
const ERROR_OF_VALUES = 2 ** -42;
const NAMES_SHOWN = 3;

/**
 * For each index that the head has: days that the run calculates other than by a restatement, with two or more
 * members, on which the value moves by more than the limit. And the value of the head's last day, if it is
 * another one now.
 */
export function seriesMovesAbove(
  { after, series, head, kind }: GateInput,
  { maxIndexMoveMicros }: GateLimits,
): GateFinding[] {
  const limitPct = Number(formatMicros(maxIndexMoveMicros));
  const seriesOf = (id: string) => after.get(id);
  const found: GateFinding[] = [];
  for (const [index, { chained, values }] of series) {
    const before = head?.series.get(index)?.chained ?? null;
    if (before === null || chained === null || values === null) continue;
    const stays = stayingDays(before, kind);
    const days = movesOf(chained, values, stays, limitPct);
    const moversOn = moversOf(chained, values, days, seriesOf);
    for (const day of days) {
      const percent = changeText(values.at(day) / values.at(day - 1));
      found.push({
        contract: null,
        index,
        measured: Number(percent),
        limit: limitPct,
        text:
          `${index} moves by ${percent} percent on ${dateText(day)}, ` +
          `from ${closeText(values.at(day - 1))} to ${closeText(values.at(day))}, most by ${moversOn(day)}, ` +
          `expected at most ${limitPct}`,
      });
    }
    const { last, value } = before;
    if (last < values.from || last > values.last) continue;
    const now = values.at(last);
    if (!exceeds(now / value, MAX_CORRECTION_PCT)) continue;
    const percent = changeText(now / value);
    found.push({
      contract: null,
      index,
      measured: Number(percent),
      limit: MAX_CORRECTION_PCT,
      text:
        `${index} on ${dateText(last)} was ${closeText(value)} as known before this run, and is ${closeText(now)} with it: ` +
        `${percent} percent, expected at most ${MAX_CORRECTION_PCT}`,
    });
  }
  return found;
}

/** The days outside of `stays` on which the value of two or more contracts moves by more than the limit. */
function movesOf(
  { members, base, closes, last }: ChainedSeries,
  values: IndexValues,
  stays: Days | null,
  limitPct: number,
): Day[] {
  const membersOn = (day: Day) =>
    members.values().filter((terms) => terms.some(({ from, to }) => from <= day && day <= to));
  const days: Day[] = [];
  for (let day = Math.max(base, values.from, last - closes.length) + 1; day <= last; day += 1) {
    if (stays !== null && stays.from <= day && day <= stays.to) continue;
    if (!exceeds(values.at(day) / values.at(day - 1), limitPct)) continue;
    if (membersOn(day).take(2).toArray().length === 2) days.push(day);
  }
  return days;
}

/** Of each of the days: the contracts whose relatives move the index most, with their moves. */
function moversOf(
  chained: ChainedSeries,
  values: IndexValues,
  days: readonly Day[],
  seriesOf: (id: string) => Series | undefined,
): (day: Day) => string {
  const movers = new Map(days.map((day) => [day, [] as { id: string; log: number }[]]));
  for (const id of days.length === 0 ? [] : chained.members.keys()) {
    eachRelative(id, chained, seriesOf(id), (day, log, anchor) => {
      movers.get(day)?.push({ id, log: log - values.logBetween(anchor.day, day - 1) });
    });
  }
  return (day) =>
    (movers.get(day) ?? [])
      .sort((a, b) => Math.abs(b.log) - Math.abs(a.log))
      .slice(0, NAMES_SHOWN)
      .map(({ id, log }) => `${id} (${changeText(Math.exp(log))} percent)`)
      .join(", ");
}

const exceeds = (relative: number, limitPct: number): boolean =>
  Math.abs(relative - 1) > limitPct / 100 + relative * ERROR_OF_VALUES;

/** A relative as a change in percent. */
const changeText = (relative: number): Decimal => String(Number(((relative - 1) * 100).toFixed(2)));
