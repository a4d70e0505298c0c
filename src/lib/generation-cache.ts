/**
 * A bounded map that forgets what has not been asked for lately: two generations, each of up to
 * half the capacity. When the younger is full it becomes the elder, and the former elder goes.
 * Every entry read or written within the last half capacity of insertions is kept.
 */
export class GenerationCache<V> {
  readonly #half: number;
  #younger = new Map<string, V>();
  #elder = new Map<string, V>();

  /** `capacity` is in entries. */
  constructor(capacity: number) {
    this.#half = Math.ceil(capacity / 2);
  }

  /**
   * Undefined where the key was never set, or is forgotten. Reading keeps it from being forgotten.
   */
  get(key: string): V | undefined {
    const value = this.#younger.get(key);
    if (value !== undefined) return value;
    const old = this.#elder.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  /** May make the cache forget half of what it holds, never what was asked for lately. */
  set(key: string, value: V): void {
    if (this.#younger.size >= this.#half && !this.#younger.has(key)) {
      this.#elder = this.#younger;
      this.#younger = new Map();
    }
    this.#younger.set(key, value);
  }

  /** All that it holds; of a key set twice, possibly both values. */
  *values(): Generator<V> {
    yield* this.#younger.values();
    yield* this.#elder.values();
  }

  delete(key: string): void {
    this.#younger.delete(key);
    this.#elder.delete(key);
  }
}
