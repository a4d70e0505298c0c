/** Makes series of levels. */
import type { Micros } from "./decimal.ts";
import { BASES, isNoted, LevelSeries, type Level, type LevelNotes } from "./level-series.ts";
import { sharedFloat64, sharedInt32, sharedSessions } from "./shared-columns.ts";
import { dayOf, type Day, type Session } from "./session.ts";

/** Collects levels in ascending order of their sessions into a series. */
export class LevelSeriesBuilder {
  #length = 0;
  #sessions: Int32Array<ArrayBuffer>;
  #usd: Float64Array<ArrayBuffer>;
  /** These two are made when the first level needs them. */
  #asOf: Int32Array<ArrayBuffer> | null = null;
  #basis: Uint8Array<ArrayBuffer> | null = null;
  readonly #notes = new Map<Session, LevelNotes>();

  /** `capacity`: how many levels there will be, where that is known. */
  constructor(capacity = 64) {
    this.#sessions = new Int32Array(capacity);
    this.#usd = new Float64Array(capacity);
  }

  /** `basis` is an index into BASES. The session must be later than the last one's. */
  push(session: Session, usd: Micros, asOf: Day = dayOf(session), basis = 0): void {
    const at = this.#length;
    if (at === this.#sessions.length) this.#resize(Math.max(16, at * 2));
    this.#sessions[at] = session;
    this.#usd[at] = usd;
    if (this.#asOf !== null || asOf !== dayOf(session)) this.#asOfColumn()[at] = asOf;
    if (this.#basis !== null || basis !== 0) this.#basisColumn()[at] = basis;
    this.#length = at + 1;
  }

  /** What few levels have, for the level pushed for this session. */
  note(session: Session, notes: LevelNotes): void {
    if (isNoted(notes)) this.#notes.set(session, notes);
  }

  /** A level with all that it has. */
  pushLevel(level: Level): void {
    this.push(level.session, level.usd, level.asOf, BASES.indexOf(level.basis));
    const { source, sourceUrl, breakReason } = level;
    this.note(level.session, { source, sourceUrl, breakReason });
  }

  /** The levels of a series from one index up to another, the latter left out. */
  pushRange(series: LevelSeries, from: number, to: number): void {
    const { sessions, usd, columns, notes } = series;
    const at = this.#length;
    const end = at + to - from;
    if (end > this.#sessions.length) this.#resize(end);
    this.#sessions.set(sessions.subarray(from, to), at);
    this.#usd.set(usd.subarray(from, to), at);
    if (this.#asOf !== null || columns.asOf !== null) {
      const asOf = this.#asOfColumn();
      for (let index = from; index < to; index += 1) asOf[at + index - from] = series.asOfAt(index);
    }
    if (columns.basis !== null) this.#basisColumn().set(columns.basis.subarray(from, to), at);
    this.#length = end;
    if (notes.size === 0) return;
    for (const session of sessions.subarray(from, to)) {
      const kept = notes.get(session);
      if (kept !== undefined) this.#notes.set(session, kept);
    }
  }

  /** Nothing can be pushed after it. */
  build(): LevelSeries {
    const end = this.#length;
    const columns = {
      sessions: sharedSessions(this.#sessions.subarray(0, end)),
      usd: sharedFloat64(this.#usd.subarray(0, end)),
      asOf: this.#asOf && sharedInt32(this.#asOf.subarray(0, end)),
      basis: this.#basis && this.#basis.slice(0, end),
    };
    this.#resize(0);
    return new LevelSeries(columns, this.#notes);
  }

  #asOfColumn(): Int32Array {
    if (this.#asOf === null) {
      this.#asOf = new Int32Array(this.#sessions.length);
      for (let at = 0; at < this.#length; at += 1) {
        this.#asOf[at] = dayOf(this.#sessions[at] as number);
      }
    }
    return this.#asOf;
  }

  #basisColumn(): Uint8Array {
    return (this.#basis ??= new Uint8Array(this.#sessions.length));
  }

  /** What the columns held before is freed at once, not when somebody collects it. */
  #resize(capacity: number): void {
    this.#sessions = new Int32Array(this.#sessions.buffer.transfer(capacity * 4));
    this.#usd = new Float64Array(this.#usd.buffer.transfer(capacity * 8));
    this.#asOf &&= new Int32Array(this.#asOf.buffer.transfer(capacity * 4));
    this.#basis &&= new Uint8Array(this.#basis.buffer.transfer(capacity));
  }
}
