/** Random choices of a soak: the same seed gives the same choices on every machine. */
import { uniformAt } from "../../src/demo/random.ts";

export class Draws {
  readonly #seed: number;
  #place = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** In [0, 1). */
  next(): number {
    this.#place += 1;
    return uniformAt(this.#seed, this.#place);
  }

  /** A whole number from 0 to `count` − 1. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  /** One of the items. Throws if there are none. */
  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new Error("Nothing to draw from");
    return items[this.below(items.length)] as T;
  }

  shuffled<T>(items: readonly T[]): T[] {
    const rest = [...items];
    return items.map(() => rest.splice(this.below(rest.length), 1)[0] as T);
  }
}
