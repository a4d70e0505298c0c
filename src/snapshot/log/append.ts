/**
 * Appends entries to the log: numbered, dated, linked to the entry before, signed. Every change of a store is
 * an append. If several runs append the same number, exactly one succeeds.
 *
 * A prune appends an entry with the names of the objects that it takes before it removes anything. A publish
 * or a rollback at the same time finds its number taken. A publish then starts again from the log as it is:
 * its files name the number of its entry. A rollback reads the entry: if that names something that the
 * rollback needs, the rollback is refused, otherwise it appends after the entry. If the publish comes first,
 * the prune finds its number taken and starts again. So one of the two always sees the other, whatever their
 * clocks say. A prune that crashes after its entry leaves objects that no run needs; the next prune removes
 * them. A taken name is never used again (claims.ts, ledgerMonthKey).
 */
import { instantText } from "../../lib/clock.ts";
import { ChipboardError, UnreachableError } from "../../lib/errors.ts";
import type { ObjectStore } from "../../ports/store.ts";
import {
  firstOf,
  parseTileKey,
  publicationKey,
  snapshotText,
  tileKey,
  TILES,
  type Tile,
} from "../../store/paths.ts";
import {
  isPublication,
  type Entry,
  type Publication,
  type PruneEntry,
  type StoredEntry,
} from "./entry.ts";
import { parseEntry } from "./entry-bytes.ts";
import { requireTrusted, signedEntry, type LogKeys } from "./sign.ts";
import { requireTimely, type TimeGates } from "./time-gates.ts";
import { tiledEntries, tileOf, tilesBefore, tilesIn } from "./tiles.ts";
import { entriesIn, mustRead, requireLink, walkLog } from "./walk.ts";

/** What the log before an entry decides. */
type LogPosition = "number" | "at" | "previous";

/**
 * Appends the entry after `newest`, signed if there is a key. Its time is the clock's, but never before the
 * time of the previous entry. Null: another run was first. Throws RefusedError if the gates on the time
 * refuse it.
 */
export async function appendEntry(
  store: ObjectStore,
  wanted: Omit<Publication, LogPosition> | Omit<PruneEntry, LogPosition>,
  newest: StoredEntry | null,
  nowMs: number,
  gates: TimeGates,
  keys: LogKeys,
): Promise<StoredEntry | null> {
  requireTimely(store, newest, nowMs, gates);
  const number = numberAfter(newest);
  const at = instantText(Math.max(nowMs, newest === null ? nowMs : Date.parse(newest.entry.at)));
  const bytes = signedEntry({ ...wanted, number, at, previous: newest?.sha256 ?? null }, keys);
  const key = publicationKey(number);
  const own = parseEntry(bytes, number, `${store.location}/${key}`);
  const outcome = await store.create(key, bytes).catch(async (error: unknown) => {
    throw await explainFailedAppend(store, own, error);
  });
  if (outcome === "created") {
    await writeTiles(store, number);
    return own;
  }
  // A retried request may find the entry of its own first try: no other run publishes this manifest. Two
  // runs can roll back or prune with the same words.
  const isOwn =
    wanted.action === "publish" && (await mustRead(store, number)).sha256 === own.sha256;
  return isOwn ? own : null;
}

/**
 * Writes the tiles that the store lacks of the entries before `number`, which the log has. Where it fails the next run goes
 * on: the log is whole without them.
 */
export async function writeTiles(store: ObjectStore, number: number): Promise<void> {
  const wanted = tilesBefore(number);
  if (wanted.length === 0) return;
  try {
    const there: Tile[] = [];
    for await (const { key } of store.list(TILES)) {
      const tile = parseTileKey(key);
      if (tile !== null) there.push(tile);
    }
    const known = new Set(there.map(tileKey));
    for (const tile of wanted.filter((each) => !known.has(tileKey(each)))) {
      const read = tiledEntries(tilesIn(store, there), (each) => mustRead(store, each));
      const entries: StoredEntry[] = [];
      for await (const stored of walkLog(read, firstOf(tile))) {
        if (entries.push(stored) === tile.size) break;
      }
      await store.create(tileKey(tile), tileOf(entries));
      there.push(tile);
    }
  } catch (error) {
    if (!(error instanceof ChipboardError)) throw error;
  }
}

/**
 * The error of a failed create, which also says whether the entry stands: the store may have failed after
 * it made the entry, where every reader sees it.
 */
async function explainFailedAppend(
  store: ObjectStore,
  { entry, sha256 }: StoredEntry,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof UnreachableError)) return error;
  const { number } = entry;
  const what = isPublication(entry) ? `publication ${number}` : `the prune, entry ${number},`;
  const errorWith = (text: string): UnreachableError =>
    new UnreachableError(`${error.message}; ${what} ${text}`, error.details, { cause: error });
  try {
    const there = await entriesIn(store)(number);
    if (there?.sha256 !== sha256) return error;
  } catch {
    return errorWith('may stand: run "chipboard snapshots ls" when the store answers');
  }
  return errorWith(
    'stands, but a crash of the machine may lose it: run "chipboard snapshots verify", then the same command again',
  );
}

/**
 * Appends a rollback after `newest`, the newest entry that the run has read. Later prunes do not stop it
 * unless they took the snapshot or one of `months`, the keys of its ledger. Returns the entry in the log, or
 * null if another run was first. Throws DamageError if a prune that came first is not one that the keys let
 * it go on from, and RefusedError as `appendEntry` does.
 */
export async function appendRollback(
  store: ObjectStore,
  wanted: Omit<Publication, LogPosition>,
  newest: StoredEntry | null,
  nowMs: number,
  gates: TimeGates,
  months: readonly string[],
  keys: LogKeys,
): Promise<Publication | null> {
  const needed = new Set([snapshotText(wanted), ...months]);
  for (let last = newest; ;) {
    const own = await appendEntry(store, wanted, last, nowMs, gates, keys);
    if (own !== null) return own.entry as Publication;
    const there = await mustRead(store, numberAfter(last));
    if (overtakes(there.entry, needed)) return null;
    if (last !== null) requireLink(last, there);
    await requireTrusted(store, there, keys);
    last = there;
  }
}

/** Whether the log has an entry after `newest`. */
export const isOvertaken = async (
  store: ObjectStore,
  newest: StoredEntry | null,
): Promise<boolean> => (await entriesIn(store)(numberAfter(newest))) !== null;

const overtakes = (entry: Entry, needed: ReadonlySet<string>): boolean =>
  isPublication(entry) || [...entry.snapshots, ...entry.parts].some((name) => needed.has(name));

/** The number of the entry after `newest`. */
export const numberAfter = (newest: StoredEntry | null): number => (newest?.entry.number ?? 0) + 1;
