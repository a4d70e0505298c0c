/**
 * Lets one operation of one actor through at a time, in an order that a seed decides: every order
 * in which processes on their own could have met in the store can come up, and comes up again with
 * the seed.
 */
import { uniformAt } from "../../src/demo/random.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { AttendedStore, type Operation } from "./crash-store.ts";

/** What is told before and after each operation that is let through. */
export interface Onlooker {
  before(actor: string, operation: Operation): void;
  after(actor: string, operation: Operation, result: unknown): Promise<void> | void;
}

interface Waiting {
  readonly operation: Operation;
  run(): Promise<unknown>;
}

interface Player {
  readonly name: string;
  readonly start: () => Promise<unknown>;
  /** It is killed when so many operations of it were let through. */
  readonly killedAfter: number;
  readonly waiting: Waiting[];
  state: "unstarted" | "running" | "ended";
  operations: number;
  lastListed: string;
  priority: number;
}

/** Where a priority changes: enough for the races of a few steps, which are the ones there are. */
const CHANGES = 4;
const USUAL_STEPS = 160;

export class Scheduler {
  readonly #players: Player[] = [];
  readonly #onlooker: Onlooker;
  readonly #seed: number;
  #drawn = 0;
  #isSettled: () => void = () => {};

  constructor(seed: number, onlooker: Onlooker) {
    this.#seed = seed;
    this.#onlooker = onlooker;
  }

  /** The next random number in [0, 1). */
  draw(): number {
    return uniformAt(this.#seed, (this.#drawn += 1));
  }

  /** Adds an actor that works on the store when it is its turn. `killedAfter`: operations. */
  add(
    name: string,
    store: ObjectStore,
    killedAfter: number,
    task: (store: ObjectStore) => Promise<unknown>,
  ): void {
    const waiting: Waiting[] = [];
    const attended = new AttendedStore(store, <T>(operation: Operation, run: () => Promise<T>) => {
      const { promise, resolve } = Promise.withResolvers<T>();
      const runAtLast = (): Promise<T> => {
        const result = run();
        resolve(result);
        return result;
      };
      waiting.push({ operation, run: runAtLast });
      this.#isSettled();
      return promise;
    });
    const start = (): Promise<unknown> => task(attended);
    const state = {
      state: "unstarted" as const,
      operations: 0,
      lastListed: "",
      priority: this.draw(),
    };
    this.#players.push({ name, start, killedAfter, waiting, ...state });
  }

  isUnderWay(name: string): boolean {
    return this.#players.some((player) => player.name === name && player.state === "running");
  }

  /** Plays until every actor has ended or was killed. Throws what an actor or the onlooker throws. */
  async play(): Promise<void> {
    // Either anybody may come next each time, or one goes on until its priority falls: long pauses
    // in the middle of something show what short ones do not.
    const isFair = this.draw() < 0.3;
    const changes = new Set(
      Array.from({ length: CHANGES }, () => Math.floor(this.draw() * USUAL_STEPS)),
    );
    const errors: unknown[] = [];
    for (let step = 0; errors.length === 0; step += 1) {
      const able = this.#players.filter(({ state }) => state !== "ended");
      if (able.length === 0) return;
      if (isFair) for (const player of able) player.priority = this.draw();
      const next = able.reduce((a, b) => (b.priority > a.priority ? b : a));
      if (changes.has(step)) next.priority = -step;
      if (next.state === "unstarted") this.#begin(next, errors);
      else await this.#letThrough(next, step);
      await this.#settle(next);
    }
    throw errors[0];
  }

  #begin(player: Player, errors: unknown[]): void {
    player.state = "running";
    const end = (): void => {
      player.state = "ended";
      this.#isSettled();
    };
    player.start().then(end, (error: unknown) => {
      errors.push(error);
      end();
    });
  }

  async #letThrough(player: Player, step: number): Promise<void> {
    const at = Math.floor(this.draw() * player.waiting.length);
    const [chosen] = player.waiting.splice(at, 1);
    if (chosen === undefined) throw new Error(`${player.name} waits for nothing`);
    this.#onlooker.before(player.name, chosen.operation);
    const { operation, run } = chosen;
    await this.#onlooker.after(player.name, operation, await run());
    // Who asks the same again waits for somebody.
    const isAskedAgain = operation.kind === "list" && operation.key === player.lastListed;
    if (isAskedAgain) player.priority = -step;
    if (operation.kind === "list") player.lastListed = operation.key;
    player.operations += 1;
    if (player.operations >= player.killedAfter) player.state = "ended";
  }

  /** Waits until the actor has ended or stands before its next operation. */
  async #settle(player: Player): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    while (player.state === "running" && player.waiting.length === 0) {
      await new Promise<void>((resolve) => (this.#isSettled = resolve));
    }
  }
}
