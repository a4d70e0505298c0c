/**
 * The one table of tiers: data, delay, history, calls, licence and terms of each. Other code does not ask for
 * a tier's name; it asks this table what the tier may do.
 */
import {
  dateText,
  dayOf,
  SESSIONS_PER_DAY,
  yearsBefore,
  type Day,
  type Session,
} from "./session.ts";

/** The tiers, from the one with the least data up. `free` is for callers without a key. */
export const TIER_NAMES = ["free", "starter", "pro"] as const;
export type TierName = (typeof TIER_NAMES)[number];

/** A tier that a key can belong to. */
export type KeyTierName = Exclude<TierName, "free">;
/** The tiers that a key can belong to, in the order of TIER_NAMES. */
export const KEY_TIER_NAMES = TIER_NAMES.filter((name) => name !== "free");

/** One value for each tier, by the tier's name. */
export type PerTier<T> = { readonly [N in TierName]: T };
/** Makes such values, in the order of TIER_NAMES. */
export const perTier = <T>(of: (name: TierName) => T): PerTier<T> =>
  Object.fromEntries(TIER_NAMES.map((name) => [name, of(name)])) as PerTier<T>;

/** How many contracts of the catalog callers without a key see. */
export const FREE_SLICE_SIZE = 10;

/** Where one gets a plan, asks about it, reads what holds: https, mailto or e-mail addresses. */
export const PLAN_PLACES = ["get_url", "contact", "terms_url"] as const;
export type PlanPlace = (typeof PLAN_PLACES)[number];

/** The price of a tier, and the help. An operator can tell terms of his own, or none. Null: not told. */
export interface Terms extends Partial<Readonly<Record<PlanPlace, string | null | undefined>>> {
  readonly usd_per_month?: number | null | undefined;
  /** For a year paid at once. */
  readonly usd_per_year?: number | null | undefined;
  readonly support?: string | null | undefined;
}

/** The rights of a tier's callers. */
export interface Tier {
  readonly name: TierName;
  /** As people call it. */
  readonly title: string;
  /** The purpose of the tier, for buyers. */
  readonly purpose: string;
  /** How many sessions of 12 hours the data is behind the head. */
  readonly delaySessions: number;
  /** Whether the board holds the whole catalog or only its free slice. */
  readonly coverage: "all" | "free-slice";
  /** History has the dates after (day − depth); null: no history. */
  readonly history: { readonly days: number } | { readonly years: number } | null;
  /** Whether the tier has the composite index and the segments' indices. */
  readonly index: boolean;
  /** Whether the tier has custom baskets. */
  readonly baskets: boolean;
  readonly exports: readonly ("csv" | "xlsx")[];
  /** The formats of the file with all histories. */
  readonly historyFiles: readonly ("csv" | "parquet")[];
  /**
   * Whether the files of levels and closes say since when each row has stood, and others have the rows that no longer
   * do and the members of indices.
   */
  readonly superseded: boolean;
  /** The formats of the settlements: of all contracts and indices as CSV, and of each alone as JSON. */
  readonly settlements: readonly ("csv" | "json")[];
  /** Calls per calendar month UTC; null: unlimited (still counted). */
  readonly callsPerMonth: number | null;
  /** How many keys an account may have. */
  readonly keysPerAccount: number;
  /** The permitted use of the data, without the point at its end. */
  readonly use: string;
  /** The same as a text of its own: `license` in every payload. */
  readonly license: string;
  readonly terms: Terms;
}

/** The last sentence of every tier's licence. */
export const ENTERPRISE_LICENCE =
  "Redistribution beyond this requires a separate enterprise licence.";
const licenceFor = (use: string): Pick<Tier, "use" | "license"> => ({
  use,
  license: `${use}. ${ENTERPRISE_LICENCE}`,
});
const INTERNAL_USE = licenceFor("Internal use only");

