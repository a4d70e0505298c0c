/**
 * Old snapshots, opened when somebody asks for them: the manifest is proven against its entry in the
 * log, and each file against the manifest, before the first answer from it. What was read is kept
 * until its share of the memory is used; then what was not asked for lately goes. Large files are
 * streamed. The number of reads at once is bounded, and a turn of the event loop begins one piece of
 * this work, so that live answers come between.
 *
 * The `delayed_sessions` of old files is never raised.
 */
import { LRUCache } from "lru-cache";
import { Turns } from "../../lib/turns.ts";
import type { FileEntry, Manifest } from "../../snapshot/manifest.ts";
import type { Publication } from "../../snapshot/log/entry.ts";
import { readFile, readManifest } from "../../snapshot/stored-snapshot.ts";
import type { Subject } from "../../state/driver.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import { FILES, snapshotText } from "../../store/paths.ts";
import { busy, notInSnapshot, type Denial } from "../problems.ts";
import { PreparedFile, type Source } from "./file.ts";
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
const READS_AT_ONCE = 8;
/** For one reader, so that the others can read, too. */
const READS_EACH = 4;

/** What V8 holds for a file's description, a part of it or header fields, beside its bytes (measured). */
const ENTRY_BYTES = 700;
/** Objects take more memory than the JSON that they are parsed from. */
const PARSED_COST = 4;

/** What a proven manifest says of the tiers, and of the files by path. */
interface Stored extends Pick<Manifest, "tiers"> {
  readonly entries: ReadonlyMap<string, FileEntry>;
}

/** Which snapshot is asked for, and who asks. */
interface Asked {
  readonly publication: Publication;
  readonly reader: Subject;
}

/** What a cache holds, with the memory that it takes. */
interface Costed<T> {
  readonly value: T;
  readonly bytes: number;
}

/** Who asks a cache to read, and what. */
type Reading = Pick<Asked, "reader"> & { readonly read: () => Promise<Costed<unknown>> };

type ArchiveOptions = Pick<LoadOptions, "cacheBytes" | "onStreamFailure">;

export class Archive {
  readonly #store: ObjectStore;
  readonly #options: ArchiveOptions;
  readonly #heldBytesMax: number;
  readonly #cache: LRUCache<string, Costed<unknown>, Reading>;
  readonly #turns = new Turns();
  /** Who reads, by what is read. */
  readonly #readers = new Map<string, Subject>();
  /** How many requests were refused because too many reads ran. */
  refusals = 0;

