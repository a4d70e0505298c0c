/**
 * Lets one waiter go on in each turn of the event loop, in the order of arrival. Whatever else the
 * process has to do comes between: it waits for one waiter's work, not for that of all.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];

  /** Resolves in a later turn of the event loop, in which no other waiter goes on. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(() => this.#letNextGo());
    });
  }

  #letNextGo(): void {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(() => this.#letNextGo());
  }
}
