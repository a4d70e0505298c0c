/**
 * Signatures of a publish: the head's that it goes on from, the new snapshot's, and the head's that
 * it leaves as it is.
 */
import { ConflictError, DamageError } from "../errors.ts";
import { sha256Hex } from "../snapshot/digest.ts";
import { renderManifest, type Manifest } from "../snapshot/manifest.ts";
import type { Publication } from "../snapshot/publication-log.ts";
import { readSignature, requireSignature, signatureOf, signerOf } from "../snapshot/signature.ts";
import type { SigningKey, VerifyKey } from "../snapshot/signing-key.ts";
import { SIGNATURE_TYPE } from "../store/media-types.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { FILES, snapshotFileKey, snapshotText } from "../store/paths.ts";

/** What a run did about the signature of the head it leaves; "planned": a dry run that would. */
export interface Signing {
  readonly outcome: "signed" | "added" | "present" | "planned";
  /** Of the public key. */
  readonly fingerprint: string;
}

/** The signing of a snapshot that is published, or would be. */
export const signingOf = (key: SigningKey | null, outcome: "signed" | "planned"): Signing | null =>
  key === null ? null : { outcome, fingerprint: key.verifyKey.fingerprint };

/**
 * Throws DamageError unless one of the keys, if there are any, has signed the head: what it holds
 * goes into the next snapshot, whose signature vouches for all of it.
 */
export async function requireSignedHead(
  store: ObjectStore,
  head: Publication | null,
  keys: readonly VerifyKey[] | null,
): Promise<void> {
  if (head !== null && keys !== null) {
    await requireSignature(store, head, head.manifest_sha256, keys);
  }
}

/**
 * Signs a head that holds what the run would publish, so that a job that begins to sign leaves no
 * unsigned head behind; "present" where its signature is there. Whoever can write to the store shall
 * not choose what is signed: the stored manifest must be, to the byte, what `remade` makes of the
 * run's own content. Throws DamageError where it is not, ConflictError where another key has signed.
 */
export async function signHead(
  store: ObjectStore,
  head: Publication,
  remade: () => Manifest,
  signingKey: SigningKey | null,
  dryRun: boolean,
): Promise<Signing | null> {
  if (signingKey === null) return null;
  const { verifyKey } = signingKey;
  const { fingerprint } = verifyKey;
  const sha256 = head.manifest_sha256;
  const key = snapshotFileKey(head, FILES.signature);
  if ((await readSignature(store, head)) === null) {
    if (sha256Hex(renderManifest(remade())) !== sha256) {
      const where = `${store.location}/${snapshotFileKey(head, FILES.manifest)}`;
      throw new DamageError(`${where} is not the manifest of what it holds; it is not signed`);
    }
    if (dryRun) {
      await store.mayWrite();
      return { outcome: "planned", fingerprint };
    }
    await store.prove();
    const signature = signatureOf(sha256, signingKey);
    if ((await store.create(key, signature, SIGNATURE_TYPE)) === "created") {
      return { outcome: "added", fingerprint };
    }
  }
  const there = await readSignature(store, head);
  if (there !== null && signerOf(there, sha256, [verifyKey]) !== null) {
    return { outcome: "present", fingerprint };
  }
  throw new ConflictError(`${store.location}/${key} is there already, and not by ${fingerprint}`, [
    `Signatures are never overwritten. If another key of yours made it, verify ${snapshotText(head)} ` +
      "with that key beside this one until the next session is published; if none did, remove the file",
  ]);
}
