/**
 * A snapshot's signature: `manifest.sig` beside its manifest, the 64 bytes of Ed25519 (RFC 8032,
 * 5.1.6) over the 32 bytes of the manifest's SHA-256. openssl can check it:
 *
 *   openssl dgst -sha256 -binary -out digest manifest.json
 *   openssl pkeyutl -verify -pubin -inkey signing.pem.pub -rawin -in digest -sigfile manifest.sig
 *
 * The manifest names its session, its revision and the digest of every file, so a signature fits
 * only one snapshot. It does not prove that the snapshot is the newest: anybody who can write to the
 * store can append a publication that names an older signed snapshot, as a rollback does.
 */
import { sign, verify } from "node:crypto";
import { DamageError } from "../lib/errors.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { OLD_SIGNATURE, snapshotFileKey, snapshotText, type SnapshotName } from "../store/paths.ts";
import type { SigningKey, VerifyKey } from "./signing-key.ts";

/** Signs a manifest by its SHA-256 (hex). The same key always makes the same bytes. */
export const signatureOf = (manifestSha256: string, { key }: SigningKey): Buffer =>
  sign(null, Buffer.from(manifestSha256, "hex"), key);

/** The first of the keys that fits this signature, or null. */
export function signerOf(
  signature: Uint8Array,
  manifestSha256: string,
  keys: readonly VerifyKey[],
): VerifyKey | null {
  const message = Buffer.from(manifestSha256, "hex");
  return keys.find(({ key }) => verify(null, message, key, signature)) ?? null;
}

/** The unchecked bytes of the snapshot's signature, or null if it has none. */
export const readSignature = (store: ObjectStore, name: SnapshotName): Promise<Buffer | null> =>
  store.get(snapshotFileKey(name, OLD_SIGNATURE));

/**
 * The key that signed the snapshot whose manifest has this SHA-256. Throws DamageError if none of the
 * keys signed it. The caller must check the manifest's bytes against the digest.
 */
export async function requireSignature(
  store: ObjectStore,
  name: SnapshotName,
  manifestSha256: string,
  keys: readonly VerifyKey[],
): Promise<VerifyKey> {
  const signature = await readSignature(store, name);
  const where = `${store.location}/${snapshotFileKey(name, OLD_SIGNATURE)}`;
  const expected = `expected a signature by ${keys.map(({ fingerprint }) => fingerprint).join(" or ")}`;
  if (signature === null) {
    throw new DamageError(`${where} is missing: ${snapshotText(name)} is unsigned, ${expected}`);
  }
  const signer = signerOf(signature, manifestSha256, keys);
  if (signer !== null) return signer;
  throw new DamageError(`${where} does not fit ${snapshotText(name)}: ${expected}`);
}
