/**
 * Walks the log from entry to entry and proves that they follow each other: `previous` of an entry is the
 * SHA-256 of the whole entry before, signature included.
 *
 *   sha256sum publications/0000000041.json                          previous of 42
 *
 * So the bytes of an entry vouch for all entries before it, and a signature of it (sign.ts) for the whole
 * log until there.
 */
import { DamageError } from "../../lib/errors.ts";
import type { ObjectStore } from "../../ports/store.ts";
import {
  parsePublicationKey,
  parseTileKey,
  publicationKey,
  PUBLICATIONS,
  type Tile,
} from "../../store/paths.ts";
import {
  ENTRY_BYTES_MAX,
  isPublication,
  type Publication,
  type ReadEntry,
  type StoredEntry,
} from "./entry.ts";
import { parseEntry } from "./entry-bytes.ts";
import { tiledEntries, tilesIn } from "./tiles.ts";

const READS_AT_ONCE = 16;
/**
 * An object whose number is so much higher than all others is no part of the log: nobody loses so many
 * entries.
 */
const GAP_MAX = 1_000;

/**
 * The entries from `from` on, up to the newest one, or down to the first one (`step` -1). Each is linked to
 * the one that the caller got before. Reads only as far as the caller iterates, a few at once. Throws
 * DamageError where a link is broken, and what `read` throws where it is reached.
 */
export async function* walkLog(
  read: ReadEntry,
  from: number,
  step: 1 | -1 = 1,
): AsyncGenerator<StoredEntry> {
  let last: StoredEntry | null = null;
  let next = from;
  for (let atOnce = step === 1 ? 2 : 1; next > 0; atOnce = Math.min(2 * atOnce, READS_AT_ONCE)) {
    const count = step === 1 ? atOnce : Math.min(atOnce, next);
    const reads = Array.from({ length: count }, (_, at) => read(next + at * step));
    await Promise.allSettled(reads);
    for (const reading of reads) {
      const stored = await reading;
      if (stored === null) return;
      if (last !== null && step === 1) requireLink(last, stored);
      else if (last !== null) requireLink(stored, last);
      last = stored;
      yield stored;
    }
    next += count * step;
  }
}

/** Throws DamageError unless `after` follows `before`, whose number is one less. */
export function requireLink(before: StoredEntry, after: StoredEntry): void {
  const { previous } = after.entry;
  if (previous === before.sha256) return;
  throw new DamageError(
    `${after.where} does not follow the log before it: its previous is ${previous}, ` +
      `expected ${before.sha256}`,
  );
}

/** Reads entries of a store. Throws DamageError if one is damaged, or another one than was asked for. */
export const entriesIn =
  (store: ObjectStore): ReadEntry =>
  async (number) => {
    const key = publicationKey(number);
    const bytes = await store.get(key, ENTRY_BYTES_MAX);
    return bytes && parseEntry(bytes, number, `${store.location}/${key}`);
  };

/** Reads an entry that must be there. Throws DamageError if it is not, or is damaged. */
export async function mustRead(store: ObjectStore, number: number): Promise<StoredEntry> {
  const stored = await entriesIn(store)(number);
  if (stored === null) throw missingEntryError(store, number);
  return stored;
}

/** The error for a gap in the log. */
export const missingEntryError = (store: ObjectStore, number: number): DamageError =>
  new DamageError(`${store.location}: the log lacks ${publicationKey(number)}`);

/**
 * The log, newest entry first, from `newest` or from its end. Throws DamageError if a number is missing,
 * or if an entry that the caller reaches is damaged or not linked.
 */
export async function* readLogBackwards(
  store: ObjectStore,
  newest?: StoredEntry,
): AsyncGenerator<StoredEntry> {
  const end = newest?.entry.number ?? 0;
  const { length, tiles } =
    newest === undefined ? await wholeLog(store) : { length: end, tiles: [] };
  const read: ReadEntry = async (number) =>
    number === end && newest !== undefined ? newest : mustRead(store, number);
  yield* walkLog(tiledEntries(tilesIn(store, tiles), read), length, -1);
}

/** The whole log, oldest first. Throws as `readLogBackwards` does. */
export const readLog = async (store: ObjectStore): Promise<StoredEntry[]> =>
  (await Array.fromAsync(readLogBackwards(store))).reverse();

export interface LogEnd {
  /** Null: the log is empty. */
  readonly newest: StoredEntry | null;
  readonly head: Publication | null;
}

/** Reads back to the head. Throws as `readLogBackwards` does. */
export async function readLogEnd(store: ObjectStore): Promise<LogEnd> {
  let newest: StoredEntry | null = null;
  for await (const stored of readLogBackwards(store)) {
    newest ??= stored;
    if (isPublication(stored.entry)) return { newest, head: stored.entry };
  }
  return { newest, head: null };
}

/** How many entries the log has. Throws DamageError if it has a gap. */
export const logLength = async (store: ObjectStore): Promise<number> =>
  (await wholeLog(store)).length;

async function wholeLog(store: ObjectStore): Promise<{ length: number; tiles: readonly Tile[] }> {
  const { newest, gap, tiles } = await listLog(store);
  if (gap !== null) throw gap;
  return { length: newest, tiles };
}

/**
 * The highest number in the log (0: none), the error for the first one missing (null: none is), and the tiles.
 */
export async function listLog(
  store: ObjectStore,
): Promise<{ newest: number; gap: DamageError | null; tiles: readonly Tile[] }> {
  let newest = 0;
  let gap: DamageError | null = null;
  const tiles: Tile[] = [];
  for await (const { key } of store.list(PUBLICATIONS)) {
    const tile = parseTileKey(key);
    if (tile !== null) tiles.push(tile);
    const number = parsePublicationKey(key);
    if (number === null) continue;
    if (number !== newest + 1) gap ??= missingEntryError(store, newest + 1);
    if (number > newest + GAP_MAX) break;
    newest = number;
  }
  return { newest, gap, tiles };
}
