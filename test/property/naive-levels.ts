/** The raw rows of a market, and the level of a contract in force at an instant, by plain loops. */
import { fractionOf, type Fraction } from "./naive-fraction.ts";

/** A row of the catalog. */
export interface RawContract {
  readonly id: string;
  readonly ticker: string;
  readonly name: string;
  readonly board: "memory" | "semiconductor";
  readonly segment: string;
  readonly unit: string;
  readonly ai_exposure_pct: string;
  readonly source: string;
  readonly source_url: string;
  readonly capacity_gb: string | null;
  readonly max_carry_days: number | null;
  readonly free: boolean;
  readonly price_type: string | null;
  readonly delisted_on: string | null;
  readonly formerly?: string;
}

/** What a contract was before a break; null where its row was empty then. */
export interface RawTerms {
  /** The session of the break. */
  readonly until: string;
  readonly unit: string;
  readonly capacity_gb: string | null;
  readonly price_type: string | null;
}

/** A level of the input; `session_utc` is an instant, `as_of` a date. */
export interface RawLevel {
  readonly id: string;
  readonly session_utc: string;
  readonly spot_usd: string;
  readonly as_of: string;
  readonly basis: string;
  readonly source: string | null;
  readonly source_url: string | null;
  readonly break: string | null;
  readonly low_usd: string | null;
  readonly high_usd: string | null;
  readonly inputs: number | null;
  readonly rationale: string | null;
}

export interface RawMarket {
  readonly contracts: readonly RawContract[];
  readonly levels: readonly RawLevel[];
  readonly max_carry_days: number;
  /** By contract id. */
  readonly earlier?: ReadonlyMap<string, RawTerms>;
}

export type RawTier = "free" | "starter" | "pro";

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/** A level, with the epoch milliseconds of its session. */
export interface Level {
  readonly at: number;
  readonly row: RawLevel;
}

/** A contract with the level in force. */
export interface Entry {
  readonly contract: RawContract;
  /** The levels at or before the session, oldest first. */
  readonly levels: Level[];
  readonly level: Level;
  /** How old a level may be, in milliseconds. */
  readonly limit: number;
  readonly place: "board" | "dropped" | "delisted";
}

/** Memory first, then semiconductor, each in catalog order. */
export const onBoard = (raw: RawMarket, at: number): Entry[] =>
  [...withLevel(raw, at, "memory"), ...withLevel(raw, at, "semiconductor")].filter(
    ({ place }) => place === "board",
  );

/** The contracts with a level by then, also those off the boards, in catalog order. */
export function withLevel(raw: RawMarket, at: number, board?: string): Entry[] {
  const entries: Entry[] = [];
  for (const contract of raw.contracts) {
    if (board !== undefined && contract.board !== board) continue;
    const levels = levelsOf(raw, contract.id, at);
    const level = inForce(levels, at);
    if (level === null) continue;
    const limit = (contract.max_carry_days ?? raw.max_carry_days) * DAY;
    const isDelisted = contract.delisted_on !== null && iso(at) >= contract.delisted_on;
    const place = isDelisted ? "delisted" : at - level.at > limit ? "dropped" : "board";
    entries.push({ contract: termed(raw, contract, at), levels, level, limit, place });
  }
  return entries;
}

/** The contract as it was then. A field that was empty before the break holds for all sessions. */
export function termed(raw: RawMarket, contract: RawContract, at: number): RawContract {
  const earlier = raw.earlier?.get(contract.id);
  if (earlier === undefined || at >= Date.parse(earlier.until)) return contract;
  return {
    ...contract,
    unit: earlier.unit,
    capacity_gb: earlier.capacity_gb ?? contract.capacity_gb,
    price_type: earlier.price_type ?? contract.price_type,
  };
}

export const levelsOf = (raw: RawMarket, id: string, at: number): Level[] =>
  raw.levels
    .filter((row) => row.id === id && Date.parse(row.session_utc) <= at)
    .map((row) => ({ at: Date.parse(row.session_utc), row }))
    .sort((a, b) => a.at - b.at);

export const usdOf = ({ row }: Level): Fraction => fractionOf(row.spot_usd);

export function inForce(levels: readonly Level[], at: number): Level | null {
  let last: Level | null = null;
  for (const level of levels) if (level.at <= at) last = level;
  return last;
}

export const isBroken = (levels: readonly Level[], then: Level, now: Level): boolean =>
  levels.some(({ at, row }) => row.break !== null && then.at < at && at <= now.at);

export const breaksOf = (levels: readonly Level[]): { session_utc: string; reason: string }[] =>
  levels.flatMap(({ at, row }) =>
    row.break === null ? [] : [{ session_utc: iso(at), reason: row.break }],
  );

/** The same day and hour so many calendar years earlier; 29 February becomes the 28th if it must. */
export function yearsBefore(at: number, years: number): number {
  const date = new Date(at);
  const month = date.getUTCMonth();
  date.setUTCFullYear(date.getUTCFullYear() - years);
  // 29 February became 1 March.
  if (date.getUTCMonth() !== month) date.setUTCDate(0);
  return date.getTime();
}

export const iso = (at: number): string => new Date(at).toISOString();
