/** `snapshots rollback`: makes an older snapshot the head again, by appending to the log. */
import type { Clock } from "../lib/clock.ts";
import { ConflictError, DamageError } from "../lib/errors.ts";
import { sessionAt, sessionKey, type Session } from "../market/session.ts";
import { appendRollback } from "../snapshot/log/append.ts";
import { isPublication, type Publication, type StoredEntry } from "../snapshot/log/entry.ts";
import {
  NO_KEYS,
  requireTrusted,
  signingOf,
  type LogKeys,
  type Signing,
} from "../snapshot/log/sign.ts";
import { passTimeGates, USUAL_TIME_GATES, type TimeGates } from "../snapshot/log/time-gates.ts";
import { readLogBackwards, readLogEnd } from "../snapshot/log/walk.ts";
import { rootsOf } from "../snapshot/sums.ts";
import type { ObjectStore } from "../ports/store.ts";
import { snapshotText } from "../store/paths.ts";
import { findSnapshot, isSame, type FoundSnapshot } from "./find-snapshot.ts";
import { damagesOf } from "./verify.ts";

/**
 * Verifies the snapshot that `reference` names, then appends a publication that names it. The next publish
 * builds on it; proxies follow at their next poll. Throws InputError if there is no such snapshot or `gates`
 * accept a gate that refuses nothing, RefusedError if the gates on the time refuse it, DamageError if the
 * snapshot is damaged or nothing that a given key signed vouches for it, and ConflictError if a publish, a
 * rollback, or a prune of this snapshot comes first.
 */
export async function rollBack(
  store: ObjectStore,
  reference: string,
  reason: string,
  clock: Clock,
  keys: LogKeys = NO_KEYS,
  gates: TimeGates = USUAL_TIME_GATES,
): Promise<Rollback> {
  const { newest, head: before } = await readLogEnd(store);
  // In the log as read above, whose newest entry vouches for it: a later entry makes the append fail, which
  // is a conflict, no damage.
  const snapshot = await findSnapshot(store, reference, newest ?? undefined);
  if (before === null || newest === null) {
    throw new DamageError(`${store.location} holds snapshots but no log`);
  }
  await requireTrusted(store, newest, keys);
  if (keys.verifyKeys !== null && snapshot.publication === null) {
    throw new DamageError(
      `${snapshotText(snapshot.name)} is not in the signed log of ${store.location}; the head stays`,
    );
  }
  const { name, manifest, manifestSha256: manifest_sha256 } = snapshot;
  const withdrawn = await publishedAfter(store, name.session, newest);
  const sessions = { withdrawn, current: sessionAt(clock.now()) };
  if (isSame(before, name)) {
    await requireWhole(store, snapshot);
    return rollbackOf("unchanged", before, before, sessions, null);
  }
  passTimeGates(store, newest, clock.now(), gates);
  await store.prove();
  await requireWhole(store, snapshot);
  const roots = rootsOf(manifest);
  const publication = await appendRollback(
    store,
    { ...name, action: "rollback", reason, manifest_sha256, corrections: 0, roots },
    newest,
    clock.now(),
    gates,
    manifest.ledger.map(({ key }) => key),
    keys,
  );
  if (publication === null) {
    throw new ConflictError(
      `Another publish, rollback or prune came first: look at ${store.location} and try again`,
    );
  }
  const signature = signingOf(keys, "signed");
  return rollbackOf("rolled_back", publication, before, sessions, signature);
}

export type Rollback = ReturnType<typeof rollbackOf>;

/** "unchanged": the snapshot is already the head, and nothing was appended. Null: without a key. */
const rollbackOf = (
  outcome: "rolled_back" | "unchanged",
  head: Publication,
  before: Publication,
  { withdrawn, current }: { withdrawn: readonly Session[]; current: Session },
  signature: Signing | null,
) => ({
  outcome,
  snapshot: snapshotText(head),
  publication: head.number,
  reason: head.reason,
  before: snapshotText(before),
  /** The sessions after the head's that were published: they need --revise to be published again. */
  withdrawn: withdrawn.map(sessionKey),
  /** The head's session and those withdrawn that have not begun by the clock. */
  not_begun: [head.session, ...withdrawn].filter((session) => session > current).map(sessionKey),
  signature,
});

/**
 * The sessions after this one that the log published, in their order. It is read back from `newest` to when the
 * session began, as no session is published before it begins; one session more, because a clock can be set
 * back while a run publishes.
 */
async function publishedAfter(
  store: ObjectStore,
  session: Session,
  newest: StoredEntry,
): Promise<readonly Session[]> {
  const published = new Set<Session>();
  for await (const { entry } of readLogBackwards(store, newest)) {
    if (sessionAt(Date.parse(entry.at)) < session - 1) break;
    if (isPublication(entry) && entry.session > session) published.add(entry.session);
  }
  return [...published].toSorted((a, b) => a - b);
}

async function requireWhole(store: ObjectStore, snapshot: FoundSnapshot): Promise<void> {
  const damages = await damagesOf(store, snapshot);
  if (damages.length === 0) return;
  throw new DamageError(`${snapshotText(snapshot.name)} is damaged; the head stays`, damages);
}
