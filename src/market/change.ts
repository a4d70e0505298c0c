/** Changes of a level since an earlier instant. */
import { ratio, roundRatio, type Decimal, type Micros } from "./decimal.ts";
import type { Level, Series } from "./series.ts";
import { SESSIONS_PER_DAY, sessionYearBefore, type Session } from "./session.ts";

/** Decimals of a change in percent. */
export const CHANGE_DECIMALS = 2;

const daysBefore =
  (days: number) =>
  (session: Session): Session =>
    session - days * SESSIONS_PER_DAY;

/** The earlier instants of the changes: n × 24 hours before, or one calendar year. */
export const HORIZONS = {
  "24h": daysBefore(1),
  "7d": daysBefore(7),
  "30d": daysBefore(30),
  "60d": daysBefore(60),
  "90d": daysBefore(90),
  "180d": daysBefore(180),
  "1y": sessionYearBefore,
} as const;
export type Horizon = keyof typeof HORIZONS;

/** The ranges over which pages and people compare: of a contract the references, of an index the changes. */
export const RANGES = ["24h", "7d", "30d", "90d", "1y"] as const satisfies Horizon[];

/** (now / then − 1) × 100, to two decimals. `then` is above 0. */
export const changePct = (now: Micros, then: Micros): Decimal =>
  roundRatio(ratio((BigInt(now) - BigInt(then)) * 100n, BigInt(then)), CHANGE_DECIMALS);

/**
 * The items with a change other than 0, the largest change up or down first. Items with equal changes
 * keep their order.
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

/** The reasons why a contract on the board is not a constituent of the index. */
export const EXCLUSION_REASONS = ["no_base_level", "break"] as const;
export type ExclusionReason = (typeof EXCLUSION_REASONS)[number];

/**
 * The level in force at `instant`, to compare with a later level. Gives a reason instead if there is no
 * level then, if it is over the carry limit at `instant`, or if a break lies between the two.
 */
export function comparableLevel(
  series: Series,
  now: Level,
  instant: Session,
  carryLimitSessions: number,
): Level | ExclusionReason {
  const then = series.at(instant);
  if (then === null || instant - then.session > carryLimitSessions) return "no_base_level";
  return series.hasBreakBetween(then.session, now.session) ? "break" : then;
}
