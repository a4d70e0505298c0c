/** `snapshots rollback`: makes an older snapshot the head again, by appending to the log. */
import type { Clock } from "../lib/clock.ts";
import { ConflictError, DamageError } from "../lib/errors.ts";
import { appendPublication } from "../snapshot/append.ts";
import { proveChain } from "../snapshot/chain.ts";
import {
  isPublication,
  readLogEnd,
  type Publication,
  type StoredEntry,
} from "../snapshot/publication-log.ts";
import {
  NO_KEYS,
  requireSignedEnd,
  signEnd,
  signingOf,
  type LogKeys,
  type Signing,
} from "../snapshot/signed-log.ts";
import { rootsOf } from "../snapshot/sums.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { snapshotText } from "../store/paths.ts";
import { findSnapshot, isSame, type FoundSnapshot } from "./reference.ts";
import { damagesOf } from "./verify.ts";

/**
 * Verifies the snapshot that `reference` names, then appends a publication that names it. The next
 * publish builds on it; proxies follow at their next poll. Throws InputError if there is no such
 * snapshot, DamageError if it is damaged or nothing that a given key signed vouches for it, and
 * ConflictError if a publish, a rollback, or a prune of this snapshot comes first.
 */
export async function rollBack(
  store: ObjectStore,
  reference: string,
  reason: string,
  clock: Clock,
  keys: LogKeys = NO_KEYS,
): Promise<Rollback> {
  const end = await readLogEnd(store);
  const { newest, head: before } = end;
  // In the log as read above: what comes later makes the append fail, which is a conflict, no damage.
  const snapshot = await findSnapshot(store, reference, newest?.entry.number ?? 0);
  if (before === null || newest === null) {
    throw new DamageError(`${store.location} holds snapshots but no log`);
  }
  const repaired = await requireSignedEnd(store, end, keys, false);
  if (keys.verifyKeys !== null) await requireVouchedFor(store, snapshot, newest);
  if (isSame(before, snapshot.name)) {
    await requireWhole(store, snapshot);
    const signing = repaired ?? (await signEnd(store, newest, keys, false));
    return rollbackOf("unchanged", before, before, signing);
  }
  await store.prove();
  await requireWhole(store, snapshot);
  const { name, manifest, manifestSha256: manifest_sha256 } = snapshot;
  const roots = rootsOf(manifest);
  const publication = await appendPublication(
    store,
    { ...name, action: "rollback", reason, manifest_sha256, corrections: 0, roots },
    newest,
    clock.now(),
    manifest.ledger.map(({ key }) => key),
    keys,
  );
  if (publication === null) {
    throw new ConflictError(
      `Another publish, rollback or prune came first: look at ${store.location} and try again`,
    );
  }
  return rollbackOf("rolled_back", publication, before, signingOf(keys, "signed"));
}

/** The result of a rollback. */
export type Rollback = ReturnType<typeof rollbackOf>;

/** "unchanged": the snapshot is already the head, and nothing was appended. Null: without a key. */
const rollbackOf = (
  outcome: "rolled_back" | "unchanged",
  head: Publication,
  before: Publication,
  signature: Signing | null,
) => ({
  outcome,
  snapshot: snapshotText(head),
  publication: head.number,
  reason: head.reason,
  before: snapshotText(before),
  signature,
});

/** Throws DamageError unless `newest`, which is signed, vouches for the entry that names the snapshot. */
async function requireVouchedFor(
  store: ObjectStore,
  { name, publication }: FoundSnapshot,
  newest: StoredEntry,
): Promise<void> {
  let isProven = false;
  if (publication !== null) {
    // The links from this entry on prove it. Without a link of its own it needs those before it, too.
    const from = publication.previous === undefined ? 1 : publication.number;
    const chain = await proveChain(store, from, newest.entry.number, ({ entry }) => {
      isProven ||=
        isPublication(entry) &&
        entry.number === publication.number &&
        entry.manifest_sha256 === publication.manifest_sha256;
    });
    isProven &&= chain.newest?.sha256 === newest.sha256;
  }
  if (isProven) return;
  throw new DamageError(
    `${snapshotText(name)} is not in the signed log of ${store.location}; the head stays`,
  );
}

async function requireWhole(store: ObjectStore, snapshot: FoundSnapshot): Promise<void> {
  const damages = await damagesOf(store, snapshot);
  if (damages.length === 0) return;
  throw new DamageError(`${snapshotText(snapshot.name)} is damaged; the head stays`, damages);
}
