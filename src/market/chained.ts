/**
 * The continuous series of an index, `jevons-chained`. From day to day it moves by the geometric mean of
 * the price relatives of its contracts (a Jevons index, chained; ILO, Consumer Price Index Manual 2020,
 * chapters 8 and 9). Its base does not roll, so its closes of all days compare.
 *
 * A close is calculated from the close before it, as published, and from the level that each contract was used
 * with last. A contract that was not in force for some days therefore brings its whole move when it returns,
 * and a corrected level corrects the series at its next step (the manual calls such an imputation
 * self-correcting). Levels that come later for past days change no close.
 *
 * It is computed with doubles. If n contracts move by |m| in a day, the mean of their logarithms has an error
 * of at most n · |m| · 10⁻¹⁶, and the exponential function one of a few 10⁻¹⁶. A step is right within 0.0001
 * for closes up to 10⁷.
 */
import { carryLimitSessions, isDelisted, type Contract } from "./contract.ts";
import { ratio, roundRatio, type Decimal, type Micros } from "./decimal.ts";
import { INDEX_BASE_LEVEL } from "./composite.ts";
import type { MarketIndex } from "./indices.ts";
import { exponential, logRatio } from "./logarithm.ts";
import { countUntil, type Series } from "./series.ts";
import { closeSessionOf, dayOf, type Day, type Session } from "./session.ts";
import { FULLEST, historyFloor } from "./tier.ts";
import type { Market, TierView } from "./view.ts";

/** The name of the method, as it is published. */
export const CHAINED_METHOD = "jevons-chained";

const DECIMALS = 4;
const PER_POINT = 10 ** DECIMALS;
/** With a break after each rise, a series can rise without end. A higher close is cut to this. */
const MAX_CLOSE = 1e300;

/** A level that a series has used, and the session that it was given for. */
export interface UsedLevel {
  readonly session: Session;
  readonly usd: Micros;
}

/** By contract, the level that the series used last. */
export type UsedLevels = ReadonlyMap<string, UsedLevel>;

/** What a series goes on from. */
export interface SeriesState {
  /** The day of the last close. */
  readonly last: Day;
  /** The last close, in units of 0.0001. */
  readonly close: number;
  readonly used: UsedLevels;
}

/** A series, and its state after the last close. */
export interface ChainedSeries extends SeriesState {
  /** The first day with a contract in force at 12:00. Its close is 100. */
  readonly base: Day;
  /** One for each day up to `last`, in units of 0.0001: those that the tier with the longest history shows. */
  readonly closes: Float64Array;
}

/** A point of a series. */
export interface IndexClose {
  readonly date: Day;
  readonly close: Decimal;
}

/** The day of the last 12:00 session up to `session`. */
export const lastCloseDay = (session: Session): Day => dayOf(session - 1);

const firstCloseDay = ({ last, closes }: ChainedSeries): Day => last + 1 - closes.length;

/**
 * The series of `index` up to the day `last`, with the closes that a payload of `head` can show. It goes on
 * from `before`, or begins at the base; null while none of its contracts was in force at 12:00.
 */
export function stepSeries(
  market: Market,
  index: MarketIndex,
  before: ChainedSeries | null,
  last: Day,
  head: Session,
): ChainedSeries | null {
  const members = index.contracts.flatMap((contract): Member[] => {
    const series = market.seriesOf(contract.id);
    const limitSessions = carryLimitSessions(contract, market.maxCarryDays);
    return series === undefined ? [] : [{ contract, series, limitSessions }];
  });
  const from =
    before === null
      ? members.reduce((day, { series }) => Math.min(day, firstDayOf(series)), last + 1)
      : before.last + 1;
  const length = last + 1 - from;
  const moves = { from, last, logs: new Float64Array(length), counts: new Uint32Array(length) };
  const used = new Map<string, UsedLevel>();
  let base = before?.base ?? last + 1;
  for (const member of members) {
    const { id } = member.contract;
    const added = addMoves(moves, member, before?.used.get(id) ?? null);
    base = Math.min(base, added.start);
    if (added.used !== null) used.set(id, added.used);
  }
  if (base > last) return null;
  const closes = chain(moves, base, before);
  const close = closes.at(-1) ?? (before as SeriesState).close;
  return withinDepth({ base, last, close, closes, used }, head);
}

/** The series with the closes that a payload of `head` can show. */
export function withinDepth<S extends ChainedSeries>(series: S, head: Session): S {
  const floor = historyFloor(FULLEST, head) ?? -Infinity;
  const tooOld = floor + 1 - firstCloseDay(series);
  return tooOld > 0 ? { ...series, closes: series.closes.slice(tooOld) } : series;
}

