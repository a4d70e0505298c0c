/** Which revisions of a session exist, and whether a rollback withdrew the session. */
import { DamageError } from "../lib/errors.ts";
import { sessionAt, sessionKey, type Session } from "../market/session.ts";
import { highestClaimed } from "../snapshot/claims.ts";
import { MAX_APART_MS } from "../snapshot/log/time-gates.ts";
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
 * snapshot. Null if the session was never published, is not withdrawn, or was published before it began. `head` is the
 * head that the run began from. `nowMs` is the clock's time.
 */
export async function withdrawnBy(
  store: ObjectStore,
  session: Session,
  head: Publication | null,
  nowMs: number,
): Promise<Publication | null> {
  const entries = await publicationsSince(store, session, head);
  let published: Publication | null = null;
  let rollback: Publication | null = null;
  for (const entry of entries) {
    if (entry.session === session) {
      // A rollback to another revision of the session withdraws the later revision.
      rollback =
        entry.action === "rollback" && published?.revision !== entry.revision ? entry : null;
      published = entry;
    } else if (entry.action === "rollback" && published !== null && entry.session < session) {
      rollback ??= entry;
    }
  }
  if (published === null || rollback === null) return rollback;
  return wasTooEarly(published, rollback, entries, nowMs) ? null : rollback;
}

/**
 * Whether a clock that was ahead published the session before it began. No entry is dated before the one ahead of it:
 * so a rollback by the right clock has the time of the publication. Besides, the publication left out sessions, or one
 * of them came after the rollback, or the clock has still not reached that time.
 */
function wasTooEarly(
  published: Publication,
  rollback: Publication,
  entries: readonly Publication[],
  nowMs: number,
): boolean {
  // A session whose earlier revision stands has begun.
  if (rollback.at !== published.at || rollback.session === published.session) return false;
  if (nowMs < Date.parse(published.at) - MAX_APART_MS) return true;
  const before = entries[entries.indexOf(published) - 1];
  const leftOut =
    before === undefined ? published.number > 1 : published.session - before.session > 1;
  const isOneLater = entries
    .slice(entries.indexOf(rollback))
    .some(
      ({ action, session, revision, at }) =>
        action === "publish" &&
        session < published.session &&
        revision === 1 &&
        at === published.at,
    );
  return leftOut || isOneLater;
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
