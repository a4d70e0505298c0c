/**
 * `snapshots prune`: removes what no kept snapshot needs. Kept are the head, the publication before
 * it, every snapshot published (or of a session) in the last N days, and the ledger parts that
 * their manifests name. Days are counted back from the newest publication, or from the clock where
 * that is behind it: a clock far ahead takes no fresh history. The log stays whole.
 *
 * What crashed runs left goes when two entries made a head since the run began: then it cannot
 * publish any more. Claims and the names of ledger parts say from which entry that was. Format 1
 * did not: its leftovers go when the last two heads are of a later format, and its runs long over.
 *
 * What goes is named by entries of the log before the first of it is removed (publication-log.ts),
 * and a prune first removes what another one named and did not remove.
 */
import { DAY_MS, HOUR_MS, type Clock } from "../lib/clock.ts";
import { ConflictError, DamageError } from "../lib/errors.ts";
import { sessionStartMs } from "../market/session.ts";
import { keepTaken, readClaims } from "../snapshot/claims.ts";
import {
  appendEntry,
  ENTRY_BYTES_MAX,
  isPublication,
  numberAfter,
  readLog,
  renderEntry,
  timeAfter,
  type Entry,
  type Publication,
  type PruneEntry,
} from "../snapshot/publication-log.ts";
import { readStoredManifest } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore, StoredObject } from "../store/object-store.ts";
import {
  CLAIMS,
  FILES,
  LEDGER,
  parseClaimKey,
  parseLedgerPartKey,
  parseSnapshotFileKey,
  SESSIONS,
  snapshotFileKey,
  snapshotText,
  type SnapshotName,
} from "../store/paths.ts";
import { isSame, requirePruned } from "./reference.ts";

const YOUNG_MS = HOUR_MS;
const DELETES_AT_ONCE = 16;
const ATTEMPTS_MAX = 50;
/** How many later heads say that a run is over. */
const LATER_HEADS = 2;

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
 * removes nothing, where the log or the manifest of a kept snapshot cannot be read, ConflictError
 * where others append to the log again and again.
 */
export async function prune(
  store: ObjectStore,
  keepDays: number,
  dryRun: boolean,
  clock: Clock,
): Promise<Pruning> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const found = await survey(store, keepDays, clock.now());
    if (!dryRun) {
      if (!(await announce(store, found, clock.now()))) continue;
      await remove(store, found);
    }
    return pruningOf(found);
  }
  throw new ConflictError(`Gave up: others appended to the log ${ATTEMPTS_MAX} times`);
}

/** A snapshot's files, and its claim. `objects` is empty where nothing but the claim is there. */
interface Folder {
  readonly name: SnapshotName;
  readonly objects: readonly StoredObject[];
  readonly claim: StoredObject | null;
}

interface Survey {
  readonly log: readonly Entry[];
  /** Snapshots that the log made the head, and names that its prunes took. */
  readonly published: ReadonlySet<string>;
  readonly taken: ReadonlySet<string>;
  readonly doomed: readonly Folder[];
  readonly doomedParts: readonly StoredObject[];
  /** Claims of published snapshots, whose runs were killed before they removed them. */
  readonly doneClaims: readonly StoredObject[];
  readonly kept: number;
}

async function survey(store: ObjectStore, keepDays: number, nowMs: number): Promise<Survey> {
  // First the log: what is published later makes the entry of this prune find its number taken.
  const log = await readLog(store);
  const publications = log.filter(isPublication);
  const taken = new Set(
    log.flatMap((entry) => (isPublication(entry) ? [] : [...entry.snapshots, ...entry.parts])),
  );
  const claims = await readClaims(store);
  const folders = foldersOf(await collect(store, SESSIONS), await collect(store, CLAIMS));
  const parts = await collect(store, LEDGER);
  if (log.length === 0) requireNoSnapshot(store, folders);

  const keptEntries = keptPublications(publications, keepDays, nowMs).filter(
    (entry) => !taken.has(snapshotText(entry)),
  );
  const { needed, isFormat1Over } = await readKept(store, keptEntries);
  const keptNames = new Set(keptEntries.map(snapshotText));
  const published = new Set(publications.map(snapshotText));
  const isOver = (began: number | null): boolean =>
    began === null
      ? isFormat1Over
      : publications.filter(({ number }) => number > began).length >= LATER_HEADS;

  const doomed = folders.filter(({ name, objects }) => {
    const text = snapshotText(name);
    if (keptNames.has(text) || (published.has(text) && objects.length === 0)) return false;
    return taken.has(text) || published.has(text) || isOver(claims.get(text) ?? null);
  });
  const aged = await partsOf(store, doomed, published);
  const doomedParts = parts.filter(({ key }) => {
    if (needed.has(key)) return false;
    return taken.has(key) || aged.has(key) || isOver(parseLedgerPartKey(key)?.began ?? null);
  });
  const doneClaims = folders.flatMap(({ name, claim }) =>
    claim !== null && published.has(snapshotText(name)) ? [claim] : [],
  );
  const whole = (all: readonly Folder[]): number =>
    all.filter(({ objects }) => objects.length > 0).length;
  return {
    log,
    published,
    taken,
    doomed,
    doomedParts,
    doneClaims,
    kept: whole(folders) - whole(doomed),
  };
}

/**
 * Names what goes, but for what was named before. False where another entry came first: what is to
 * go must be looked at again then.
 */
