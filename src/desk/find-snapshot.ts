/** Finds the snapshot that a command-line argument names. */
import { ConflictError, DamageError, InputError } from "../lib/errors.ts";
import { sessionKey } from "../market/session.ts";
import type { Manifest } from "../snapshot/manifest.ts";
import { isPublication, type Publication, type StoredEntry } from "../snapshot/log/entry.ts";
import { entriesIn, readLogBackwards, readLogEnd } from "../snapshot/log/walk.ts";
import { readStoredManifest } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../ports/store.ts";
import {
  FILES,
  INPUTS,
  LEDGER,
  parseSnapshotText,
  SESSIONS,
  snapshotFileKey,
  snapshotText,
  type SnapshotName,
} from "../store/paths.ts";

/** A stored snapshot. If the log names it, its manifest has the digest in the log. */
export interface FoundSnapshot {
  readonly name: SnapshotName;
  readonly manifest: Manifest;
  /** SHA-256 (hex) of the stored bytes. */
  readonly manifestSha256: string;
  /** The last log entry that names it, or null. */
  readonly publication: Publication | null;
  /** Whether that entry has a signature. */
  readonly isSigned: boolean;
}

const REFERENCE_HELP =
  "head, head~1 (the publication before), a session such as 2026-11-21T00Z, or 2026-11-21T00Z/r1";

/**
 * Finds the snapshot for `reference`: `head`, `head~N` (N publications back), a session (its last
 * published revision) or a session with its revision (any stored snapshot). Throws InputError if it
 * does not exist or was pruned, and DamageError if its manifest is missing or not the published one, or if
 * the log is damaged. It reads the log back from `newest`, or from its end.
 */
export async function findSnapshot(
  store: ObjectStore,
  reference: string,
  newest?: StoredEntry,
): Promise<FoundSnapshot> {
  const { name, entry, isTaken } = await lookUp(store, reference, newest);
  if (isTaken) throw notThere(store, name, true);
  const publication = entry?.entry ?? null;
  const stored = await readStoredManifest(store, name, publication?.manifest_sha256 ?? null);
  const isSigned = (entry?.signature ?? null) !== null;
  if (stored !== null) return { name, ...stored, publication, isSigned };
  if (publication === null) throw notThere(store, name, false);
  if (await isPruned(store, name)) throw notThere(store, name, true);
  // Of a copy into this store, the last entries may be missing: one of them may prune this snapshot.
  throw new DamageError(
    `${store.location}/${snapshotFileKey(name, FILES.manifest)} is missing; ` +
      "if a copy into this store did not end, run it again",
  );
}

/** The last entry that made the snapshot for `reference` the head. Throws InputError if there is none. */
export async function findEntry(store: ObjectStore, reference: string): Promise<StoredPublication> {
  const { name, entry, isTaken } = await lookUp(store, reference);
  if (entry !== null && !isTaken) return entry;
  throw notThere(store, name, isTaken);
}

/** Whether a prune took the snapshot, also one that came since the log was read. */
export const isPruned = async (store: ObjectStore, name: SnapshotName): Promise<boolean> =>
  (await lookUp(store, snapshotText(name))).isTaken;

const notThere = (store: ObjectStore, name: SnapshotName, wasPruned: boolean): InputError =>
  new InputError(
    `${store.location} does not hold ${snapshotText(name)}${wasPruned ? "; it was pruned" : ""}`,
  );

/**
 * The error for a store whose log is empty: InputError, or DamageError if the store holds other
 * objects. Then the log is lost, or the first publish or a copy into the store did not end.
 */
export async function emptyLogError(store: ObjectStore): Promise<InputError | DamageError> {
  for (const prefix of [SESSIONS, LEDGER, INPUTS]) {
    for await (const { key } of store.list(prefix)) {
      return new DamageError(
        `${store.location} holds ${key} but no publication; ` +
          "if a copy or a first publish into it did not end, run that again",
      );
    }
  }
  return new InputError(`${store.location} holds no publication yet`);
}

/** Throws ConflictError if the other store also has the newest entry of this one: then this is its copy. */
export async function requireNoCopy(store: ObjectStore, other: ObjectStore): Promise<void> {
  const { newest } = await readLogEnd(store);
  const there = newest && (await entriesIn(other)(newest.entry.number));
  if (newest === null || there?.sha256 !== newest.sha256) return;
  throw new ConflictError(
    `${store.location} is a copy of ${other.location}, and a prune of its own would end that: ` +
      `prune ${other.location}, then copy with --mirror`,
  );
}

/** Throws emptyLogError unless a store without a log is empty. */
export async function requireEmpty(store: ObjectStore): Promise<void> {
  const error = await emptyLogError(store);
  if (error instanceof DamageError) throw error;
}

export const isSame = (a: SnapshotName, b: SnapshotName): boolean =>
  a.session === b.session && a.revision === b.revision;

/** An entry that makes a head, as it was read. */
interface StoredPublication extends Pick<StoredEntry, "signature"> {
  readonly entry: Publication;
}

/**
 * Reads the log backwards and stops at the entry that it looks for. Returns the snapshot's name, the last
 * entry that names it, or null, and whether a prune removed it.
 */
async function lookUp(store: ObjectStore, reference: string, newest?: StoredEntry) {
  const back = /^head(?:~(\d{1,9}))?$/i.exec(reference);
  const parsed = parseSnapshotText(reference);
  if (back === null && parsed === null) {
    throw new InputError(`${JSON.stringify(reference)}: expected ${REFERENCE_HELP}`);
  }
  const read: StoredPublication[] = [];
  const taken = new Set<string>();
  const isMeant = (entry: Publication): boolean => {
    if (parsed === null) return read.length > Number(back?.[1] ?? 0);
    if (entry.session !== parsed.session) return false;
    return parsed.revision === null
      ? entry.action === "publish"
      : entry.revision === parsed.revision;
  };
  for await (const { entry, signature } of readLogBackwards(store, newest)) {
    if (!isPublication(entry)) {
      entry.snapshots.forEach((text) => taken.add(text));
      continue;
    }
    read.push({ entry, signature });
    if (!isMeant(entry)) continue;
    const last = read.find((other) => isSame(other.entry, entry)) ?? null;
    const name = { session: entry.session, revision: entry.revision };
    return { name, entry: last, isTaken: taken.has(snapshotText(name)) };
  }
  if (read.length === 0 && (parsed?.revision ?? null) === null) throw await emptyLogError(store);
  if (parsed === null) {
    throw new InputError(
      `${reference}: the log of ${store.location} has ${read.length} publications`,
    );
  }
  const { session, revision } = parsed;
  if (revision !== null) {
    const name = { session, revision };
    return { name, entry: null, isTaken: taken.has(snapshotText(name)) };
  }
  throw new InputError(`${store.location} has no publication of ${sessionKey(session)}`);
}
