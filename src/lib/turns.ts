/**
 * One queue for the work that takes more than a moment of the processor. Its holders take turns, so that
 * nobody waits for all the work of somebody else. A holder has few places; without a free one it is refused
 * at once. Few pieces of work run at once, because each holds its result in memory.
 */

import {
  HELD_BYTES_EACH,
  HELD_BYTES_MAX,
  PLACES,
  WORK_AT_ONCE,
  WORK_AT_ONCE_EACH,
} from "./limits.ts";

/** Waiters by holder. The first holder is next, and its waiters go on in the order of arrival. */
class Waiting {
  readonly #waiters = new Map<string, (() => void)[]>();

  get isEmpty(): boolean {
    return this.#waiters.size === 0;
  }

  add(holder: string, waiter: () => void): void {
    const waiters = this.#waiters.get(holder);
    if (waiters === undefined) this.#waiters.set(holder, [waiter]);
    else waiters.push(waiter);
  }

  /** Takes the next waiter of the first holder that may go on. The holder goes to the end. */
  take(mayGoOn: (holder: string) => boolean = () => true): (() => void) | undefined {
    for (const [holder, waiters] of this.#waiters) {
      if (!mayGoOn(holder)) continue;
      const waiter = waiters.shift();
      this.#waiters.delete(holder);
      if (waiters.length > 0) this.#waiters.set(holder, waiters);
      return waiter;
    }
    return undefined;
  }
}

/** Calls its argument in a later turn of the host's event loop. */
type Later = (then: () => void) => void;

/** The queue. Requests use it by their places. */
export class Turns {
  readonly #later: Later;
  readonly #places = new Map<string, number>();
  readonly #running = new Map<string, number>();
  readonly #toRun = new Waiting();
  readonly #toTurn = new Waiting();
  readonly #held = new Map<string, number>();
  #runs = 0;
  /** The bytes of bodies that were made or read for one request and are not sent yet. */
  heldBytes = 0;
  /** How often a holder had no free place. */
  refusals = 0;

  constructor(later: Later) {
    this.#later = later;
  }

  /** Resolves in a later turn of the event loop, together with all who ask in this one. */
  later(): Promise<void> {
    return new Promise(this.#later);
  }

  /** The place of one request of `holder`. It is taken when the request has work to do. */
  placeOf(holder: string): Place {
    return new Place(this, holder);
  }

  enter(holder: string): boolean {
    const isFree = (this.#places.get(holder) ?? 0) < PLACES;
    if (isFree) addTo(this.#places, holder, 1);
    else this.refusals += 1;
    return isFree;
  }

  leave(holder: string): void {
    addTo(this.#places, holder, -1);
  }

  /** Whether the holder may have `bytes` in place of `before`, which are part of its bytes. */
  mayHold(holder: string, bytes: number, before: number): boolean {
    const others = (this.#held.get(holder) ?? 0) - before;
    const all = this.heldBytes - before;
    const isWithin = (held: number, bytesMax: number): boolean =>
      held === 0 || held + bytes <= bytesMax;
    return bytes <= before || (isWithin(others, HELD_BYTES_EACH) && isWithin(all, HELD_BYTES_MAX));
  }

  hold(holder: string, change: number): void {
    addTo(this.#held, holder, change);
    this.heldBytes += change;
  }

  /** Resolves when the holder's work may begin; `end` must follow. */
  begin(holder: string): Promise<void> {
    return new Promise((resolve) => {
      this.#toRun.add(holder, resolve);
      this.#letRun();
    });
  }

  end(holder: string): void {
    this.#runs -= 1;
    addTo(this.#running, holder, -1);
    this.#letRun();
  }

  turn(holder: string): Promise<void> {
    return new Promise((resolve) => {
      if (this.#toTurn.isEmpty) this.#later(() => this.#letTurn());
      this.#toTurn.add(holder, resolve);
    });
  }

  #letRun(): void {
    while (this.#runs < WORK_AT_ONCE) {
      let chosen = "";
      const next = this.#toRun.take((holder) => {
        chosen = holder;
        return (this.#running.get(holder) ?? 0) < WORK_AT_ONCE_EACH;
      });
      if (next === undefined) return;
      this.#runs += 1;
      addTo(this.#running, chosen, 1);
      next();
    }
  }

  #letTurn(): void {
    this.#toTurn.take()?.();
    if (!this.#toTurn.isEmpty) this.#later(() => this.#letTurn());
  }
}

/** Adds to a count; one that comes to nothing goes. */
export function addTo(counts: Map<string, number>, holder: string, change: number): void {
  const count = (counts.get(holder) ?? 0) + change;
  if (count === 0) counts.delete(holder);
  else counts.set(holder, count);
}

/** A place in the queue, or a claim on one. One request has at most one. */
export class Place {
  /** Null: the process itself, whose work waits for nobody. */
  readonly #turns: Turns | null;
  readonly #holder: string;
  #isTaken = false;
  #isRunning = false;
  #heldBytes = 0;

  constructor(turns: Turns | null, holder: string) {
    this.#turns = turns;
    this.#holder = holder;
  }

  /** Takes the place, if it is not taken yet. False: the holder has no free one. */
  enter(): boolean {
    this.#isTaken ||= this.#turns?.enter(this.#holder) ?? true;
    return this.#isTaken;
  }

  /**
   * Runs the work when it is the holder's turn, and not too much runs already; within other work of the place
   * at once. Work that several places share begins within the first one's `run`, so that none of them waits for
   * work that waits itself.
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#turns === null || this.#isRunning) return work();
    await this.#turns.begin(this.#holder);
    this.#isRunning = true;
    try {
      return await work();
    } finally {
      this.#isRunning = false;
      this.#turns.end(this.#holder);
    }
  }

  /** Resolves in a later turn of the event loop, in which nobody else's piece begins. */
  async turn(): Promise<void> {
    await this.#turns?.turn(this.#holder);
  }

  /** Whether the holder may have another body, of whatever size. */
  mayHold(): boolean {
    return this.#turns?.mayHold(this.#holder, this.#heldBytes + 1, this.#heldBytes) ?? true;
  }

  /**
   * Counts `bytes` as the body of this request, instead of those before, until `leave`. False: that is more than the
   * holder, or all holders, may have in memory, and nothing is changed.
   */
  hold(bytes: number): boolean {
    if (this.#turns === null) return true;
    if (!this.#turns.mayHold(this.#holder, bytes, this.#heldBytes)) return false;
    this.#turns.hold(this.#holder, bytes - this.#heldBytes);
    this.#heldBytes = bytes;
    return true;
  }

  get isHolding(): boolean {
    return this.#heldBytes > 0;
  }

  /** Gives the place and its bytes back. */
  leave(): void {
    this.hold(0);
    if (this.#isTaken) this.#turns?.leave(this.#holder);
    this.#isTaken = false;
  }
}

/** The place of the process itself: its work waits for nobody. */
export const NO_QUEUE = new Place(null, "");
