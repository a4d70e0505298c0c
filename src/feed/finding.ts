/** The findings of the gates, their limits, and the data that they judge. */
import type { Contract } from "../market/contract.ts";
import { microsOf, type Micros } from "../market/decimal.ts";
import type { Beginning, SeriesByIndex, StoredSeriesByIndex } from "../market/published-series.ts";
import type { Series } from "../market/series.ts";
import type { Session } from "../market/session.ts";
import { USUAL_TIME_GATES, type TimeFinding } from "../snapshot/log/time-gates.ts";
import type { GivenLevels } from "./given-levels.ts";

export interface GateLimits {
  /** Percent, in millionths: 50 % is 50,000,000. A move of exactly this size passes. */
  readonly maxMoveMicros: Micros;
  /** The same for a day's move of an index's series. */
  readonly maxIndexMoveMicros: Micros;
  /** The same for the median move of the contracts. */
  readonly maxBoardMoveMicros: Micros;
  /** Percent of the catalog's contracts, in millionths. */
  readonly minCoverageMicros: Micros;
  /** How many sessions may pass since a level moved. */
  readonly maxUnchangedSessions: number;
  /** How many sessions the run's may be after the head's, and the clock away from the newest entry. */
  readonly maxGapSessions: number;
  /** The carry limit of contracts that have none of their own, in days. */
  readonly maxCarryDays: number;
}

/** The largest limit of a move, in percent. */
export const MAX_MOVE_PCT = 1e9;

/** The default limits: moves of 50, 25 and 15 percent, coverage of 80 percent, 8 sessions (a long weekend), 14 sessions, 45 days. */
export const USUAL_LIMITS: GateLimits = {
  maxMoveMicros: 50_000_000,
  maxIndexMoveMicros: 25_000_000,
  maxBoardMoveMicros: 15_000_000,
  minCoverageMicros: 80_000_000,
  maxUnchangedSessions: 8,
  maxGapSessions: USUAL_TIME_GATES.maxGapSessions,
  maxCarryDays: 45,
};

/** The limits in the options of a manifest. An older program had none on series and board: the default ones. */
export const limitsOf = (options: Readonly<Record<string, unknown>>): GateLimits => ({
  maxMoveMicros: microsOf(Number(options["max_move_pct"])),
  maxIndexMoveMicros: microsOf(Number(options["max_index_move_pct"] ?? 25)),
  maxBoardMoveMicros: microsOf(Number(options["max_board_move_pct"] ?? 15)),
  minCoverageMicros: microsOf(Number(options["min_coverage_pct"])),
  maxUnchangedSessions: Number(options["max_unchanged_sessions"]),
  maxGapSessions: Number(options["max_gap_sessions"]),
  maxCarryDays: Number(options["max_carry_days"]),
});

/** A run's input and the ledger before and after it, series by contract id. */
export interface GateInput {
  readonly session: Session;
  readonly catalog: readonly Contract[];
  /** The head, under the ids of `catalog`; null: there is none. */
  readonly head: {
    readonly session: Session;
    readonly catalog: readonly Contract[];
    readonly maxCarryDays: number;
    readonly series: StoredSeriesByIndex;
  } | null;
  readonly before: ReadonlyMap<string, Series>;
  readonly after: ReadonlyMap<string, Series>;
  /** The series of indices that the run would publish, and how they go on from the head's. */
  readonly series: SeriesByIndex;
  readonly kind: Beginning["kind"];
  /** The ids of contracts whose series changed in this run. */
  readonly touched: readonly string[];
  readonly given: GivenLevels;
  /** The findings of the gates on the time. */
  readonly time: readonly TimeFinding[];
}

/** One refusal. */
export interface GateFinding {
  /** Null: it concerns an index, or the whole run. */
  readonly contract: string | null;
  /** The id of the index that it concerns. */
  readonly index?: string;
  readonly measured: number | string | null;
  readonly limit: number | string | null;
  /** The finding and the expected value, for people. */
  readonly text: string;
  /** Whether only a break lets it through, and `--accept` does not. */
  readonly needsBreak?: true;
  /** The way on, if the gate's own words would mislead. */
  readonly remedy?: string;
}
