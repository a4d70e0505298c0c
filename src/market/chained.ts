/**
 * The closes of an index's series, `jevons-chained`, as they were published: a close is the value (members.ts) of
 * its day when it was published first, and stays. Its base does not roll, so its closes of all days compare.
 */
import { ratio, roundRatio, type Decimal } from "./decimal.ts";
import type { IndexHistory } from "./members.ts";
import { dayOf, type Day, type Session } from "./session.ts";
import { FULLEST, historyFloor } from "./tier.ts";
import type { TierView } from "./view.ts";

/** The name of the method, as it is published. */
export const CHAINED_METHOD = "jevons-chained";

/** The decimals of a close. */
export const CLOSE_DECIMALS = 4;
const PER_POINT = 10 ** CLOSE_DECIMALS;

/** A close with the values, in index points, that the newest entry had that calculated it. */
export interface PublishedClose {
  /** The value that was rounded. */
  readonly value: number;
  /** The value of the day before. */
  readonly before: number;
  /** The number of this entry; null up to a link: the value is the close, rounded. */
  readonly knownFrom: number | null;
}

/** Days one after another, both included. */
export interface Days {
  readonly from: Day;
  readonly to: Day;
}

/** The series of an index. */
export interface ChainedSeries extends IndexHistory {
  /** The first day with a member. Its close is 100. */
  readonly base: Day;
  /** One for each day up to `last`: those that the tier with the longest history shows, and one before them. */
  readonly closes: readonly PublishedClose[];
  /** The days that were first published before the session of the snapshot; null: none. */
  readonly kept: Days | null;
  /** The value of the last day as the snapshot knows it. */
  readonly value: number;
}

/** A point of a series. */
export interface IndexClose {
  readonly date: Day;
  readonly close: Decimal;
}

/** A close whose move contains corrections, and the factor that they make. */
export interface Adjustment {
  readonly date: Day;
  readonly publication: number;
  readonly factor: number;
}

/** An adjustment that is not larger is none. */
const MIN_ADJUSTMENT = 1e-6;

/** The day of the last 12:00 session up to `session`. */
export const lastCloseDay = (session: Session): Day => dayOf(session - 1);

/** The first day whose close a series has. */
export const firstCloseDay = ({ last, closes }: Pick<ChainedSeries, "last" | "closes">): Day =>
  last + 1 - closes.length;

/** The close of a day; undefined: the series has none. */
export const closeOn = (series: ChainedSeries, day: Day): PublishedClose | undefined =>
  day > series.last ? undefined : series.closes[day - firstCloseDay(series)];

/** The first day whose close is kept in a snapshot of `head`. */
export const firstKeptDay = (head: Session): Day => historyFloor(FULLEST, head) ?? -Infinity;

/** Whether the series has the same base as `before`, and all of its closes that both have. */
export function keepsCloses(series: ChainedSeries, before: ChainedSeries): boolean {
  if (series.base !== before.base || series.last < before.last) return false;
  for (let day = before.last; ; day -= 1) {
    const [ours, theirs] = [closeOn(series, day), closeOn(before, day)];
    if (ours === undefined || theirs === undefined) return true;
    if (roundedUnits(ours.value) !== roundedUnits(theirs.value)) return false;
  }
}

/** The days that the view's tier sees: up to its session, as deep as its history. */
function daysSeen({ tier, session }: TierView, series: ChainedSeries): Days {
  const floor = historyFloor(tier, session) ?? Infinity;
  const from = Math.max(firstCloseDay(series), floor + 1);
  return { from, to: Math.min(series.last, lastCloseDay(session)) };
}

/** The closes that the view's tier sees. */
export function chainedCloses(view: TierView, series: ChainedSeries | null): IndexClose[] {
  return closesSeen(view, series).map(({ date, value }) => ({ date, close: closeText(value) }));
}

/** The same with the values behind them. */
export function closesSeen(
  view: TierView,
  series: ChainedSeries | null,
): (PublishedClose & { readonly date: Day })[] {
  if (series === null) return [];
  const { from, to } = daysSeen(view, series);
  const first = firstCloseDay(series);
  return series.closes
    .slice(from - first, Math.max(from, to + 1) - first)
    .map((close, at) => ({ ...close, date: from + at }));
}

/** The closes that the view's tier sees whose move contains corrections. */
export function adjustmentsSeen(view: TierView, series: ChainedSeries | null): Adjustment[] {
  if (series === null) return [];
  return closesSeen(view, series).flatMap(({ date, before, knownFrom }) => {
    const last = closeOn(series, date - 1);
    if (knownFrom === null || last === undefined) return [];
    const factor = before / last.value;
    const isOne = Math.abs(factor - 1) <= MIN_ADJUSTMENT || last.value === before;
    return isOne ? [] : [{ date, publication: knownFrom, factor }];
  });
}

/**
 * A value as a close, in whole units of 0.0001, half up. A value that is as near below the middle as the error of
 * the computation counts as the middle: exact middles are common where an index has one contract.
 */
export function roundedUnits(value: number): number {
  const exact = value * PER_POINT;
  return Math.round(exact + Math.min(exact * 2 ** -42, 0.001));
}

/** The text of a value as a close. */
export const closeText = (value: number): Decimal => formatUnits(roundedUnits(value));

/** The text of whole units of 0.0001. Up to 15 digits a double has it as formatMicros does. */
export const formatUnits = (units: number): Decimal =>
  Math.abs(units) <= 1e15
    ? String(units / PER_POINT)
    : roundRatio(ratio(BigInt(units), BigInt(PER_POINT)), CLOSE_DECIMALS);
