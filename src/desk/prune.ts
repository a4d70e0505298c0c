/**
 * `snapshots prune`: removes what no kept snapshot needs. It keeps the head, the publication before
 * it, every snapshot published (or of a session) in the last N days, and the ledger months that
 * their manifests name. It counts the days back from the newest publication, or from the clock if
 * the clock is behind: a clock that is far ahead does not remove recent history. It never removes
 * entries of the log.
 *
 * It removes the leftovers of a crashed run once two entries made a head since the run began: that
 * run can no longer publish. Claims and the names of ledger months say which entry a run began from.
 *
 * Entries of the log name everything that goes before the first removal (log/append.ts). If an
 * earlier prune named objects and did not remove them, the next prune removes them.
 */
import { atOnce } from "../lib/at-once.ts";
import { DAY_MS, HOUR_MS, type Clock } from "../lib/clock.ts";
import { ConflictError } from "../lib/errors.ts";
import { sessionStartMs } from "../market/session.ts";
import { keepTaken, readClaims } from "../snapshot/claims.ts";
import { isPublication, takenIn } from "../snapshot/log/entry.ts";
import type { Publication, StoredEntry } from "../snapshot/log/entry.ts";
import {
  NO_KEYS,
  requireTrusted,
  signingOf,
  type LogKeys,
  type Signing,
} from "../snapshot/log/sign.ts";
import { passTimeGates, USUAL_TIME_GATES, type TimeGates } from "../snapshot/log/time-gates.ts";
import { readLog } from "../snapshot/log/walk.ts";
import { readManifest, readStoredManifest } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore, StoredObject } from "../ports/store.ts";
import {
  CLAIMS,
  FILES,
  LEDGER,
  parseClaimKey,
  parseLedgerMonthKey,
  parseSnapshotFileKey,
  SESSIONS,
  snapshotFileKey,
  snapshotText,
  type SnapshotName,
} from "../store/paths.ts";
import { appendPrunes, type Names } from "./prune-entries.ts";
import { isPruned, requireEmpty } from "./find-snapshot.ts";

const YOUNG_MS = HOUR_MS;
const ATTEMPTS_MAX = 50;
/** A run can no longer publish after this many later heads. */
const LATER_HEADS = 2;

/** The result of a prune; for a dry run, the result that the prune would have. */
export interface Pruning {
  readonly dry_run: boolean;
  /** The removed snapshots. Orphan: no publication names it. */
  readonly snapshots: readonly { readonly name: string; readonly orphan: boolean }[];
  readonly ledger_parts: readonly string[];
  readonly objects: number;
  /** The stored size of all removed objects. */
  readonly bytes: number;
  /** How many snapshots stay. */
  readonly kept: number;
  /** Null without a signing key, or if nothing was signed. */
  readonly signature: Signing | null;
}

/**
 * Removes what need not be kept; with `dryRun` it only reports it. Throws DamageError and removes
 * nothing if the log or the manifest of a kept snapshot cannot be read, or if none of the keys to
 * verify with signed the log. Throws ConflictError if other runs keep appending to the log, and RefusedError
 * or InputError if it would append and does not pass the gates on the time.
 */
export async function prune(
  store: ObjectStore,
  keepDays: number,
  dryRun: boolean,
  clock: Clock,
  keys: LogKeys = NO_KEYS,
  gates: TimeGates = USUAL_TIME_GATES,
): Promise<Pruning> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const found = await survey(store, keepDays, clock.now());
    await requireTrusted(store, found.newest, keys);
    const nowMs = clock.now();
    const names = namesToAppend(found);
    const appends = names.snapshots.length + names.parts.length > 0;
    if (appends) passTimeGates(store, found.newest, nowMs, gates);
    if (dryRun) return { dry_run: true, ...pruningOf(found), signature: null };
    const appended = appends ? await announce(store, found, names, nowMs, gates, keys) : 0;
    if (appended === null) continue;
    await remove(store, found);
    const signature = appended > 0 ? signingOf(keys, "signed") : null;
    return { dry_run: false, ...pruningOf(found), signature };
  }
  throw new ConflictError(`Gave up: other runs appended to the log ${ATTEMPTS_MAX} times`);
}

/** A snapshot's files and its claim. `objects` is empty if there is only the claim. */
interface Folder {
  readonly name: SnapshotName;
  readonly objects: readonly StoredObject[];
  readonly claim: StoredObject | null;
}

interface Survey {
  readonly newest: StoredEntry | null;
  /** Snapshots that the log made the head. */
  readonly published: ReadonlySet<string>;
  /** Snapshots and ledger months that prunes in the log name. */
  readonly taken: ReadonlySet<string>;
  readonly removable: readonly Folder[];
  readonly removableMonths: readonly StoredObject[];
  /** Claims of published snapshots: their runs died before they removed them. */
  readonly doneClaims: readonly StoredObject[];
  readonly kept: number;
}

