/**
 * The signatures of the log as runs that append to it make and require them.
 *
 * A run signs an entry after it has appended it, so a crash can leave an entry without its signature.
 * The next run with a key signs it. Without keys to verify with, it trusts the store, and proves the
 * chain until there first. With keys to verify with, it must not sign what just anybody appended: the
 * run that appended the entry has announced it before, with a signature for this purpose alone:
 *
 *   claims/entries/0000000042-<SHA-256 of the entry>.sig
 *
 * An announcement names the bytes of one entry, and so its place in the log. The run removes it when
 * the entry is signed, or when another run took the number.
 */
import { ConflictError, DamageError } from "../lib/errors.ts";
import { SIGNATURE_TYPE } from "../store/media-types.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { announcementKey, publicationKey, signatureKey } from "../store/paths.ts";
import { proveChain, vouchesForPast } from "./chain.ts";
import {
  announcementOf,
  readSignature,
  requireSignedEntry,
  SIGNATURE_BYTES_MAX,
  signedNumbers,
  signatureOfEntry,
  signerOfAnnouncement,
  signerOfEntry,
} from "./entry-signature.ts";
import { ENTRY_BYTES_MAX, type LogEnd, type StoredEntry } from "./publication-log.ts";
import type { SigningKey, VerifyKey } from "./signing-key.ts";

/** How a run signs, and whom it trusts. */
export interface LogKeys {
  /** Signs the entries that the run appends; null: they stay unsigned. */
  readonly signingKey: SigningKey | null;
  /** One of these must have signed the log that the run goes on from; null: nobody must. */
  readonly verifyKeys: readonly VerifyKey[] | null;
}

export const NO_KEYS: LogKeys = { signingKey: null, verifyKeys: null };

/** How the log's newest entry is signed after a run. "planned": a dry run that would sign it. */
export interface Signing {
  readonly outcome: "signed" | "added" | "present" | "planned";
  /** The public key's fingerprint. */
  readonly fingerprint: string;
}

/** The signing of an entry that the run appends, or would append. */
export const signingOf = ({ signingKey }: LogKeys, outcome: "signed" | "planned"): Signing | null =>
  signingKey === null ? null : { outcome, fingerprint: signingKey.verifyKey.fingerprint };

/** Announces an entry that the run is about to append; returns what removes the announcement. */
export async function announceEntry(
  store: ObjectStore,
  { entry: { number }, sha256 }: StoredEntry,
  signingKey: SigningKey,
): Promise<() => Promise<void>> {
  const key = announcementKey(number, sha256);
  await store.create(key, announcementOf(sha256, signingKey), SIGNATURE_TYPE);
  // What stays there harms nobody, and the next prune removes it.
  return () => store.delete(key).catch(() => {});
}

/** Signs an entry that is in the log. Does nothing if it is signed. */
export async function signEntry(
  store: ObjectStore,
  { entry: { number }, sha256 }: StoredEntry,
  signingKey: SigningKey,
): Promise<void> {
  await store.create(signatureKey(number), signatureOfEntry(sha256, signingKey), SIGNATURE_TYPE);
}

/**
 * Proves that the run may go on from the end of the log, and signs entries there that lost their
 * signatures to a crash. Returns the signing of the newest entry if it was signed by this. Throws
 * DamageError if the chain is broken or cut off, or if there are keys to verify with and none of them
 * signed the newest entry.
 */
export async function requireSignedEnd(
  store: ObjectStore,
  end: LogEnd,
  keys: LogKeys,
  dryRun: boolean,
): Promise<Signing | null> {
  const { newest } = end;
  const { signingKey, verifyKeys } = keys;
  if (newest === null || (signingKey === null && verifyKeys === null)) return null;
  await requireNotCutOff(store, newest.entry.number);
  if (verifyKeys !== null) {
    await requireLinks(store, end);
    return requireTrusted(store, newest, keys, dryRun);
  }
  return signingKey && (await repairEnd(store, newest, signingKey, dryRun));
}

/**
 * Throws DamageError if there are keys to verify with, and none of them signed or announced the entry.
 * One that was announced only is signed.
 */
export async function requireTrusted(
  store: ObjectStore,
  stored: StoredEntry,
  { signingKey, verifyKeys }: LogKeys,
  dryRun = false,
): Promise<Signing | null> {
  if (verifyKeys === null) return null;
  if (signingKey !== null && (await isAnnounced(store, stored, verifyKeys))) {
    await proveChain(store, 1, stored.entry.number);
    return addSignature(store, stored, signingKey, dryRun);
  }
  await requireSignedEntry(store, stored, verifyKeys);
  return null;
}

