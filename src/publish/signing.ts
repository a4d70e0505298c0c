/**
 * The signatures of a publish: it checks the head's, signs the new snapshot, or adds a signature to an
 * unchanged head.
 */
import { ConflictError, DamageError } from "../lib/errors.ts";
import { PROGRAM } from "../lib/version.ts";
import { sha256Hex } from "../snapshot/digest.ts";
import { renderManifest, type Manifest } from "../snapshot/manifest.ts";
import type { Publication } from "../snapshot/publication-log.ts";
import { readSignature, requireSignature, signatureOf, signerOf } from "../snapshot/signature.ts";
import type { SigningKey, VerifyKey } from "../snapshot/signing-key.ts";
import { SIGNATURE_TYPE } from "../store/media-types.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { FILES, snapshotFileKey, snapshotText } from "../store/paths.ts";
import type { Base } from "./base.ts";

/** How the head is signed after a run. "planned": a dry run that would sign it. */
export interface Signing {
  readonly outcome: "signed" | "added" | "present" | "planned";
  /** The public key's fingerprint. */
  readonly fingerprint: string;
}

/** The signing of a published or planned snapshot. */
export const signingOf = (key: SigningKey | null, outcome: "signed" | "planned"): Signing | null =>
  key === null ? null : { outcome, fingerprint: key.verifyKey.fingerprint };

/**
 * Throws DamageError if there are keys and none of them has signed the head. The next snapshot takes
 * over the head's data, and its signature vouches for all of it.
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
 * Adds a signature to a head that holds what the run would publish; "present" if the key has signed it
 * already. A job that starts to sign thus has a signed head at once. People who can write to the store
 * must not choose what is signed: the stored manifest must equal, byte for byte, the one that `remade`
 * makes from the run's own content. Throws DamageError if it does not, ConflictError if another version
 * of the program made it, or if another key has signed.
 */
export async function signHead(
  store: ObjectStore,
  { publication: head, manifest }: NonNullable<Base["head"]>,
  remade: () => Promise<Manifest>,
  signingKey: SigningKey | null,
  dryRun: boolean,
): Promise<Signing | null> {
  if (signingKey === null) return null;
  const { verifyKey } = signingKey;
  const { fingerprint } = verifyKey;
  const sha256 = head.manifest_sha256;
  const key = snapshotFileKey(head, FILES.signature);
  if ((await readSignature(store, head)) === null) {
    if (sha256Hex(renderManifest(await remade())) !== sha256) {
      throw notRemade(`${store.location}/${snapshotFileKey(head, FILES.manifest)}`, manifest);
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
  throw new ConflictError(
    `${store.location}/${key} already holds a signature that is not by ${fingerprint}`,
    [
      `Signatures are never overwritten. If another key of yours made it, verify ${snapshotText(head)} ` +
        "with that key beside this one until the next session is published; if none did, remove the file",
    ],
  );
}

/** The error for a manifest that this program makes otherwise from the same content. */
function notRemade(where: string, { program }: Manifest): Error {
  const wayOn =
    'To publish the session anew and signed, give --rerender "reason" with --sign-key and no input';
  return program.version === PROGRAM.version
    ? new DamageError(`${where} is not the manifest of what it holds; it is not signed`, [wayOn])
    : new ConflictError(
        `${where} was made by ${program.name} ${program.version}, and ${PROGRAM.version} makes it otherwise; it is not signed`,
        [wayOn],
      );
}
