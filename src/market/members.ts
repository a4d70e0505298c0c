/**
 * The value of an index's series on each day, by its members of that day: V is 100 on the base day, and from day
 * to day it moves by the geometric mean of its contracts' price relatives (a Jevons index, chained).
 *
 * Relatives are matched: each compares two levels of one contract, the one of the day and the one of the last day
 * before on which the contract was there (its anchor). A contract that is away in between moves with the index
 * for so long: the index has already moved by the mean of the others then, so its relative is divided by that.
 * Otherwise it would count the market's move twice when it comes back. The price index manuals call an
 * imputation by the mean of the other prices self-correcting for this reason (ILO and others, Consumer Price
 * Index Manual: Theory and Practice, 2004, chapter 9; IMF and others, Producer Price Index Manual, 2004,
 * chapter 9).
 *
 * Members are fixed when the close of their day is published; levels are those that the ledger has now. So V is
 * the value as known now, with all corrections, and a correction is whole in the next close.
 *
 * It is computed with doubles: ln V is a sum over all days, with an error of a few 10⁻¹⁶ for each day, and the
 * exponential function adds a few 10⁻¹⁶. Only the four basic operations are used (logarithm.ts).
 */
import { INDEX_BASE_LEVEL } from "./composite.ts";
import { carryLimitDays, isDelisted, type Contract } from "./contract.ts";
import type { Micros } from "./decimal.ts";
import { exponential, logRatio } from "./logarithm.ts";
import { countUntil, type Level, type Series } from "./series.ts";
import { closeSessionOf, dayOf, SESSIONS_PER_DAY, type Day, type Session } from "./session.ts";

/** With a break after each rise, a series can rise without end. A higher value is cut to this. */
const MAX_VALUE = 1e300;

/** Days on which a contract is a member, and the carry limit by which it is one. */
export interface Term {
  readonly from: Day;
  /** The last day, included. */
  readonly to: Day;
  readonly maxCarryDays: number;
}

/** By the id of the contract, its terms in ascending order; none is empty. */
export type Members = ReadonlyMap<string, readonly Term[]>;

/** A level that a series used on the day of its link. */
export interface KeptLevel {
  readonly session: Session;
  readonly usd: Micros;
  /** Whether a break stood at its session then. */
  readonly isBreak: boolean;
}

/**
 * A day whose published close is V, because its members or its levels are not known any more. Contracts go on from
 * the levels that were kept.
 */
export interface Link {
  readonly date: Day;
  /** The entry that made it; null: the run that reads it makes it. */
  readonly publication: number | null;
  /** The close, in index points. */
  readonly value: number;
  /** By the id of the contract: of those that were there. */
  readonly levels: ReadonlyMap<string, KeptLevel>;
}

/** The last day on which a contract was there, with its level. */
export interface Anchor {
  readonly day: Day;
  readonly session: Session;
  readonly usd: Micros;
}

/**
 * The days from `from` to `to` on which the contract is a member: at noon it has a level within its carry limit
 * and is not delisted.
 */
export function termsOf(
  contract: Contract,
  { levels }: Series,
  publicationDays: number,
  from: Day,
  to: Day,
): Term[] {
  const maxCarryDays = carryLimitDays(contract, publicationDays);
  const terms: Term[] = [];
  const first = levels.at(0);
  if (first === undefined) return terms;
  const begin = Math.max(from, dayOf(first.session));
  let given = countUntil(levels, closeSessionOf(begin));
  for (let day = begin; day <= to && !isDelisted(contract, closeSessionOf(day)); day += 1) {
    const noon = closeSessionOf(day);
    while ((levels.at(given)?.session ?? Infinity) <= noon) given += 1;
    if (!isWithin(levels.at(given - 1) as Level, noon, maxCarryDays)) continue;
    const last = terms.at(-1);
    if (last?.to === day - 1) terms[terms.length - 1] = { ...last, to: day };
    else terms.push({ from: day, to: day, maxCarryDays });
  }
  return terms;
}