  constructor(store: ObjectStore, options: ArchiveOptions) {
    const bytes = options.cacheBytes * SHARE;
    this.#store = store;
    this.#options = options;
    this.#heldBytesMax = Math.min(bytes * HELD_SHARE, HELD_BYTES_MAX);
    this.#cache = new LRUCache({
      maxSize: Math.max(1, Math.ceil(bytes)),
      sizeCalculation: ({ bytes: cost }) => cost,
      ignoreFetchAbort: true,
      fetchMethod: (key, _old, { context: { reader, read } }) => {
        this.#readers.set(key, reader);
        return read().finally(() => this.#readers.delete(key));
      },
    });
  }

  /** The memory that the snapshots take, in bytes; an estimate. */
  get heldBytes(): number {
    return this.#cache.calculatedSize;
  }

  /**
   * The snapshot as the publication made it the head, or `busy`. Throws DamageError if its manifest
   * is missing or not the one that the log names, UnreachableError if the store does not answer. The
   * functions of the snapshot give `busy` and throw the same. Readers take turns, and one of them
   * cannot hold all reads.
   */
  async open(publication: Publication, reader: Subject): Promise<ServedSnapshot | Denial> {
    const asked = { publication, reader };
    await this.#turns.next(reader);
    const stored = await this.#take(asked, FILES.manifest, async () => {
      const { manifest_sha256: sha256 } = publication;
      const { files, tiers } = await readManifest(this.#store, publication, sha256);
      const entries = new Map(files.map((entry) => [entry.path, entry]));
      const held = files.reduce((sum, { parts = [] }) => sum + 1 + parts.length, 0);
      return { value: { tiers, entries }, bytes: held * ENTRY_BYTES };
    });
    return "code" in stored ? stored : this.#served(asked, stored);
  }

  #served(asked: Asked, { tiers, entries }: Stored): ServedSnapshot {
    const stamp = stampOf(asked.publication, Infinity);
    const fileAt = async (
      path: string,
      byParts = false,
    ): Promise<PreparedFile | Denial | undefined> => {
      const entry = entries.get(path);
      const file = entry && descriptionOf(tiers, entry, stamp);
      if (!entry || !file) return undefined;
      const source =
        byParts && entry.parts !== undefined
          ? this.#inParts(asked, entry)
          : await this.#source(asked, entry);
      return "code" in source ? source : new PreparedFile(file, source);
    };
    return {
      stamp,
      tiers,
      newIds: NO_IDS,
      computed: null,
      files: { get: fileAt },
      catalog: () =>
        this.#parsed(asked, entries.get(FILES.catalog), (bytes) => catalogIn(bytes, stamp)),
      baskets: ({ name }) => this.#parsed(asked, entries.get(FILES.basket(name)), readBaskets),
    };
  }

  /** A source of parts alone, at the reader's pace. */
  #inParts({ publication, reader }: Asked, entry: FileEntry): Source {
    const read = pieceOf(this.#store, publication, entry);
    const piece: Source["piece"] = async (part) => {
      await this.#turns.next(reader);
      return read(part);
    };
    return { plain: Buffer.alloc(0), gzip: null, piece };
  }

  /** What the file is stored as, in memory or streamed. */
  async #source(asked: Asked, entry: FileEntry): Promise<Source | Denial> {
    const { publication } = asked;
    const pace = (): Promise<void> => this.#turns.next(asked.reader);
    // What was right before is damaged now: the next request compares the file before it answers.
    const onFailure = (error: unknown): void => {
      this.#cache.delete(nameOf(publication, entry.path));
      this.#options.onStreamFailure(error);
    };
    const bytes = storedBytes(entry);
    const isHeld = bytes <= this.#heldBytesMax;
    const source = await this.#take<Source>(asked, entry.path, async () => ({
      value: await sourceOf(this.#store, publication, entry, isHeld, onFailure, pace),
      bytes: ENTRY_BYTES + (isHeld ? bytes : 0),
    }));
    if ("code" in source) return source;
    const { plain, gzip, piece } = source;
    // Others' answers have opened the same file at their own pace.
    return {
      piece,
      plain: typeof plain === "function" ? (range) => plain(range, pace) : plain,
      gzip: typeof gzip === "function" ? (range) => gzip(range, pace) : gzip,
    };
  }

  async #parsed<T>(
    asked: Asked,
    entry: FileEntry | undefined,
    parse: (bytes: Buffer) => T,
  ): Promise<T | Denial> {
    if (entry === undefined) return notInSnapshot(snapshotText(asked.publication));
    return this.#take(asked, entry.path, async () => ({
      value: parse((await readFile(this.#store, asked.publication, entry)).bytes),
      bytes: entry.bytes * PARSED_COST,
    }));
  }

  /** What is kept of the file, or what `read` reads; several requests for the same share one read. */
  async #take<T>(
    { publication, reader }: Asked,
    path: string,
    read: () => Promise<Costed<T>>,
  ): Promise<T | Denial> {
    const key = nameOf(publication, path);
    const isKnown = this.#cache.has(key) || this.#readers.has(key);
    const own = [...this.#readers.values()].filter((each) => each === reader);
    if (!isKnown && (this.#readers.size >= READS_AT_ONCE || own.length >= READS_EACH)) {
      this.refusals += 1;
      return busy("Too many old snapshots are read at the moment.");
    }
    const { value } = await this.#cache.forceFetch(key, { context: { reader, read } });
    return value as T;
  }
}

/** All publications of one snapshot share what is read of it. */
const nameOf = (publication: Publication, path: string): string =>
  `${snapshotText(publication)} ${publication.manifest_sha256} ${path}`;

/** An old snapshot is asked with the ids of its time. */
const NO_IDS: ReadonlyMap<string, string> = new Map();
