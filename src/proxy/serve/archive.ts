/**
 * Old snapshots, opened when somebody asks for them: the manifest is proven against its entry in the
 * log, and each file against the manifest, before the first answer from it. A file is read when it is sent,
 * not before it is known whether it is. What was read is kept until its share of the memory is used; then what
 * was not asked for lately goes. Large files are streamed. All reads wait for their turn in the queue
 * (lib/turns.ts), so that live answers come between.
 *
 * The `delayed_sessions` of old files is never raised.
 */
import { LRUCache } from "lru-cache";
import type { Place } from "../../lib/turns.ts";
import type { FileEntry, Manifest } from "../../snapshot/manifest.ts";
import type { Publication } from "../../snapshot/log/entry.ts";
import { readFile, readManifest } from "../../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import { FILES, snapshotText } from "../../store/paths.ts";
import { BUSY, notInSnapshot, type Denial } from "../problems.ts";
import type { OpenBody } from "./stream.ts";
import { PreparedFile, type Source } from "./served-file.ts";
import {
  catalogIn,
  descriptionOf,
  pieceOf,
  readBaskets,
  sourceOf,
  stampOf,
  storedBytes,
  type LoadOptions,
  type ServedSnapshot,
} from "./load.ts";

/** The part of the memory for files that old snapshots may use; live ones use the rest (load.ts). */
const SHARE = 1 / 8;
/**
 * A file is streamed if it is larger than this part of the archive's memory, or than this many bytes:
 * an answer to a slow reader keeps a file in memory that the cache has forgotten, and there may be as
 * many as there are connections.
 */
const HELD_SHARE = 1 / 16;
const HELD_BYTES_MAX = 256 * 1024;

/** What V8 holds for a file's description, a part of it or header fields, beside its bytes (measured). */
const ENTRY_BYTES = 700;
/** Objects take more memory than the JSON that they are parsed from. */
const PARSED_COST = 4;

/** What a proven manifest says of the tiers, and of the files by path. */
interface Stored extends Pick<Manifest, "tiers"> {
  readonly entries: ReadonlyMap<string, FileEntry>;
}

/** What a cache holds, with the memory that it takes. */
interface Costed<T> {
  readonly value: T;
  readonly bytes: number;
}

type Read<T> = () => Promise<Costed<T>>;

type ArchiveOptions = Pick<LoadOptions, "cacheBytes" | "onStreamFailure">;

export class Archive {
  readonly #store: ObjectStore;
  readonly #options: ArchiveOptions;
  readonly #heldBytesMax: number;
  readonly #cache: LRUCache<string, Costed<unknown>, Read<unknown>>;

