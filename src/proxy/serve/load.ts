/**
 * Loads a published snapshot: reads every file and compares its SHA-256 with the manifest's before
 * the first answer uses it. Throws DamageError if any file is missing or changed, and
 * UnreachableError if the store does not answer.
 *
 * Memory is bounded: the smallest files are held until the budget is used. The others are verified
 * now, and streamed from the store and verified again on each request.
 */
import type { LRUCache } from "lru-cache";
import { atOnce } from "../../lib/at-once.ts";
import { cacheOf } from "../../lib/caches.ts";
import { DamageError } from "../../lib/errors.ts";
import { NO_QUEUE, type Place } from "../../lib/turns.ts";
import { parseSession, sessionStartMs, type Session } from "../../market/session.ts";
import type { Contract } from "../../market/contract.ts";
import { TIER_NAMES, type Tier, type TierName } from "../../market/tier.ts";
import { parseBasketFile, type BasketFile } from "../../render/basket-file.ts";
import { parseCatalog } from "../../snapshot/catalog-file.ts";
import type { FileEntry, Manifest } from "../../snapshot/manifest.ts";
import type { Publication } from "../../snapshot/log/entry.ts";
import {
  formsOf,
  readManifest,
  readSnapshotFile,
  readVerified,
  type NamedObject,
} from "../../snapshot/stored-snapshot.ts";
import type { ObjectPart, ObjectStore } from "../../store/object-store.ts";
import { FILES, snapshotText, type SnapshotName } from "../../store/paths.ts";
import { inflatedOnce, inflating, streamOf, verified, type OpenStream } from "./stream.ts";
import { notInSnapshot, type Denial } from "../problems.ts";
import { PreparedFile, type FileDescription, type Source } from "./served-file.ts";
import type { Forms } from "./entity.ts";
import type { SnapshotStamp } from "./freshness.ts";

/** Callers repeat the same few baskets and selections. One takes 2 to 25 kB. */
const COMPUTED_MAX = 500;

/** Bytes of memory per stored byte: what is stored, and the same with a raised delay. */
const HELD_COST = 2;

/** A snapshot to answer from. Its files are in memory, or are read when somebody asks for them. */
export interface ServedSnapshot extends Pick<Manifest, "tiers"> {
  readonly stamp: SnapshotStamp;
  /** The present id of each contract that was renamed, by its former id. */
  readonly newIds: ReadonlyMap<string, string>;
  /** Recent baskets and small selections by name and number of overdue sessions; null: none is kept. */
  readonly computed: LRUCache<string, Forms> | null;
  /** By path relative to the snapshot's folder. Undefined: the snapshot has no such file. */
  readonly files: {
    get(path: string): PreparedFile | undefined;
  };
  catalog(place: Place): Promise<readonly Contract[] | Denial>;
  /** What baskets of the tier are priced from. */
  baskets(tier: Tier, place: Place): Promise<BasketFile | Denial>;
}

/** A verified snapshot, ready to answer from at once. */
export interface LoadedSnapshot
  extends
    ServedSnapshot,
    Pick<Manifest, "judgements" | "options" | "attribution" | "carried" | "movement"> {
  readonly publication: Publication;
  /** The free slice, in catalog order. */
  readonly free: readonly Contract[];
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
}

/** A coded file whose plain bytes are more than this part of the memory is inflated as a stream. */
const INFLATED_SHARE = 1 / 8;

/** During a switch two snapshots are in memory. An eighth is left for old ones (archive.ts). */
const LIVE_SHARE = 7 / 16;

/** Loads the snapshot that the publication names. The top of this file lists the errors. */
export async function loadSnapshot(
  store: ObjectStore,
  publication: Publication,
  options: LoadOptions,
): Promise<LoadedSnapshot> {
  const manifest = await readManifest(store, publication, publication.manifest_sha256);
  const { tiers, judgements, options: used, attribution, carried, movement } = manifest;
  const stamp = stampOf(publication, options.graceMs);
  const files = new Map<string, PreparedFile>();
  const sent = manifest.files.filter(({ path }) => !INNER.has(path));
  const held = chooseHeld(sent, options.cacheBytes * LIVE_SHARE);
  await atOnce(sent, async (entry) => {
    const isHeld = held.has(entry.path);
    const source = await sourceOf(store, publication, entry, isHeld, options, NO_QUEUE);
    const file = descriptionOf(tiers, entry, stamp);
    if (file !== null) files.set(entry.path, new PreparedFile(file, source));
  });
  const parsed = async <T>(path: string, parse: (bytes: Buffer) => T): Promise<T | null> => {
    const found = await readSnapshotFile(store, publication, manifest, path);
    return found && parse(found.bytes);
  };
  const catalog = await parsed(FILES.catalog, (bytes) => catalogIn(bytes, stamp));
  const baskets = new Map<TierName, BasketFile | null>();
  for (const name of TIER_NAMES) baskets.set(name, await parsed(FILES.basket(name), readBaskets));
  return {
    publication,
    free: catalog?.filter(({ free: isFree }) => isFree) ?? [],
    stamp,
    newIds: new Map(
      catalog?.flatMap(({ id, formerly }) => formerly.map((old): [string, string] => [old, id])),
    ),
    tiers,
    files,
    catalog: async () => catalog ?? notInSnapshot(stamp.text),
    baskets: async ({ name }) => (tiers[name] && baskets.get(name)) ?? notInSnapshot(stamp.text),
    judgements,
    options: used,
    attribution,
    carried,
    movement,
    computed: cacheOf(COMPUTED_MAX),
    heldBytes: [...held.values()].reduce((sum, bytes) => sum + bytes, 0),
  };
}

