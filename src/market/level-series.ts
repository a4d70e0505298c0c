/**
 * The levels given for one contract, by session, in columns: five years of eleven thousand
 * contracts are twenty million levels, and an object for each would not fit.
 */
import type { Micros } from "./decimal.ts";
import { dayOf, type Day, type Session } from "./session.ts";

/** How a source comes by a level, as the feed says. */
export const BASES = ["reported", "assessed", "estimated"] as const;
/** One of BASES. A level that stands in has none of its own: it is shown as `carried`. */
export type Basis = (typeof BASES)[number];

/** A level as it was given for a session. */
export interface Level {
  readonly session: Session;
  readonly usd: Micros;
  readonly basis: Basis;
  /** The day it belongs to, no later than the session's; along a series it never decreases. */
  readonly asOf: Day;
  /** Null, like `sourceUrl`: the catalog's. */
  readonly source: string | null;
  readonly sourceUrl: string | null;
  /** Why this level and later ones are not comparable with those before; null: they are. */
  readonly breakReason: string | null;
}

/** From the level of `session` on, nothing is comparable with before. */
export interface Break {
  readonly session: Session;
  readonly reason: string;
}

/** What few levels have: kept apart, by session. */
export type LevelNotes = Pick<Level, "source" | "sourceUrl" | "breakReason">;
/** Whether there is anything in it to keep. */
export const isNoted = ({ source, sourceUrl, breakReason }: LevelNotes): boolean =>
  source !== null || sourceUrl !== null || breakReason !== null;

const REPORTED = 0;
const NO_NOTES: LevelNotes = { source: null, sourceUrl: null, breakReason: null };

/** A series' levels, column by column. */
export interface LevelColumns {
  readonly sessions: Int32Array;
  /** In micro-dollars. */
  readonly usd: Float64Array;
  /** Null where each is the session's own date. */
  readonly asOf: Int32Array | null;
  /** Indices into BASES; null where each is reported. */
  readonly basis: Uint8Array | null;
}

/** Ascending by session, each session once. Treat as immutable. */
export class LevelSeries {
  readonly length: number;
  readonly sessions: Int32Array;
  /** In micro-dollars. */
  readonly usd: Float64Array;
  /** As they are stored, for whoever copies them whole. */
  readonly columns: LevelColumns;
  /** By session, of levels that have any. */
  readonly notes: ReadonlyMap<Session, LevelNotes>;
  /** Ascending by session. */
  readonly breaks: readonly Break[];

  constructor(columns: LevelColumns, notes: ReadonlyMap<Session, LevelNotes>) {
    this.length = columns.sessions.length;
    this.sessions = columns.sessions;
    this.usd = columns.usd;
    this.columns = columns;
    this.notes = notes;
    this.breaks = breaksOf(notes);
  }

  /** The index of the last level given at or before `session`; −1 where there is none. */
  indexAt(session: Session): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.sessions[middle] as number) <= session) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** The day of the level at an index from 0 to length − 1. */
  asOfAt(index: number): Day {
    const { asOf } = this.columns;
    return asOf === null ? dayOf(this.sessions[index] as number) : (asOf[index] as number);
  }

  /** The basis of the level at an index, as an index into BASES. */
  basisAt(index: number): number {
    return this.columns.basis?.[index] ?? REPORTED;
  }

  /** The level at an index from 0 to length − 1. */
  level(index: number): Level {
    const session = this.sessions[index] as number;
    return {
      session,
      usd: this.usd[index] as number,
      basis: BASES[this.basisAt(index)] as Basis,
      asOf: this.asOfAt(index),
      ...(this.notes.get(session) ?? NO_NOTES),
    };
  }

  /** The level given for exactly this session, or null. */
  given(session: Session): Level | null {
    const index = this.indexAt(session);
    return index >= 0 && this.sessions[index] === session ? this.level(index) : null;
  }

  /** The last break at or before `session`, or null. */
  latestBreak(session: Session): Break | null {
    return this.breaks.findLast((item) => item.session <= session) ?? null;
  }

  /** Whether a break lies between two levels' sessions: earlier < break ≤ later. */
  hasBreakBetween(earlier: Session, later: Session): boolean {
    return this.breaks.some((item) => earlier < item.session && item.session <= later);
  }
}

function breaksOf(notes: ReadonlyMap<Session, LevelNotes>): Break[] {
  if (notes.size === 0) return [];
  return [...notes]
    .flatMap(([session, { breakReason }]) =>
      breakReason === null ? [] : [{ session, reason: breakReason }],
    )
    .sort((a, b) => a.session - b.session);
}
