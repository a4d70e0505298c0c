import type { Micros } from "../market/decimal.ts";
import { sharedFloat64, sharedSessions } from "../market/shared-columns.ts";
import type { Session } from "../market/session.ts";
import {
  ascends,
  GivenLevels,
  NO_EXTRAS,
  WITHDRAWN,
  type GivenExtras,
  type Origin,
  type RowRun,
} from "./given-levels.ts";
import { RowPositions } from "./row-positions.ts";
import { SessionColumn, type SessionTemplate } from "./session-column.ts";

/** Collects the rows of one contract in any order. */
export class GivenLevelsBuilder {
  #length = 0;
  #usd = new Float64Array(16);
  readonly #sessions: SessionColumn;
  readonly #positions = new RowPositions();
  readonly #extras = new Map<number, GivenExtras>();

  /** `template` is that of all contracts of the input. */
  constructor(template: SessionTemplate) {
    this.#sessions = new SessionColumn(template);
  }

  /** `usd` null takes a level back; `position` is the row's in the file of its origin. */
  push(
    session: Session,
    usd: Micros | null,
    extras: GivenExtras,
    origin: Origin,
    position: number,
  ): void {
    const row = this.#length;
    if (row === this.#usd.length) this.#resize(row * 2);
    this.#usd[row] = usd ?? WITHDRAWN;
    this.#sessions.push(session);
    this.#positions.push(origin, position);
    if (extras !== NO_EXTRAS) this.#extras.set(row, extras);
    this.#length = row + 1;
  }

  /** The rows, settled. Nothing can be pushed after it. */
  build(): GivenLevels {
    const end = this.#length;
    const [sessions, usd] = [this.#sessions.all, this.#usd.subarray(0, end)];
    if (ascends(sessions, 0)) {
      const positions = this.#positions.each;
      const columns = { sessions: sharedSessions(sessions), usd: sharedFloat64(usd), positions };
      this.#resize(0);
      return new GivenLevels(columns, this.#extras, this.#positions.runs);
    }
    const order = orderOf(sessions);
    const positions = new Int32Array(end);
    const columns = {
      sessions: sharedSessions(picked(sessions, order, new Int32Array(end))),
      usd: sharedFloat64(picked(usd, order, new Float64Array(end))),
      positions,
    };
    this.#resize(0);
    const extras = new Map<number, GivenExtras>();
    const runs: RowRun[] = [];
    order.forEach((row, place) => {
      positions[place] = this.#positions.at(row);
      const named = this.#extras.get(row);
      if (named !== undefined) extras.set(place, named);
      const { origin } = this.#positions.runOf(row);
      if (runs.at(-1)?.origin !== origin) runs.push({ from: place, origin, even: null });
    });
    return new GivenLevels(columns, extras, runs);
  }

  /** What the column held before is freed at once, not when somebody collects it. */
  #resize(capacity: number): void {
    this.#usd = new Float64Array(this.#usd.buffer.transfer(capacity * 8));
  }
}

/** The rows in the order of their sessions; of equal sessions the one read first comes first. */
function orderOf(sessions: Int32Array): Float64Array {
  const { length } = sessions;
  // Numbers that are compared as they are sort several times as fast as by a function.
  const keys = new Float64Array(length);
  for (let row = 0; row < length; row += 1) keys[row] = (sessions[row] as number) * length + row;
  keys.sort();
  for (let place = 0; place < length; place += 1) {
    const key = keys[place] as number;
    keys[place] = key - Math.floor(key / length) * length;
  }
  return keys;
}

function picked<T extends Int32Array | Float64Array>(from: T, order: Float64Array, to: T): T {
  for (let place = 0; place < order.length; place += 1) {
    to[place] = from[order[place] as number] as number;
  }
  return to;
}
