/** A store with two sessions, and a run that must fail. */
import { expect } from "vitest";
import { begin } from "../store/begun.ts";
import { MemoryStore } from "../store/memory-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import {
  catalogOf,
  contentOf,
  lines,
  mustPublish,
  quotesOf,
  type CatalogRow,
} from "./small-market.ts";
import { tryPublish, type Ended, type Run } from "./small-market.ts";

/** The session after the two. */
export const NOON = "2026-11-21T12Z";

/** The columns of quotes that name their session. */
export const QUOTES = "id,spot_usd,session_utc";

/** Two sessions: a has levels from 2026-11-19T12Z on, b from 2026-11-21T00Z. */
export async function published(
  catalog: readonly (string | CatalogRow)[] = ["a", "b"],
): Promise<MemoryStore> {
  const store = new MemoryStore();
  await mustPublish(store, {
    session: "2026-11-20T12Z",
    catalog: catalogOf(catalog),
    quotes: lines(
      `${QUOTES},basis,break`,
      "a,10,2026-11-19T12Z,,",
      "a,11,2026-11-20T12Z,assessed,New mask",
    ),
    allowSparse: true,
  });
  await mustPublish(store, { quotes: quotesOf({ a: 12, b: 5 }) });
  return store;
}

/** Expects a run to fail and to change nothing. */
export async function failure(store: ObjectStore, run: Run): Promise<Ended> {
  await begin(store);
  const before = await contentOf(store);
  const ended = await tryPublish(store, run);
  expect(await contentOf(store)).toEqual(before);
  expect(await tryPublish(store, { ...run, dryRun: true })).toEqual(ended);
  expect(ended.code).not.toBe(0);
  return ended;
}
