/**
 * Records which snapshot names are in use, and which are used up:
 *
 *   claims/2026-11-21T00Z/r2.json   {"began":41}   a run has written the first file of that snapshot
 *   taken/2026-11-21T00Z/r2.json    {}             a prune removed it before any entry made it the head
 *
 * A claim says which entry of the log its run began from. The run removes the claim when it has
 * published the snapshot, or given up and removed its files. A claim that remains belongs to a run that is still going or
 * has crashed. Once two later entries made a head, that run can no longer publish, and a prune takes
 * the name. The log keeps the names of published snapshots for good and `taken/` keeps the others,
 * so that no name is used twice.
 */
import { z } from "zod";
import { DamageError } from "../lib/errors.ts";
import type { Session } from "../market/session.ts";
import type { ObjectStore } from "../ports/store.ts";
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

/** The largest size of a claim or of what keeps a name taken; both have some 20 bytes. */
export const CLAIM_BYTES_MAX = 1_000;

const claimSchema = z.object({ began: z.int().nonnegative() });

/** Claims the name for a run that began from the entry with this number (0: an empty log). */
export const claimName = (
  store: ObjectStore,
  name: SnapshotName,
  began: number,
): Promise<"created" | "taken"> =>
  store.create(claimKey(CLAIMS, name), Buffer.from(`${JSON.stringify({ began })}\n`));

/** Removes the claim after the snapshot was published or given up. */
export const releaseName = (store: ObjectStore, name: SnapshotName): Promise<void> =>
  store.delete(claimKey(CLAIMS, name));

/** Reserves for good a name that no publish or rollback in the log has. */
export const keepTaken = async (store: ObjectStore, name: SnapshotName): Promise<void> =>
  void (await store.create(claimKey(TAKEN, name), Buffer.from("{}\n")));

/**
 * The number of the entry that each claiming run began from, by the snapshot's text. Throws DamageError
 * if an object is no claim.
 */
export async function readClaims(store: ObjectStore): Promise<ReadonlyMap<string, number>> {
  const claims = new Map<string, number>();
  for (const { key } of await Array.fromAsync(store.list(CLAIMS))) {
    const name = parseClaimKey(key);
    if (name === null) continue;
    const bytes = await store.get(key, CLAIM_BYTES_MAX);
    // The run ended since the listing.
    if (bytes === null) continue;
    try {
      const { began } = claimSchema.parse(JSON.parse(bytes.toString("utf8")));
      claims.set(snapshotText(name), began);
    } catch (cause) {
      throw new DamageError(`${store.location}/${key} is not a claim`, [], { cause });
    }
  }
  return claims;
}

/** The session's highest revision that is claimed or that a prune took; 0: none. */
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