/** The series as it was when its last close had an earlier day. */
export function seriesUntil(series: ChainedSeries, state: SeriesState): ChainedSeries {
  const length = Math.max(0, state.last + 1 - firstCloseDay(series));
  return { ...state, base: series.base, closes: series.closes.subarray(0, length) };
}

/** Whether the series has the same base as `before`, and all of its closes that both have. */
export function keepsCloses(series: ChainedSeries, before: ChainedSeries): boolean {
  const from = Math.max(firstCloseDay(series), firstCloseDay(before));
  const closesOf = (each: ChainedSeries): Float64Array =>
    each.closes.subarray(from - firstCloseDay(each), before.last + 1 - firstCloseDay(each));
  const [ours, theirs] = [closesOf(series), closesOf(before)];
  return (
    series.base === before.base &&
    ours.length === theirs.length &&
    ours.every((close, at) => close === theirs[at])
  );
}

/** The closes that the view's tier sees: up to its session, as deep as its history. */
export function chainedCloses(
  { tier, session }: TierView,
  series: ChainedSeries | null,
): IndexClose[] {
  const floor = historyFloor(tier, session);
  if (series === null || floor === null) return [];
  const first = firstCloseDay(series);
  const from = Math.max(first, floor + 1);
  const to = Math.max(from, lastCloseDay(session) + 1);
  return Array.from(series.closes.subarray(from - first, to - first), (close, at) => ({
    date: from + at,
    close: decimalOf(close),
  }));
}

/** The text of a close in units of 0.0001. Up to 15 digits a double has it as formatMicros does. */
export const decimalOf = (close: number): Decimal =>
  close <= 1e15
    ? String(close / PER_POINT)
    : roundRatio(ratio(BigInt(close), BigInt(PER_POINT)), DECIMALS);

/** The close in units of 0.0001 of such a text. */
export function closeOf(text: Decimal): number {
  const [whole = "", fraction = ""] = text.split(".");
  return Number(`${whole}${fraction.padEnd(DECIMALS, "0")}`);
}

/** A contract with levels. */
interface Member {
  readonly contract: Contract;
  readonly series: Series;
  readonly limitSessions: number;
}

/** For each day in [from, last]: of the contracts that take part, the sum of ln p(d)/u, and how many. */
interface Moves {
  readonly from: Day;
  readonly last: Day;
  readonly logs: Float64Array;
  readonly counts: Uint32Array;
}

const firstDayOf = ({ levels }: Series): Day => dayOf(levels.at(0)?.session ?? Infinity);

/**
 * Adds the moves of a contract, the first one from the level that was used before. Returns the first day on which
 * the contract is in force at 12:00 (Infinity: none), and the level that is used last; null: none is kept.
 */
function addMoves(
  { from, last, logs, counts }: Moves,
  { contract, series, limitSessions }: Member,
  usedBefore: UsedLevel | null,
): { readonly start: Day; readonly used: UsedLevel | null } {
  const { levels } = series;
  let used = usedBefore;
  let start = Infinity;
  let given = countUntil(levels, closeSessionOf(from));
  let level = levels.at(given - 1);
  for (let day = Math.max(from, firstDayOf(series)); day <= last; day += 1) {
    const noon = closeSessionOf(day);
    // It is off the boards for good.
    if (isDelisted(contract, noon)) return { start, used: null };
    for (let next = levels.at(given); next !== undefined && next.session <= noon;) {
      level = next;
      next = levels.at((given += 1));
    }
    if (used !== null && series.hasBreakBetween(used.session, noon)) used = null;
    if (level === undefined || noon - level.session > limitSessions) continue;
    start = Math.min(start, day);
    if (used !== null) {
      (counts[day - from] as number) += 1;
      if (level.usd !== used.usd) (logs[day - from] as number) += logRatio(level.usd, used.usd);
    }
    used = level;
  }
  return { start, used };
}

/** The closes up to the last day of the moves: those before, or 100 on the day of the base, and on from there. */
function chain(
  { from, last, logs, counts }: Moves,
  base: Day,
  before: ChainedSeries | null,
): Float64Array {
  let at = before?.closes.length ?? 0;
  let close = before?.close ?? INDEX_BASE_LEVEL * PER_POINT;
  const closes = new Float64Array(at + last + 1 - Math.max(from, base));
  closes.set(before?.closes ?? []);
  for (let day = Math.max(from, base); day <= last; day += 1) {
    const log = logs[day - from] as number;
    if (log !== 0) close = rounded(close * exponential(log / (counts[day - from] as number)));
    closes[at] = close;
    at += 1;
  }
  return closes;
}

/**
 * The close in whole units of 0.0001, half up. A value that is as near below the middle as the error of the
 * computation counts as the middle: exact middles are common where an index has one contract.
 */
function rounded(close: number): number {
  const exact = Math.min(close, MAX_CLOSE * PER_POINT);
  return Math.round(exact + Math.min(exact * 2 ** -45, 0.001));
}
