/**
 * Loads a published snapshot: reads every file and compares its SHA-256 with the manifest's before
 * the first answer uses it. Throws DamageError if any file is missing or changed, and
 * UnreachableError if the store does not answer.
 *
 * Memory is bounded: the smallest files are held until the budget is used. The others are verified
 * now, and streamed from the store and verified again on each request.
 */
import { createHash } from "node:crypto";
import { GenerationCache } from "../../lib/generation-cache.ts";
import { DamageError } from "../../lib/errors.ts";
import { parseSession, type Session } from "../../market/session.ts";
import { perTier, type PerTier, type TierName } from "../../market/tier.ts";
import { parseBasketFile, type BasketFile } from "../../render/basket.ts";
import { parseCatalog } from "../../snapshot/catalog-file.ts";
import type { FileEntry, Manifest } from "../../snapshot/manifest.ts";
import type { Publication } from "../../snapshot/publication-log.ts";
import { requireSignature } from "../../snapshot/signature.ts";
import type { VerifyKey } from "../../snapshot/signing-key.ts";
import { readManifest, readVerified } from "../../snapshot/stored-snapshot.ts";
import { Limiter } from "../../lib/limiter.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import { FILES, snapshotFileKey, snapshotText } from "../../store/paths.ts";
import { damaged, verified } from "./stream.ts";
import type { Coder } from "../coding.ts";
import { PreparedFile } from "./file.ts";
import type { OpenBody, Representation, SnapshotStamp, TierPosition } from "./representation.ts";

/** Concurrent reads from the store; enough to hide the latency of S3. */
const READS_AT_ONCE = 16;

/** Callers repeat the same few baskets. One takes 3 to 25 kB. */
const REMEMBERED_BASKETS = 500;

/** Bytes of memory per stored byte: the stored form, the form with a raised delay, br and gzip. */
const HELD_COST = 3;

/** A verified snapshot, ready to answer from. */
export interface LoadedSnapshot {
  readonly publication: Publication;
  readonly stamp: SnapshotStamp;
  /**
   * Whether each contract of the catalog, by id, is in the free slice. Null: the snapshot has no
   * catalog.
   */
  readonly catalog: ReadonlyMap<string, boolean> | null;
  /** The present id of each contract that was renamed, by its former id. */
  readonly newIds: ReadonlyMap<string, string>;
  /** The ids of each tier's contracts that never had a level. */
  readonly withoutLevel: PerTier<ReadonlySet<string>>;
  /** By path relative to the snapshot's folder. */
  readonly files: ReadonlyMap<string, PreparedFile>;
  /** Null: the snapshot has no file for baskets. */
  readonly baskets: BasketFile | null;
  /** What the publish let through, held back or changed. */
  readonly judgements: Manifest["judgements"];
  /** The credit line in all payloads. */
  readonly attribution: string;
  /** Recently priced baskets by name and number of overdue sessions. */
  readonly basketAnswers: GenerationCache<Representation>;
  /** Stored size of the files in memory. */
  readonly heldBytes: number;
}

/** The options of loading; the proxy's options extend them. */
export interface LoadOptions {
  /** How late a session may be before it counts as missing. */
  readonly graceMs: number;
  /** Memory for files. Each snapshot may use half: two are in memory during a switch. */
  readonly cacheBytes: number;
  /** One of these keys must have signed the snapshot; null: no signature is required. */
  readonly verifyKeys?: readonly VerifyKey[] | null;
  readonly coder: Coder;
  /** Receives the error when a streamed file is damaged or missing. */
  readonly onStreamFailure: (error: unknown) => void;
}

