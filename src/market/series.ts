/** The levels given for one contract, by session. */
import type { EarlierTerms } from "./contract.ts";
import type { Micros } from "./decimal.ts";
import { dayOf, type Day, type Session } from "./session.ts";

/** The ways in which a source gets a level. The feed says which. */
export const BASES = ["reported", "assessed", "estimated"] as const;
/** One of BASES. */
export type Basis = (typeof BASES)[number];
/** The bases that a board shows: `carried` for a level of an earlier session. */
export const BOARD_BASES = [...BASES, "carried"] as const;
export type BoardBasis = (typeof BOARD_BASES)[number];

/** A level that was given for a session. Most levels have only the first two fields. */
export interface Level {
  readonly session: Session;
  readonly usd: Micros;
  /** Left out if it is `reported`. */
  readonly basis?: Basis;
  /** The day of the level, if that is before the session's day (see dateOf). */
  readonly asOf?: Day;
  /** The range of the prices behind the level: both or neither; low ≤ usd ≤ high. */
  readonly lowUsd?: Micros;
  readonly highUsd?: Micros;
  /** How many prices are behind the level. */
  readonly inputs?: number;
  /** The judgement behind the level, for people. */
  readonly rationale?: string;
  /** Left out, like `sourceUrl`, if it is the catalog's. */
  readonly source?: string;
  readonly sourceUrl?: string;
  /** The reason why this level and later ones cannot be compared with earlier ones. */
  readonly breakReason?: string;
  /** With a break: the terms that it changed, as they were before it. */
  readonly termsBefore?: EarlierTerms;
}

/** The fields that few levels have, with their names in inputs and stored parts. */
export const NOTES = {
  source: "source",
  sourceUrl: "source_url",
  breakReason: "break",
  rationale: "rationale",
} as const;

/** The numbers that a level may have beside its price, with their names in inputs. */
export const FIGURES = { lowUsd: "low_usd", highUsd: "high_usd", inputs: "inputs" } as const;

/** The day of a level. It is not after its session's day, and never decreases along a series. */
export const dateOf = ({ session, asOf }: Level): Day => asOf ?? dayOf(session);

/** Levels from `session` on cannot be compared with earlier ones. */
export interface Break {
  readonly session: Session;
  readonly reason: string;
}

export interface Close {
  readonly date: Day;
  readonly level: Level;
  /** The reason of the latest break after the close before, up to this level; null: none. */
  readonly breakReason: string | null;
}

/**
 * Levels, ascending by session. Most have a session and a price alone, and are two numbers here, not an
 * object: a thousand contracts have two million levels in five years.
 */
export class Levels {
  readonly #sessions: Session[] = [];
  readonly #usd: Micros[] = [];
  /** By place, the levels that have more. */
  readonly #others = new Map<number, Level>();

  constructor(levels: Iterable<Level> = []) {
    for (const level of levels) this.push(level);
  }

  get length(): number {
    return this.#usd.length;
  }

  /** Adds a level after the last one. */
  push(level: Level): void {
    if (Object.keys(level).length > 2) this.#others.set(this.length, level);
    this.add(level.session, level.usd);
  }

  /** Adds one that has a session and a price alone. */
  add(session: Session, usd: Micros): void {
    this.#sessions.push(session);
    this.#usd.push(usd);
  }

  /** The level at a place from 0 on; undefined: there is none. */
  at(place: number): Level | undefined {
    const session = this.#sessions[place];
    if (session === undefined) return undefined;
    return this.#others.get(place) ?? { session, usd: this.#usd[place] as Micros };
  }

  *[Symbol.iterator](): Generator<Level> {
    for (let place = 0; place < this.length; place += 1) yield this.at(place) as Level;
  }

  /** Those that have more than a session and a price. */
  others(): IteratorObject<Level> {
    return this.#others.values();
  }

  /** The last level that is meant. */
  findLast(isMeant: (level: Level, place: number) => boolean): Level | undefined {
    let place = this.length - 1;
    while (place >= 0 && !isMeant(this.at(place) as Level, place)) place -= 1;
    return this.at(place);
  }
}

/** A contract's levels. Treat as immutable. */
export class Series {
  /** Each session once. */
  readonly levels: Levels;
  /** Ascending by session. */
  readonly breaks: readonly Break[];
  /** The levels with `termsBefore`, ascending by session. */
  readonly #changesOfTerms: readonly Level[];

  constructor(levels: Levels) {
    this.levels = levels;
    const others = [...levels.others()];
    this.breaks = others.flatMap(({ session, breakReason }) =>
      breakReason === undefined ? [] : [{ session, reason: breakReason }],
    );
    this.#changesOfTerms = others.filter(({ termsBefore }) => termsBefore !== undefined);
  }

  /** The last level given at or before `session`, or null. */
  at(session: Session): Level | null {
    return this.levels.at(countUntil(this.levels, session) - 1) ?? null;
  }

  /** The level given for exactly this session, or null. */
  given(session: Session): Level | null {
    const level = this.at(session);
    return level?.session === session ? level : null;
  }

  /** The levels given from one session up to another, without the latter. */
  between(from: Session, to: Session): Level[] {
    const first = countUntil(this.levels, from - 1);
    const end = countUntil(this.levels, to - 1);
    const length = Math.max(0, end - first);
    return Array.from({ length }, (_, place) => this.levels.at(first + place) as Level);
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
   * The terms at `session` that later breaks changed. The first break after the session that changed a term
   * holds its old value.
   */
  termsAt(session: Session): EarlierTerms {
    const later = this.#changesOfTerms.filter((level) => level.session > session);
    return later.reduceRight((terms, { termsBefore }) => ({ ...terms, ...termsBefore }), {});
  }

  /**
   * The closes of the levels given at or before `session`, in ascending order: one for each distinct
   * date, which is the last of several levels. It skips dates up to `floor`, but never the last close,
   * which is the level in force.
   */
  closes(session: Session, floor: Day): Close[] {
    const end = countUntil(this.levels, session) - 1;
    const closes: Close[] = [];
    for (let index = end; index >= 0; index -= 1) {
      const level = this.levels.at(index) as Level;
      const date = dateOf(level);
      const next = closes.at(-1);
      if (date !== next?.date) {
        if (date <= floor && next !== undefined) break;
        closes.push({ date, level, breakReason: level.breakReason ?? null });
      } else if (next.breakReason === null && level.breakReason !== undefined) {
        closes[closes.length - 1] = { ...next, breakReason: level.breakReason };
      }
    }
    return closes.reverse();
  }
}

/** How many of the levels, ascending by session, were given at or before `session`. */
export function countUntil(
  levels: Pick<readonly Pick<Level, "session">[], "length" | "at">,
  session: Session,
): number {
  let low = 0;
  let high = levels.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((levels.at(middle) as Pick<Level, "session">).session <= session) low = middle + 1;
    else high = middle;
  }
  return low;
}
