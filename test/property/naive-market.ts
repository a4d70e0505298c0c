/**
 * A second calculation of every published number from the raw rows of the input: plain loops over
 * texts and dates, and fractions of big integers, without any code of the program. The tests compare
 * the program with it. If they differ, one of them is wrong.
 *
 * Numbers come out as their exact text behind a `#`, so that `#1.50` and `#1.5` are not equal.
 */
import {
  HUNDRED,
  ONE,
  ZERO,
  fractionOf,
  isLess,
  minus,
  over,
  percentChange,
  plus,
  rounded,
  times,
  type Fraction,
} from "./naive-fraction.ts";
import {
  DAY,
  HOUR,
  breaksOf,
  inForce,
  isBroken,
  iso,
  onBoard,
  termed,
  usdOf,
  withLevel,
  yearsBefore,
  type Entry,
  type Level,
  type RawContract,
  type RawMarket,
  type RawTier,
} from "./naive-levels.ts";

export interface NaiveRecord {
  readonly [field: string]: unknown;
  readonly id: string;
}

export interface NaiveIndex {
  readonly base: Readonly<Record<"date" | "session_utc" | "level", string>>;
  readonly level: string | null;
  readonly chg_24h_pct: string | null;
  readonly chg_30d_pct: string | null;
  readonly constituents: string;
  readonly carried: string;
  readonly contributions: readonly Readonly<Record<string, string>>[];
  readonly excluded: readonly { readonly id: string; readonly reason: string }[];
}

interface NaiveReference {
  readonly range: string;
  readonly session_utc: string | null;
  readonly usd: string | null;
  readonly change_pct: unknown;
}

interface NaiveClose {
  readonly date: string;
  readonly close_usd: string;
  readonly session_utc?: string;
}

/** The data of a tier for one session. */
export interface NaiveTier {
  readonly session_utc: string;
  readonly memory: readonly NaiveRecord[];
  readonly semiconductor: readonly NaiveRecord[];
  /** Off the boards, with a level; only `/prices/{id}` has them. */
  readonly discontinued: readonly NaiveRecord[];
  /** Each level that a change of the record compares with. */
  readonly references: ReadonlyMap<string, readonly NaiveReference[]>;
  readonly history: ReadonlyMap<string, readonly NaiveClose[]>;
  /** Each with unit and capacity as they were before it. */
  readonly breaks: ReadonlyMap<string, readonly Readonly<Record<string, string | null>>[]>;
  /** The judgement behind each level in force. */
  readonly rationale: ReadonlyMap<string, string | null>;
  readonly index: NaiveIndex;
}

/** The tier's view of the snapshot of `headUtc`: free and starter are 12 hours behind. */
export function naiveTier(raw: RawMarket, headUtc: string, tier: RawTier): NaiveTier {
  const at = Date.parse(headUtc) - (tier === "pro" ? 0 : 12 * HOUR);
  const isSeen = ({ contract }: Entry): boolean => tier !== "free" || contract.free;
  const listed = onBoard(raw, at).filter(isSeen);
  const off = withLevel(raw, at).filter((entry) => entry.place !== "board" && isSeen(entry));
  const known = [...listed, ...off];
  const records = listed.map((entry) => ({ board: entry.contract.board, ...recordOf(entry, at) }));
  const withoutBoard = ({ board: _board, ...record }: NaiveRecord): NaiveRecord => record;
  return {
    session_utc: iso(at),
    memory: records.filter(({ board }) => board === "memory").map(withoutBoard),
    semiconductor: records.filter(({ board }) => board === "semiconductor").map(withoutBoard),
    discontinued: off.map((entry) => recordOf(entry, at)),
    references: new Map(known.map((entry) => [entry.contract.id, referencesOf(entry, at, tier)])),
    history: new Map(known.map((entry) => [entry.contract.id, historyOf(entry, at, tier)])),
    breaks: new Map(
      known.map((entry) => [
        entry.contract.id,
        breaksOf(entry.levels)
          .filter(({ session_utc }) => isWithinDepth(session_utc.slice(0, 10), iso(at), tier))
          .map((item) => {
            const before = Date.parse(item.session_utc) - 12 * HOUR;
            const { unit, capacity_gb: gb } = termed(raw, entry.contract, before);
            return { ...item, unit, capacity_gb: gb === null ? null : rounded(fractionOf(gb), 6) };
          }),
      ]),
    ),
    rationale: new Map(known.map(({ contract, level }) => [contract.id, level.row.rationale])),
    index: naiveIndex(raw, iso(at), null),
  };
}

/**
 * The composite index, or the basket of `picks` in the order given. Every pick must be a
 * constituent. `weights` null: all equal.
 */
