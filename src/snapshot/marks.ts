/**
 * Marks by which prune keeps out of the way of rollback and publish, in any order of their steps:
 *
 *   pruning/3f0c….json                          what a prune is about to remove, while it does
 *   rollbacks/2026-11-21T00Z/r1/77ab….json      a snapshot that a rollback is about to name
 *
 * Each sets its mark before it looks for the other's (a publish's mark is the folder it claims), so
 * of two that meet at least one sees the other. A run that was killed leaves its mark; an hour
 * later nobody heeds it, and the next prune removes it.
 */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { JSON_TYPE } from "../store/media-types.ts";
import type { ObjectStore } from "../store/object-store.ts";
import {
  parseSnapshotText,
  PRUNING,
  ROLLBACKS,
  snapshotText,
  type SnapshotName,
} from "../store/paths.ts";

/** How long a mark is heeded. */
export const MARK_HEEDED_MS = 3_600_000;

const condemnedSchema = z.object({ snapshots: z.array(z.string()), parts: z.array(z.string()) });

/** What prunes are removing: snapshots (`2026-11-21T00Z/r1`) and keys of the ledger's parts. */
type Condemned = z.infer<typeof condemnedSchema>;

/** Does the work while a mark says what it removes; without one where that is nothing. */
export async function whileCondemned<T>(
  store: ObjectStore,
  condemned: Condemned,
  work: () => Promise<T>,
): Promise<T> {
  if (condemned.snapshots.length + condemned.parts.length === 0) return work();
  const mark = `${PRUNING}${randomUUID()}.json`;
  return whileMarked(store, mark, `${JSON.stringify(condemned)}\n`, work);
}

/** What prunes are removing, but for marks left an hour or more before `sinceKey` was written. */
export async function condemnedSince(store: ObjectStore, sinceKey: string): Promise<Condemned> {
  let sinceMs = 0;
  for await (const { key, modifiedAtMs } of store.list(sinceKey)) {
    if (key === sinceKey) sinceMs = modifiedAtMs;
  }
  return readCondemned(store, sinceMs - MARK_HEEDED_MS);
}

/** What prunes are removing, or were when they were killed. */
export const condemnedEver = (store: ObjectStore): Promise<Condemned> => readCondemned(store, 0);

/** Does the work while the mark tells prunes to keep the snapshot. `work` is given the mark's key. */
export async function whileWanted<T>(
  store: ObjectStore,
  name: SnapshotName,
  work: (mark: string) => Promise<T>,
): Promise<T> {
  const mark = `${ROLLBACKS}${snapshotText(name)}/${randomUUID()}.json`;
  return whileMarked(store, mark, "{}\n", () => work(mark));
}

/** The snapshots that a rollback may be about to name, by marks younger than `sinceMs`. */
export async function wantedSince(store: ObjectStore, sinceMs: number): Promise<SnapshotName[]> {
  const names: SnapshotName[] = [];
  for await (const { key, modifiedAtMs } of store.list(ROLLBACKS)) {
    const folder = key.slice(ROLLBACKS.length, key.lastIndexOf("/"));
    const parsed = modifiedAtMs > sinceMs ? parseSnapshotText(folder) : null;
    if (parsed !== null) names.push({ session: parsed.session, revision: parsed.revision ?? 0 });
  }
  return names;
}

/** Removes the marks that killed runs left at `untilMs` or before. */
export async function sweepMarks(store: ObjectStore, untilMs: number): Promise<void> {
  for (const prefix of [PRUNING, ROLLBACKS]) {
    const keys: string[] = [];
    for await (const { key, modifiedAtMs } of store.list(prefix)) {
      if (modifiedAtMs <= untilMs) keys.push(key);
    }
    for (const key of keys) await store.delete(key);
  }
}

async function readCondemned(store: ObjectStore, sinceMs: number): Promise<Condemned> {
  const all: Condemned = { snapshots: [], parts: [] };
  const keys: string[] = [];
  for await (const { key, modifiedAtMs } of store.list(PRUNING)) {
    if (modifiedAtMs > sinceMs) keys.push(key);
  }
  for (const key of keys) {
    const bytes = await store.get(key);
    // Its prune has ended meanwhile.
    if (bytes === null) continue;
    const { snapshots, parts } = condemnedSchema.parse(JSON.parse(bytes.toString("utf8")));
    all.snapshots.push(...snapshots);
    all.parts.push(...parts);
  }
  return all;
}

async function whileMarked<T>(
  store: ObjectStore,
  mark: string,
  text: string,
  work: () => Promise<T>,
): Promise<T> {
  await store.create(mark, Buffer.from(text), JSON_TYPE);
  try {
    return await work();
  } finally {
    // What was done stands; a mark left behind is heeded for an hour only.
    await store.delete(mark).catch(() => {});
  }
}
