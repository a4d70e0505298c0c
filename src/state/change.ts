/** Changes of the registry's items, alike in all drivers. */
import { setTimeout as delay } from "node:timers/promises";
import { UnreachableError } from "../lib/errors.ts";
import type { StateDriver } from "./driver.ts";

const ATTEMPTS = 100;
const RETRY_MAX_MS = 50;

/** The items that a change writes, and the result that it returns. */
export interface Change<T> {
  /** The new values by the item's name (see accounts.ts); null removes the item. */
  readonly writes: ReadonlyMap<string, object | null>;
  readonly result: T;
}

/**
 * Runs `plan` and writes what it returns as one atomic change: no other change comes between the plan's
 * reads and the write, and readers see all of the change or nothing. A plan that others' changes overtake
 * runs again. If `plan` throws, this throws the same and writes nothing.
 */
export async function change<T>(state: StateDriver, plan: () => Promise<Change<T>>): Promise<T> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const version = await state.version();
    const { writes, result } = await plan();
    if (writes.size === 0) return result;
    const items = [...writes].map(
      ([name, value]) => [name, value && JSON.stringify(value)] as const,
    );
    if (await state.write(version, items)) return result;
    await delay(Math.random() * RETRY_MAX_MS);
  }
  throw new UnreachableError(`The state was changed by others first, ${ATTEMPTS} times: try again`);
}
