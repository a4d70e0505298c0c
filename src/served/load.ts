/**
 * The snapshot that is served live: every file is read and compared with the manifest before the first answer. If the
 * host gives a shelf, each file is read and compared before the first answer from it. Throws DamageError if any file is missing or changed, and UnreachableError if the store does not answer.
 *
 * Memory is bounded: the smallest files are held until the budget is used. The others are verified
 * now, and streamed from the store and verified again on each request.
 */
import { isDenial } from "../public/problems.ts";
import { cacheOf } from "../lib/caches.ts";
import { NO_QUEUE, type Place } from "../lib/turns.ts";
import { TIER_NAMES, TIERS } from "../market/tier.ts";
import type { FileEntry } from "../snapshot/manifest.ts";
import type { Publication } from "../snapshot/log/entry.ts";
import { readManifest } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../ports/store.ts";
import type { PreparedFile } from "../core/serve/served-file.ts";
import type { LiveSnapshot } from "../core/world.ts";
import type { Platform } from "../ports/platform.ts";
import { makeStamp } from "../core/serve/freshness.ts";
import {
  entriesOf,
  outlineOf,
  INNER,
  servedSnapshot,
  storedBytes,
  type ShelfItem,
  type Shelf,
} from "./snapshot.ts";

/** Callers repeat the same few baskets and selections. One takes 2 to 25 kB. */
const COMPUTED_MAX = 500;

/** Bytes of memory per stored byte: the stored bytes, the same with a raised delay, and the text to send. */
const HELD_COST = 3;

/** The live snapshot with what metrics tell of it. */
export interface LoadedSnapshot extends LiveSnapshot {
  readonly files: ReadonlyMap<string, PreparedFile>;
  /** Stored size of the files in memory. */
  readonly heldBytes: number;
}

/** The options of loading; the proxy's options extend them. */
export interface LoadOptions {
  /** How late a session may be before it counts as missing. */
  readonly graceMs: number;
  /** Memory for all files: LIVE_SHARE of it for each of two snapshots, the rest for old ones. */
  readonly cacheBytes: number;
  /** Receives the error when a file turns out to be damaged while it is sent. */
  readonly onStreamFailure: (error: unknown) => void;
  readonly platform: Platform;
  /** Where files are kept that are read and verified when somebody asks for them; without it all are read before. */
  readonly shelf?: Shelf;
}

/** A coded file whose plain bytes are more than this part of the memory is inflated as a stream. */
const INFLATED_SHARE = 1 / 8;

/** During a switch two snapshots are in memory. An eighth is left for old ones (archive.ts). */
const LIVE_SHARE = 7 / 16;

/** Keeps every file that was read, for as long as the snapshot is served. */
export class KeepingShelf implements Shelf {
  readonly #kept = new Map<string, unknown>();
  readonly holds: (entry: FileEntry) => boolean;
  readonly inflatedBytesMax: number;

  constructor(holds: (entry: FileEntry) => boolean, inflatedBytesMax: number) {
    this.holds = holds;
    this.inflatedBytesMax = inflatedBytesMax;
  }

  get(name: string): unknown {
    return this.#kept.get(name);
  }

  async read<T>(name: string, _place: Place, read: () => Promise<ShelfItem<T>>): Promise<T> {
    const kept = this.#kept.get(name) ?? (await read()).value;
    this.#kept.set(name, kept);
    return kept as T;
  }

  /** Each stream of it is verified anyway. */
  forget(): void {}
}

/** Loads the snapshot that the publication names. The top of this file lists the errors. */
export async function loadSnapshot(
  store: ObjectStore,
  publication: Publication,
  { graceMs, cacheBytes, onStreamFailure, platform, shelf: given }: LoadOptions,
): Promise<LoadedSnapshot> {
  const manifest = await readManifest(store, publication, publication.manifest_sha256);
  const stamp = makeStamp(publication, graceMs);
  const sent = manifest.files.filter(({ path }) => !INNER.has(path));
  const held = chooseHeld(sent, given === undefined ? cacheBytes * LIVE_SHARE : 0);
  const shelf =
    given ?? new KeepingShelf(({ path }) => held.has(path), cacheBytes * INFLATED_SHARE);
  const snapshot = servedSnapshot(
    store,
    publication,
    outlineOf(manifest),
    entriesOf(manifest.files),
    stamp,
    shelf,
    onStreamFailure,
    platform,
  );
  if (given === undefined) {
    await snapshot.verifyAll(sent);
    for (const name of TIER_NAMES) await snapshot.baskets(TIERS[name], NO_QUEUE);
    await snapshot.closes(NO_QUEUE);
  }
  const catalog = await snapshot.catalog(NO_QUEUE);
  const contracts = isDenial(catalog) ? [] : catalog;
  const files = new Map<string, PreparedFile>();
  for (const { path } of sent) {
    const file = snapshot.files?.get(path);
    if (file !== undefined) files.set(path, file);
  }
  const { judgements, options, attribution, carried, movement } = manifest;
  return {
    ...snapshot,
    publication,
    free: contracts.filter(({ free: isFree }) => isFree),
    files,
    judgements,
    options,
    attribution,
    carried,
    movement,
    computed: cacheOf(COMPUTED_MAX),
    heldBytes: [...held.values()].reduce((sum, bytes) => sum + bytes, 0),
  };
}

/** The paths of the files to hold in memory, with their stored sizes. */
function chooseHeld(entries: readonly FileEntry[], budgetBytes: number): Map<string, number> {
  const held = new Map<string, number>();
  let cost = 0;
  for (const { path, bytes } of entries
    .filter(({ tier }) => tier !== null)
    .map((entry) => ({ path: entry.path, bytes: storedBytes(entry) }))
    .sort((a, b) => a.bytes - b.bytes)) {
    cost += bytes * HELD_COST;
    if (cost > budgetBytes) break;
    held.set(path, bytes);
  }
  return held;
}
