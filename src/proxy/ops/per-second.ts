/** Lets at most `max` events per second pass and counts the rest. Uses the machine's clock. */
export class PerSecond {
  readonly #max: number;
  readonly #tellMore: (more: number) => void;
  #passed = 0;
  #more = 0;

  /** Calls `tellMore` at the end of each second that had more events. */
  constructor(max: number, tellMore: (more: number) => void = () => undefined) {
    this.#max = max;
    this.#tellMore = tellMore;
  }

  /** Whether this event is within the limit. */
  passes(): boolean {
    if (this.#passed === 0) setTimeout(() => this.#turn(), 1_000).unref();
    if (this.#passed >= this.#max) {
      this.#more += 1;
      return false;
    }
    this.#passed += 1;
    return true;
  }

  #turn(): void {
    const more = this.#more;
    this.#passed = 0;
    this.#more = 0;
    if (more > 0) this.#tellMore(more);
  }
}
