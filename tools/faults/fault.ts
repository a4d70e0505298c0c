/** A kind of fault that is injected many times, and how often a promise was broken. */

/** What a run of faults is given. */
export interface FaultOptions {
  /** `short`: as often as the tests can afford. `full`: as often as docs/explain/guarantees.md says. */
  readonly scale: "short" | "full";
  /** An empty folder, removed afterwards. */
  readonly folder: string;
  /** Seed of all random choices; it is printed, so that a failure can be repeated. */
  readonly seed: number;
  /** Prints progress and losses. */
  readonly say: (text: string) => void;
}

/** `lost`: how many faults broke a promise, such as a complete head, a counted call, an answer. */
export interface FaultRow {
  readonly fault: string;
  readonly injected: number;
  readonly survived: number;
  readonly lost: number;
}

/** Injects some kinds of faults. Throws if that is not possible at all. */
export type Faults = (options: FaultOptions) => Promise<FaultRow[]>;

/**
 * Counts one kind of fault. Prints each loss at once, with the values needed to repeat it. The run goes on,
 * so that one loss does not hide another.
 */
export class Tally {
  readonly #fault: string;
  readonly #say: FaultOptions["say"];
  #injected = 0;
  #lost = 0;

  constructor(fault: string, say: FaultOptions["say"]) {
    this.#fault = fault;
    this.#say = say;
  }

  /** Injects the fault once: it is survived if `attempt` does not throw. */
  async inject(what: string, attempt: () => Promise<void> | void): Promise<void> {
    this.#injected += 1;
    try {
      await attempt();
    } catch (error) {
      this.#lost += 1;
      const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#say(`LOST: ${this.#fault}: ${what}: ${reason}`);
    }
  }

  /** Adds `injected` faults, `lost` of them not survived for the reason `what`. */
  note(injected: number, lost: number, what: string): void {
    this.#injected += injected;
    this.#lost += lost;
    if (lost > 0) this.#say(`LOST: ${this.#fault}: ${lost} of ${injected}: ${what}`);
  }

  get row(): FaultRow {
    const injected = this.#injected;
    return { fault: this.#fault, injected, survived: injected - this.#lost, lost: this.#lost };
  }
}
