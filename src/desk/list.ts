/** `snapshots ls`: the log, newest first, with each entry's meaning. */
import { atOnce } from "../lib/at-once.ts";
import { sessionKey, sessionUtc } from "../market/session.ts";
import type { Manifest } from "../snapshot/manifest.ts";
import {
  isPublication,
  whatOf,
  type Entry,
  type Publication,
  type PruneEntry,
} from "../snapshot/log/entry.ts";
import { readLogBackwards } from "../snapshot/log/walk.ts";
import { readStoredManifest } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { requireEmpty } from "./reference.ts";

/** One of the log's entries. */
export type Listed =
  | ReturnType<typeof listedPublication>
  | (PruneEntry & { readonly what: "prune" });

/** The log, newest first. */
export interface Listing {
  /** How many older entries are not listed. */
  readonly older: number;
  readonly publications: readonly Listed[];
}

/** Lists the newest `limit` entries (null: all). Throws DamageError if the log has a gap, or is empty although
 * the store holds snapshots. */
export async function listPublications(store: ObjectStore, limit: number | null): Promise<Listing> {
  const shown: Entry[] = [];
  for await (const { entry } of readLogBackwards(store)) {
    if (shown.push(entry) === limit) break;
  }
  if (shown.length === 0) await requireEmpty(store);
  const head = shown.find(isPublication);
  const publications = await atOnce(shown, async (entry): Promise<Listed> => {
    if (!isPublication(entry)) return { what: "prune", ...entry };
    const stored = await readStoredManifest(store, entry, entry.manifest_sha256);
    return listedPublication(entry, entry === head, stored?.manifest ?? null);
  });
  return { older: (shown.at(-1)?.number ?? 1) - 1, publications };
}

/** A publish or a rollback. `manifest` null: the snapshot was pruned. */
const listedPublication = (entry: Publication, isHead: boolean, manifest: Manifest | null) => ({
  what: whatOf(entry),
  head: isHead,
  number: entry.number,
  session: sessionKey(entry.session),
  session_utc: sessionUtc(entry.session),
  revision: entry.revision,
  reason: entry.reason,
  at: entry.at,
  pruned: manifest === null,
  counts: manifest?.counts ?? null,
});
