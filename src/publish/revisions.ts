/** Which revisions of a session exist, and whether a rollback took it back. */
import type { Session } from "../market/session.ts";
import { readLog, type Publication } from "../snapshot/publication-log.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { parseSnapshotFileKey, sessionFolder } from "../store/paths.ts";

/** One above every revision that has left anything in the store, published or not. */
export async function nextRevision(store: ObjectStore, session: Session): Promise<number> {
  let highest = 0;
  for await (const { key } of store.list(sessionFolder(session))) {
    highest = Math.max(highest, parseSnapshotFileKey(key)?.name.revision ?? 0);
  }
  return highest + 1;
}

/**
 * The rollback that withdrew the session: the first one after its last publication that went back
 * to another snapshot. Null where the session was never published or still stands.
 */
export async function withdrawnBy(
  store: ObjectStore,
  session: Session,
): Promise<Publication | null> {
  if ((await nextRevision(store, session)) === 1) return null;
  let published: Publication | null = null;
  let rollback: Publication | null = null;
  for (const entry of await readLog(store)) {
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
