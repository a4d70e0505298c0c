/** How a level has moved since an earlier instant. */
import { ratio, roundRatio, type Decimal, type Micros } from "./decimal.ts";
import type { LevelSeries } from "./level-series.ts";
import { SESSIONS_PER_DAY, sessionYearBefore, type Session } from "./session.ts";

/** Decimals of a change in percent. */
export const CHANGE_DECIMALS = 2;

/** The earlier instants that changes are taken against: 24 hours, 30 × 24 hours, a calendar year. */
export const HORIZONS = {
  "24h": (session: Session): Session => session - SESSIONS_PER_DAY,
  "30d": (session: Session): Session => session - 30 * SESSIONS_PER_DAY,
  yoy: sessionYearBefore,
} as const;

/** (now / then − 1) × 100, to two decimals. `then` is above 0. */
export const changePct = (now: Micros, then: Micros): Decimal =>
  roundRatio(ratio((BigInt(now) - BigInt(then)) * 100n, BigInt(then)), CHANGE_DECIMALS);

/**
 * The items that changed at all, the largest change first, either way; of equal ones in the order
 * they were given in.
 */
export const byLargestChange = <T>(
  items: readonly T[],
  changeOf: (item: T) => Decimal | null,
): { item: T; change: Decimal }[] =>
  items
    .flatMap((item) => {
      const change = changeOf(item);
      return change === null || change === "0" ? [] : [{ item, change }];
    })
    .sort((a, b) => Math.abs(Number(b.change)) - Math.abs(Number(a.change)));

/** Why a contract on the board is no constituent of the index. */
export const EXCLUSION_REASONS = ["no_base_level", "break"] as const;
/** One of EXCLUSION_REASONS. */
export type ExclusionReason = (typeof EXCLUSION_REASONS)[number];

/**
 * The index of the level in force at `instant` that the level at `nowIndex` may be compared with,
 * or why there is none: no level by then, one over the carry limit at that instant, or a break
 * between the two.
 */
export function comparableLevel(
  series: LevelSeries,
  nowIndex: number,
  instant: Session,
  carryLimitSessions: number,
): { index: number } | { reason: ExclusionReason } {
  const index = series.indexAt(instant);
  if (index < 0) return { reason: "no_base_level" };
  const then = series.sessions[index] as number;
  if (instant - then > carryLimitSessions) return { reason: "no_base_level" };
  const now = series.sessions[nowIndex] as number;
  return series.hasBreakBetween(then, now) ? { reason: "break" } : { index };
}

/**
 * Whether the move from the level before to the one at `index` is one to judge: there is a level
 * before, it was within the carry limit, and no break lies between the two.
 */
export function hasComparablePredecessor(
  series: LevelSeries,
  index: number,
  carryLimitSessions: number,
): boolean {
  if (index === 0) return false;
  const previous = series.sessions[index - 1] as number;
  const session = series.sessions[index] as number;
  return session - previous <= carryLimitSessions && !series.hasBreakBetween(previous, session);
}
