/**
 * `snapshots prune`: removes what no kept snapshot needs. Kept are the head, the publication before
 * it, every snapshot published (or of a session) in the last N days, and the ledger parts that
 * their manifests name. The log stays whole. Nothing younger than an hour goes: it may belong to a
 * publish that is under way.
 */
import type { Clock } from "../clock.ts";
import { sessionStartMs } from "../market/session.ts";
import { readLog, type Publication } from "../snapshot/publication-log.ts";
import { readManifest } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore, StoredObject } from "../store/object-store.ts";
import {
  FILES,
  LEDGER,
  parseSnapshotFileKey,
  SESSIONS,
  snapshotFileKey,
  snapshotText,
} from "../store/paths.ts";
import { isSame } from "./reference.ts";

const DAY_MS = 24 * 3_600_000;
const YOUNG_MS = 3_600_000;
const DELETES_AT_ONCE = 16;

export interface Pruning {
  /** Snapshots that go, or would; orphans are those that no publication names. */
  readonly snapshots: readonly { readonly name: string; readonly orphan: boolean }[];
  readonly ledgerParts: readonly string[];
  readonly objects: number;
  readonly bytes: number;
  /** Snapshots that stay. */
  readonly kept: number;
}

export async function prune(
  store: ObjectStore,
  keepDays: number,
  dryRun: boolean,
  clock: Clock,
): Promise<Pruning> {
  const log = await readLog(store);
  const nowMs = clock.now();
  // The ledger is listed before the snapshots: a part that appears later is not looked at.
  const parts = await collect(store, LEDGER);
  const folders = foldersOf(await collect(store, SESSIONS));
  const isYoung = ({ modifiedAtMs }: StoredObject): boolean => modifiedAtMs > nowMs - YOUNG_MS;

  const keptEntries = keptPublications(log, keepDays, nowMs);
  const doomed = [...folders].filter(
    ([, { name, objects }]) =>
      !keptEntries.some((entry) => isSame(entry, name)) && !objects.some(isYoung),
  );
  const needed = await neededParts(store, keptEntries);
  // A young folder that is not kept is a publish under way; what parts it needs is not known yet.
  const isPublishing = [...folders.values()].some(
    ({ name, objects }) =>
      objects.some(isYoung) && !keptEntries.some((entry) => isSame(entry, name)),
  );
  const doomedParts = isPublishing
    ? []
    : parts.filter((part) => !needed.has(part.key) && !isYoung(part));

  const objects = [...doomed.flatMap(([, folder]) => folder.objects), ...doomedParts];
  if (!dryRun) {
    for (const [, folder] of doomed) await removeFolder(store, folder);
    await removeAll(store, doomedParts);
  }
  return {
    snapshots: doomed.map(([text, { name }]) => ({
      name: text,
      orphan: !log.some((entry) => isSame(entry, name)),
    })),
    ledgerParts: doomedParts.map(({ key }) => key),
    objects: objects.length,
    bytes: objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    kept: folders.size - doomed.length,
  };
}

function keptPublications(
  log: readonly Publication[],
  keepDays: number,
  nowMs: number,
): readonly Publication[] {
  const since = nowMs - keepDays * DAY_MS;
  return log.filter(
    (entry, at) =>
      at >= log.length - 2 ||
      Date.parse(entry.at) >= since ||
      sessionStartMs(entry.session) >= since,
  );
}

async function neededParts(
  store: ObjectStore,
  entries: readonly Publication[],
): Promise<ReadonlySet<string>> {
  const needed = new Set<string>();
  const seen = new Set<string>();
  for (const entry of entries) {
    if (seen.has(snapshotText(entry))) continue;
    seen.add(snapshotText(entry));
    // A kept snapshot that cannot be read stops everything: what it needs would be guesswork.
    const manifest = await readManifest(store, entry, entry.manifest_sha256);
    manifest.ledger.forEach(({ key }) => needed.add(key));
  }
  return needed;
}

interface Folder {
  readonly name: { readonly session: number; readonly revision: number };
  readonly objects: StoredObject[];
}

function foldersOf(objects: readonly StoredObject[]): ReadonlyMap<string, Folder> {
  const folders = new Map<string, Folder>();
  for (const object of objects) {
    const parsed = parseSnapshotFileKey(object.key);
    if (parsed === null) continue;
    const text = snapshotText(parsed.name);
    const folder = folders.get(text) ?? { name: parsed.name, objects: [] };
    folder.objects.push(object);
    folders.set(text, folder);
  }
  return folders;
}

/** The manifest goes last: a folder that lost files only in part is still seen for what it is. */
async function removeFolder(store: ObjectStore, { name, objects }: Folder): Promise<void> {
  const manifestKey = snapshotFileKey(name, FILES.manifest);
  await removeAll(
    store,
    objects.filter(({ key }) => key !== manifestKey),
  );
  await store.delete(manifestKey);
}

async function removeAll(store: ObjectStore, objects: readonly StoredObject[]): Promise<void> {
  const queue = objects.values();
  await Promise.all(
    Array.from({ length: DELETES_AT_ONCE }, async () => {
      for (const { key } of queue) await store.delete(key);
    }),
  );
}

async function collect(store: ObjectStore, prefix: string): Promise<StoredObject[]> {
  const objects: StoredObject[] = [];
  for await (const object of store.list(prefix)) objects.push(object);
  return objects;
}
