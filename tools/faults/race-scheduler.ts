/**
 * Runs one operation of one actor at a time, in a random order that the seed determines. Every order
 * that is possible with separate processes can occur, and the seed repeats it.
 */
import { uniformAt } from "../../src/demo/random.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { InterceptedStore, type Operation } from "../../test/faults/crash-store.ts";

/** Called before and after each operation. */
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
  /** Called after each operation: whether the actor is killed now. */
  readonly isKilled: (operation: Operation) => boolean;
  readonly waiting: Waiting[];
  state: "unstarted" | "running" | "ended";
  lastListed: string;
  priority: number;
}

/** How often a priority changes: enough for races that depend on a few steps. */
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

  /** Adds an actor. It is killed after the operation for which `isKilled` returns true. */
  add(
    name: string,
    store: ObjectStore,
    isKilled: (operation: Operation) => boolean,
    task: (store: ObjectStore) => Promise<unknown>,
  ): void {
    const waiting: Waiting[] = [];
    const intercepted = new InterceptedStore(
      store,
      <T>(operation: Operation, run: () => Promise<T>) => {
        const { promise, resolve } = Promise.withResolvers<T>();
        const runAtLast = (): Promise<T> => {
          const result = run();
          resolve(result);
          return result;
        };
        waiting.push({ operation, run: runAtLast });
        this.#isSettled();
        return promise;
      },
    );
    const start = (): Promise<unknown> => task(intercepted);
    const state = {
      state: "unstarted" as const,
      lastListed: "",
      priority: this.draw(),
    };
    this.#players.push({ name, start, isKilled, waiting, ...state });
  }

  isUnderWay(name: string): boolean {
    return this.#players.some((player) => player.name === name && player.state === "running");
  }

  /** Runs until every actor has ended or was killed. Rethrows errors of actors and the onlooker. */
  async play(): Promise<void> {
    // Either each step draws the next actor, or one actor continues until its priority falls: some
    // defects need a long pause of the other actors.
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
    // An actor that repeats a list waits for another actor.
    const isAskedAgain = operation.kind === "list" && operation.key === player.lastListed;
    if (isAskedAgain) player.priority = -step;
    if (operation.kind === "list") player.lastListed = operation.key;
    if (player.isKilled(operation)) player.state = "ended";
  }

  /** Waits until the actor has ended or asks for its next operation. */
  async #settle(player: Player): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    while (player.state === "running" && player.waiting.length === 0) {
      await new Promise<void>((resolve) => (this.#isSettled = resolve));
    }
  }
}
