/** Which revisions of a session exist, and whether a rollback took it back. */
import { sessionAt, type Session } from "../market/session.ts";
import { highestClaimed } from "../snapshot/claims.ts";
import { readHead, readPublications, type Publication } from "../snapshot/publication-log.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { parseSnapshotFileKey, sessionFolder } from "../store/paths.ts";

/** One above every revision that was published, claimed or taken, or has left anything in the store. */
export async function nextRevision(store: ObjectStore, session: Session): Promise<number> {
  // A pruned snapshot has left nothing but its entries in the log.
  const numbers = (await entriesOf(store, session)).map(({ revision }) => revision);
  // A claim goes after the files, or when the log names the snapshot.
  numbers.push(await highestStored(store, session), await highestClaimed(store, session));
  return Math.max(0, ...numbers) + 1;
}

/**
 * The rollback that withdrew the session: the first one after its last publication that went back
 * to another snapshot. Null where the session was never published or still stands.
 */
export async function withdrawnBy(
  store: ObjectStore,
  session: Session,
): Promise<Publication | null> {
  if ((await entriesOf(store, session)).length === 0) return null;
  let published: Publication | null = null;
  let rollback: Publication | null = null;
  for (const entry of await readPublications(store)) {
    if (entry.session === session) {
      // A rollback within the session withdraws the revision that stood before.
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
 * The log's entries that name the session. None is published before it has begun: the log need not
 * be read where the last entry was made before that and the session's folder is empty.
 */
async function entriesOf(store: ObjectStore, session: Session): Promise<Publication[]> {
  const head = await readHead(store);
  if (head === null) return [];
  const isNew = sessionAt(Date.parse(head.at)) < session;
  if (isNew && (await highestStored(store, session)) === 0) return [];
  return (await readPublications(store)).filter((entry) => entry.session === session);
}
