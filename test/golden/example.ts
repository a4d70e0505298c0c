/** The store in snapshots/example: three contracts over two sessions, of which the second carries a level. */
import { join } from "node:path";
import type { ObjectStore } from "../../src/ports/store.ts";
import { publishStep } from "./golden-market.ts";

export const EXAMPLE = join(import.meta.dirname, "../../snapshots/example");

export async function publishExample(store: ObjectStore): Promise<void> {
  const folder = join(import.meta.dirname, "example-inputs");
  await publishStep(store, {
    folder,
    session: "2026-11-20T12Z",
    minutes: 5,
    attribution: "Illustrative levels, no market data",
    catalog: "catalog.csv",
    quotes: "quotes-1.csv",
    why: "An example of a store: all levels are illustrative",
  });
  await publishStep(store, { folder, session: "2026-11-21T00Z", minutes: 5, quotes: "quotes-2.csv" });
}
