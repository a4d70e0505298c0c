/**
 * A bounded map that forgets what has not been asked for lately: two generations, each of up to
 * half the capacity. When the younger is full it becomes the elder, and the former elder goes.
 * What was read or written within the last half capacity of insertions is kept.
 */
export class GenerationCache<V> {
  readonly #half: number;
  #younger = new Map<string, Costed<V>>();
  #elder = new Map<string, Costed<V>>();
  #youngerCost = 0;
  #elderCost = 0;

  /** `capacity` is in entries, or in the unit of the costs that `set` gets. */
  constructor(capacity: number) {
    this.#half = Math.ceil(capacity / 2);
  }

  /** The sum of the costs, at most the capacity. */
  get cost(): number {
    return this.#youngerCost + this.#elderCost;
  }

  /**
   * Undefined where the key was never set, or is forgotten. Reading keeps it from being forgotten.
   */
  get(key: string): V | undefined {
    const known = this.#younger.get(key);
    if (known !== undefined) return known.value;
    const old = this.#elder.get(key);
    if (old === undefined) return undefined;
    this.#remove(key);
    this.set(key, old.value, old.cost);
    return old.value;
  }

  /**
   * May make the cache forget half of what it holds, never what was asked for lately. A value that
   * costs more than half of the capacity is not kept.
   */
  set(key: string, value: V, cost = 1): void {
    this.#remove(key);
    if (cost > this.#half) return;
    if (this.#youngerCost + cost > this.#half) {
      [this.#elder, this.#elderCost] = [this.#younger, this.#youngerCost];
      [this.#younger, this.#youngerCost] = [new Map(), 0];
    }
    this.#younger.set(key, { value, cost });
    this.#youngerCost += cost;
  }

  /** All that it holds. */
  *values(): Generator<V> {
    for (const { value } of this.#younger.values()) yield value;
    for (const { value } of this.#elder.values()) yield value;
  }

  delete(key: string): void {
    this.#remove(key);
  }

  #remove(key: string): void {
    this.#youngerCost -= this.#younger.get(key)?.cost ?? 0;
    this.#elderCost -= this.#elder.get(key)?.cost ?? 0;
    this.#younger.delete(key);
    this.#elder.delete(key);
  }
}

interface Costed<V> {
  readonly value: V;
  readonly cost: number;
}
