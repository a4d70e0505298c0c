/** The levels given for one contract, by session. */
import type { Micros } from "./decimal.ts";
import { dayOf, type Day, type Session } from "./session.ts";

/** How a source comes by a level, as the feed says. */
export const BASES = ["reported", "assessed", "estimated"] as const;
/** One of BASES. A level that stands in has none of its own: it is shown as `carried`. */
export type Basis = (typeof BASES)[number];

/** A level as it was given for a session. Most levels have the first two fields only. */
export interface Level {
  readonly session: Session;
  readonly usd: Micros;
  /** Where it is not `reported`. */
  readonly basis?: Basis;
  /** The day it belongs to, where that is before the session's (see dateOf). */
  readonly asOf?: Day;
  /** Where it is not the catalog's, and `sourceUrl` likewise. */
  readonly source?: string;
  readonly sourceUrl?: string;
  /** Why this level and later ones are not comparable with those before. */
  readonly breakReason?: string;
}

/** The day that a level belongs to, no later than its session's; along a series it never decreases. */
export const dateOf = ({ session, asOf }: Level): Day => asOf ?? dayOf(session);

/** From the level of `session` on, nothing is comparable with before. */
export interface Break {
  readonly session: Session;
  readonly reason: string;
}

/** One daily close. */
export interface Close {
  readonly date: Day;
  readonly usd: Micros;
}

/** A contract's levels. Treat as immutable. */
export class Series {
  /** Ascending by session, each session once. */
  readonly levels: readonly Level[];
  /** Ascending by session. */
  readonly breaks: readonly Break[];

  constructor(levels: readonly Level[]) {
    this.levels = levels;
    this.breaks = levels.flatMap(({ session, breakReason }) =>
      breakReason === undefined ? [] : [{ session, reason: breakReason }],
    );
  }

  /** The last level given at or before `session`, or null. */
  at(session: Session): Level | null {
    return this.levels[this.#countUntil(session) - 1] ?? null;
  }

  /** The level given for exactly this session, or null. */
  given(session: Session): Level | null {
    const level = this.at(session);
    return level?.session === session ? level : null;
  }

  /** The levels given from one session up to another, the latter left out. */
  between(from: Session, to: Session): readonly Level[] {
    return this.levels.slice(this.#countUntil(from - 1), this.#countUntil(to - 1));
  }

  /** The last break at or before `session`, or null. */
  latestBreak(session: Session): Break | null {
    return this.breaks.findLast((item) => item.session <= session) ?? null;
  }

  /** Whether a break lies between two levels' sessions: earlier < break ≤ later. */
  hasBreakBetween(earlier: Session, later: Session): boolean {
    return this.breaks.some((item) => earlier < item.session && item.session <= later);
  }

  /**
   * The closes of the levels given at or before `session`, ascending: one for each distinct date, of
   * several levels the last. Only dates after `floor` are taken, but the last one always is: it equals
   * the level in force, whatever its age.
   */
  closes(session: Session, floor: Day): Close[] {
    const end = this.#countUntil(session) - 1;
    const closes: Close[] = [];
    for (let index = end; index >= 0; index -= 1) {
      const level = this.levels[index] as Level;
      const date = dateOf(level);
      if (date <= floor && index < end) break;
      if (date !== closes.at(-1)?.date) closes.push({ date, usd: level.usd });
    }
    return closes.reverse();
  }

  /** How many levels were given at or before `session`. */
  #countUntil(session: Session): number {
    let low = 0;
    let high = this.levels.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.levels[middle] as Level).session <= session) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
