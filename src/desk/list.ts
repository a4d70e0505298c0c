/** `snapshots ls`: the log, newest first, with each entry's meaning and the missed sessions. */
import { atOnce } from "../lib/at-once.ts";
import type { Clock } from "../lib/clock.ts";
import {
  sessionAt,
  sessionKey,
  sessionStartMs,
  unpublishedBetween,
  type Session,
} from "../market/session.ts";
import type { Manifest } from "../snapshot/manifest.ts";
import {
  isPublication,
  logLength,
  readLogBackwards,
  whatOf,
  type Entry,
  type Publication,
  type PruneEntry,
} from "../snapshot/publication-log.ts";
import { readStoredManifest } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { snapshotText } from "../store/paths.ts";
import { requireEmpty } from "./reference.ts";

interface ListedPublication {
  readonly kind: "publication";
  readonly publication: Publication;
  readonly what: ReturnType<typeof whatOf>;
  readonly isHead: boolean;
  /** Null: the snapshot was pruned. */
  readonly manifest: Manifest | null;
}

/**
 * Sessions that nobody published, from `from` to `to` inclusive. "due": the current session, which
 * can still be published in time.
 */
interface MissedSessions {
  readonly kind: "missed" | "due";
  readonly from: Session;
  readonly to: Session;
}

interface ListedPrune {
  readonly kind: "prune";
  readonly prune: PruneEntry;
}

/** The log, newest first. */
export interface Listing {
  /** The entries and, between them, the missed sessions. */
  readonly rows: readonly (ListedPublication | ListedPrune | MissedSessions)[];
  /** How many older entries are not listed. */
  readonly older: number;
}

/** Lists the newest `limit` entries (null: all). Throws DamageError if the log has a gap, or is empty although
 * the store holds snapshots. */
export async function listPublications(
  store: ObjectStore,
  clock: Clock,
  limit: number | null,
): Promise<Listing> {
  const length = await logLength(store);
  if (length === 0) await requireEmpty(store);
  const log = await newestOf(store, limit ?? length);
  const shown = log.slice(0, limit ?? length);
  const publications = shown.filter(isPublication);
  const manifests = await manifestsOf(store, publications);
  const published = new Set(log.filter(isPublication).map(({ session }) => session));
  const rows: Listing["rows"][number][] = [];
  const head = log.find(isPublication);
  if (head !== undefined) {
    const current = sessionAt(clock.now());
    if (head.session < current && !published.has(current)) {
      rows.push({ kind: "due", from: current, to: current });
    }
    rows.push(...missed(head.session, current, published));
  }
  for (const entry of shown) {
    if (!isPublication(entry)) {
      rows.push({ kind: "prune", prune: entry });
      continue;
    }
    const publication = entry;
    const at = publications.indexOf(publication);
    rows.push({
      kind: "publication",
      publication,
      what: whatOf(publication),
      isHead: publication === head,
      manifest: manifests[at] ?? null,
    });
    const older = publications[at + 1];
    if (older !== undefined) rows.push(...missed(older.session, publication.session, published));
  }
  return { rows, older: length - shown.length };
}

/**
 * The newest `count` entries, newest first, plus older ones that may publish a session which would
 * otherwise look missed. It stops at entries from before those sessions: no session is published
 * before it begins.
 */
async function newestOf(store: ObjectStore, count: number): Promise<Entry[]> {
  const entries: Entry[] = [];
  let lowest = Number.POSITIVE_INFINITY;
  for await (const entry of readLogBackwards(store)) {
    const isShown = entries.length < count || lowest === Number.POSITIVE_INFINITY;
    if (!isShown && Date.parse(entry.at) < sessionStartMs(lowest + 1)) break;
    if (isShown && isPublication(entry)) lowest = Math.min(lowest, entry.session);
    entries.push(entry);
  }
  return entries;
}

function manifestsOf(
  store: ObjectStore,
  entries: readonly Publication[],
): Promise<(Manifest | null)[]> {
  // A rollback usually names a snapshot that is already in the list: its manifest is read once.
  const read = new Map<string, ReturnType<typeof readStoredManifest>>();
  return atOnce(entries, async (entry) => {
    const name = snapshotText(entry);
    const stored = read.get(name) ?? readStoredManifest(store, entry, entry.manifest_sha256);
    read.set(name, stored);
    return (await stored)?.manifest ?? null;
  });
}

/** The unpublished sessions between `after` and `before`, as ranges, newest first. */
function missed(
  after: Session,
  before: Session,
  published: ReadonlySet<Session>,
): MissedSessions[] {
  const runs: MissedSessions[] = [];
  for (const session of unpublishedBetween(after, before, published)) {
    const last = runs.at(-1);
    if (last !== undefined && last.from === session + 1)
      runs[runs.length - 1] = { ...last, from: session };
    else runs.push({ kind: "missed", from: session, to: session });
  }
  return runs;
}

/** `2026-11-20T12Z`, or `2026-11-20T12Z to 2026-11-21T12Z (3)`. */
export const missedText = ({ from, to }: MissedSessions): string =>
  from === to ? sessionKey(from) : `${sessionKey(from)} to ${sessionKey(to)} (${to - from + 1})`;
