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
  type Run,
} from "./given-levels.ts";

/** Collects the rows of one contract in any order. */
export class GivenLevelsBuilder {
  #length = 0;
  #sessions = new Int32Array(16);
  #usd = new Float64Array(16);
  #positions = new Int32Array(16);
  readonly #extras = new Map<number, GivenExtras>();
  readonly #runs: Run[] = [];

  push(
    session: Session,
    usd: Micros | null,
    extras: GivenExtras,
    origin: Origin,
    position: number,
  ): void {
    const row = this.#length;
    if (row === this.#sessions.length) this.#resize(row * 2);
    if (this.#runs.at(-1)?.origin !== origin) this.#runs.push({ from: row, origin });
    this.#sessions[row] = session;
    this.#usd[row] = usd ?? WITHDRAWN;
    this.#positions[row] = position;
    if (extras !== NO_EXTRAS) this.#extras.set(row, extras);
    this.#length = row + 1;
  }

  /** The rows, settled. Nothing can be pushed after it. */
  build(): GivenLevels {
    const end = this.#length;
    const [sessions, usd, positions] = [
      this.#sessions.subarray(0, end),
      this.#usd.subarray(0, end),
      this.#positions.slice(0, end),
    ];
    if (ascends(sessions, 0)) {
      const columns = { sessions: sharedSessions(sessions), usd: sharedFloat64(usd), positions };
      this.#resize(0);
      return new GivenLevels(columns, this.#extras, this.#runs);
    }
    const order = orderOf(sessions);
    const columns = {
      sessions: sharedSessions(picked(sessions, order, new Int32Array(end))),
      usd: sharedFloat64(picked(usd, order, new Float64Array(end))),
      positions: picked(positions, order, new Int32Array(end)),
    };
    this.#resize(0);
    const origins = this.#runs.flatMap(({ from, origin }, at): Origin[] =>
      Array((this.#runs[at + 1]?.from ?? end) - from).fill(origin),
    );
    const extras = new Map<number, GivenExtras>();
    const runs: Run[] = [];
    order.forEach((row, place) => {
      const named = this.#extras.get(row);
      if (named !== undefined) extras.set(place, named);
      const origin = origins[row] as Origin;
      if (runs.at(-1)?.origin !== origin) runs.push({ from: place, origin });
    });
    return new GivenLevels(columns, extras, runs);
  }

  /** What the columns held before is freed at once, not when somebody collects it. */
  #resize(capacity: number): void {
    this.#sessions = new Int32Array(this.#sessions.buffer.transfer(capacity * 4));
    this.#usd = new Float64Array(this.#usd.buffer.transfer(capacity * 8));
    this.#positions = new Int32Array(this.#positions.buffer.transfer(capacity * 4));
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
