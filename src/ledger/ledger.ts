/** Every level that a feed gave, by contract and session. Carried levels are derived, never stored. */
import type { Series } from "../market/series.ts";

/** By contract id; contracts that left the catalog keep their levels. No series is empty. */
export type Ledger = ReadonlyMap<string, Series>;

/** The fields that few levels have, with their names in inputs and stored parts. */
export const NOTES = {
  source: "source",
  sourceUrl: "source_url",
  breakReason: "break",
  rationale: "rationale",
} as const;

/** The numbers that a level may have beside its price, with their names in inputs. */
export const FIGURES = { lowUsd: "low_usd", highUsd: "high_usd", inputs: "inputs" } as const;

/** The ledger of an empty store. */
export const EMPTY_LEDGER: Ledger = new Map();

/** The number of levels of all contracts together. */
export const countLevels = (ledger: Ledger): number =>
  ledger.values().reduce((sum, { levels }) => sum + levels.length, 0);
