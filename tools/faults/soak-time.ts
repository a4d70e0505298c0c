/** The time of a soak: it runs at real speed from a start, and can be put forward. */
export class SoakTime {
  readonly #startMs: number;
  readonly #startedAt = performance.now();
  #aheadMs = 0;

  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  /** Epoch milliseconds. */
  nowMs(): number {
    return Math.floor(this.#startMs + performance.now() - this.#startedAt + this.#aheadMs);
  }

  /** For CHIPBOARD_NOW (ISO 8601). */
  iso(): string {
    return new Date(this.nowMs()).toISOString();
  }

  /** `2026-11`. */
  month(): string {
    return this.iso().slice(0, 7);
  }

  /** Puts the time forward to `ms`, and returns by how much. */
  stepTo(ms: number): number {
    const stepMs = ms - this.nowMs();
    if (stepMs <= 0) throw new Error(`Time runs forward: ${this.iso()} is past ${ms}`);
    this.#aheadMs += stepMs;
    return stepMs;
  }
}

/** Polls until `check` returns true. Throws, naming `what`, after `limitMs`. */
export async function within(
  limitMs: number,
  what: string,
  check: () => Promise<boolean> | boolean,
): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`Not within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
}
