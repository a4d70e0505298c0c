/** `snapshots ls`: the log, newest first, with each entry's meaning and the missed sessions. */
import { atOnce } from "../lib/at-once.ts";
import type { Clock } from "../lib/clock.ts";
import {
  sessionAt,
  sessionKey,
  sessionStartMs,
  sessionUtc,
  type Session,
} from "../market/session.ts";
import type { Manifest } from "../snapshot/manifest.ts";
import {
  isPublication,
  publicationKind,
  type Entry,
  type Publication,
  type PruneEntry,
} from "../snapshot/log/entry.ts";
import { logLength, readLogBackwards } from "../snapshot/log/walk.ts";
import { readStoredManifest } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../ports/store.ts";
import { requireEmpty } from "./find-snapshot.ts";

/**
 * Sessions that nobody published, from `from` to `to` inclusive. "due": the current session, which
 * can still be published in time.
 */
export interface MissedSessions {
  readonly what: "missed" | "due";
  readonly from: string;
  readonly to: string;
}

/** One of the log's entries or, between them, missed sessions. */
export type ListRow =
  | ReturnType<typeof listedPublication>
  | (PruneEntry & { readonly what: "prune" })
  | MissedSessions;

/** The log, newest first. */
export interface Listing {
  /** How many older entries are not listed. */
  readonly older: number;
  readonly publications: readonly ListRow[];
}

/**
 * Lists the newest `limit` entries (null: all). Throws DamageError if the log has a gap, or is empty although the store
 * holds snapshots.
 */
export async function listPublications(
  store: ObjectStore,
  clock: Clock,
  limit: number | null,
): Promise<Listing> {
  const length = await logLength(store);
  if (length === 0) await requireEmpty(store);
  const log = await newestOf(store, limit ?? length);
  const listed = log.slice(0, limit ?? length);
  const publications = listed.filter(isPublication);
  const manifests = await atOnce(publications, (entry) =>
    readStoredManifest(store, entry, entry.manifest_sha256),
  );
  const published = new Set(log.filter(isPublication).map(({ session }) => session));
  const rows: ListRow[] = [];
  const head = log.find(isPublication);
  if (head !== undefined) {
    const current = sessionAt(clock.now());
    if (head.session < current && !published.has(current)) rows.push(sessionRange("due", current));
    rows.push(...missedBetween(head.session, current, published));
  }
  for (const entry of listed) {
    if (!isPublication(entry)) {
      rows.push({ what: "prune", ...entry });
      continue;
    }
    const at = publications.indexOf(entry);
    rows.push(listedPublication(entry, entry === head, manifests[at]?.manifest ?? null));
    const older = publications[at + 1];
    if (older !== undefined) rows.push(...missedBetween(older.session, entry.session, published));
  }
  return { older: length - listed.length, publications: rows };
}

/** A publish or a rollback. `manifest` null: the snapshot was pruned. */
const listedPublication = (entry: Publication, isHead: boolean, manifest: Manifest | null) => ({
  what: publicationKind(entry),
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

/**
 * The newest `count` entries, newest first, plus older ones that may publish a session which would
 * otherwise look missed. It stops at entries from before those sessions: no session is published
 * before it begins.
 */
async function newestOf(store: ObjectStore, count: number): Promise<Entry[]> {
  const entries: Entry[] = [];
  let lowest = Number.POSITIVE_INFINITY;
  for await (const { entry } of readLogBackwards(store)) {
    const isShown = entries.length < count || lowest === Number.POSITIVE_INFINITY;
    if (!isShown && Date.parse(entry.at) < sessionStartMs(lowest + 1)) break;
    if (isShown && isPublication(entry)) lowest = Math.min(lowest, entry.session);
    entries.push(entry);
  }
  return entries;
}

/** The unpublished sessions between `after` and `before`, as ranges, newest first. */
function missedBetween(
  after: Session,
  before: Session,
  published: ReadonlySet<Session>,
): MissedSessions[] {
  const runs: { from: Session; to: Session }[] = [];
  for (let session = before - 1; session > after; session -= 1) {
    if (published.has(session)) continue;
    const last = runs.at(-1);
    if (last?.from === session + 1) last.from = session;
    else runs.push({ from: session, to: session });
  }
  return runs.map(({ from, to }) => sessionRange("missed", from, to));
}

const sessionRange = (
  what: MissedSessions["what"],
  from: Session,
  to: Session = from,
): MissedSessions => ({ what, from: sessionKey(from), to: sessionKey(to) });
