/**
 * The signatures of the log. They are Ed25519 (RFC 8032, 5.1.6) over `chipboard log v2`, a line feed and the 32
 * bytes of the SHA-256 of the entry's bytes without its signature. openssl can check it:
 *
 *   sed 's/,"signature":"[^"]*"}$/}/' 0000000042.json | openssl dgst -sha256 -binary > digest
 *   { echo chipboard log v2; cat digest; } > message
 *   sed 's/.*,"signature":"\([^"]*\)"}$/\1/' 0000000042.json | base64 -d > signature
 *   openssl pkeyutl -verify -pubin -inkey signing.pem.pub -rawin -in message -sigfile signature
 *
 * An entry is written with its signature in one step. A run that finds its number taken signs anew for
 * the next one. The first line keeps signatures for other purposes apart.
 */
import { sign, verify } from "node:crypto";
import { DamageError } from "../../lib/errors.ts";
import type { ObjectStore } from "../../ports/store.ts";
import { sha256Hex } from "../digest.ts";
import type { SigningKey, VerifyKey } from "../signing-key.ts";
import { type Entry, type StoredEntry } from "./entry.ts";
import { renderEntry, unsignedBytes } from "./entry-bytes.ts";
import { readLogBackwards } from "./walk.ts";

/** How a run signs, and whom it trusts. */
export interface LogKeys {
  /** Signs the entries that the run appends; null: they stay unsigned. */
  readonly signingKey: SigningKey | null;
  /** One of these must have signed the log that the run goes on from; null: nobody must. */
  readonly verifyKeys: readonly VerifyKey[] | null;
}

export const NO_KEYS: LogKeys = { signingKey: null, verifyKeys: null };

/** How a run signs the log. "planned": a dry run. */
export interface Signing {
  readonly outcome: "signed" | "planned";
  readonly fingerprint: string;
}

/** The signing of an entry that the run appends, or would append; null without a key. */
export const signingOf = ({ signingKey }: LogKeys, outcome: Signing["outcome"]): Signing | null =>
  signingKey === null ? null : { outcome, fingerprint: signingKey.verifyKey.fingerprint };

/** What a signature is of, in words (Markdown): what `messageOf` makes. */
export const SIGNED_MESSAGE =
  "the line `chipboard log v2`, with its line feed, and the 32 bytes of the SHA-256 of the entry's bytes without this member";

const messageOf = (unsigned: Buffer): Buffer =>
  Buffer.concat([Buffer.from("chipboard log v2\n"), Buffer.from(sha256Hex(unsigned), "hex")]);

/** The bytes of an entry, signed if there is a key. The same key always makes the same bytes. */
export function signedEntry(entry: Entry, { signingKey }: LogKeys): Buffer {
  const unsigned = renderEntry(entry);
  if (signingKey === null) return unsigned;
  const signature = sign(null, messageOf(unsigned), signingKey.key).toString("base64");
  return Buffer.concat([unsigned.subarray(0, -2), Buffer.from(`,"signature":"${signature}"}\n`)]);
}

/** The first of the keys that signed the entry; null: none. */
export function signerOf(stored: StoredEntry, keys: readonly VerifyKey[]): VerifyKey | null {
  if (stored.signature === null) return null;
  const signature = Buffer.from(stored.signature, "base64");
  const message = messageOf(unsignedBytes(stored.bytes, stored.signature));
  return keys.find(({ key }) => verify(null, message, key, signature)) ?? null;
}

/** The key that signed the entry. Throws DamageError if none of the keys did. */
export function requireSigned(stored: StoredEntry, keys: readonly VerifyKey[]): VerifyKey {
  const signer = signerOf(stored, keys);
  if (signer !== null) return signer;
  const found = stored.signature === null ? "is unsigned" : "has a signature that does not fit it";
  throw new DamageError(
    `${stored.where} ${found}: ` +
      `expected a signature by ${keys.map(({ fingerprint }) => fingerprint).join(" or ")}`,
  );
}

/**
 * Proves that the run may append after `newest`, the newest entry that it has read. With keys to verify with,
 * one of them must have signed it. A signing program has checked every link from the newest entry that its
 * own key signed, or from the first one. Throws DamageError.
 */
export async function requireTrusted(
  store: ObjectStore,
  newest: StoredEntry | null,
  { signingKey, verifyKeys }: LogKeys,
): Promise<void> {
  if (newest === null || signingKey === null) return;
  if (verifyKeys !== null) requireSigned(newest, verifyKeys);
  for await (const stored of readLogBackwards(store, newest)) {
    if (signerOf(stored, [signingKey.verifyKey]) !== null) return;
  }
}
