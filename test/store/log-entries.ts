/** The log of a store, for tests: its entries, and others that no run appends. */
import { appendEntry } from "../../src/snapshot/log/append.ts";
import {
  isPublication,
  type Entry,
  type Publication,
  type StoredEntry,
} from "../../src/snapshot/log/entry.ts";
import { NO_KEYS } from "../../src/snapshot/log/sign.ts";
import type { TimeGates } from "../../src/snapshot/log/time-gates.ts";
import { mustRead, readLog, readLogEnd } from "../../src/snapshot/log/walk.ts";
import type { ObjectStore } from "../../src/ports/store.ts";

/** The newest publish or rollback; null: the store is empty. */
export const readHead = async (store: ObjectStore): Promise<Publication | null> =>
  (await readLogEnd(store)).head;

/** The entries, oldest first. */
export const readEntries = async (store: ObjectStore): Promise<Entry[]> =>
  (await readLog(store)).map(({ entry }) => entry);

/** The publishes and rollbacks, oldest first. */
export const readPublications = async (store: ObjectStore): Promise<Publication[]> =>
  (await readEntries(store)).filter(isPublication);

/** The entry with this number. */
export const readEntry = async (store: ObjectStore, number: number): Promise<Entry> =>
  (await mustRead(store, number)).entry;

/** Every clock passes. */
export const ANY_TIME: TimeGates = { maxGapSessions: Infinity, accept: [] };

type Wanted = Parameters<typeof appendEntry>[1];

/** Appends an entry to the end of the log, at `nowMs` or the time of the entry before. */
export async function append(
  store: ObjectStore,
  wanted: Wanted,
  nowMs = 0,
  keys = NO_KEYS,
): Promise<StoredEntry> {
  const { newest } = await readLogEnd(store);
  const stored = await appendEntry(store, wanted, newest, nowMs, ANY_TIME, keys);
  if (stored === null) throw new Error("Another run was first");
  return stored;
}

/** A prune that takes nothing. */
export const EMPTY_PRUNE = { action: "prune", snapshots: [], parts: [] } satisfies Wanted;
