/** Appends entries to the log: numbered, dated, linked to the entries before, signed. */
import { instantText } from "../lib/clock.ts";
import { JSON_TYPE } from "../store/media-types.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { publicationKey, snapshotText, type SnapshotName } from "../store/paths.ts";
import { proveChain } from "./chain.ts";
import { sha256Hex } from "./digest.ts";
import {
  isPublication,
  mustRead,
  readEntry,
  renderEntry,
  type Entry,
  type Publication,
  type StoredEntry,
} from "./publication-log.ts";
import { announceEntry, NO_KEYS, requireTrusted, signEntry, type LogKeys } from "./signed-log.ts";

/**
 * Appends the entry, and signs it if there is a key; "taken": another run was first. A number is signed
 * after it is taken, so never with two contents.
 */
export async function appendEntry(
  store: ObjectStore,
  entry: Entry,
  { signingKey }: LogKeys = NO_KEYS,
): Promise<"created" | "taken"> {
  const bytes = renderEntry(entry);
  const stored = { entry, sha256: sha256Hex(bytes) };
  const withdraw = signingKey && (await announceEntry(store, stored, signingKey));
  const outcome = await store.create(publicationKey(entry.number), bytes, JSON_TYPE);
  // A retried request may find the entry of its own first try. Two runs can also roll back or prune with
  // the same words: they share the announcement, which must stay until the entry is signed.
  const isThere =
    outcome === "created" || (await mustRead(store, entry.number)).sha256 === stored.sha256;
  if (signingKey !== null && isThere) await signEntry(store, stored, signingKey);
  await withdraw?.();
  // No other run publishes this manifest.
  return isThere && entry.action === "publish" ? "created" : outcome;
}

/**
 * Appends a publish or a rollback after `newest`, the newest entry that the run has read. Later
 * prunes do not stop it unless they took the snapshot or one of `parts`, the keys of its ledger.
 * Returns the entry in the log, or null if another run was first. Throws DamageError if there are
 * keys to verify with, and none of them signed a prune that came first.
 */
export async function appendPublication(
  store: ObjectStore,
  wanted: Omit<Publication, "number" | "at" | "previous">,
  newest: StoredEntry | null,
  nowMs: number,
  parts: readonly string[],
  keys: LogKeys = NO_KEYS,
): Promise<Publication | null> {
  const needed = new Set([snapshotText(wanted), ...parts]);
  for (let last = newest; ;) {
    const previous = await linkTo(store, last);
    const at = timeAfter(last?.entry ?? null, nowMs);
    const publication = { ...wanted, number: numberAfter(last?.entry ?? null), at, previous };
    if ((await appendEntry(store, publication, keys)) === "created") return publication;
    const there = await mustRead(store, publication.number);
    if (overtakes(there.entry, needed)) return null;
    await requireTrusted(store, there, keys);
    last = there;
  }
}

/**
 * Whether an entry after `newest` stops a run that read the log until there: it makes a head, or takes
 * the snapshot or one of `parts`.
 */
export async function isOvertaken(
  store: ObjectStore,
  name: SnapshotName,
  newest: StoredEntry | null,
  parts: readonly string[],
): Promise<boolean> {
  const needed = new Set([snapshotText(name), ...parts]);
  for (let number = numberAfter(newest?.entry ?? null); ; number += 1) {
    const entry = await readEntry(store, number);
    if (entry === null) return false;
    if (overtakes(entry, needed)) return true;
  }
}

const overtakes = (entry: Entry, needed: ReadonlySet<string>): boolean =>
  isPublication(entry) || [...entry.snapshots, ...entry.parts].some((name) => needed.has(name));

/** The `previous` of the entry after `newest`. Reads the whole log if `newest` has none (chain.ts). */
export async function linkTo(
  store: ObjectStore,
  newest: StoredEntry | null,
): Promise<string | null> {
  if (newest === null) return null;
  const { entry, sha256 } = newest;
  return entry.previous === undefined ? (await proveChain(store, 1, entry.number)).link : sha256;
}

/** The number of the next entry. */
export const numberAfter = (newest: Entry | null): number => (newest?.number ?? 0) + 1;

/** The time of the next entry: the clock's, but never before that of the newest entry. */
export const timeAfter = (newest: Entry | null, nowMs: number): string =>
  instantText(newest === null ? nowMs : Math.max(nowMs, Date.parse(newest.at)));