async function announce(store: ObjectStore, found: Survey, nowMs: number): Promise<boolean> {
  const fresh = found.doomed.filter(({ name }) => !found.taken.has(snapshotText(name)));
  const parts = found.doomedParts.map(({ key }) => key).filter((key) => !found.taken.has(key));
  if (fresh.length + parts.length === 0) return true;
  await store.prove();
  for (const { name } of fresh) {
    if (!found.published.has(snapshotText(name))) await keepTaken(store, name);
  }
  const snapshots = fresh.map(({ name }) => snapshotText(name));
  for (const entry of entriesOf(found.log, snapshots, parts, nowMs)) {
    if ((await appendEntry(store, entry)) === "taken") return false;
  }
  return true;
}

/** As many entries as it takes to name them all. */
function entriesOf(
  log: readonly Entry[],
  snapshots: readonly string[],
  parts: readonly string[],
  nowMs: number,
): PruneEntry[] {
  const newest = log.at(-1) ?? null;
  const head = log.findLast(isPublication);
  // A day after the head at most: later entries are never dated before it, whatever the clock says.
  const at = timeAfter(newest, Math.min(nowMs, Date.parse(head?.at ?? "") + DAY_MS));
  const entries: PruneEntry[] = [];
  let sizeBytes = Number.POSITIVE_INFINITY;
  for (const [kind, names] of [
    ["snapshots", snapshots],
    ["parts", parts],
  ] as const) {
    for (const name of names) {
      const nameBytes = name.length + 3;
      if (sizeBytes + nameBytes > ENTRY_BYTES_MAX) {
        const number = numberAfter(entries.at(-1) ?? newest);
        entries.push({ number, action: "prune", at, snapshots: [], parts: [] });
        sizeBytes = renderEntry(entries.at(-1) as PruneEntry).length;
      }
      entries.at(-1)?.[kind].push(name);
      sizeBytes += nameBytes;
    }
  }
  return entries;
}

async function remove(store: ObjectStore, found: Survey): Promise<void> {
  for (const { name, objects, claim } of found.doomed) {
    // The manifest goes last: a folder that lost files only in part is still seen for what it is.
    const manifestKey = snapshotFileKey(name, FILES.manifest);
    const others = objects.filter(({ key }) => key !== manifestKey);
    await removeAll(store, others);
    if (others.length < objects.length) await store.delete(manifestKey);
    if (claim !== null) await store.delete(claim.key);
  }
  await removeAll(store, [...found.doomedParts, ...found.doneClaims]);
}

function pruningOf({ doomed, doomedParts, doneClaims, published, kept }: Survey): Pruning {
  const objects = [
    ...doomed.flatMap((folder) => [...folder.objects, ...(folder.claim ? [folder.claim] : [])]),
    ...doomedParts,
    ...doneClaims,
  ];
  return {
    snapshots: doomed.map(({ name }) => ({
      name: snapshotText(name),
      orphan: !published.has(snapshotText(name)),
    })),
    ledgerParts: doomedParts.map(({ key }) => key),
    objects: objects.length,
    bytes: objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    kept,
  };
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
  clockMs: number,
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

/** The parts that kept snapshots need, and whether the last two heads are of a later format than 1. */
async function readKept(
  store: ObjectStore,
  entries: readonly Publication[],
): Promise<{ needed: ReadonlySet<string>; isFormat1Over: boolean }> {
  const needed = new Set<string>();
  const formats: number[] = [];
  const head = entries.at(-1);
  for (const entry of new Map(entries.map((item) => [snapshotText(item), item])).values()) {
    // A kept snapshot that cannot be read stops everything: what it needs would be guesswork.
    const stored = await readStoredManifest(store, entry, entry.manifest_sha256);
    stored?.manifest.ledger.forEach(({ key }) => needed.add(key));
    if (entries.indexOf(entry) >= entries.length - LATER_HEADS) {
      formats.push(stored?.manifest.format ?? 1);
    }
    // It may have gone when fewer days were kept.
    if (stored === null)
      await requirePruned(store, entry, head !== undefined && isSame(head, entry));
  }
  return { needed, isFormat1Over: formats.length > 0 && formats.every((format) => format > 1) };
}

/** The parts that published snapshots name which go. */
async function partsOf(
  store: ObjectStore,
  folders: readonly Folder[],
  published: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const parts = new Set<string>();
  for (const { name } of folders) {
    if (!published.has(snapshotText(name))) continue;
    const stored = await readStoredManifest(store, name, null).catch(() => null);
    stored?.manifest.ledger.forEach(({ key }) => parts.add(key));
  }
  return parts;
}

function foldersOf(
  objects: readonly StoredObject[],
  claims: readonly StoredObject[],
): readonly Folder[] {
  const folders = new Map<string, Folder & { objects: StoredObject[] }>();
  for (const object of objects) {
    const name = parseSnapshotFileKey(object.key)?.name;
    if (name === undefined) continue;
    const text = snapshotText(name);
    const folder = folders.get(text) ?? { name, objects: [], claim: null };
    folder.objects.push(object);
    folders.set(text, folder);
  }
  for (const claim of claims) {
    const name = parseClaimKey(claim.key);
    if (name === null) continue;
    const text = snapshotText(name);
    folders.set(text, { ...(folders.get(text) ?? { name, objects: [] }), claim });
  }
  return [...folders.values()];
}

/** Also where one fails, nothing is being removed any more on return. */
async function removeAll(store: ObjectStore, objects: readonly StoredObject[]): Promise<void> {
  const queue = objects.values();
  const removals = Array.from({ length: DELETES_AT_ONCE }, async () => {
    for (const { key } of queue) await store.delete(key);
  });
  await Promise.allSettled(removals);
  await Promise.all(removals);
}

async function collect(store: ObjectStore, prefix: string): Promise<StoredObject[]> {
  const objects: StoredObject[] = [];
  for await (const object of store.list(prefix)) objects.push(object);
  return objects;
}
