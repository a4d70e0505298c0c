/** The messages of a run with invalid input. */
import { expect } from "vitest";
import { MemoryStore } from "../store/memory-store.ts";
import { catalogOf, contentOf, tryPublish, type Run } from "./small-market.ts";

/** Two contracts, a and b. */
export const CATALOG = catalogOf(["a", "b"]);

/** A run with CATALOG, without a coverage gate. */
export const SPARSE: Run = { catalog: CATALOG, allowSparse: true };

/** The messages of a run that must fail with 2 and write nothing into the new store. */
export async function complaints(run: Run): Promise<readonly string[]> {
  const store = new MemoryStore();
  const { code, said } = await tryPublish(store, run);
  expect([code, await contentOf(store)]).toEqual([2, {}]);
  return said;
}
