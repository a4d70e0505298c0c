/**
 * The signature of an entry of the log: `publications/<N>.sig`, the 64 bytes of Ed25519 (RFC 8032,
 * 5.1.6) over `chipboard log v1`, a line feed and the 32 bytes of the entry's SHA-256. openssl can check
 * it:
 *
 *   { echo chipboard log v1; openssl dgst -sha256 -binary 0000000042.json; } > message
 *   openssl pkeyutl -verify -pubin -inkey signing.pem.pub -rawin -in message -sigfile 0000000042.sig
 *
 * An entry names the manifest, and through `previous` all entries before it (chain.ts), so the
 * signature of the newest entry vouches for the whole log. The first line keeps signatures for other
 * purposes apart.
 */
import { sign, verify } from "node:crypto";
import { DamageError } from "../lib/errors.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { parseSignatureKey, publicationKey, PUBLICATIONS, signatureKey } from "../store/paths.ts";
import { vouchesForPast } from "./chain.ts";
import type { StoredEntry } from "./publication-log.ts";
import type { SigningKey, VerifyKey } from "./signing-key.ts";

/** A signature has 64 bytes. Some more are read to say that they do not fit. */
export const SIGNATURE_BYTES_MAX = 1_000;

/** What a signature is of, in words (Markdown): what `messageOf` makes. */
export const SIGNED_MESSAGE =
  "the line `chipboard log v1`, with its line feed, and the 32 bytes of the entry's SHA-256";

const messageOf = (purpose: "log" | "announcement", entrySha256: string): Buffer =>
  Buffer.concat([Buffer.from(`chipboard ${purpose} v1\n`), Buffer.from(entrySha256, "hex")]);

/** Signs an entry by the SHA-256 (hex) of its bytes. The same key always makes the same 64 bytes. */
export const signatureOfEntry = (entrySha256: string, { key }: SigningKey): Buffer =>
  sign(null, messageOf("log", entrySha256), key);

/** The announcement of an entry that is about to be appended (signed-log.ts). */
export const announcementOf = (entrySha256: string, { key }: SigningKey): Buffer =>
  sign(null, messageOf("announcement", entrySha256), key);

/** The first of the keys that made this signature of the entry with this SHA-256 (hex), or null. */
export const signerOfEntry = (
  signature: Uint8Array,
  entrySha256: string,
  keys: readonly VerifyKey[],
): VerifyKey | null => signerOf(signature, messageOf("log", entrySha256), keys);

/** The same for an announcement of the entry. */
export const signerOfAnnouncement = (
  announcement: Uint8Array,
  entrySha256: string,
  keys: readonly VerifyKey[],
): VerifyKey | null => signerOf(announcement, messageOf("announcement", entrySha256), keys);

const signerOf = (
  signature: Uint8Array,
  message: Buffer,
  keys: readonly VerifyKey[],
): VerifyKey | null => keys.find(({ key }) => verify(null, message, key, signature)) ?? null;

/** The unchecked bytes of the entry's signature, or null. Throws DamageError if they are too many. */
export const readSignature = (store: ObjectStore, number: number): Promise<Buffer | null> =>
  store.get(signatureKey(number), SIGNATURE_BYTES_MAX);

/** The numbers of the entries that have a signature, ascending. */
export async function signedNumbers(store: ObjectStore): Promise<number[]> {
  const numbers: number[] = [];
  for await (const { key } of store.list(PUBLICATIONS)) {
    const number = parseSignatureKey(key);
    if (number !== null) numbers.push(number);
  }
  return numbers;
}

/**
 * The key that signed the entry. Throws DamageError if none of the keys did, or if a signature of the
 * entry does not vouch for those before it.
 */
export async function requireSignedEntry(
  store: ObjectStore,
  { entry, sha256 }: StoredEntry,
  keys: readonly VerifyKey[],
): Promise<VerifyKey> {
  const { number } = entry;
  const key = signatureKey(number);
  const where = `${store.location}/${key}`;
  const expected = `expected a signature by ${keys.map(({ fingerprint }) => fingerprint).join(" or ")}`;
  const signature = await readSignature(store, number);
  if (signature === null) {
    throw new DamageError(`${where} is missing: entry ${number} is unsigned, ${expected}`);
  }
  const signer = signerOfEntry(signature, sha256, keys);
  if (signer !== null && !vouchesForPast(entry)) {
    throw new DamageError(
      `${where} vouches for entry ${number} alone: ${store.location}/${publicationKey(number)} has no previous`,
    );
  }
  if (signer !== null) return signer;
  throw new DamageError(`${where} does not fit entry ${number}: ${expected}`);
}
