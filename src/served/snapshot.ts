/**
 * A published snapshot to answer from. Its manifest was proven against its entry in the log; each file is
 * compared with the manifest's SHA-256 when it is first read, before any answer from it. A read file is kept on
 * a shelf. The live snapshot's shelf is filled before the snapshot is served (load.ts); old snapshots share one
 * that forgets what nobody has asked for lately (archive.ts).
 */
import { atOnce } from "../lib/at-once.ts";
import { DamageError } from "../lib/errors.ts";
import { NO_QUEUE, type Place } from "../lib/turns.ts";
import { parseSession, type Session } from "../market/session.ts";
import { historyFrom, TIER_NAMES, TIERS } from "../market/tier.ts";
import { parseBasketFile } from "../render/basket-file.ts";
import { parseCloseCounts } from "../render/close-counts.ts";
import type { CloseCounts } from "../public/payload-schemas.ts";
import { parseCatalog } from "../snapshot/catalog-file.ts";
import type { FileEntry, Manifest } from "../snapshot/manifest.ts";
import type { Publication } from "../snapshot/log/entry.ts";
import { formsOf, readFile, readVerified, type NamedObject } from "../snapshot/stored-snapshot.ts";
import type { ObjectPart, ObjectStore } from "../ports/store.ts";
import { FILES, isHistory, snapshotText, type SnapshotName } from "../store/paths.ts";
import { BUSY, isDenial, notInSnapshot, type Denial } from "../public/problems.ts";
import type { SnapshotStamp } from "../core/serve/freshness.ts";
import { PreparedFile, type FileDescription, type FileSource } from "../core/serve/served-file.ts";
import type { OpenBody, OpenStream } from "../core/serve/stream.ts";
import type { ServedSnapshot, SnapshotFiles } from "../core/world.ts";
import type { Platform } from "../ports/platform.ts";
import { inflatedHeader, inflatedSlice, slicesOf, type FileSlice } from "../snapshot/coded.ts";
import { inflateOnce, inflateEach, streamOf, verifyingStream } from "./stream.ts";

/** Something kept, with the memory that it takes. */
export interface ShelfItem<T> {
  readonly value: T;
  readonly bytes: number;
}

/** Files that were read from snapshots. */
export interface Shelf {
  get(name: string): unknown;
  /** The kept value, or the result of `read` when it is the place's turn. */
  read<T>(name: string, place: Place, read: () => Promise<ShelfItem<T>>): Promise<T>;
  /** Forgets what turned out to be damaged while it was sent. */
  forget(name: string): void;
  /** Whether the bytes of a file are kept; otherwise it is streamed from the store for each answer. */
  holds(entry: FileEntry): boolean;
  /** Coded files with more plain bytes than this are inflated as a stream. */
  readonly inflatedBytesMax: number;
}

/** What V8 holds for a file's description, a part of it or header fields, beside its bytes (measured). */
export const ENTRY_BYTES = 700;
/** Objects take more memory than the JSON that they are parsed from. */
const PARSED_COST = 4;

/** Files that the proxy reads and never sends: names are judged and baskets priced by them. */
export const INNER: ReadonlySet<string> = new Set([
  FILES.catalog,
  FILES.closes,
  ...TIER_NAMES.map(FILES.basket),
]);

/** What a proven manifest says of the tiers, of the files that are never sent, and of the lists of indices. */
export interface ManifestOutline extends Pick<Manifest, "tiers"> {
  readonly entries: FileEntries;
}

const OUTLINED: ReadonlySet<string> = new Set([...INNER, ...TIER_NAMES.map(FILES.indices)]);

/** Of files, by path. */
export type FileEntries = ReadonlyMap<string, FileEntry>;

export const entriesOf = (files: readonly FileEntry[]): FileEntries =>
  new Map(files.map((entry) => [entry.path, entry]));

export const outlineOf = ({
  tiers,
  files,
}: Pick<Manifest, "tiers" | "files">): ManifestOutline => ({
  tiers,
  entries: entriesOf(files.filter(({ path }) => OUTLINED.has(path))),
});

/**
 * The snapshot. `entries` are its files, or read them when the first is asked for. `verifyAll` reads files before
 * anybody asks for them. `onStreamFailure` receives the error if a verified file is damaged when it is sent. Its functions throw DamageError if a file is missing or changed, and UnreachableError if the store does not answer.
 */
