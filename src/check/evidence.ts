/** Proves a file of evidence, as the page `/verify` does, and by keys that the reader has from elsewhere. */
import { open } from "node:fs/promises";
import { DamageError, InputError, reasonOf } from "../lib/errors.ts";
import { CHECKED_FILE_BYTES_MAX } from "../lib/limits.ts";
import { EvidenceError, proveEvidence, type Proof } from "../site/evidence.js";
import type { VerifyKey } from "../snapshot/signing-key.ts";

/**
 * Throws DamageError, which names the place, if the file proves nothing or no key of `verifyKeys` signed it; InputError if
 * it cannot be read.
 */
export async function checkEvidence(
  path: string,
  verifyKeys: readonly VerifyKey[] | null,
): Promise<Proof> {
  const proof = await proveEvidence(await bytesOf(path)).catch((error: unknown) => {
    throw error instanceof EvidenceError
      ? new DamageError(`${path} proves nothing: ${error.message}`)
      : error;
  });
  if (
    verifyKeys !== null &&
    !verifyKeys.some(({ fingerprint }) => fingerprint === proof.fingerprint)
  ) {
    const found =
      proof.fingerprint === null ? "is not signed" : `is signed by ${proof.fingerprint}`;
    throw new DamageError(
      `${path} ${found}: expected ${verifyKeys.map(({ fingerprint }) => fingerprint).join(" or ")}`,
    );
  }
  return proof;
}

async function bytesOf(path: string): Promise<Uint8Array> {
  try {
    await using file = await open(path);
    const { size } = await file.stat();
    if (size > CHECKED_FILE_BYTES_MAX) throw new Error(`it has ${size} bytes`);
    return await file.readFile();
  } catch (cause) {
    throw new InputError(`${path} cannot be read: ${reasonOf(cause)}`, [], { cause });
  }
}
