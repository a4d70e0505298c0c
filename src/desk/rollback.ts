/** `snapshots rollback`: makes an older snapshot the head again, by appending to the log. */
import type { Clock } from "../lib/clock.ts";
import { ConflictError, DamageError } from "../lib/errors.ts";
import { appendPublication, readLogEnd, type Publication } from "../snapshot/publication-log.ts";
import type { VerifyKey } from "../snapshot/signing-key.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { snapshotText } from "../store/paths.ts";
import { findSnapshot, isSame, type FoundSnapshot } from "./reference.ts";
import { damagesOf } from "./verify.ts";

/** The result of a rollback. */
export interface Rollback {
  /** "unchanged": the snapshot is already the head, and nothing was appended. */
  readonly outcome: "rolled_back" | "unchanged";
  readonly snapshot: FoundSnapshot;
  /** The head's entry after the rollback. */
  readonly publication: Publication;
  /** The head's entry before the rollback. */
  readonly before: Publication;
}

/**
 * Verifies the snapshot that `reference` names, then appends a publication that names it. The next
 * publish builds on it; proxies follow at their next poll. Throws InputError if there is no such
 * snapshot, DamageError if it is damaged or none of the given keys signed it, and ConflictError if a
 * publish, a rollback, or a prune of this snapshot comes first.
 */
export async function rollBack(
  store: ObjectStore,
  reference: string,
  reason: string,
  clock: Clock,
  keys: readonly VerifyKey[] | null = null,
): Promise<Rollback> {
  const { newest, head: before } = await readLogEnd(store);
  const snapshot = await findSnapshot(store, reference);
  if (before === null) throw new DamageError(`${store.location} holds snapshots but no log`);
  if (isSame(before, snapshot.name)) {
    await requireWhole(store, snapshot, keys);
    return { outcome: "unchanged", snapshot, publication: before, before };
  }
  await store.prove();
  await requireWhole(store, snapshot, keys);
  const { name, manifest, manifestSha256 } = snapshot;
  const publication = await appendPublication(
    store,
    { ...name, action: "rollback", reason, manifest_sha256: manifestSha256, corrections: 0 },
    newest,
    clock.now(),
    manifest.ledger.map(({ key }) => key),
  );
  if (publication === null) {
    throw new ConflictError(
      `Another publish, rollback or prune came first: look at ${store.location} and try again`,
    );
  }
  return { outcome: "rolled_back", snapshot, publication, before };
}

async function requireWhole(
  store: ObjectStore,
  snapshot: FoundSnapshot,
  keys: readonly VerifyKey[] | null,
): Promise<void> {
  const damages = await damagesOf(store, snapshot, keys);
  if (damages.length === 0) return;
  const what = keys === null ? "is damaged" : "is damaged or not signed by a given key";
  throw new DamageError(`${snapshotText(snapshot.name)} ${what}; the head stays`, damages);
}
