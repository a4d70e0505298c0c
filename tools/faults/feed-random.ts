/** Random choices: the same seed gives the same feeds. */
import { seedOf, uniformAt } from "../../src/demo/random.ts";

export class FeedRandom {
  readonly #seed: number;
  #place = 0;

  /** Another `name` gives other choices from the same seed. */
  constructor(seed: number, name: string) {
    this.#seed = (seed ^ seedOf(name)) >>> 0;
  }

  /** A whole number from 0 to `count` − 1. */
  below(count: number): number {
    return Math.floor(uniformAt(this.#seed, this.#place++) * count);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  /** True once in `times` draws. */
  oneIn(times: number): boolean {
    return this.below(times) === 0;
  }
}