/** Whether one of the keys announced the entry, and nobody has signed it yet. */
async function isAnnounced(
  store: ObjectStore,
  { entry: { number }, sha256 }: StoredEntry,
  keys: readonly VerifyKey[],
): Promise<boolean> {
  if ((await readSignature(store, number)) !== null) return false;
  const announced = await store.get(announcementKey(number, sha256), SIGNATURE_BYTES_MAX);
  return announced !== null && signerOfAnnouncement(announced, sha256, keys) !== null;
}

/**
 * The signing of a log that the run leaves as it is: signs the newest entry if nobody did. Throws
 * DamageError if the chain before it is broken, ConflictError if a signature would not vouch for the
 * entries before it, or if a key signed it that is not among those given.
 */
export async function signEnd(
  store: ObjectStore,
  newest: StoredEntry,
  { signingKey, verifyKeys }: LogKeys,
  dryRun: boolean,
): Promise<Signing | null> {
  if (signingKey === null) return null;
  const key = signatureKey(newest.entry.number);
  const there = await readSignature(store, newest.entry.number);
  if (there === null) {
    if (!vouchesForPast(newest.entry)) {
      throw new ConflictError(
        `${store.location}/${publicationKey(newest.entry.number)} has no previous, so its signature ` +
          "would vouch for no entry before it",
        [
          "Version 0.1.0 appended it. Publish the next session with the key, or --rerender the head",
        ],
      );
    }
    await proveChain(store, 1, newest.entry.number);
    return addSignature(store, newest, signingKey, dryRun);
  }
  const known = [signingKey.verifyKey, ...(verifyKeys ?? [])];
  const signer = signerOfEntry(there, newest.sha256, known);
  if (signer !== null) return { outcome: "present", fingerprint: signer.fingerprint };
  throw new ConflictError(
    `${store.location}/${key} already holds a signature that is not by ${known[0]?.fingerprint}`,
    [
      "Signatures are never overwritten. If another key of yours made it, give its public key, too, in " +
        "--verify-key; if none did, find out who wrote it",
    ],
  );
}

async function addSignature(
  store: ObjectStore,
  stored: StoredEntry,
  signingKey: SigningKey,
  dryRun: boolean,
): Promise<Signing> {
  const { fingerprint } = signingKey.verifyKey;
  if (dryRun) {
    await store.mayWrite();
    return { outcome: "planned", fingerprint };
  }
  await store.prove();
  await signEntry(store, stored, signingKey);
  return { outcome: "added", fingerprint };
}

/**
 * Signs the entries after the newest signed one. In a log that nobody signed, these are those that the
 * key has announced.
 */
async function repairEnd(
  store: ObjectStore,
  newest: StoredEntry,
  signingKey: SigningKey,
  dryRun: boolean,
): Promise<Signing | null> {
  const { number } = newest.entry;
  if ((await readSignature(store, number)) !== null) return null;
  const own = [signingKey.verifyKey];
  const signed = await newestSigned(store, number);
  const isOwn = await isAnnounced(store, newest, own);
  if (signed === 0 && !isOwn) return null;
  const last: StoredEntry[] = [];
  await proveChain(store, 1, number, (stored) => {
    if (stored.entry.number >= (signed === 0 ? number : signed)) last.push(stored);
  });
  // Not by this key: who wrote the entries after it may be somebody else, too.
  if (signed > 0 && !isOwn) await requireSignedEntry(store, last[0] as StoredEntry, own);
  let signing: Signing | null = null;
  for (const stored of last) {
    if (stored.entry.number > signed && vouchesForPast(stored.entry)) {
      signing = await addSignature(store, stored, signingKey, dryRun);
    }
  }
  return signing;
}

/** The number of the newest entry, up to `last`, that has a signature; 0: none. */
export const newestSigned = async (store: ObjectStore, last: number): Promise<number> =>
  (await signedNumbers(store)).findLast((number) => number <= last) ?? 0;

/** Throws DamageError unless the newest entry vouches for the head. */
async function requireLinks(store: ObjectStore, { newest, head, entries }: LogEnd): Promise<void> {
  if (newest === null || head === null || newest.entry.number === head.number) return;
  const read = new Map(entries.map(({ entry, sha256 }) => [entry.number, sha256]));
  const from = head.previous === undefined ? 1 : head.number;
  await proveChain(store, from, newest.entry.number, ({ entry: { number }, sha256 }) => {
    if (read.has(number) && read.get(number) !== sha256) {
      throw new DamageError(`${store.location}: entry ${number} changed while the log was read`);
    }
  });
}

/** Throws DamageError if the entry after the last one that was found has a signature only. */
export async function requireNotCutOff(store: ObjectStore, last: number): Promise<void> {
  // An entry is there before its signature.
  if ((await readSignature(store, last + 1)) === null) return;
  if ((await store.get(publicationKey(last + 1), ENTRY_BYTES_MAX)) !== null) return;
  throw new DamageError(
    `${store.location}/${signatureKey(last + 1)} signs an entry that is gone: the log was cut off`,
  );
}
