import type { Decimal } from "./decimal.ts";
import { SESSIONS_PER_DAY } from "./session.ts";

/** The boards, in the order that files list them in. */
export const BOARDS = ["memory", "semiconductor"] as const;
/** One of BOARDS. */
export type Board = (typeof BOARDS)[number];

/** One priced thing: a row of the catalog. */
export interface Contract {
  /** A lowercase slug, `ddr5-16gb-spot`: its name in paths, addresses and inputs. */
  readonly id: string;
  readonly ticker: string;
  readonly name: string;
  readonly board: Board;
  /** `DRAM`, `HBM`, `Foundry`: in the publisher's words. */
  readonly segment: string;
  /** What a level is for: `USD per chip`. */
  readonly unit: string;
  /** The share of demand attributed to AI, 0 to 100. */
  readonly aiExposurePct: Decimal;
  /** Of its levels, where they do not name their own. */
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