/** What all files of the publication's snapshot share. `graceMs` Infinity: it is never overdue. */
export const stampOf = (publication: Publication, graceMs: number): SnapshotStamp => ({
  text: snapshotText(publication),
  manifestSha256: publication.manifest_sha256,
  publication: publication.number,
  head: publication.session,
  headMs: sessionStartMs(publication.session),
  publishedAtMs: Date.parse(publication.at),
  graceMs,
});

/** The catalog's contracts. Throws DamageError. */
export const catalogIn = (bytes: Buffer, stamp: SnapshotStamp): Contract[] =>
  parseCatalog(bytes, `The catalog of snapshot ${stamp.text}`);

/** Files that the proxy reads and never sends. */
const INNER: ReadonlySet<string> = new Set([FILES.catalog, ...TIER_NAMES.map(FILES.basket)]);

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

export const storedBytes = ({ bytes, gzip, stored }: FileEntry): number =>
  (stored === "gzip" ? 0 : bytes) + (gzip?.bytes ?? 0);

/** What to serve the file as; null: it belongs to no tier, or to one without data. */
export function descriptionOf(
  tiers: Manifest["tiers"],
  entry: FileEntry,
  stamp: SnapshotStamp,
): FileDescription | null {
  const { path, tier } = entry;
  const summary = tier === null ? undefined : tiers[tier];
  if (tier === null || summary === undefined) return null;
  const [, name, extension] = /\/(\w+)\.(csv|xlsx|parquet)$/.exec(path) ?? [];
  return {
    stamp,
    entry,
    tier,
    position: {
      session: parseSession(summary.session_utc) as Session,
      delayedSessions: summary.delayed_sessions,
    },
    nameEnd: name === undefined ? null : `${name === "export" ? "" : `-${name}`}.${extension}`,
  };
}

/**
 * Verifies what the file is stored as, also that its coded form is one of its plain bytes. Returns the bytes,
 * or functions that open and verify them again for each answer. `onStreamFailure` receives the error if what
 * was verified is damaged later.
 */
export async function sourceOf(
  store: ObjectStore,
  name: SnapshotName,
  entry: FileEntry,
  isHeld: boolean,
  { cacheBytes, onStreamFailure }: Pick<LoadOptions, "cacheBytes" | "onStreamFailure">,
  place: Place,
): Promise<Source> {
  const forms = formsOf(name, entry);
  const read = (object: NamedObject): Promise<Buffer | OpenStream> =>
    isHeld
      ? readVerified(store, object.key, object.sha256, object.bytes)
      : streamedSource(store, object, onStreamFailure, place);
  const gzip = forms.gzip && (await read(forms.gzip));
  const where = `${store.location}/${forms.gzip?.key}`;
  const opened =
    gzip && inflating(Buffer.isBuffer(gzip) ? streamOf(gzip) : gzip, entry, where, onStreamFailure);
  if (opened !== null) await drain(await opened(place));
  const piece = Buffer.isBuffer(gzip)
    ? async ({ at, end }: ObjectPart) => gzip.subarray(at, end)
    : pieceOf(store, name, entry);
  if (forms.plain !== null) return { plain: await read(forms.plain), gzip, piece };
  const isSmall = Buffer.isBuffer(gzip) && entry.bytes <= cacheBytes * INFLATED_SHARE;
  const plain = isSmall ? inflatedOnce(gzip, entry.bytes, where) : (opened as OpenStream);
  return { plain, gzip, piece };
}

const drain = (stream: ReadableStream<Uint8Array>): Promise<void> =>
  stream.pipeTo(new WritableStream());

/** A function that reads a part of the file's coded form from the store. */
export function pieceOf(store: ObjectStore, name: SnapshotName, entry: FileEntry): Source["piece"] {
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
    return found.stream.pipeThrough(verified(object, where, onDamage, ofReader, range));
  };
  await drain(await open(place));
  isProven = true;
  return open;
}

/** What baskets are priced from. Throws DamageError. */
export function readBaskets(bytes: Buffer): BasketFile {
  try {
    return parseBasketFile(bytes);
  } catch (cause) {
    throw new DamageError("The snapshot's basket.json cannot be read", [], { cause });
  }
}
