/**
 * `snapshots prune`: removes what no kept snapshot needs. Kept are the head, the publication before
 * it, every snapshot published (or of a session) in the last N days, and the ledger parts that
 * their manifests name. The log stays whole. Nothing younger than an hour goes: it may belong to a
 * publish that is under way. A published snapshot, and the parts it names, are as old as their
 * entry in the log; what no publication names is as old as its files.
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
 * removes nothing, where the log or the manifest of a kept snapshot cannot be read. `fileClock` is
 * the one that the times of files are in, where `clock` was set to another day.
 */
export async function prune(
  store: ObjectStore,
  keepDays: number,
  dryRun: boolean,
  clock: Clock,
  fileClock: Clock = clock,
): Promise<Pruning> {
  const nowMs = clock.now();
  const times = { keepDays, nowMs, filesNowMs: Math.max(nowMs, fileClock.now()) };
  const found = await survey(store, times, new Set());
  if (!dryRun) {
    for (const folder of found.doomed) await removeFolder(store, folder);
    // A publish that has begun meanwhile may build on parts that nothing needed when they were seen.
    const { doomedParts } = await survey(store, times, found.agedParts);
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

interface Times {
  readonly keepDays: number;
  readonly nowMs: number;
  readonly filesNowMs: number;
}

interface Survey {
  readonly log: readonly Publication[];
  readonly doomed: readonly Folder[];
  doomedParts: readonly StoredObject[];
  /** Parts that snapshots name which go: published, so their age is known. */
  readonly agedParts: ReadonlySet<string>;
  readonly kept: number;
}

/** `agedParts`: those of snapshots that are gone already. */
async function survey(
  store: ObjectStore,
  times: Times,
  agedParts: ReadonlySet<string>,
): Promise<Survey> {
  const log = await readLog(store);
  // The ledger is listed before the snapshots: a part that appears later is not looked at.
  const parts = await collect(store, LEDGER);
  const folders = foldersOf(await collect(store, SESSIONS));
  if (log.length === 0) requireNoSnapshot(store, folders);
  const isYoung = ({ modifiedAtMs }: StoredObject): boolean =>
    modifiedAtMs > times.filesNowMs - YOUNG_MS;

  const keptEntries = keptPublications(log, times);
  const keptNames = new Set(keptEntries.map(snapshotText));
  const others = folders.filter(({ name }) => !keptNames.has(snapshotText(name)));
  const published = new Map(log.map((entry) => [snapshotText(entry), entry]));
  const doomed = others.filter(
    ({ name, objects }) => published.has(snapshotText(name)) || !objects.some(isYoung),
  );
  const needed = await neededParts(store, keptEntries);
  const aged = new Set(agedParts);
  for (const { name } of doomed) {
    if (!published.has(snapshotText(name))) continue;
    const stored = await readStoredManifest(store, name, null).catch(() => null);
    stored?.manifest.ledger.forEach(({ key }) => aged.add(key));
  }
  // A young folder that is not kept is a publish under way; what parts it needs is not known yet.
  const isPublishing = doomed.length < others.length;
  const doomedParts = isPublishing
    ? []
    : parts.filter((part) => !needed.has(part.key) && (aged.has(part.key) || !isYoung(part)));
  return { log, doomed, doomedParts, agedParts: aged, kept: folders.length - doomed.length };
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
  { keepDays, nowMs }: Times,
): readonly Publication[] {
  const since = nowMs - keepDays * DAY_MS;
  return log.filter(
    (entry, at) =>
      at >= log.length - 2 ||
      Date.parse(entry.at) >= since ||
      Date.parse(entry.at) > nowMs - YOUNG_MS ||
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