/** Loads the snapshot that the publication names. The top of this file lists the errors. */
export async function loadSnapshot(
  store: ObjectStore,
  publication: Publication,
  options: LoadOptions,
): Promise<LoadedSnapshot> {
  const { manifest_sha256 } = publication;
  const manifest = await readManifest(store, publication, manifest_sha256);
  const { verifyKeys = null } = options;
  if (verifyKeys !== null) await requireSignature(store, publication, manifest_sha256, verifyKeys);
  const stamp: SnapshotStamp = {
    text: snapshotText(publication),
    manifestSha256: manifest_sha256,
    head: publication.session,
    publishedAtMs: Date.parse(publication.at),
    graceMs: options.graceMs,
  };
  const held = chooseHeld(manifest.files, options.cacheBytes / 2);
  const files = new Map<string, PreparedFile>();
  const inner = new Map<string, Buffer>();
  const limiter = new Limiter(READS_AT_ONCE);

  await Promise.all(
    manifest.files.map((entry) =>
      limiter.run(async () => {
        const key = snapshotFileKey(publication, entry.path);
        if (INNER.has(entry.path)) {
          inner.set(entry.path, await readVerified(store, key, entry.sha256));
          return;
        }
        const position = entry.tier === null ? null : positionOf(manifest, entry.tier);
        if (entry.tier === null || position === null) {
          await verifyStreamed(store, key, entry);
        } else {
          const source = held.has(entry.path)
            ? await readVerified(store, key, entry.sha256)
            : await streamedSource(store, key, entry, options.onStreamFailure);
          files.set(
            entry.path,
            preparedFile(entry, entry.tier, position, stamp, source, options.coder),
          );
        }
      }),
    ),
  );
  const catalogBytes = inner.get(FILES.catalog);
  const basketBytes = inner.get(FILES.basket("pro"));
  const catalog =
    catalogBytes === undefined
      ? null
      : parseCatalog(catalogBytes, `The catalog of snapshot ${stamp.text}`);
  return {
    publication,
    stamp,
    catalog: catalog && new Map(catalog.map(({ id, free }) => [id, free])),
    newIds: new Map(
      catalog?.flatMap(({ id, formerly }) => (formerly === null ? [] : [[formerly, id]])),
    ),
    withoutLevel: withoutLevelOf(manifest),
    files,
    baskets:
      basketBytes === undefined || manifest.tiers.pro === undefined
        ? null
        : readBaskets(basketBytes),
    judgements: manifest.judgements,
    attribution: manifest.attribution,
    basketAnswers: new GenerationCache(REMEMBERED_BASKETS),
    heldBytes: [...held.values()].reduce((sum, bytes) => sum + bytes, 0),
  };
}

/** Files that the proxy reads and never sends. */
const INNER: ReadonlySet<string> = new Set([FILES.catalog, FILES.basket("pro")]);

/** The paths of the files to hold in memory, with their stored sizes. */
function chooseHeld(entries: readonly FileEntry[], budgetBytes: number): Map<string, number> {
  const held = new Map<string, number>();
  let cost = 0;
  for (const { path, bytes } of entries
    .filter(({ tier, path }) => tier !== null && !INNER.has(path))
    .sort((a, b) => a.bytes - b.bytes)) {
    cost += bytes * HELD_COST;
    if (cost > budgetBytes) break;
    held.set(path, bytes);
  }
  return held;
}

/** Null: the tier has no data. */
function positionOf({ tiers }: Manifest, tier: TierName): TierPosition | null {
  const summary = tiers[tier];
  if (summary === undefined) return null;
  return {
    session: parseSession(summary.session_utc) as Session,
    delayedSessions: summary.delayed_sessions,
  };
}

function preparedFile(
  entry: FileEntry,
  tier: TierName,
  position: TierPosition,
  stamp: SnapshotStamp,
  source: Buffer | OpenBody,
  coder: Coder,
): PreparedFile {
  const [, name, extension] = /\/(export|history)\.(csv|xlsx|parquet)$/.exec(entry.path) ?? [];
  const description = {
    stamp,
    path: entry.path,
    tier,
    position,
    sizeBytes: entry.bytes,
    mediaType: entry.media_type,
    nameEnd: name === undefined ? null : `${name === "export" ? "" : `-${name}`}.${extension}`,
  };
  return new PreparedFile(description, source, coder);
}

async function streamedSource(
  store: ObjectStore,
  key: string,
  entry: FileEntry,
  onFailure: (error: unknown) => void,
): Promise<OpenBody> {
  await verifyStreamed(store, key, entry);
  const where = `${store.location}/${key}`;
  return async (range) => {
    try {
      const stream = await openStored(store, key);
      return stream.pipeThrough(verified(entry.sha256, where, onFailure, range));
    } catch (error) {
      onFailure(error);
      throw error;
    }
  };
}

async function verifyStreamed(store: ObjectStore, key: string, entry: FileEntry): Promise<void> {
  const hash = createHash("sha256");
  for await (const piece of await openStored(store, key)) hash.update(piece);
  if (hash.digest("hex") !== entry.sha256) throw damaged(`${store.location}/${key}`, entry.sha256);
}

async function openStored(store: ObjectStore, key: string): Promise<ReadableStream<Uint8Array>> {
  const object = await store.open(key);
  if (object !== null) return object.stream;
  throw new DamageError(`${store.location}/${key} is missing`);
}

const withoutLevelOf = ({ tiers }: Manifest): LoadedSnapshot["withoutLevel"] =>
  perTier(
    (name) =>
      new Set(tiers[name]?.off_board.flatMap(({ id, as_of }) => (as_of === null ? [id] : []))),
  );

function readBaskets(bytes: Buffer): BasketFile {
  try {
    return parseBasketFile(bytes);
  } catch (cause) {
    throw new DamageError("The snapshot's basket.json cannot be read", [], { cause });
  }
}
