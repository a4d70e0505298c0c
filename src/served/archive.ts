/**
 * Old snapshots, opened when somebody asks for them: the manifest is proven against its entry in the log. Its
 * outline is kept apart: names are judged and baskets priced by it alone, and many more of them fit. A
 * file is read when it is sent, not before it is known whether it is. A read file is kept until its share of
 * the memory is used; then the files that were asked for longest ago go. Large files are streamed. All reads
 * wait for their turn in the queue (lib/turns.ts), so that live answers come between.
 *
 * The `delayed_sessions` of old files is never raised.
 */
import { LRUCache } from "lru-cache";
import { getOrMake } from "../lib/caches.ts";
import type { Place } from "../lib/turns.ts";
import type { OldSnapshots, ServedSnapshot } from "../core/world.ts";
import type { Platform } from "../ports/platform.ts";
import type { FileEntry } from "../snapshot/manifest.ts";
import type { Publication } from "../snapshot/log/entry.ts";
import { TIER_NAMES } from "../market/tier.ts";
import { readManifest } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../ports/store.ts";
import { FILES } from "../store/paths.ts";
import { makeStamp } from "../core/serve/freshness.ts";
import { BUSY, isDenial, type Denial } from "../public/problems.ts";
import type { LoadOptions } from "./load.ts";
import {
  entriesOf,
  ENTRY_BYTES,
  outlineOf,
  nameOn,
  servedSnapshot,
  storedBytes,
  type FileEntries,
  type ManifestOutline,
  type ShelfItem,
  type Shelf,
} from "./snapshot.ts";

/** The part of the memory for files that old snapshots may use; live ones use the rest (load.ts). */
const SHARE = 1 / 8;
/**
 * A file is streamed if it is larger than this part of the archive's memory, or than this many bytes:
 * an answer to a slow reader keeps a file in memory that the cache has forgotten, and there may be as
 * many as there are connections.
 */
const HELD_SHARE = 1 / 16;
const HELD_BYTES_MAX = 256 * 1024;
/** A coded file whose plain bytes are more than this part of the archive's memory is inflated as a stream. */
const INFLATED_SHARE = 1 / 8;

/** A manifest that was read whole, as far as it is kept. */
interface ManifestFiles {
  readonly outline: ManifestOutline;
  readonly entries: FileEntries;
}

const outlineBytes = ({ entries, tiers }: ManifestOutline): number =>
  TIER_NAMES.reduce((sum, name) => sum + (tiers[name]?.off_board.length ?? 0), entries.size) *
  ENTRY_BYTES;

export class Archive implements Shelf, OldSnapshots {
  readonly #store: ObjectStore;
  readonly #onStreamFailure: (error: unknown) => void;
  readonly #platform: Platform;
  readonly #heldBytesMax: number;
  readonly #cache: LRUCache<string, ShelfItem<unknown>>;
  readonly inflatedBytesMax: number;

  constructor(
    store: ObjectStore,
    options: Pick<LoadOptions, "cacheBytes" | "onStreamFailure" | "platform">,
  ) {
    const bytes = options.cacheBytes * SHARE;
    this.#store = store;
    this.#onStreamFailure = options.onStreamFailure;
    this.#platform = options.platform;
    this.#heldBytesMax = Math.min(bytes * HELD_SHARE, HELD_BYTES_MAX);
    this.inflatedBytesMax = bytes * INFLATED_SHARE;
    this.#cache = new LRUCache({
      maxSize: Math.max(1, Math.ceil(bytes)),
      sizeCalculation: ({ bytes: cost }) => cost,
    });
  }

  /** The memory that the snapshots take, in bytes; an estimate. */
  get heldBytes(): number {
    return this.#cache.calculatedSize;
  }

  /**
   * The snapshot as the publication made it the head, or `busy`. Throws DamageError if its manifest
   * is missing or not the one that the log names, UnreachableError if the store does not answer.
   */
  async open(publication: Publication, place: Place): Promise<ServedSnapshot | Denial> {
    const name = nameOn(publication, FILES.manifest);
    const outlineName = `${name} outline`;
    const readAll = async (): Promise<ManifestFiles | Denial> => {
      if (!this.#cache.has(name) && !place.enter()) return BUSY;
      return this.read(name, place, async () => {
        const { manifest_sha256: sha256 } = publication;
        const manifest = await readManifest(this.#store, publication, sha256);
        const outline = outlineOf(manifest);
        this.#cache.set(outlineName, { value: outline, bytes: outlineBytes(outline) });
        const held = manifest.files.reduce((sum, { parts = [] }) => sum + 1 + parts.length, 0);
        return {
          value: { outline, entries: entriesOf(manifest.files) },
          bytes: held * ENTRY_BYTES,
        };
      });
    };
    const outline = this.#cache.has(name)
      ? undefined
      : (this.get(outlineName) as ManifestOutline | undefined);
    const later = async (): Promise<FileEntries | Denial> => {
      const read = await readAll();
      return isDenial(read) ? read : read.entries;
    };
    const known = outline === undefined ? await readAll() : { outline, entries: later };
    if (isDenial(known)) return known;
    const stamp = makeStamp(publication, Infinity);
    return servedSnapshot(
      this.#store,
      publication,
      known.outline,
      known.entries,
      stamp,
      this,
      this.#onStreamFailure,
      this.#platform,
    );
  }

  get(name: string): unknown {
    return this.#cache.get(name)?.value;
  }

  async read<T>(name: string, place: Place, read: () => Promise<ShelfItem<T>>): Promise<T> {
    const { value } = await getOrMake(this.#cache, name, place, read);
    return value as T;
  }

  forget(name: string): void {
    this.#cache.delete(name);
  }

  holds(entry: FileEntry): boolean {
    return storedBytes(entry) <= this.#heldBytesMax;
  }
}
