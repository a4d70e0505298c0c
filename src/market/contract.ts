import type { Decimal } from "./decimal.ts";
import { SESSIONS_PER_DAY } from "./session.ts";

export const BOARDS = ["memory", "semiconductor"] as const;
export type Board = (typeof BOARDS)[number];

/** One priced thing: a row of the catalog. */
export interface Contract {
  readonly id: string;
  readonly ticker: string;
  readonly name: string;
  readonly board: Board;
  readonly segment: string;
  readonly unit: string;
  /** 0 to 100. */
  readonly aiExposurePct: Decimal;
  readonly source: string;
  readonly sourceUrl: string;
  /** Gigabytes of 10⁹ bytes; null where capacity makes no sense. */
  readonly capacityGb: Decimal | null;
  /** How long a level may be carried; null: as the publication says for all. */
  readonly maxCarryDays: number | null;
  /** Whether callers without a key see it. */
  readonly free: boolean;
}

/** The longest carry limit, of a contract and of a run. */
export const MAX_CARRY_DAYS = 36_500;

/** A level older than this many sessions no longer stands. */
export const carryLimitSessions = (contract: Contract, defaultDays: number): number =>
  (contract.maxCarryDays ?? defaultDays) * SESSIONS_PER_DAY;
