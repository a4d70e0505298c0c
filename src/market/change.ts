/** How a level has moved since an earlier instant. */
import { ratio, roundRatio, type Decimal, type Micros } from "./decimal.ts";
import type { LevelSeries } from "./level-series.ts";
import { SESSIONS_PER_DAY, sessionYearBefore, type Session } from "./session.ts";

export const CHANGE_DECIMALS = 2;

/** The earlier instants that changes are taken against. */
export const HORIZONS = {
  "24h": (session: Session): Session => session - SESSIONS_PER_DAY,
  "30d": (session: Session): Session => session - 30 * SESSIONS_PER_DAY,
  yoy: sessionYearBefore,
} as const;

/** (now / then − 1) × 100, to two decimals. `then` is above 0. */
export const changePct = (now: Micros, then: Micros): Decimal =>
  roundRatio(ratio((BigInt(now) - BigInt(then)) * 100n, BigInt(then)), CHANGE_DECIMALS);

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
): { index: number } | { reason: "no_base_level" | "break" } {
  const index = series.indexAt(instant);
  if (index < 0) return { reason: "no_base_level" };
  const then = series.sessions[index] as number;
  if (instant - then > carryLimitSessions) return { reason: "no_base_level" };
  const now = series.sessions[nowIndex] as number;
  return series.hasBreakBetween(then, now) ? { reason: "break" } : { index };
}
