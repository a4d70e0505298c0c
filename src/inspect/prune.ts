/**
 * `snapshots prune`: removes what no kept snapshot needs. Kept are the head, the publication before
 * it, every snapshot published (or of a session) in the last N days, and the ledger parts that
 * their manifests name. Days are counted back from the newest entry of the log, or from the clock
 * where that is behind it: a clock far ahead takes no fresh history. The log stays whole. Nothing younger than an hour goes: it may belong to a
 * publish that is under way. A published snapshot, and the parts it names, are as old as their
 * entry in the log; what no publication names is as old as its files. What goes is marked first
 * (see marks.ts) and looked at again: whoever comes later keeps away from it.
 */
import { DAY_MS, HOUR_MS, type Clock } from "../clock.ts";
import { ConflictError, DamageError } from "../errors.ts";
import { sessionStartMs } from "../market/session.ts";
import { MARK_HEEDED_MS, sweepMarks, wantedSince, whileCondemned } from "../snapshot/marks.ts";
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
  type SnapshotName,
} from "../store/paths.ts";
import { isSame, requirePruned } from "./reference.ts";

const YOUNG_MS = HOUR_MS;
const DELETES_AT_ONCE = 16;
/** A prune stops in good time before its mark lapses. */
const REMOVAL_MAX_MS = MARK_HEEDED_MS - 600_000;

/** What went, or would go. */
export interface Pruning {
  /** Snapshots that go, or would; orphans are those that no publication names. */
  readonly snapshots: readonly { readonly name: string; readonly orphan: boolean }[];
  /** Keys in the store. */
  readonly ledgerParts: readonly string[];
  readonly objects: number;
  /** Stored size of those objects. */
  readonly bytes: number;
  /** Snapshots that stay. */
  readonly kept: number;
}

/**
 * Removes what need not be kept, or with `dryRun` only says what that is. Throws DamageError, and
 * removes nothing, where the log or the manifest of a kept snapshot cannot be read, ConflictError where
 * removing takes too long: what is gone is gone, and another run goes on from there. `fileClock` is
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
  const first = await survey(store, times);
  const found = dryRun ? first : await remove(store, times, first, fileClock);
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
  readonly doomedParts: readonly StoredObject[];
  /** Parts that snapshots name which go: published, so their age is known. */
  readonly agedParts: ReadonlySet<string>;
  readonly kept: number;
}

/**
 * Removes what the survey found, but for what is needed by then: each time, who began before the
 * mark was there is seen by another survey, and who begins later sees the mark. Parts are marked
 * apart, and last, because a publish that builds on one has to wait.
 */
async function remove(
  store: ObjectStore,
  times: Times,
  first: Survey,
  fileClock: Clock,
): Promise<Survey> {
  const untilMs = fileClock.now() + REMOVAL_MAX_MS;
  const removeOne = async (key: string): Promise<void> => {
    if (fileClock.now() < untilMs) return store.delete(key);
    throw new ConflictError(
      `Pruning ${store.location} takes too long for what else may be going on there; ` +
        "run it again to go on where it stopped",
    );
  };
  await sweepMarks(store, times.filesNowMs - YOUNG_MS);
  const snapshots = first.doomed.map(({ name }) => snapshotText(name));
  const removed = await whileCondemned(store, { snapshots, parts: [] }, async () => {
    const second = await survey(store, times);
    const doomed = second.doomed.filter(({ name }) => snapshots.includes(snapshotText(name)));
    for (const folder of doomed) await removeFolder(folder, removeOne);
    return doomed;
  });
  const parts = first.doomedParts.map(({ key }) => key);
  return whileCondemned(store, { snapshots: [], parts }, async () => {
    const third = await survey(store, times, first.agedParts);
    // A snapshot that was spared, though it need not stay, keeps its parts.
    const doomedParts = third.doomedParts.filter(
      ({ key }) => parts.includes(key) && !third.agedParts.has(key),
    );
    await removeAll(doomedParts, removeOne);
    return { ...third, doomed: removed, doomedParts, kept: third.kept + third.doomed.length };
  });
}

/** `removedParts`: parts of snapshots that are gone already, and so of a known age. */
async function survey(
  store: ObjectStore,
  times: Times,
  removedParts: ReadonlySet<string> = new Set(),
): Promise<Survey> {
  // Before the log: a rollback's mark goes when its publication is there.
  const wanted = await wantedSince(store, times.filesNowMs - YOUNG_MS);
  const log = await readLog(store);
  // The ledger is listed before the snapshots: a part that appears later is not looked at.
  const parts = await collect(store, LEDGER);
  const folders = foldersOf(await collect(store, SESSIONS));
  if (log.length === 0) requireNoSnapshot(store, folders);
  const isYoung = ({ modifiedAtMs }: StoredObject): boolean =>
    modifiedAtMs > times.filesNowMs - YOUNG_MS;

  const keptEntries = keptPublications(log, times);
  const keptNames = new Set([...keptEntries, ...wanted].map(snapshotText));
  const others = folders.filter(({ name }) => !keptNames.has(snapshotText(name)));
  const published = new Map(log.map((entry) => [snapshotText(entry), entry]));
  const doomed = others.filter(
    ({ name, objects }) => published.has(snapshotText(name)) || !objects.some(isYoung),
  );
  const needed = await neededParts(store, keptEntries, wanted);
  const aged = new Set<string>();
  for (const { name } of doomed) {
    if (!published.has(snapshotText(name))) continue;
    const stored = await readStoredManifest(store, name, null).catch(() => null);
    stored?.manifest.ledger.forEach(({ key }) => aged.add(key));
  }
  const isAged = (key: string): boolean => aged.has(key) || removedParts.has(key);
  // A young folder that is not kept is a publish under way; what parts it needs is not known yet.
  const isPublishing = doomed.length < others.length;
  const doomedParts = isPublishing
    ? []
    : parts.filter((part) => !needed.has(part.key) && (isAged(part.key) || !isYoung(part)));
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
  { keepDays, nowMs: clockMs }: Times,
): readonly Publication[] {
  const nowMs = Math.min(clockMs, Date.parse(log.at(-1)?.at ?? ""));
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
  wanted: readonly SnapshotName[],
): Promise<ReadonlySet<string>> {
  const needed = new Set<string>();
  for (const name of wanted) {
    const stored = await readStoredManifest(store, name, null);
    stored?.manifest.ledger.forEach(({ key }) => needed.add(key));
  }
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

type RemoveOne = (key: string) => Promise<void>;

/** The manifest goes last: a folder that lost files only in part is still seen for what it is. */
async function removeFolder({ name, objects }: Folder, remove: RemoveOne): Promise<void> {
  const manifestKey = snapshotFileKey(name, FILES.manifest);
  const others = objects.filter(({ key }) => key !== manifestKey);
  await removeAll(others, remove);
  if (others.length < objects.length) await remove(manifestKey);
}

/** Also where one fails, nothing is being removed any more on return. */
async function removeAll(objects: readonly StoredObject[], remove: RemoveOne): Promise<void> {
  const queue = objects.values();
  const removals = Array.from({ length: DELETES_AT_ONCE }, async () => {
    for (const { key } of queue) await remove(key);
  });
  await Promise.allSettled(removals);
  await Promise.all(removals);
}

async function collect(store: ObjectStore, prefix: string): Promise<StoredObject[]> {
  const objects: StoredObject[] = [];
  for await (const object of store.list(prefix)) objects.push(object);
  return objects;
}