  constructor(store: ObjectStore, options: ArchiveOptions) {
    const bytes = options.cacheBytes * SHARE;
    this.#store = store;
    this.#options = options;
    this.#heldBytesMax = Math.min(bytes * HELD_SHARE, HELD_BYTES_MAX);
    this.#cache = new LRUCache({
      maxSize: Math.max(1, Math.ceil(bytes)),
      sizeCalculation: ({ bytes: cost }) => cost,
      ignoreFetchAbort: true,
      fetchMethod: (_key, _old, { context: read }) => read(),
    });
  }

  /** The memory that the snapshots take, in bytes; an estimate. */
  get heldBytes(): number {
    return this.#cache.calculatedSize;
  }

  /**
   * The snapshot as the publication made it the head, or `busy`. Throws DamageError if its manifest
   * is missing or not the one that the log names, UnreachableError if the store does not answer. The
   * functions of the snapshot give `busy` and throw the same.
   */
  async open(publication: Publication, place: Place): Promise<ServedSnapshot | Denial> {
    const stored = await this.#known(publication, place, FILES.manifest, async () => {
      const { manifest_sha256: sha256 } = publication;
      const { files, tiers } = await readManifest(this.#store, publication, sha256);
      const entries = new Map(files.map((entry) => [entry.path, entry]));
      const held = files.reduce((sum, { parts = [] }) => sum + 1 + parts.length, 0);
      return { value: { tiers, entries }, bytes: held * ENTRY_BYTES };
    });
    return "code" in stored ? stored : this.#served(publication, stored);
  }

  #served(publication: Publication, { tiers, entries }: Stored): ServedSnapshot {
    const stamp = stampOf(publication, Infinity);
    const fileAt = (path: string): PreparedFile | undefined => {
      const entry = entries.get(path);
      const file = entry && descriptionOf(tiers, entry, stamp);
      return entry && file ? new PreparedFile(file, this.#source(publication, entry)) : undefined;
    };
    return {
      stamp,
      tiers,
      newIds: NO_IDS,
      computed: null,
      files: { get: fileAt },
      catalog: (place) =>
        this.#parsed(publication, place, entries.get(FILES.catalog), (bytes) =>
          catalogIn(bytes, stamp),
        ),
      baskets: ({ name }, place) =>
        this.#parsed(publication, place, entries.get(FILES.basket(name)), readBaskets),
    };
  }

  /** What is kept of the file, or a source that reads it when it is opened. */
  #source(publication: Publication, entry: FileEntry): Source {
    const kept = this.#cache.get(nameOf(publication, entry.path));
    if (kept !== undefined) return kept.value as Source;
    const opened = (form: "plain" | "gzip"): OpenBody => {
      const open: OpenBody = async (place, range) => {
        const source = await this.#read(publication, place, entry.path, () =>
          this.#sourceOf(publication, entry, place),
        );
        const body = source[form] as Buffer | OpenBody;
        return typeof body === "function" ? body(place, range) : body;
      };
      return Object.assign(open, { isLaborious: true, isUnread: true });
    };
    const read = pieceOf(this.#store, publication, entry);
    return {
      plain: opened("plain"),
      gzip: entry.gzip === undefined ? null : opened("gzip"),
      piece: (part, place) => place.run(() => read(part, place)),
    };
  }

  async #sourceOf(
    publication: Publication,
    entry: FileEntry,
    place: Place,
  ): Promise<Costed<Source>> {
    const { cacheBytes, onStreamFailure } = this.#options;
    const bytes = storedBytes(entry);
    const isHeld = bytes <= this.#heldBytesMax;
    const options = {
      cacheBytes: cacheBytes * SHARE,
      // What was right before is damaged now: the next request compares the file before it answers.
      onStreamFailure: (error: unknown) => {
        this.#cache.delete(nameOf(publication, entry.path));
        onStreamFailure(error);
      },
    };
    const value = await sourceOf(this.#store, publication, entry, isHeld, options, place);
    return { value, bytes: ENTRY_BYTES + (isHeld ? bytes : 0) };
  }

  async #parsed<T>(
    publication: Publication,
    place: Place,
    entry: FileEntry | undefined,
    parse: (bytes: Buffer) => T,
  ): Promise<T | Denial> {
    if (entry === undefined) return notInSnapshot(snapshotText(publication));
    return this.#known(publication, place, entry.path, async () => ({
      value: parse((await readFile(this.#store, publication, entry)).bytes),
      bytes: entry.bytes * PARSED_COST,
    }));
  }

  /** The same as `#read`, or `busy` if the place has to be taken for it and cannot be. */
  async #known<T>(
    publication: Publication,
    place: Place,
    path: string,
    read: Read<T>,
  ): Promise<T | Denial> {
    if (!this.#cache.has(nameOf(publication, path)) && !place.enter()) return BUSY;
    return this.#read(publication, place, path, read);
  }

  /** What is kept of the file, or what `read` reads; several requests for the same share one read. */
  async #read<T>(publication: Publication, place: Place, path: string, read: Read<T>): Promise<T> {
    const key = nameOf(publication, path);
    const kept = this.#cache.get(key);
    const { value } =
      kept ?? (await place.run(() => this.#cache.forceFetch(key, { context: read })));
    return value as T;
  }
}

/** All publications of one snapshot share what is read of it. */
const nameOf = (publication: Publication, path: string): string =>
  `${snapshotText(publication)} ${publication.manifest_sha256} ${path}`;

/** An old snapshot is asked with the ids of its time. */
const NO_IDS: ReadonlyMap<string, string> = new Map();
