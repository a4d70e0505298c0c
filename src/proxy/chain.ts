import type { MaybePromise } from "../state/gatekeeper.ts";

/** Calls `use` with the value: at once, or when the promise resolves. */
export const chain = <T, U>(
  value: MaybePromise<T>,
  use: (value: T) => MaybePromise<U>,
): MaybePromise<U> => (value instanceof Promise ? value.then(use) : use(value));
