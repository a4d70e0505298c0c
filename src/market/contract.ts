/** A contract: one priced thing, as the catalog describes it. */
import type { Decimal } from "./decimal.ts";
import { dayOf, SESSIONS_PER_DAY, type Day, type Session } from "./session.ts";

/** The boards, in the order of the files. */
export const BOARDS = ["memory", "semiconductor"] as const;
export type Board = (typeof BOARDS)[number];

/** The kinds of price that a level can be. */
export const PRICE_TYPES = ["spot", "contract", "retail", "derived", "other"] as const;

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
  readonly priceType: (typeof PRICE_TYPES)[number] | null;
  /** Off the boards from 00:00 UTC of this day on; null: listed. */
  readonly delistedOn: Day | null;
  /** The ids that the contract had before, the oldest first. */
  readonly formerly: readonly string[];
  /** The ids that the index of its segment had before, the oldest first. Left out: none. */
  readonly segmentFormerly?: readonly string[];
  /** How often the source prices it, in days; 0.5 is every session. */
  readonly cadenceDays: Decimal;
  /** The largest move from one level to the next, in percent; null: the publication's limit. */
  readonly maxMovePct: Decimal | null;
}

/**
 * The terms of a contract: what its level is the price of. They change with a break. Each has its name
 * in inputs and stored files.
 */
export const TERMS = { unit: "unit", capacityGb: "capacity_gb", priceType: "price_type" } as const;
type Terms = Pick<Contract, keyof typeof TERMS>;
/** Terms of an earlier time; a field that is left out was the same, or was empty. */
export type EarlierTerms = { readonly [F in keyof Terms]?: NonNullable<Terms[F]> };

/** The terms that differ, as they were before. To fill in a term that was empty is no change. */
export const changedTerms = (before: Terms, now: Terms): EarlierTerms =>
  Object.fromEntries(
    (Object.keys(TERMS) as (keyof Terms)[])
      .filter((field) => before[field] !== null && before[field] !== now[field])
      .map((field) => [field, before[field]]),
  );

/** The contracts of the first board, then of the next, each in the catalog's order. */
export const inBoardOrder = (catalog: readonly Contract[]): readonly Contract[] =>
  BOARDS.flatMap((board) => catalog.filter((contract) => contract.board === board));

/** The present ids of contracts, by their former ones. */
export const newIdsOf = (
  catalog: readonly Pick<Contract, "id" | "formerly">[],
): ReadonlyMap<string, string> =>
  new Map(catalog.flatMap(({ id, formerly }) => formerly.map((old) => [old, id] as const)));

/** Whether the contract is off the boards at the session because it is delisted. */
export const isDelisted = ({ delistedOn }: Contract, session: Session): boolean =>
  delistedOn !== null && dayOf(session) >= delistedOn;

/** The cadence of a contract whose row gives none: every session. */
export const USUAL_CADENCE_DAYS = "0.5";

/** The longest carry limit of a contract, and of a publication. */
export const MAX_CARRY_DAYS = 36_500;

/** From a longer cadence on, a contract's carry limit follows the cadence. */
export const LONG_CADENCE_DAYS = 30;
/** How many times a long cadence a level may be carried. */
export const CARRY_PER_CADENCE = 1.5;

/**
 * The carry limit in days: the contract's own, or else the publication's. With a long cadence and no limit of
 * its own it is at least CARRY_PER_CADENCE times the cadence, rounded up: a contract that is priced once a
 * quarter must not leave the board between two prices.
 */
export function carryLimitDays(
  { maxCarryDays, cadenceDays }: Contract,
  publicationDays: number,
): number {
  if (maxCarryDays !== null) return maxCarryDays;
  const cadence = Number(cadenceDays);
  return cadence > LONG_CADENCE_DAYS
    ? Math.max(publicationDays, Math.ceil(cadence * CARRY_PER_CADENCE))
    : publicationDays;
}

/** The same in sessions: an older level leaves the board. */
export const carryLimitSessions = (contract: Contract, publicationDays: number): number =>
  carryLimitDays(contract, publicationDays) * SESSIONS_PER_DAY;

/** The cadence in sessions, which need not be whole. */
export const cadenceSessions = ({ cadenceDays }: Contract): number =>
  Number(cadenceDays) * SESSIONS_PER_DAY;
