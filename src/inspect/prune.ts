/**
 * `snapshots prune`: removes what no kept snapshot needs. Kept are the head, the publication before
 * it, every snapshot published (or of a session) in the last N days, and the ledger parts that
 * their manifests name. The log stays whole. Nothing younger than an hour goes: it may belong to a
 * publish that is under way.
 */
import type { Clock } from "../clock.ts";
import { DamageError } from "../errors.ts";
import { sessionStartMs } from "../market/session.ts";
import { readLog, type Publication } from "../snapshot/publication-log.ts";
import { readStoredManifest } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore, StoredObject } from "../store/object-store.ts";
import {
  FILES,
  LEDGER,
  parseSnapshotFileKey,
  SESSIONS,
  snapshotFileKey,
  snapshotText,
} from "../store/paths.ts";
import { isSame, requirePruned } from "./reference.ts";

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

/**
 * Removes what need not be kept, or with `dryRun` only says what that is. Throws DamageError, and
 * removes nothing, where the log or the manifest of a kept snapshot cannot be read.
 */
export async function prune(
  store: ObjectStore,
  keepDays: number,
  dryRun: boolean,
  clock: Clock,
): Promise<Pruning> {
  const nowMs = clock.now();
  const found = await survey(store, keepDays, nowMs);
  if (!dryRun) {
    for (const folder of found.doomed) await removeFolder(store, folder);
    // A publish that has begun meanwhile may build on parts that nothing needed when they were seen.
    const { doomedParts } = await survey(store, keepDays, nowMs);
    const still = new Set(doomedParts.map(({ key }) => key));
    found.doomedParts = found.doomedParts.filter(({ key }) => still.has(key));
    await removeAll(store, found.doomedParts);
  }
  const objects = [...found.doomed.flatMap((folder) => folder.objects), ...found.doomedParts];
  return {
    snapshots: found.doomed.map(({ name }) => ({
      name: snapshotText(name),
      orphan: !found.log.some((entry) => isSame(entry, name)),
    })),
    ledgerParts: found.doomedParts.map(({ key }) => key),
    objects: objects.length,
    bytes: objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    kept: found.kept,
  };
}

interface Survey {
  readonly log: readonly Publication[];
  readonly doomed: readonly Folder[];
  doomedParts: readonly StoredObject[];
  readonly kept: number;
}

async function survey(store: ObjectStore, keepDays: number, nowMs: number): Promise<Survey> {
  const log = await readLog(store);
  // The ledger is listed before the snapshots: a part that appears later is not looked at.
  const parts = await collect(store, LEDGER);
  const folders = foldersOf(await collect(store, SESSIONS));
  if (log.length === 0) requireNoSnapshot(store, folders);
  const isYoung = ({ modifiedAtMs }: StoredObject): boolean => modifiedAtMs > nowMs - YOUNG_MS;

  const keptEntries = keptPublications(log, keepDays, nowMs);
  const keptNames = new Set(keptEntries.map(snapshotText));
  const others = folders.filter(({ name }) => !keptNames.has(snapshotText(name)));
  const doomed = others.filter(({ objects }) => !objects.some(isYoung));
  const needed = await neededParts(store, keptEntries);
  // A young folder that is not kept is a publish under way; what parts it needs is not known yet.
  const isPublishing = doomed.length < others.length;
  const doomedParts = isPublishing
    ? []
    : parts.filter((part) => !needed.has(part.key) && !isYoung(part));
  return { log, doomed, doomedParts, kept: folders.length - doomed.length };
}

/** Where the log is lost every snapshot looks like a crashed run's; that must not cost the store. */
function requireNoSnapshot(store: ObjectStore, folders: readonly Folder[]): void {
  const whole = folders.find(({ name, objects }) =>
    objects.some(({ key }) => key === snapshotFileKey(name, FILES.manifest)),
  );
  if (whole === undefined) return;
  throw new DamageError(
    `${store.location} holds ${snapshotText(whole.name)} but no publication; nothing was removed`,
  );
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
  const head = entries.at(-1);
  for (const entry of new Map(entries.map((item) => [snapshotText(item), item])).values()) {
    // A kept snapshot that cannot be read stops everything: what it needs would be guesswork.
    const stored = await readStoredManifest(store, entry, entry.manifest_sha256);
    stored?.manifest.ledger.forEach(({ key }) => needed.add(key));
    // It may have gone when fewer days were kept.
    if (stored === null)
      await requirePruned(store, entry, head !== undefined && isSame(head, entry));
  }
  return needed;
}

interface Folder {
  readonly name: { readonly session: number; readonly revision: number };
  readonly objects: StoredObject[];
}

function foldersOf(objects: readonly StoredObject[]): Folder[] {
  const folders = new Map<string, Folder>();
  for (const object of objects) {
    const parsed = parseSnapshotFileKey(object.key);
    if (parsed === null) continue;
    const text = snapshotText(parsed.name);
    const folder = folders.get(text) ?? { name: parsed.name, objects: [] };
    folder.objects.push(object);
    folders.set(text, folder);
  }
  return [...folders.values()];
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
