/** The entries of a prune: they name everything that goes, each at most ENTRY_BYTES_MAX long. */
import { appendEntry } from "../snapshot/log/append.ts";
import { ENTRY_BYTES_MAX, type PruneEntry, type StoredEntry } from "../snapshot/log/entry.ts";
import type { LogKeys } from "../snapshot/log/sign.ts";
import type { TimeGates } from "../snapshot/log/time-gates.ts";
import type { ObjectStore } from "../ports/store.ts";

export type Names = Pick<PruneEntry, "snapshots" | "parts">;

/** Appends the entries after `newest`. Returns how many, or null if another run appended first. */
export async function appendPrunes(
  store: ObjectStore,
  newest: StoredEntry | null,
  names: Names,
  nowMs: number,
  gates: TimeGates,
  keys: LogKeys,
): Promise<number | null> {
  const entries = entriesOf(names);
  let last = newest;
  for (const entry of entries) {
    last = await appendEntry(store, { action: "prune", ...entry }, last, nowMs, gates, keys);
    if (last === null) return null;
  }
  return entries.length;
}

/** More than an entry without names takes. */
const EMPTY_BYTES = 500;

/** The names in as many lists as it takes. */
function entriesOf(names: Names): readonly Names[] {
  const entries: Names[] = [];
  let sizeBytes = Number.POSITIVE_INFINITY;
  for (const kind of ["snapshots", "parts"] as const) {
    for (const name of names[kind]) {
      const nameBytes = name.length + 3;
      if (sizeBytes + nameBytes > ENTRY_BYTES_MAX) {
        entries.push({ snapshots: [], parts: [] });
        sizeBytes = EMPTY_BYTES;
      }
      entries.at(-1)?.[kind].push(name);
      sizeBytes += nameBytes;
    }
  }
  return entries;
}