export function naiveIndex(
  raw: RawMarket,
  sessionUtc: string,
  picks: readonly string[] | null,
  weights: readonly string[] | null = null,
): NaiveIndex {
  const at = Date.parse(sessionUtc);
  const then = yearsBefore(at, 1);
  const excluded: { id: string; reason: string }[] = [];
  const members: (Entry & { now: Fraction; base: Fraction; baseLevel: Level })[] = [];
  for (const entry of onBoard(raw, at)) {
    const { contract, level, levels, limit } = entry;
    const base = inForce(levels, then);
    if (base === null || then - base.at > limit) {
      excluded.push({ id: contract.id, reason: "no_base_level" });
    } else if (isBroken(levels, base, level)) {
      excluded.push({ id: contract.id, reason: "break" });
    } else {
      members.push({ ...entry, now: usdOf(level), base: usdOf(base), baseLevel: base });
    }
  }
  const chosen =
    picks === null
      ? members
      : picks.map((pick) => {
          const member = members.find(({ contract }) => contract.id === pick);
          if (member === undefined) throw new Error(`${pick} is no constituent`);
          return member;
        });

  const shares = weights === null ? chosen.map(() => ONE) : weights.map(fractionOf);
  const total = shares.reduce(plus, ZERO);
  const weighted = chosen.map((member, place) => {
    const weight = over(shares[place] as Fraction, total);
    const partAt = (instant: number): Fraction =>
      times(weight, over(usdOf(inForce(member.levels, instant) as Level), member.base));
    return { ...member, weight, partAt, part: times(weight, over(member.now, member.base)) };
  });
  const sumNow = weighted.map(({ part }) => part).reduce(plus, ZERO);
  const sumAt = (instant: number): Fraction =>
    weighted.map(({ partAt }) => partAt(instant)).reduce(plus, ZERO);
  const sum24h = sumAt(at - DAY);
  const change = (before: Fraction): string | null =>
    weighted.length === 0 ? null : percentChange(sumNow, before);

  return {
    base: { date: iso(then).slice(0, 10), session_utc: iso(then), level: "#100" },
    level: weighted.length === 0 ? null : rounded(times(HUNDRED, sumNow), 4),
    chg_24h_pct: change(sum24h),
    chg_30d_pct: change(sumAt(at - 30 * DAY)),
    constituents: `#${weighted.length}`,
    carried: `#${weighted.filter(({ level }) => level.at !== at).length}`,
    contributions: weighted.map(
      ({ contract, level, baseLevel, now, base, weight, part, partAt }) => ({
        id: contract.id,
        ticker: contract.ticker,
        segment: contract.segment,
        weight_pct: rounded(times(HUNDRED, weight), 4),
        base_usd: rounded(base, 6),
        spot_usd: rounded(now, 6),
        relative: rounded(over(now, base), 6),
        contribution: rounded(times(HUNDRED, minus(part, weight)), 4),
        contribution_24h_pct: rounded(
          over(times(HUNDRED, minus(part, partAt(at - DAY))), sum24h),
          4,
        ),
        basis: level.at === at ? level.row.basis : "carried",
        as_of: level.row.as_of,
        base_as_of: baseLevel.row.as_of,
      }),
    ),
    excluded: picks === null ? excluded : [],
  };
}

/** The contracts off the boards for the reason that `place` names, in catalog order. */
export const naiveOff = (
  raw: RawMarket,
  sessionUtc: string,
  place: "dropped" | "delisted",
): string[] =>
  withLevel(raw, Date.parse(sessionUtc))
    .filter((entry) => entry.place === place)
    .map(({ contract }) => contract.id);

/** The contracts on the board without a level for the session, in board order. */
export const naiveCarried = (raw: RawMarket, sessionUtc: string): string[] =>
  onBoard(raw, Date.parse(sessionUtc))
    .filter(({ level }) => level.at !== Date.parse(sessionUtc))
    .map(({ contract }) => contract.id);

/** What a contract's file says of its time on the boards. */
export function naiveLimits(raw: RawMarket, id: string) {
  const contract = raw.contracts.find((item) => item.id === id) as RawContract;
  return {
    max_carry_days: `#${contract.max_carry_days ?? raw.max_carry_days}`,
    delisted_on: contract.delisted_on,
  };
}

/** The same day and hour so many calendar years earlier; 29 February becomes the 28th if it must. */
export function naiveYearsBefore(instantUtc: string, years: number): string {
  return iso(yearsBefore(Date.parse(instantUtc), years));
}

/** Whether the history of a tier at this session has this date. */
/** The first date that a history may have; null: the tier has none. */
export function naiveHistoryFrom(sessionUtc: string, tier: RawTier): string | null {
  let first = sessionUtc.slice(0, 10);
  if (!isWithinDepth(first, sessionUtc, tier)) return null;
  for (;;) {
    const before = iso(Date.parse(first) - DAY).slice(0, 10);
    if (!isWithinDepth(before, sessionUtc, tier)) return first;
    first = before;
  }
}

