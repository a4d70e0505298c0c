/** What is drawn in a soak: the same for the same seed, whatever the machine. */
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

  /** One of them; there must be one. */
  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new Error("Nothing to draw from");
    return items[this.below(items.length)] as T;
  }

  shuffled<T>(items: readonly T[]): T[] {
    const rest = [...items];
    return items.map(() => rest.splice(this.below(rest.length), 1)[0] as T);
  }
}
