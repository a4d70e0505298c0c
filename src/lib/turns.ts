/**
 * Lets one waiter go on in each turn of the event loop: the holders take turns, and the waiters of one
 * go on in the order of arrival. Whatever else the process has to do comes between: it waits for one
 * waiter's work, not for that of all.
 */
export class Turns {
  /** By holder; the first one's turn is next. */
  readonly #waiting = new Map<string, (() => void)[]>();

  /** Resolves in a later turn of the event loop, in which no other waiter goes on. */
  next(holder: string): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.size === 0) setImmediate(() => this.#letNextGo());
      this.#waiting.set(holder, [...(this.#waiting.get(holder) ?? []), resolve]);
    });
  }

  #letNextGo(): void {
    for (const [holder, [first, ...others]] of this.#waiting) {
      first?.();
      this.#waiting.delete(holder);
      if (others.length > 0) this.#waiting.set(holder, others);
      break;
    }
    if (this.#waiting.size > 0) setImmediate(() => this.#letNextGo());
  }
}