/** The members of an index from one day to another, by its contracts and levels as they are. */
export function membersOf(
  contracts: readonly Contract[],
  seriesOf: (id: string) => Series | undefined,
  publicationDays: number,
  from: Day,
  to: Day,
): Members {
  const members = new Map<string, readonly Term[]>();
  if (from > to) return members;
  for (const contract of contracts) {
    const series = seriesOf(contract.id);
    const terms = series ? termsOf(contract, series, publicationDays, from, to) : [];
    if (terms.length > 0) members.set(contract.id, terms);
  }
  return members;
}

/** The members of the days from `from` to `to` alone. */
export function clipMembers(members: Members, from: Day, to: Day): Members {
  const clipped = new Map<string, readonly Term[]>();
  for (const [id, terms] of members) {
    const within = terms
      .filter((term) => term.from <= to && term.to >= from)
      .map((term) => ({ ...term, from: Math.max(term.from, from), to: Math.min(term.to, to) }));
    if (within.length > 0) clipped.set(id, within);
  }
  return clipped;
}

/** The terms on the days that none of the others has. */
export const besides = (terms: readonly Term[], others: readonly Term[]): readonly Term[] =>
  others.reduce(
    (left, { from, to }) =>
      left
        .flatMap((term) => [
          { ...term, to: Math.min(term.to, from - 1) },
          { ...term, from: Math.max(term.from, to + 1) },
        ])
        .filter((term) => term.from <= term.to),
    terms,
  );

/** The members of all parts. Of two terms with the same days, the one that began first has them. */
export function joinMembers(...parts: readonly Members[]): Members {
  const joined = new Map<string, Term[]>();
  for (const [id, terms] of parts.flatMap((part) => [...part])) {
    joined.set(id, [...(joined.get(id) ?? []), ...terms]);
  }
  for (const [id, terms] of joined) {
    const merged: Term[] = [];
    for (const { to, maxCarryDays, ...term } of terms.sort((a, b) => a.from - b.from)) {
      const last = merged.at(-1);
      const from = Math.max(term.from, (last?.to ?? -Infinity) + 1);
      const goesOn = last?.to === from - 1 && last.maxCarryDays === maxCarryDays;
      if (from > to) continue;
      if (goesOn) merged[merged.length - 1] = { ...last, to };
      else merged.push({ from, to, maxCarryDays });
    }
    joined.set(id, merged);
  }
  return joined;
}

/** The first day with a member; null: none. */
export function firstMemberDay(members: Members): Day | null {
  const first = members
    .values()
    .reduce((day, [term]) => Math.min(day, (term as Term).from), Infinity);
  return first === Infinity ? null : first;
}

/** The relative of a contract on a day: the logarithm of its level's ratio to the anchor's. */
type OnRelative = (day: Day, log: number, anchor: Anchor) => void;

/**
 * Goes through the days on which a contract is there: a member whose level is within the limit that made it one.
 * Tells each relative, ascending by day, and returns the last anchor; null: the contract was never there. A link
 * is an anchor before all others.
 */
export function eachRelative(
  id: string,
  { members, link }: Pick<IndexHistory, "members" | "link">,
  series: Series | undefined,
  onRelative: OnRelative,
): Anchor | null {
  const kept = link?.levels.get(id);
  let anchor: Anchor | null = link && kept ? { ...kept, day: link.date } : null;
  if (series === undefined) return anchor;
  const { levels, breaks } = series;
  const isBreak = (session: Session): boolean => breaks.some((each) => each.session === session);
  // The kept level compares no more if the break at its session has come or gone since.
  let isKeptBroken = kept !== undefined && isBreak(kept.session) !== kept.isBreak;
  let given = 0;
  let level: Level | undefined;
  for (const { from, to, maxCarryDays } of members.get(id) ?? []) {
    for (let day = Math.max(from, (link?.date ?? -Infinity) + 1); day <= to; day += 1) {
      const noon = closeSessionOf(day);
      for (let next = levels.at(given); next !== undefined && next.session <= noon;) {
        level = next;
        next = levels.at((given += 1));
      }
      if (level === undefined || !isWithin(level, noon, maxCarryDays)) continue;
      const { session, usd } = level;
      if (anchor !== null && !isKeptBroken && !series.hasBreakBetween(anchor.session, session)) {
        onRelative(day, usd === anchor.usd ? 0 : logRatio(usd, anchor.usd), anchor);
      }
      isKeptBroken = false;
      anchor = { day, session, usd };
    }
  }
  return anchor;
}