export function servedSnapshot(
  store: ObjectStore,
  publication: Publication,
  { tiers, entries: known }: ManifestOutline,
  entries: FileEntries | (() => Promise<FileEntries | Denial>),
  stamp: SnapshotStamp,
  shelf: Shelf,
  onStreamFailure: (error: unknown) => void,
  platform: Platform,
): ServedSnapshot & { verifyAll(entries: readonly FileEntry[]): Promise<void> } {
  const nameOf = (path: string): string => nameOn(publication, path);

  /** The kept file, or a source that reads it when it is opened. */
  function sourceFor(entry: FileEntry): FileSource {
    const name = nameOf(entry.path);
    const kept = shelf.get(name);
    if (kept !== undefined) return kept as FileSource;
    const opened = (form: "plain" | "gzip"): OpenBody => {
      const open: OpenBody = async (place, range) => {
        const source = await readSource(entry, place);
        const body = source[form] as Buffer | OpenBody;
        return typeof body === "function" ? body(place, range) : body;
      };
      return Object.assign(open, { isLaborious: true, isUnread: true });
    };
    const piece = pieceOf(store, publication, entry);
    const gzip = entry.gzip === undefined ? null : opened("gzip");
    const bodies = { plain: opened("plain"), gzip };
    const inTurn: ReadPiece = (part, place) => place.run(() => piece(part));
    return withParts(bodies, entry, `${entry.path} of ${stamp.text}`, inTurn);
  }

  /** Verifies the file, unless that was done before, and keeps what opens it. */
  function readSource(entry: FileEntry, place: Place): Promise<FileSource> {
    const name = nameOf(entry.path);
    return shelf.read(name, place, async () => {
      // The next request compares the file again before it answers.
      const onFailure = (error: unknown): void => {
        shelf.forget(name);
        onStreamFailure(error);
      };
      const isHeld = shelf.holds(entry);
      const value = await verifiedSource(
        store,
        publication,
        entry,
        isHeld,
        shelf,
        onFailure,
        place,
        stamp.text,
      );
      return { value, bytes: ENTRY_BYTES + (isHeld ? storedBytes(entry) : 0) };
    });
  }

  async function parsed<T>(
    path: string,
    place: Place,
    parse: (bytes: Buffer) => T,
  ): Promise<T | Denial> {
    const entry = known.get(path);
    if (entry === undefined) return notInSnapshot(stamp.text);
    // Most publications have the catalog of the one before.
    const name = `${path} ${entry.sha256}`;
    if (shelf.get(name) === undefined && !place.enter()) return BUSY;
    return shelf.read(name, place, async () => {
      const { bytes } = await readFile(store, publication, entry);
      return { value: parse(bytes), bytes: entry.bytes * PARSED_COST };
    });
  }

  const filesOf = (all: FileEntries): SnapshotFiles => ({
    get(path) {
      const entry = all.get(path);
      const file = entry && descriptionOf(tiers, entry, stamp);
      return entry && file ? new PreparedFile(file, sourceFor(entry), platform) : undefined;
    },
  });

  return {
    verifyAll: async (entries) => {
      await atOnce(entries, (entry) => readSource(entry, NO_QUEUE));
    },
    stamp,
    tiers,
    hasIndices: ({ name }) => known.has(FILES.indices(name)),
    files: typeof entries === "function" ? null : filesOf(entries),
    openFiles: async () => {
      const opened = typeof entries === "function" ? await entries() : entries;
      return isDenial(opened) ? opened : filesOf(opened);
    },
    catalog: (place) =>
      parsed(FILES.catalog, place, (bytes) =>
        parseCatalog(bytes, `The catalog of snapshot ${stamp.text}`),
      ),
    closes: async (place) =>
      known.has(FILES.closes) ? parsed(FILES.closes, place, parseCloses) : NO_CLOSES,
    // A tier without a summary has no data.
    baskets: async ({ name }, place) =>
      tiers[name] === undefined
        ? notInSnapshot(stamp.text)
        : parsed(FILES.basket(name), place, parseBaskets),
  };
}

/** The name on a shelf: all publications of one snapshot share its files. */
export const nameOn = (publication: Publication, path: string): string =>
  `${snapshotText(publication)} ${publication.manifest_sha256} ${path}`;

export const storedBytes = ({ bytes, gzip, stored }: FileEntry): number =>
  (stored === "gzip" ? 0 : bytes) + (gzip?.bytes ?? 0);

/** What to serve the file as; null: it belongs to no tier, or to one without data. */
function descriptionOf(
  tiers: Manifest["tiers"],
  entry: FileEntry,
  stamp: SnapshotStamp,
): FileDescription | null {
  const { path, tier } = entry;
  const summary = tier === null ? undefined : tiers[tier];
  if (tier === null || summary === undefined) return null;
  const [, name, extension] = /\/(\w+)\.(csv|xlsx|parquet)$/.exec(path) ?? [];
  const session = parseSession(summary.session_utc) as Session;
  return {
    stamp,
    entry,
    tier,
    position: { session, delayedSessions: summary.delayed_sessions },
    historyFrom: isHistory(path) ? historyFrom(TIERS[tier], session) : null,
    nameEnd: name === undefined ? null : `${name === "export" ? "" : `-${name}`}.${extension}`,
  };
}

