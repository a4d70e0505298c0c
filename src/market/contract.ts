import type { Decimal } from "./decimal.ts";
import { SESSIONS_PER_DAY } from "./session.ts";

/** The boards, in the order of the files. */
export const BOARDS = ["memory", "semiconductor"] as const;
/** One of BOARDS. */
export type Board = (typeof BOARDS)[number];

/** One priced thing: a row of the catalog. */
export interface Contract {
  /** A lowercase slug that names it in paths, addresses and inputs: `ddr5-16gb-spot`. */
  readonly id: string;
  readonly ticker: string;
  readonly name: string;
  readonly board: Board;
  /** `DRAM`, `HBM`, `Foundry`: in the publisher's words. */
  readonly segment: string;
  /** The unit of a level: `USD per chip`. */
  readonly unit: string;
  /** The share of demand attributed to AI, 0 to 100. */
  readonly aiExposurePct: Decimal;
  /** The source of levels that do not name their own. */
  readonly source: string;
  readonly sourceUrl: string;
  /** Gigabytes of 10⁹ bytes; null for a contract without a capacity. */
  readonly capacityGb: Decimal | null;
  /** How long a level may be carried; null: as long as the publication's default. */
  readonly maxCarryDays: number | null;
  /** Whether callers without a key see it. */
  readonly free: boolean;
}

/** The longest carry limit of a contract, and of a publication. */
export const MAX_CARRY_DAYS = 36_500;

/** The carry limit in sessions: an older level leaves the board. */
export const carryLimitSessions = (contract: Contract, defaultDays: number): number =>
  (contract.maxCarryDays ?? defaultDays) * SESSIONS_PER_DAY;