/** Whether a level given by noon is not older than the carry limit. */
const isWithin = ({ session }: Level, noon: Session, maxCarryDays: number): boolean =>
  noon - session <= maxCarryDays * SESSIONS_PER_DAY;

/** The values of an index are calculated from this and from the levels. */
export interface IndexHistory {
  readonly members: Members;
  readonly link: Link | null;
  /** The day of the last close. */
  readonly last: Day;
}

/** The contracts that were ever there. Sorted, because the sums of doubles depend on their order. */
export const idsIn = ({ members, link }: IndexHistory): string[] =>
  [...new Set([...members.keys(), ...(link?.levels.keys() ?? [])])].sort();

/** V of an index on each day from the base, or the link, up to the last close, as known now. */
export class IndexValues {
  readonly from: Day;
  readonly last: Day;
  /** By contract, of all that were ever there: the anchor for the day after the last. */
  readonly anchors: ReadonlyMap<string, Anchor>;
  /** How many relatives each day has, from `from` on. */
  readonly counts: Uint32Array;
  readonly #begin: number;
  /** ln (V / V of the first day), of each day. */
  readonly #logs: Float64Array;

  /** `history` has a link, or a member. */
  constructor(history: IndexHistory, seriesOf: (id: string) => Series | undefined) {
    const { members, link, last } = history;
    const from = link?.date ?? (firstMemberDay(members) as Day);
    const logs = new Float64Array(last + 1 - from);
    const counts = new Uint32Array(logs.length);
    const returns: { day: Day; log: number; anchorDay: Day }[] = [];
    const anchors = new Map<string, Anchor>();
    for (const id of idsIn(history)) {
      const anchor = eachRelative(id, history, seriesOf(id), (day, log, { day: anchorDay }) => {
        (counts[day - from] as number) += 1;
        if (anchorDay === day - 1) (logs[day - from] as number) += log;
        else returns.push({ day, log, anchorDay });
      });
      if (anchor !== null) anchors.set(id, anchor);
    }
    returns.sort((a, b) => a.day - b.day);
    let returned = 0;
    // A day's sum of logarithms becomes its ln V.
    for (let at = 1; at < logs.length; at += 1) {
      const before = logs[at - 1] as number;
      let sum = logs[at] as number;
      for (; returns[returned]?.day === from + at; returned += 1) {
        const { log, anchorDay } = returns[returned] as (typeof returns)[number];
        sum += log - (before - (logs[anchorDay - from] as number));
      }
      logs[at] = sum === 0 ? before : before + sum / (counts[at] as number);
    }
    this.from = from;
    this.last = last;
    this.anchors = anchors;
    this.counts = counts;
    this.#begin = link?.value ?? INDEX_BASE_LEVEL;
    this.#logs = logs;
  }

  /** V of a day from `from` to `last`. */
  at(day: Day): number {
    return Math.min(MAX_VALUE, this.#begin * exponential(this.#logs[day - this.from] as number));
  }

  /** ln (V of a day / V of an earlier one). */
  logBetween(earlier: Day, later: Day): number {
    return (this.#logs[later - this.from] as number) - (this.#logs[earlier - this.from] as number);
  }
}
