/** The numbers of a snapshot about its feed: gauges and `doctor` show them. */
import { SESSION_MS } from "./session.ts";

/** The parts of a manifest that say it. */
export interface FeedFacts {
  readonly carried: readonly unknown[];
  /** Manifests of older programs have none. */
  readonly movement?:
    | { readonly unmoved_since_utc: string | null; readonly still: readonly unknown[] }
    | undefined;
}

/** The numbers of a snapshot whose session began at `headMs` (epoch milliseconds). */
export function feedFigures({ carried, movement }: FeedFacts, headMs: number) {
  const since = movement?.unmoved_since_utc ?? null;
  return {
    /** For how many sessions no level has moved; 0: one has. */
    unchangedSessions: since === null ? 0 : Math.round((headMs - Date.parse(since)) / SESSION_MS),
    /** Contracts that are priced at least daily and have not moved for long. */
    stillContracts: movement?.still.length ?? 0,
    /** Contracts without a level for the session. */
    carriedContracts: carried.length,
  };
}
