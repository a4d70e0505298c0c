/** Choices that a seed settles: the same seed, the same feeds. */
import { seedOf, uniformAt } from "../../src/demo/random.ts";

export class FeedRandom {
  readonly #seed: number;
  #place = 0;

  /** `name` tells apart what is drawn from one seed. */
  constructor(seed: number, name: string) {
    this.#seed = (seed ^ seedOf(name)) >>> 0;
  }

  /** A whole number from 0 to below `count`. */
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
