import type { MaybePromise } from "../state/gatekeeper.ts";

/** Keeps one value, which is made anew when its key changes. */
export class Latest<T> {
  #key: string | null = null;
  #value: MaybePromise<T> | null = null;

  /**
   * The value of the key. Requests for the same key share one call of `make`; if it fails, the next
   * request tries again.
   */
  get(key: string, make: () => Promise<T>): MaybePromise<T> {
    if (this.#key === key && this.#value !== null) return this.#value;
    const making = make();
    [this.#key, this.#value] = [key, making];
    const replace = (value: T | null): void => {
      if (this.#value === making) this.#value = value;
    };
    making.then(replace, () => replace(null));
    return making;
  }
}
