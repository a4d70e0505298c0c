/** Which revisions of a session exist, and whether a rollback withdrew the session. */
import { DamageError } from "../lib/errors.ts";
import { sessionAt, sessionKey, type Session } from "../market/session.ts";
import { highestClaimed } from "../snapshot/claims.ts";
import { isPublication, type Publication } from "../snapshot/log/entry.ts";
import { readLogBackwards } from "../snapshot/log/walk.ts";
import type { ObjectStore } from "../ports/store.ts";
import { parseSnapshotFileKey, REVISION_MAX, sessionFolder } from "../store/paths.ts";

/**
 * One above every revision that is in the log, is claimed or taken, or has files in the store. `head` is
 * the head that the run began from. Throws DamageError if no key can name it.
 */
export async function nextRevision(
  store: ObjectStore,
  session: Session,
  head: Publication | null,
): Promise<number> {
  // Of a pruned snapshot only its entries in the log remain.
  const numbers = (await publicationsSince(store, session, head))
    .filter((entry) => entry.session === session)
    .map(({ revision }) => revision);
  // A claim is removed after the files, or when the log names the snapshot.
  numbers.push(await highestStored(store, session), await highestClaimed(store, session));
  const next = Math.max(0, ...numbers) + 1;
  if (next <= REVISION_MAX) return next;
  throw new DamageError(
    `${store.location} has files or a claim of ${sessionKey(session)}/r${REVISION_MAX}: ` +
      "no run writes so high a revision, remove it",
  );
}

/**
 * The rollback that withdrew the session: the first one after its last publication that named another
 * snapshot. Null if the session was never published or is not withdrawn. `head` is the
 * head that the run began from.
 */
export async function withdrawnBy(
  store: ObjectStore,
  session: Session,
  head: Publication | null,
): Promise<Publication | null> {
  let published: Publication | null = null;
  let rollback: Publication | null = null;
  for (const entry of await publicationsSince(store, session, head)) {
    if (entry.session === session) {
      // A rollback to another revision of the session withdraws the later revision.
      rollback =
        entry.action === "rollback" && published?.revision !== entry.revision ? entry : null;
      published = entry;
    } else if (entry.action === "rollback" && published !== null && entry.session < session) {
      rollback ??= entry;
    }
  }
  return rollback;
}

async function highestStored(store: ObjectStore, session: Session): Promise<number> {
  let highest = 0;
  for await (const { key } of store.list(sessionFolder(session))) {
    highest = Math.max(highest, parseSnapshotFileKey(key)?.name.revision ?? 0);
  }
  return highest;
}

/**
 * The publishes and rollbacks since the session began, oldest first, and a few before. No session is
 * published before it begins, and times in the log never decrease. One session more is read, because a
 * clock can be set back while a run publishes. The log is not read at all if the run's head is older than
 * the session and the session's folder is empty: who has published the session since has left files there.
 */
async function publicationsSince(
  store: ObjectStore,
  session: Session,
  head: Publication | null,
): Promise<Publication[]> {
  if (head === null) return [];
  const isNew = sessionAt(Date.parse(head.at)) < session;
  if (isNew && (await highestStored(store, session)) === 0) return [];
  const publications: Publication[] = [];
  for await (const { entry } of readLogBackwards(store)) {
    if (sessionAt(Date.parse(entry.at)) < session - 1) break;
    if (isPublication(entry)) publications.push(entry);
  }
  return publications.reverse();
}