/**
 * Verifies what the file is stored as, also that its coded form is one of its plain bytes. Returns the bytes,
 * or functions that open and verify them again for each answer. `onStreamFailure` receives the error if a
 * verified file is damaged later.
 */
async function verifiedSource(
  store: ObjectStore,
  name: SnapshotName,
  entry: FileEntry,
  isHeld: boolean,
  { inflatedBytesMax }: Shelf,
  onStreamFailure: (error: unknown) => void,
  place: Place,
  snapshot: string,
): Promise<FileSource> {
  const forms = formsOf(name, entry);
  const read = (object: NamedObject): Promise<Buffer | OpenStream> =>
    isHeld
      ? readVerified(store, object.key, object.sha256, object.bytes)
      : streamedSource(store, object, onStreamFailure, place);
  const gzip = forms.gzip && (await read(forms.gzip));
  const where = `${store.location}/${forms.gzip?.key}`;
  const opened =
    gzip &&
    inflateEach(gzip instanceof Uint8Array ? streamOf(gzip) : gzip, entry, where, onStreamFailure);
  if (opened !== null) await drain(await opened(place));
  const piece =
    gzip instanceof Uint8Array
      ? async ({ at, end }: ObjectPart) => gzip.subarray(at, end)
      : pieceOf(store, name, entry);
  const whole = (plain: FileSource["plain"]): FileSource =>
    withParts({ plain, gzip }, entry, `${entry.path} of ${snapshot}`, piece);
  if (forms.plain !== null) return whole(await read(forms.plain));
  const isSmall = gzip instanceof Uint8Array && entry.bytes <= inflatedBytesMax;
  return whole(isSmall ? inflateOnce(gzip, entry.bytes, where) : (opened as OpenStream));
}

const drain = (stream: ReadableStream<Uint8Array>): Promise<void> =>
  stream.pipeTo(new WritableStream());

/** Reads a part of a coded form, which is not proven yet. */
type ReadPiece = (part: ObjectPart, place: Place) => Promise<Buffer>;

/** The source of a file with these bodies, which reads its parts by `piece`. */
function withParts(
  bodies: Pick<FileSource, "plain" | "gzip">,
  entry: FileEntry,
  where: string,
  piece: ReadPiece,
): FileSource {
  // A long file has a part for each contract, and most answers need none of them.
  let parts: readonly FileSlice[] | null = null;
  const known = (): readonly FileSlice[] => (parts ??= slicesOf(entry));
  return {
    ...bodies,
    get parts() {
      return known();
    },
    inflated: (code, sizeBytes) => inflateOnce(code, sizeBytes, entry.path),
    header: async (place) => {
      const [first] = known() as [FileSlice];
      const header = await piece({ at: 0, end: first.coded.at }, place);
      return String(await inflatedHeader(header, first.at, where));
    },
    rowsOf: async (part, place) => {
      const slice = part as FileSlice;
      return String(await inflatedSlice(await piece(slice.coded, place), slice, where));
    },
  };
}

/** A function that reads a part of the file's coded form from the store. */
function pieceOf(
  store: ObjectStore,
  name: SnapshotName,
  entry: FileEntry,
): (part: ObjectPart) => Promise<Buffer> {
  const { gzip } = formsOf(name, entry);
  return async (part) => {
    const piece = gzip && (await store.get(gzip.key, gzip.bytes, part));
    if (piece !== null) return piece;
    throw new DamageError(`${store.location}/${gzip?.key ?? entry.path} is missing`);
  };
}

async function streamedSource(
  store: ObjectStore,
  object: NamedObject,
  onFailure: (error: unknown) => void,
  place: Place,
): Promise<OpenStream> {
  const { key } = object;
  const where = `${store.location}/${key}`;
  let isProven = false;
  const open: OpenStream = async (ofReader, range) => {
    const found = await store.open(key);
    if (found === null) throw new DamageError(`${where} is missing`);
    const onDamage = (error: DamageError): void => {
      if (isProven) onFailure(error);
    };
    return found.stream.pipeThrough(verifyingStream(object, where, onDamage, ofReader, range));
  };
  await drain(await open(place));
  isProven = true;
  return open;
}

const NO_CLOSES: ReadonlyMap<string, CloseCounts> = new Map();

/** The parser of a file with this name. It throws DamageError where `parse` throws. */
const parserOf =
  <T>(fileName: string, parse: (bytes: Buffer) => T) =>
  (bytes: Buffer): T => {
    try {
      return parse(bytes);
    } catch (cause) {
      throw new DamageError(`The snapshot's ${fileName} cannot be read`, [], { cause });
    }
  };

const parseCloses = parserOf("closes.json", (bytes) => parseCloseCounts(String(bytes)));
const parseBaskets = parserOf("basket.json", parseBasketFile);
