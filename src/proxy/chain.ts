import type { MaybePromise } from "../state/gatekeeper.ts";

/** `use` of the value: at once where it is there, later where it is promised. */
export const chain = <T, U>(
  value: MaybePromise<T>,
  use: (value: T) => MaybePromise<U>,
): MaybePromise<U> => (value instanceof Promise ? value.then(use) : use(value));
