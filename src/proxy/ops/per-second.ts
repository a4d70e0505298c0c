/** So many a second and no more; the rest is counted. Seconds are the machine's. */
export class PerSecond {
  readonly #max: number;
  readonly #tellMore: (more: number) => void;
  #passed = 0;
  #more = 0;

  /** `tellMore` is called when a second is over in which more came. */
  constructor(max: number, tellMore: (more: number) => void = () => undefined) {
    this.#max = max;
    this.#tellMore = tellMore;
  }

  /** Whether one more is within the limit. */
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
