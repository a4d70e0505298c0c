/**
 * The continuous series of an index, `jevons-chained`. From day to day it moves by the geometric mean of
 * the price relatives of its contracts (a Jevons index, chained; ILO, Consumer Price Index Manual 2020,
 * chapters 8 and 9). Its base never moves, so its closes are comparable for ever. It depends only on the
 * levels, not on the runs that brought them.
 *
 * It is computed with doubles. If n contracts move by |m| in a day, the mean of their logarithms has an error
 * of at most n · |m| · 10⁻¹⁶. The sum over the days is compensated (Neumaier): it adds the errors of its
 * days, and none of its own. So with 120 contracts that move by 2 % a day, a close after five years is at
 * most 5 · 10⁻¹³ of itself off (measured: 10⁻¹⁵), and closes up to 10⁷ are right within 0.0001.
 */
import { carryLimitSessions, type Contract } from "./contract.ts";
import { ratio, roundRatio, type Decimal } from "./decimal.ts";
import { INDEX_BASE_LEVEL } from "./composite.ts";
import type { MarketIndex } from "./indices.ts";
import { exponential, logRatio } from "./logarithm.ts";
import { Levels, type Level } from "./series.ts";
import { closeSessionOf, dayOf, type Day, type Session } from "./session.ts";
import { historyFloor } from "./tier.ts";
import type { Market, TierView } from "./view.ts";

/** The name of the method, as it is published. */
export const CHAINED_METHOD = "jevons-chained";

const DECIMALS = 4;
const PER_POINT = 10 ** DECIMALS;
/** With a break after each rise, a series can rise without end. A higher close is cut to this. */
const MAX_CLOSE = 1e300;

/** A series up to the session that it was made for. */
export interface ChainedSeries {
  /** The first day with a contract in force at 12:00. Its close is 100. */
  readonly base: Day;
  /** One for each day from the base on, in units of 0.0001. */
  readonly closes: Float64Array;
}

/** A point of a series. */
export interface IndexClose {
  readonly date: Day;
  readonly close: Decimal;
}

/** The day of the last 12:00 session up to `session`. */
const lastDayOf = (session: Session): Day => dayOf(session - 1);

/** The series up to `head`; null while none of its contracts was in force at a 12:00 session. */
export function chainedSeries(
  market: Market,
  index: MarketIndex,
  head: Session,
): ChainedSeries | null {
  const last = lastDayOf(head);
  const members = index.contracts.flatMap((contract): Member[] => {
    const levels = market.seriesOf(contract.id)?.levels ?? new Levels();
    const limitSessions = carryLimitSessions(contract, market.maxCarryDays);
    return levels.length === 0 ? [] : [{ contract, levels, limitSessions }];
  });
  const first = members.reduce((day, { levels }) => Math.min(day, firstDayOf(levels)), last + 1);
  const length = last + 1 - first;
  const moves = { first, logs: new Float64Array(length), counts: new Uint32Array(length) };
  let base = last + 1;
  for (const member of members) base = Math.min(base, addMoves(moves, member, last));
  return base > last ? null : { base, closes: chain(moves, base, last) };
}

/** The closes that the view's tier sees: up to its session, as deep as its history. */
export function chainedCloses(
  { tier, session }: TierView,
  series: ChainedSeries | null,
): IndexClose[] {
  const floor = historyFloor(tier, session);
  if (series === null || floor === null) return [];
  const { base, closes } = series;
  const from = Math.max(base, floor + 1);
  const to = Math.max(from, lastDayOf(session) + 1);
  return Array.from(closes.subarray(from - base, to - base), (close, at) => ({
    date: from + at,
    close: decimalOf(close),
  }));
}

/** The text of a close in units of 0.0001. Up to 15 digits a double has it as formatMicros does. */
const decimalOf = (close: number): Decimal =>
  close <= 1e15
    ? String(close / PER_POINT)
    : roundRatio(ratio(BigInt(close), BigInt(PER_POINT)), DECIMALS);

/** A contract with levels. */
interface Member {
  readonly contract: Contract;
  readonly levels: Levels;
  readonly limitSessions: number;
}

/** For each day from `first` on: of the contracts that count, the sum of ln p(d)/p(d − 1), and how many. */
interface Moves {
  readonly first: Day;
  readonly logs: Float64Array;
  readonly counts: Uint32Array;
}

const firstDayOf = (levels: Levels): Day => dayOf((levels.at(0) as Level).session);

/**
 * Adds a contract's moves up to the day `last`. Returns the first day on which it is in force at 12:00, or
 * a later one than `last`.
 */
function addMoves(
  { first, logs, counts }: Moves,
  { contract, levels, limitSessions }: Member,
  last: Day,
): Day {
  const end = Math.min(last + 1, contract.delistedOn ?? last + 1);
  let start = last + 1;
  let level = levels.at(0) as Level;
  let next: Level | undefined = level;
  /** The place of the level after `next`. */
  let given = 1;
  /** The level in force a day before; null: none. */
  let before: Level | null = null;
  for (let day = firstDayOf(levels); day < end; day += 1) {
    const noon = closeSessionOf(day);
    let isBroken = false;
    for (; next !== undefined && next.session <= noon; given += 1) {
      isBroken ||= next.breakReason !== undefined;
      level = next;
      next = levels.at(given);
    }
    const isInForce = noon - level.session <= limitSessions;
    if (isInForce && start > last) start = day;
    if (isInForce && before !== null && !isBroken) {
      (counts[day - first] as number) += 1;
      if (level !== before) (logs[day - first] as number) += logRatio(level.usd, before.usd);
    }
    before = isInForce ? level : null;
  }
  return start;
}

/** The closes from the base to the day `last`. */
function chain({ first, logs, counts }: Moves, base: Day, last: Day): Float64Array {
  const closes = new Float64Array(last + 1 - base).fill(INDEX_BASE_LEVEL * PER_POINT);
  let sum = 0;
  /** What rounding took from the sum. */
  let lost = 0;
  for (let day = base + 1; day <= last; day += 1) {
    const count = counts[day - first] as number;
    if (count > 0) {
      const move = (logs[day - first] as number) / count;
      const next = sum + move;
      lost += Math.abs(sum) < Math.abs(move) ? move - next + sum : sum - next + move;
      sum = next;
    }
    closes[day - base] = rounded(INDEX_BASE_LEVEL * exponential(sum + lost));
  }
  return closes;
}

/**
 * In units of 0.0001, half up. What is as near below the middle as the error of the computation is taken
 * for the middle: exact middles are common where an index has one contract.
 */
function rounded(close: number): number {
  const exact = Math.min(close, MAX_CLOSE) * PER_POINT;
  return Math.floor(exact + 0.5 + Math.min(exact * 2 ** -45, 0.001));
}
