/**
 * Work whose result all requests of an isolate use. One request does it. Others wait by the clock until it has: a promise may
 * not be shared. A request may end before its work; after PATIENCE_MS somebody else does it again.
 */
export const PATIENCE_MS = 10_000;
const PAUSE_MS = 50;

export class OneAtATime {
  /** When the running work began; infinitely long ago: none runs. */
  #beganMs = -Infinity;
  #runs = 0;

  /** Does the work, or waits for the one that runs. */
  async run(work: () => Promise<unknown>): Promise<void> {
    const runs = this.#runs;
    while (performance.now() - this.#beganMs < PATIENCE_MS) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      if (this.#runs > runs) return;
    }
    this.#beganMs = performance.now();
    try {
      await work();
    } finally {
      this.#runs += 1;
      this.#beganMs = -Infinity;
    }
  }
}