export const TIERS: { readonly [T in TierName]: Tier & { readonly name: T } } = {
  free: {
    name: "free",
    title: "No key",
    purpose: "A first look at the market and the API.",
    delaySessions: 1,
    coverage: "free-slice",
    history: null,
    index: false,
    baskets: false,
    exports: [],
    historyFiles: [],
    superseded: false,
    settlements: [],
    callsPerMonth: 1_000,
    keysPerAccount: 0,
    ...INTERNAL_USE,
    terms: { usd_per_month: 0 },
  },
  starter: {
    name: "starter",
    title: "Starter",
    purpose: "The whole market, 12 hours delayed.",
    delaySessions: 1,
    coverage: "all",
    history: { days: 90 },
    index: true,
    baskets: false,
    exports: ["csv"],
    historyFiles: ["csv"],
    superseded: false,
    settlements: ["csv"],
    callsPerMonth: 25_000,
    keysPerAccount: 2,
    ...INTERNAL_USE,
    terms: { usd_per_month: 9, usd_per_year: 90, support: "e-mail, 2 business days" },
  },
  pro: {
    name: "pro",
    title: "Pro",
    purpose: "Each session as soon as it is published.",
    delaySessions: 0,
    coverage: "all",
    history: { years: 5 },
    index: true,
    baskets: true,
    exports: ["csv", "xlsx"],
    historyFiles: ["csv", "parquet"],
    superseded: true,
    settlements: ["csv", "json"],
    callsPerMonth: null,
    keysPerAccount: 10,
    ...licenceFor("Internal use and internal redistribution permitted"),
    terms: { usd_per_month: 19, usd_per_year: 190, support: "priority, named contact" },
  },
};

/** The tier of callers without a key. */
export const KEYLESS = TIERS.free;
/** The tier with the most data: what operators see. */
export const FULLEST: Tier = TIERS[TIER_NAMES.at(-1) as TierName];

/** The titles of the tiers with keys that fit, as in a sentence: `Starter and Pro`. */
export const tiersWhere = (fits: (tier: Tier) => boolean, word: "and" | "or" = "and"): string =>
  new Intl.ListFormat("en-GB", { type: word === "and" ? "conjunction" : "disjunction" }).format(
    KEY_TIER_NAMES.map((name) => TIERS[name])
      .filter(fits)
      .map(({ title }) => title),
  );

/** The session that a tier sees when `head` is the newest published one. */
export const tierSession = (tier: Tier, head: Session): Session => head - tier.delaySessions;

/**
 * The last day that is too old for the tier's history in a payload of `session`: the history has the
 * later days. Null if the tier has no history.
 */
export function historyFloor(tier: Tier, session: Session): Day | null {
  if (tier.history === null) return null;
  const day = dayOf(session);
  return "days" in tier.history ? day - tier.history.days : yearsBefore(day, tier.history.years);
}

/** The first date that the tier's history in a payload of `session` may have; null: it has no history. */
export function historyFrom(tier: Tier, session: Session): string | null {
  const floor = historyFloor(tier, session);
  return floor === null ? null : dateText(floor + 1);
}

/** The tiers with keys that offer more, the next one first. */
export const tiersAbove = ({ name }: Tier): readonly KeyTierName[] =>
  KEY_TIER_NAMES.slice(KEY_TIER_NAMES.findIndex((each) => each === name) + 1);

/**
 * The oldest payload session that the tier may ask for when its present one is `session`; null: it may
 * not ask for earlier ones. It is at the same hour, so a payload exactly as old as the depth is open.
 */
export function oldestVintage(tier: Tier, session: Session): Session | null {
  const floor = historyFloor(tier, session);
  return floor === null ? null : session - (dayOf(session) - floor) * SESSIONS_PER_DAY;
}

/** The age in days, at the end of `head`, of the oldest payload that the tier may ask for; 0: none. */
export function vintageDays(tier: Tier, head: Session): number {
  const oldest = oldestVintage(tier, tierSession(tier, head));
  return oldest === null ? 0 : Math.ceil((head + 1 - oldest) / SESSIONS_PER_DAY);
}
