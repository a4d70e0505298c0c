/**
 * The levels given for one contract, by session, in columns: five years of eleven thousand
 * contracts are twenty million levels, and an object for each would not fit.
 */
import type { Micros } from "./decimal.ts";
import type { Day, Session } from "./session.ts";

export const BASES = ["reported", "assessed", "estimated"] as const;
export type Basis = (typeof BASES)[number];

/** A level as it was given for a session. */
export interface Level {
  readonly session: Session;
  readonly usd: Micros;
  readonly basis: Basis;
  readonly asOf: Day;
  /** Null: the catalog's. */
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
const NO_NOTES: LevelNotes = { source: null, sourceUrl: null, breakReason: null };

/** Ascending by session, each session once. Treat as immutable. */
export class LevelSeries {
  readonly length: number;
  readonly sessions: Int32Array;
  readonly usd: Float64Array;
  readonly asOf: Int32Array;
  readonly basis: Uint8Array;
  readonly notes: ReadonlyMap<Session, LevelNotes>;
  /** Ascending by session. */
  readonly breaks: readonly Break[];

  constructor(
    columns: Pick<LevelSeries, "sessions" | "usd" | "asOf" | "basis">,
    notes: ReadonlyMap<Session, LevelNotes>,
  ) {
    this.length = columns.sessions.length;
    this.sessions = columns.sessions;
    this.usd = columns.usd;
    this.asOf = columns.asOf;
    this.basis = columns.basis;
    this.notes = notes;
    this.breaks = [...notes]
      .flatMap(([session, { breakReason }]) =>
        breakReason === null ? [] : [{ session, reason: breakReason }],
      )
      .sort((a, b) => a.session - b.session);
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

  /** The level at an index from 0 to length − 1. */
  level(index: number): Level {
    const session = this.sessions[index] as number;
    return {
      session,
      usd: this.usd[index] as number,
      basis: BASES[this.basis[index] as number] as Basis,
      asOf: this.asOf[index] as number,
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

/** Collects levels in ascending order of their sessions into a series. */
export class LevelSeriesBuilder {
  #length = 0;
  #sessions = new Int32Array(64);
  #usd = new Float64Array(64);
  #asOf = new Int32Array(64);
  #basis = new Uint8Array(64);
  readonly #notes = new Map<Session, LevelNotes>();

  /** `basis` is an index into BASES. The session must be later than the last one's. */
  push(session: Session, usd: Micros, asOf: Day, basis: number): void {
    if (this.#length === this.#sessions.length) this.#grow();
    this.#sessions[this.#length] = session;
    this.#usd[this.#length] = usd;
    this.#asOf[this.#length] = asOf;
    this.#basis[this.#length] = basis;
    this.#length += 1;
  }

  note(session: Session, notes: LevelNotes): void {
    if (notes.source !== null || notes.sourceUrl !== null || notes.breakReason !== null) {
      this.#notes.set(session, notes);
    }
  }

  pushLevel(level: Level): void {
    this.push(level.session, level.usd, level.asOf, BASES.indexOf(level.basis));
    const { source, sourceUrl, breakReason } = level;
    this.note(level.session, { source, sourceUrl, breakReason });
  }

  build(): LevelSeries {
    return new LevelSeries(
      {
        sessions: this.#sessions.slice(0, this.#length),
        usd: this.#usd.slice(0, this.#length),
        asOf: this.#asOf.slice(0, this.#length),
        basis: this.#basis.slice(0, this.#length),
      },
      this.#notes,
    );
  }

  #grow(): void {
    const capacity = this.#length * 2;
    this.#sessions = resized(new Int32Array(capacity), this.#sessions);
    this.#usd = resized(new Float64Array(capacity), this.#usd);
    this.#asOf = resized(new Int32Array(capacity), this.#asOf);
    this.#basis = resized(new Uint8Array(capacity), this.#basis);
  }
}

function resized<T extends Int32Array | Float64Array | Uint8Array>(target: T, source: T): T {
  target.set(source);
  return target;
}
