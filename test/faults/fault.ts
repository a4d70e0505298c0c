/** A fault as it is thrown at chipboard, over and over, and what became of what was promised. */

/** What a run of faults is given. */
export interface FaultOptions {
  /** `short`: what fits into every run of the tests. `full`: as often as SECURITY.md says. */
  readonly scale: "short" | "full";
  /** An empty folder, removed afterwards. */
  readonly folder: string;
  /** Of all that is random; printed, so that a failure can be repeated. */
  readonly seed: number;
  /** Tells how far the run is. */
  readonly say: (text: string) => void;
}

/** `lost` is what was promised and did not hold: a whole head, a counted call, an answer. */
export interface FaultRow {
  readonly fault: string;
  readonly thrown: number;
  readonly survived: number;
  readonly lost: number;
}

/** Runs some kinds of faults. Throws where they could not be thrown at all. */
export type Faults = (options: FaultOptions) => Promise<FaultRow[]>;

/**
 * Counts one kind of fault. Whatever was lost is told at once, with what is needed to repeat it;
 * the run goes on, so that one loss does not hide another.
 */
export class Tally {
  readonly #fault: string;
  readonly #say: FaultOptions["say"];
  #thrown = 0;
  #lost = 0;

  constructor(fault: string, say: FaultOptions["say"]) {
    this.#fault = fault;
    this.#say = say;
  }

  /** Throws the fault once: survived where `attempt` ends without an error. */
  async throw(what: string, attempt: () => Promise<void> | void): Promise<void> {
    this.#thrown += 1;
    try {
      await attempt();
    } catch (error) {
      this.#lost += 1;
      const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#say(`LOST: ${this.#fault}: ${what}: ${reason}`);
    }
  }

  /** Notes `thrown` faults of which `lost` were not survived, told of by `what`. */
  note(thrown: number, lost: number, what: string): void {
    this.#thrown += thrown;
    this.#lost += lost;
    if (lost > 0) this.#say(`LOST: ${this.#fault}: ${lost} of ${thrown}: ${what}`);
  }

  get row(): FaultRow {
    const thrown = this.#thrown;
    return { fault: this.#fault, thrown, survived: thrown - this.#lost, lost: this.#lost };
  }
}
