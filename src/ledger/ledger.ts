/** Every level that a feed gave, by contract and session. Carried levels are derived, never stored. */
import type { Series } from "../market/series.ts";

/** By contract id; contracts that left the catalog keep their levels. No series is empty. */
export type Ledger = ReadonlyMap<string, Series>;

export const EMPTY_LEDGER: Ledger = new Map();

export const countLevels = (ledger: Ledger): number =>
  ledger.values().reduce((sum, { levels }) => sum + levels.length, 0);