export function isWithinDepth(date: string, sessionUtc: string, tier: RawTier): boolean {
  if (tier === "free") return false;
  const today = Date.parse(sessionUtc.slice(0, 10));
  return Date.parse(date) > (tier === "starter" ? today - 90 * DAY : yearsBefore(today, 5));
}

/** The level in force at the instant, if the level in force now compares with it. */
function comparableTo({ levels, level, limit, place }: Entry, instant: number): Level | null {
  if (place !== "board") return null;
  const then = inForce(levels, instant);
  return then === null || instant - then.at > limit || isBroken(levels, then, level) ? null : then;
}

function referencesOf(entry: Entry, at: number, tier: RawTier): NaiveReference[] {
  if (tier === "free") return [];
  const instants = {
    "24h": at - DAY,
    "7d": at - 7 * DAY,
    "30d": at - 30 * DAY,
    "90d": at - 90 * DAY,
    "1y": yearsBefore(at, 1),
  };
  return Object.entries(instants).map(([range, instant]) => {
    const then = comparableTo(entry, instant);
    const isShown = then !== null && isWithinDepth(iso(then.at).slice(0, 10), iso(at), tier);
    return {
      range,
      session_utc: isShown ? iso(then.at) : null,
      usd: isShown ? rounded(usdOf(then), 6) : null,
      change_pct: then && percentChange(usdOf(entry.level), usdOf(then)),
    };
  });
}

function recordOf(entry: Entry, at: number): NaiveRecord {
  const { contract, levels, level, place } = entry;
  const comparable = (instant: number): Level | null => comparableTo(entry, instant);
  const change = (instant: number): string | null => {
    const then = comparable(instant);
    return then === null ? null : percentChange(usdOf(level), usdOf(then));
  };
  const ofYear = place === "board" ? pricesOfYear(levels, level, at) : null;
  const { capacity_gb: capacity } = contract;
  const { low_usd: low, high_usd: high } = level.row;
  return {
    id: contract.id,
    ticker: contract.ticker,
    name: contract.name,
    segment: contract.segment,
    unit: contract.unit,
    spot_usd: rounded(usdOf(level), 6),
    chg_24h_pct: change(at - DAY),
    chg_30d_pct: change(at - 30 * DAY),
    chg_yoy_pct: change(yearsBefore(at, 1)),
    ai_exposure_pct: rounded(fractionOf(contract.ai_exposure_pct), 6),
    basis: place !== "board" ? "discontinued" : level.at === at ? level.row.basis : "carried",
    as_of: level.row.as_of,
    source: level.row.source ?? contract.source,
    source_url: level.row.source_url ?? contract.source_url,
    capacity_gb: capacity === null ? null : rounded(fractionOf(capacity), 6),
    usd_per_gb: capacity === null ? null : rounded(over(usdOf(level), fractionOf(capacity)), 6),
    chg_7d_pct: change(at - 7 * DAY),
    chg_60d_pct: change(at - 60 * DAY),
    chg_90d_pct: change(at - 90 * DAY),
    chg_180d_pct: change(at - 180 * DAY),
    low_52w_usd: ofYear && rounded(ofYear[0] as Fraction, 6),
    high_52w_usd: ofYear && rounded(ofYear.at(-1) as Fraction, 6),
    prev_as_of: comparable(at - DAY)?.row.as_of ?? null,
    age_days: rounded({ over: BigInt(at - level.at), under: BigInt(DAY) }, 1),
    price_type: contract.price_type,
    low_usd: low === null ? null : rounded(fractionOf(low), 6),
    high_usd: high === null ? null : rounded(fractionOf(high), 6),
    inputs: level.row.inputs === null ? null : `#${level.row.inputs}`,
    break: breaksOf(levels).at(-1) ?? null,
  };
}

/** From the lowest to the highest. */
function pricesOfYear(levels: readonly Level[], inForceNow: Level, at: number): Fraction[] {
  const latestBreak = levels.findLast(({ row }) => row.break !== null);
  return levels
    .filter((level) => level.at > yearsBefore(at, 1) || level === inForceNow)
    .filter((level) => latestBreak === undefined || level.at >= latestBreak.at)
    .map(usdOf)
    .sort((a, b) => (isLess(a, b) ? -1 : 1));
}

function historyOf({ levels }: Entry, at: number, tier: RawTier): NaiveClose[] {
  if (tier === "free") return [];
  const dates = [...new Set(levels.map(({ row }) => row.as_of))].sort();
  return dates
    .filter((date, place) => isWithinDepth(date, iso(at), tier) || place === dates.length - 1)
    .map((date) => {
      const last = levels.findLast(({ row }) => row.as_of === date) as Level;
      const close = { date, close_usd: rounded(usdOf(last), 6) };
      const session_utc = iso(last.at);
      return session_utc === `${date}T12:00:00.000Z` ? close : { ...close, session_utc };
    });
}
