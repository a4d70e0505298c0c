/**
 * The one table of tiers: what a caller gets, how late, how deep, how often and under which
 * licence. Nothing else in the code asks which tier it is dealing with; it asks this table.
 */
import { dayOf, yearsBefore, type Day, type Session } from "./session.ts";

/** Every tier, the one that is offered least first. `free` is that of callers without a key. */
export const TIER_NAMES = ["free", "starter", "pro"] as const;
/** One of TIER_NAMES. */
export type TierName = (typeof TIER_NAMES)[number];

/** A tier that a key can belong to. */
export type KeyTierName = Exclude<TierName, "free">;
/** The tiers that a key can belong to, in the order of TIER_NAMES. */
export const KEY_TIER_NAMES = TIER_NAMES.filter((name) => name !== "free");

/** One thing for each tier, by the tier's name. */
export type PerTier<T> = { readonly [N in TierName]: T };
/** Makes one for each tier, in the order of TIER_NAMES. */
export const perTier = <T>(of: (name: TierName) => T): PerTier<T> =>
  Object.fromEntries(TIER_NAMES.map((name) => [name, of(name)])) as PerTier<T>;

/** What callers of one tier get. */
export interface Tier {
  readonly name: TierName;
  /** Sessions of 12 hours the data is behind the head. */
  readonly delaySessions: number;
  /** Whether the board holds the whole catalog or only its free slice. */
  readonly coverage: "all" | "free-slice";
  /** History reaches back over dates after (day − depth); null: no history. */
  readonly history: { readonly days: number } | { readonly years: number } | null;
  /** Whether the composite index is offered. */
  readonly index: boolean;
  /** Whether custom baskets are priced. */
  readonly baskets: boolean;
  /** The formats that the board is exported in. */
  readonly exports: readonly ("csv" | "xlsx")[];
  /** Calls per calendar month UTC; null: unlimited (still counted). */
  readonly callsPerMonth: number | null;
  /** Keys an account may hold. */
  readonly keysPerAccount: number;
  /** What the data may be used for: `license` of every payload. */
  readonly license: string;
}

const ENTERPRISE = "Redistribution beyond this requires a separate enterprise licence.";
const INTERNAL_USE = `Internal use only. ${ENTERPRISE}`;

/** Every tier by its name. */
export const TIERS: { readonly [T in TierName]: Tier & { readonly name: T } } = {
  free: {
    name: "free",
    delaySessions: 1,
    coverage: "free-slice",
    history: null,
    index: false,
    baskets: false,
    exports: [],
    callsPerMonth: 1_000,
    keysPerAccount: 0,
    license: INTERNAL_USE,
  },
  starter: {
    name: "starter",
    delaySessions: 1,
    coverage: "all",
    history: { days: 90 },
    index: true,
    baskets: false,
    exports: ["csv"],
    callsPerMonth: 25_000,
    keysPerAccount: 2,
    license: INTERNAL_USE,
  },
  pro: {
    name: "pro",
    delaySessions: 0,
    coverage: "all",
    history: { years: 5 },
    index: true,
    baskets: true,
    exports: ["csv", "xlsx"],
    callsPerMonth: null,
    keysPerAccount: 10,
    license: `Internal use and internal redistribution permitted. ${ENTERPRISE}`,
  },
};

/** The session a tier sees when `head` is the newest one published. */
export const tierSession = (tier: Tier, head: Session): Session => head - tier.delaySessions;

/**
 * The last day that is too old for the tier's history when its payload belongs to `session`:
 * entries dated after it are shown. Null where the tier has no history.
 */
export function historyFloor(tier: Tier, session: Session): Day | null {
  if (tier.history === null) return null;
  const day = dayOf(session);
  return "days" in tier.history ? day - tier.history.days : yearsBefore(day, tier.history.years);
}