async function survey(store: ObjectStore, keepDays: number, nowMs: number): Promise<Survey> {
  // Read the log first: if a run publishes after that, this prune finds its entry number taken.
  const stored = await readLog(store);
  const publications = stored.map(({ entry }) => entry).filter(isPublication);
  const taken = takenIn(stored);
  // Read the claims after the files: a run claims its name after the first one, or starts again.
  const files = await Array.fromAsync(store.list(SESSIONS));
  const folders = foldersOf(files, await Array.fromAsync(store.list(CLAIMS)));
  const claims = await readClaims(store);
  const months = await Array.fromAsync(store.list(LEDGER));
  if (stored.length === 0) await requireEmpty(store);

  const keptEntries = keptPublications(publications, keepDays, nowMs).filter(
    (entry) => !taken.has(snapshotText(entry)),
  );
  const needed = await monthsOfKept(store, keptEntries);
  const keptNames = new Set(keptEntries.map(snapshotText));
  const published = new Set(publications.map(snapshotText));
  /** Without a claim, the remains belong to no run. */
  const isOver = (began = 0): boolean =>
    publications.filter(({ number }) => number > began).length >= LATER_HEADS;

  const removable = folders.filter(({ name, objects }) => {
    const text = snapshotText(name);
    if (keptNames.has(text) || (published.has(text) && objects.length === 0)) return false;
    return taken.has(text) || published.has(text) || isOver(claims.get(text));
  });
  const aged = await monthsOf(store, removable, published);
  const removableMonths = months.filter(({ key }) => {
    if (needed.has(key)) return false;
    return taken.has(key) || aged.has(key) || isOver(parseLedgerMonthKey(key)?.began);
  });
  const doneClaims = folders.flatMap(({ name, claim }) =>
    claim !== null && published.has(snapshotText(name)) ? [claim] : [],
  );
  const whole = (all: readonly Folder[]): number =>
    all.filter(({ objects }) => objects.length > 0).length;
  return {
    newest: stored.at(-1) ?? null,
    published,
    taken,
    removable,
    removableMonths,
    doneClaims,
    kept: whole(folders) - whole(removable),
  };
}

/** The names of what this prune removes, without those that an earlier prune's entry has. */
const namesToAppend = ({ removable, removableMonths, taken }: Survey): Names => ({
  snapshots: removable.map(({ name }) => snapshotText(name)).filter((text) => !taken.has(text)),
  parts: removableMonths.map(({ key }) => key).filter((key) => !taken.has(key)),
});

/**
 * Appends entries with the names. Returns how many, or null if another run appended first: the survey must
 * then be repeated.
 */
async function announce(
  store: ObjectStore,
  { removable, newest, published, taken }: Survey,
  names: Names,
  nowMs: number,
  gates: TimeGates,
  keys: LogKeys,
): Promise<number | null> {
  await store.prove();
  for (const { name } of removable) {
    const text = snapshotText(name);
    if (!taken.has(text) && !published.has(text)) await keepTaken(store, name);
  }
  return appendPrunes(store, newest, names, nowMs, gates, keys);
}

/** Removes what entries of the log name. */
export async function remove(
  store: ObjectStore,
  found: Pick<Survey, "removable" | "removableMonths" | "doneClaims">,
): Promise<void> {
  for (const { name, objects, claim } of found.removable) {
    // The manifest goes last, so that a partly removed folder can still be recognized.
    const manifestKey = snapshotFileKey(name, FILES.manifest);
    const others = objects.filter(({ key }) => key !== manifestKey);
    await atOnce(others, ({ key }) => store.delete(key));
    if (others.length < objects.length) await store.delete(manifestKey);
    if (claim !== null) await store.delete(claim.key);
  }
  await atOnce([...found.removableMonths, ...found.doneClaims], ({ key }) => store.delete(key));
}

function pruningOf(found: Survey): Omit<Pruning, "dry_run" | "signature"> {
  const { removable, removableMonths, doneClaims, published, kept } = found;
  const objects = [
    ...removable.flatMap((folder) => [...folder.objects, ...(folder.claim ? [folder.claim] : [])]),
    ...removableMonths,
    ...doneClaims,
  ];
  return {
    snapshots: removable.map(({ name }) => ({
      name: snapshotText(name),
      orphan: !published.has(snapshotText(name)),
    })),
    ledger_parts: removableMonths.map(({ key }) => key),
    objects: objects.length,
    bytes: objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    kept,
  };
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

async function monthsOfKept(
  store: ObjectStore,
  entries: readonly Publication[],
): Promise<ReadonlySet<string>> {
  const needed = new Set<string>();
  for (const entry of new Map(entries.map((item) => [snapshotText(item), item])).values()) {
    const stored = await readStoredManifest(store, entry, entry.manifest_sha256);
    // Another prune took it since the log was read: then this survey is repeated.
    if (stored === null && (await isPruned(store, entry))) continue;
    // An unreadable kept snapshot stops the prune: nobody knows which months it needs.
    const { ledger } =
      stored?.manifest ?? (await readManifest(store, entry, entry.manifest_sha256));
    for (const { key } of ledger) needed.add(key);
  }
  return needed;
}

/** The ledger months that the published snapshots among `folders` name. */
async function monthsOf(
  store: ObjectStore,
  folders: readonly Folder[],
  published: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const months = new Set<string>();
  for (const { name } of folders) {
    if (!published.has(snapshotText(name))) continue;
    const stored = await readStoredManifest(store, name, null).catch(() => null);
    stored?.manifest.ledger.forEach(({ key }) => months.add(key));
  }
  return months;
}

/** The snapshots whose files and claims these are. */
export function foldersOf(
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
