/** The entries of a prune: they name everything that goes, each at most ENTRY_BYTES_MAX long. */
import { appendEntry, linkTo, numberAfter, timeAfter } from "../snapshot/append.ts";
import { sha256Hex } from "../snapshot/digest.ts";
import {
  ENTRY_BYTES_MAX,
  renderEntry,
  type LogEnd,
  type PruneEntry,
} from "../snapshot/publication-log.ts";
import type { LogKeys } from "../snapshot/signed-log.ts";
import type { ObjectStore } from "../store/object-store.ts";

/** Stands for a digest that is not known yet. */
const SHA256 = "0".repeat(64);

/** Appends the entries after `end`. Returns how many, or null if another run appended first. */
export async function appendPrunes(
  store: ObjectStore,
  end: LogEnd,
  names: Pick<PruneEntry, "snapshots" | "parts">,
  nowMs: number,
  keys: LogKeys,
): Promise<number | null> {
  const entries = entriesOf(end, names, nowMs);
  let previous = await linkTo(store, end.newest);
  for (const entry of entries) {
    const linked = { ...entry, previous };
    if ((await appendEntry(store, linked, keys)) === "taken") return null;
    previous = sha256Hex(renderEntry(linked));
  }
  return entries.length;
}

function entriesOf(
  { newest }: LogEnd,
  { snapshots, parts }: Pick<PruneEntry, "snapshots" | "parts">,
  nowMs: number,
): PruneEntry[] {
  const last = newest?.entry ?? null;
  const at = timeAfter(last, nowMs);
  const entries: PruneEntry[] = [];
  let sizeBytes = Number.POSITIVE_INFINITY;
  for (const [kind, names] of [
    ["snapshots", snapshots],
    ["parts", parts],
  ] as const) {
    for (const name of names) {
      const nameBytes = name.length + 3;
      if (sizeBytes + nameBytes > ENTRY_BYTES_MAX) {
        const number = numberAfter(entries.at(-1) ?? last);
        entries.push({ number, action: "prune", at, snapshots: [], parts: [] });
        sizeBytes = renderEntry({ ...(entries.at(-1) as PruneEntry), previous: SHA256 }).length;
      }
      entries.at(-1)?.[kind].push(name);
      sizeBytes += nameBytes;
    }
  }
  return entries;
}
