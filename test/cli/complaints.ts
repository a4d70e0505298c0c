/** What a run with faulty input is told. */
import { expect } from "vitest";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { catalogOf, contentOf, tryPublish, type Run } from "./market.ts";

/** Two contracts, a and b. */
export const CATALOG = catalogOf(["a", "b"]);

/** A run on CATALOG that may leave contracts without a level. */
export const SPARSE: Run = { catalog: CATALOG, allowSparse: true };

/** The complaints of a run that must fail with 2 and leave nothing. */
export async function complaints(run: Run): Promise<readonly string[]> {
  const store = new MemoryStore();
  const { code, said } = await tryPublish(store, run);
  expect([code, await contentOf(store)]).toEqual([2, {}]);
  return said;
}
