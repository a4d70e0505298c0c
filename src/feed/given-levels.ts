/** The levels that a run's input names for one contract, in columns, and where each was named. */
import type { Micros } from "../market/decimal.ts";
import type { Basis } from "../market/level-series.ts";
import type { Day, Session } from "../market/session.ts";

/** What most rows leave out. A field that is not there was not named. */
export interface GivenExtras {
  readonly basis?: Basis;
  readonly asOf?: Day;
  readonly source?: string;
  readonly sourceUrl?: string;
  readonly breakReason?: string;
}

/** One named level; `usd` null takes a level back. */
export interface GivenLevel {
  readonly session: Session;
  readonly usd: Micros | null;
  readonly extras: GivenExtras;
  readonly where: string;
}

const NO_EXTRAS: GivenExtras = {};
const WITHDRAWN = Number.NaN;

/** Rows in the order they were read; `sort` puts them in the order of their sessions. */
export class GivenLevels {
  #length = 0;
  #sessions = new Int32Array(16);
  #usd = new Float64Array(16);
  #positions = new Int32Array(16);
  #extras = new Map<number, GivenExtras>();
  /** Rows from `from` on were read from the file that `where` names. */
  readonly #origins: { from: number; where: (position: number) => string }[] = [];
  #order: Int32Array | null = null;

  get length(): number {
    return this.#length;
  }

  push(
    session: Session,
    usd: Micros | null,
    extras: GivenExtras,
    where: (position: number) => string,
    position: number,
  ): void {
    if (this.#length === this.#sessions.length) this.#grow();
    if (this.#origins.at(-1)?.where !== where) this.#origins.push({ from: this.#length, where });
    this.#sessions[this.#length] = session;
    this.#usd[this.#length] = usd ?? WITHDRAWN;
    this.#positions[this.#length] = position;
    if (Object.keys(extras).length > 0) this.#extras.set(this.#length, extras);
    this.#length += 1;
    this.#order = null;
  }

  /** The named level that comes at this place when all are sorted by session. */
  at(place: number): GivenLevel {
    this.#order ??= this.#sorted();
    const row = this.#order[place] as number;
    const usd = this.#usd[row] as number;
    return {
      session: this.#sessions[row] as number,
      usd: Number.isNaN(usd) ? null : usd,
      extras: this.#extras.get(row) ?? NO_EXTRAS,
      where: this.#where(row),
    };
  }

  #sorted(): Int32Array {
    const order = Int32Array.from({ length: this.#length }, (_, row) => row);
    const sessions = this.#sessions;
    // Equal sessions stay in the order they were read: the sort is stable.
    const ascending = order.every(
      (row) => row === 0 || (sessions[row - 1] as number) <= (sessions[row] as number),
    );
    if (ascending) return order;
    return order.sort((a, b) => (sessions[a] as number) - (sessions[b] as number) || a - b);
  }

  #where(row: number): string {
    const origin = this.#origins.findLast(({ from }) => from <= row);
    return origin?.where(this.#positions[row] as number) ?? "";
  }

  #grow(): void {
    const capacity = this.#length * 2;
    const [sessions, usd, positions] = [this.#sessions, this.#usd, this.#positions];
    (this.#sessions = new Int32Array(capacity)).set(sessions);
    (this.#usd = new Float64Array(capacity)).set(usd);
    (this.#positions = new Int32Array(capacity)).set(positions);
  }
}
