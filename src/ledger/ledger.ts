/** Every level given, by contract and session. Carried levels are derived from it, never stored. */
import type { Series } from "../market/series.ts";

/** By contract id; contracts that left the catalog keep their levels. No series is empty. */
export type Ledger = ReadonlyMap<string, Series>;

/** What few levels have, and the names that inputs and stored parts have for it. */
export const NOTES = { source: "source", sourceUrl: "source_url", breakReason: "break" } as const;

/** The ledger of an empty store. */
export const EMPTY_LEDGER: Ledger = new Map();

/** The levels of all contracts together. */
export const countLevels = (ledger: Ledger): number =>
  ledger.values().reduce((sum, { levels }) => sum + levels.length, 0);
