/** Reads the objects of a stored snapshot and checks them before use. */
import { atOnce } from "../lib/at-once.ts";
import { DamageError, orDamage } from "../lib/errors.ts";
import { sessionUtc } from "../market/session.ts";
import type { ObjectStore } from "../ports/store.ts";
import {
  codedPath,
  FILES,
  snapshotFileKey,
  snapshotText,
  type SnapshotName,
} from "../store/paths.ts";
import { inflated, requireForm } from "./coded.ts";
import { sha256Hex } from "./digest.ts";
import {
  MANIFEST_BYTES_MAX,
  parseManifest,
  unfitIn,
  type FileEntry,
  type Manifest,
} from "./manifest.ts";

/**
 * The manifest of a snapshot. Throws DamageError if it is missing, if its digest is not
 * `manifestSha256` (from the publication), or if it is another snapshot's.
 */
export async function readManifest(
  store: ObjectStore,
  name: SnapshotName,
  manifestSha256: string | null,
): Promise<Manifest> {
  const stored = await readStoredManifest(store, name, manifestSha256);
  if (stored !== null) return stored.manifest;
  throw new DamageError(`${store.location}/${snapshotFileKey(name, FILES.manifest)} is missing`);
}

/**
 * The manifest of a snapshot with its digest, or null if there is none. Throws DamageError if the
 * digest is not `manifestSha256` (null: not checked), or if the manifest names another session or
 * revision than its folder, or what no reader accepts.
 */
export async function readStoredManifest(
  store: ObjectStore,
  name: SnapshotName,
  manifestSha256: string | null,
): Promise<{ manifest: Manifest; manifestSha256: string } | null> {
  const key = snapshotFileKey(name, FILES.manifest);
  const bytes = await store.get(key, MANIFEST_BYTES_MAX);
  if (bytes === null) return null;
  const where = `${store.location}/${key}`;
  if (manifestSha256 !== null) requireDigest(bytes, manifestSha256, where);
  const manifest = parseManifest(bytes, where);
  if (manifest.session_utc !== sessionUtc(name.session) || manifest.revision !== name.revision) {
    throw new DamageError(
      `${where} is the manifest of ${manifest.session_utc} r${manifest.revision}, ` +
        `expected the manifest of ${snapshotText(name)}`,
    );
  }
  const unfit = unfitIn(manifest);
  if (unfit !== null) throw new DamageError(`${where} names ${unfit}`);
  return { manifest, manifestSha256: manifestSha256 ?? sha256Hex(bytes) };
}

/** An object's bytes. Throws DamageError if it is missing, is larger, or has another digest. */
export async function readVerified(
  store: ObjectStore,
  key: string,
  sha256: string,
  bytesMax: number,
): Promise<Buffer> {
  const bytes = await store.get(key, bytesMax);
  const where = `${store.location}/${key}`;
  if (bytes === null) throw new DamageError(`${where} is missing`);
  requireDigest(bytes, sha256, where);
  return bytes;
}

/** A verified file with its place for messages; null if the manifest does not name the file. */
export async function readSnapshotFile(
  store: ObjectStore,
  name: SnapshotName,
  manifest: Manifest,
  path: string,
): Promise<{ bytes: Buffer; where: string } | null> {
  const entry = manifest.files.find((file) => file.path === path);
  return entry === undefined ? null : readFile(store, name, entry);
}

/** The plain bytes of a file, verified, with its place for messages. Throws DamageError. */
export async function readFile(
  store: ObjectStore,
  name: SnapshotName,
  entry: FileEntry,
): Promise<{ bytes: Buffer; where: string }> {
  const { plain, gzip } = formsOf(name, entry);
  const { key, sha256, bytes: sizeBytes } = (plain ?? gzip) as NamedObject;
  const where = `${store.location}/${key}`;
  const bytes = await readVerified(store, key, sha256, sizeBytes);
  return { bytes: plain === null ? await inflated(bytes, entry.bytes, where) : bytes, where };
}

export interface NamedObject {
  readonly key: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Of a gzip-coded form: its file. */
  readonly file?: FileEntry;
}

/** What a file is stored as: its plain bytes, their gzip-coded form, or both. */
export function formsOf(
  name: SnapshotName,
  file: FileEntry,
): { readonly plain: NamedObject | null; readonly gzip: NamedObject | null } {
  const { path, bytes, sha256, gzip, stored } = file;
  const key = snapshotFileKey(name, path);
  return {
    plain: stored === "gzip" ? null : { key, bytes, sha256 },
    gzip: gzip ? { key: codedPath(key), ...gzip, file } : null,
  };
}

/** The objects that a manifest names: the snapshot's files and the parts of its ledger. */
export const objectsOf = (name: SnapshotName, { files, ledger }: Manifest): NamedObject[] => [
  ...files
    .flatMap((file) => Object.values(formsOf(name, file)))
    .filter((object) => object !== null),
  ...ledger,
];

/**
 * Reads every object and compares it with its manifest's record; with `inflates`, it also compares
 * the content of a coded form. Returns the damages, one line each, and the number of bytes read.
 */
export async function compareObjects(
  store: ObjectStore,
  objects: readonly NamedObject[],
  inflates = false,
): Promise<{ readonly damages: readonly string[]; readonly bytes: number }> {
  const damages: string[] = [];
  let total = 0;
  await atOnce(objects, async ({ key, bytes, sha256, file }) => {
    const where = `${store.location}/${key}`;
    const found = await orDamage(() => store.get(key, bytes));
    if (found instanceof DamageError) return void damages.push(found.message);
    total += found?.length ?? 0;
    if (found === null) damages.push(`${where} is missing`);
    else if (found.length !== bytes) {
      damages.push(`${where} has ${found.length} bytes, expected ${bytes}`);
    } else if (sha256Hex(found) !== sha256) {
      damages.push(`${where} is damaged: its SHA-256 is not the manifest's`);
    } else if (inflates && file !== undefined) {
      const damage = await orDamage(() => requireForm(found, file, where));
      if (damage instanceof DamageError) damages.push(damage.message);
    }
  });
  return { damages, bytes: total };
}

function requireDigest(bytes: Uint8Array, expected: string, where: string): void {
  const actual = sha256Hex(bytes);
  if (actual === expected) return;
  throw new DamageError(`${where} is damaged: its SHA-256 is ${actual}, expected ${expected}`);
}
