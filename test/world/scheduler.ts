/**
 * Runs one operation of one actor at a time, in a random order that the seed determines. Every order
 * that is possible with separate processes can occur, and the seed repeats it.
 */
import { uniformAt } from "../../src/demo/random.ts";
import { UnreachableError } from "../../src/lib/errors.ts";

/** An operation on the store or the state, and its key. */
export interface Step {
  readonly kind: string;
  readonly key: string;
}

/** The kind of an operation that does nothing: its actor waits for others. */
export const IDLE = "state.idle";

/** How an operation ends that should fail: it did not happen, or it did and the answer is lost. */
export type Failure = "refused" | "unanswered";

/** Carries out an operation of an actor when its turn comes. After the world's end it does so at once. */
export type Gate = <T>(operation: Step, run: () => Promise<T>) => Promise<T>;

/** Called before and after each operation. */
export interface Onlooker {
  /** Decides whether the operation fails. */
  before(actor: string, operation: Step): Failure | null;
  after(actor: string, operation: Step, result: unknown): Promise<void> | void;
}

interface Waiting {
  readonly operation: Step;
  run(failure: Failure | null): Promise<Ended>;
}

/** How an operation ended; `error` null: it did not fail. */
interface Ended {
  readonly result: unknown;
  readonly error: unknown;
}

interface Player {
  readonly name: string;
  readonly start: () => Promise<unknown>;
  /** Called after each operation: whether the actor is killed now. */
  readonly isKilled: (operation: Step) => boolean;
  readonly waiting: Waiting[];
  state: "unstarted" | "running" | "ended" | "killed";
  lastListed: string;
  priority: number;
}

/** How often a priority changes: enough for races that depend on a few steps. */
const CHANGES = 4;
const USUAL_STEPS = 160;
/** An actor that needs more steps waits for ever. */
const STEPS_MAX = 20_000;

export class Scheduler {
  readonly #players: Player[] = [];
  readonly #onlooker: Onlooker;
  readonly #seed: number;
  #drawn = 0;
  #isOver = false;
  #isSettled: () => void = () => {};

  constructor(seed: number, onlooker: Onlooker) {
    this.#seed = seed;
    this.#onlooker = onlooker;
  }

  /** The next random number in [0, 1). */
  draw(): number {
    return uniformAt(this.#seed, (this.#drawn += 1));
  }

  /** Adds an actor, which does all that it does through its gate. It is killed after the operation for which `isKilled` returns true. */
  add(
    name: string,
    isKilled: (operation: Step) => boolean,
    task: (gate: Gate) => Promise<unknown>,
  ): void {
    const waiting: Waiting[] = [];
    const gate: Gate = <T>(operation: Step, run: () => Promise<T>) => {
      if (this.#isOver) return run();
      const { promise, resolve } = Promise.withResolvers<T>();
      const runAtLast = (failure: Failure | null): Promise<Ended> => {
        const result = failing(failure, run);
        resolve(result);
        return result.then(
          (value) => ({ result: value, error: null }),
          (error: unknown) => ({ result: undefined, error }),
        );
      };
      waiting.push({ operation, run: runAtLast });
      this.#isSettled();
      return promise;
    };
    const start = (): Promise<unknown> => task(gate);
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
      const able = this.#players.filter(({ state }) => state !== "ended" && state !== "killed");
      if (able.length === 0) {
        this.#isOver = true;
        // What an actor began and did not wait for, such as the counts of a proxy.
        const ended = this.#players.filter(({ state }) => state === "ended");
        await Promise.all(
          ended.flatMap(({ waiting }) => waiting.splice(0).map(({ run }) => run(null))),
        );
        return;
      }
      if (step === STEPS_MAX)
        throw new Error(`${able.map(({ name }) => name).join(", ")} does not end`);
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
      if (player.state === "running") player.state = "ended";
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
    const { operation, run } = chosen;
    const failure = this.#onlooker.before(player.name, operation);
    const { result, error } = await run(failure);
    await this.#onlooker.after(player.name, operation, error ?? result);
    // An actor that repeats a list waits for another actor.
    const isAskedAgain = operation.kind === "list" && operation.key === player.lastListed;
    if (isAskedAgain || operation.kind === IDLE) player.priority = -step;
    if (operation.kind === "list") player.lastListed = operation.key;
    if (player.isKilled(operation)) player.state = "killed";
  }

  /** Waits until the actor has ended or asks for its next operation. */
  async #settle(player: Player): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    while (player.state === "running" && player.waiting.length === 0) {
      await new Promise<void>((resolve) => (this.#isSettled = resolve));
    }
  }
}

async function failing<T>(failure: Failure | null, run: () => Promise<T>): Promise<T> {
  if (failure === null) return run();
  if (failure === "unanswered") await run();
  throw new UnreachableError(`It does not answer (${failure})`);
}
