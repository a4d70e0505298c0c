/**
 * Which names of snapshots are in use, and from when:
 *
 *   claims/2026-11-21T00Z/r2.json   {"began":41}   who creates it writes that snapshot, and nobody else
 *   taken/2026-11-21T00Z/r2.json    {}             a prune took it, though no entry made it the head
 *
 * A claim says which entry of the log its run began from. The run removes it when the snapshot is
 * published, or given up. One that is left was left by a crash: as soon as two later entries made a
 * head, its run cannot publish any more, and a prune takes the name. The log holds the names of
 * published snapshots for good, and `taken/` those of the others, so that none is used again.
 */
import { z } from "zod";
import type { Session } from "../market/session.ts";
import { JSON_TYPE } from "../store/media-types.ts";
import type { ObjectStore } from "../store/object-store.ts";
import {
  claimKey,
  CLAIMS,
  parseClaimKey,
  sessionFolder,
  SESSIONS,
  snapshotText,
  TAKEN,
  type SnapshotName,
} from "../store/paths.ts";

const claimSchema = z.object({ began: z.int().nonnegative() });

/** Claims the name for a run that began from the entry with this number (0: an empty log). */
export const claimName = (
  store: ObjectStore,
  name: SnapshotName,
  began: number,
): Promise<"created" | "taken"> =>
  store.create(claimKey(CLAIMS, name), Buffer.from(`${JSON.stringify({ began })}\n`), JSON_TYPE);

/** Removes the claim of a snapshot that was published or given up. */
export const releaseName = (store: ObjectStore, name: SnapshotName): Promise<void> =>
  store.delete(claimKey(CLAIMS, name));

/** Keeps a name from being used again, which no publish or rollback names. */
export const keepTaken = async (store: ObjectStore, name: SnapshotName): Promise<void> =>
  void (await store.create(claimKey(TAKEN, name), Buffer.from("{}\n"), JSON_TYPE));

/** The entry that each claimed snapshot's run began from, by the snapshot's text. */
export async function readClaims(store: ObjectStore): Promise<ReadonlyMap<string, number>> {
  const names: SnapshotName[] = [];
  for await (const { key } of store.list(CLAIMS)) {
    const name = parseClaimKey(key);
    if (name !== null) names.push(name);
  }
  const claims = new Map<string, number>();
  for (const name of names) {
    const bytes = await store.get(claimKey(CLAIMS, name));
    // Its run has ended meanwhile.
    if (bytes === null) continue;
    const { began } = claimSchema.parse(JSON.parse(bytes.toString("utf8")));
    claims.set(snapshotText(name), began);
  }
  return claims;
}

/** The highest revision of the session that is claimed or that a prune took; 0 where none is. */
export async function highestClaimed(store: ObjectStore, session: Session): Promise<number> {
  let highest = 0;
  for (const prefix of [CLAIMS, TAKEN]) {
    const folder = `${prefix}${sessionFolder(session).slice(SESSIONS.length)}`;
    for await (const { key } of store.list(folder)) {
      highest = Math.max(highest, parseClaimKey(key)?.revision ?? 0);
    }
  }
  return highest;
}
