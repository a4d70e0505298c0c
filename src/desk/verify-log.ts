/**
 * The log's part of `snapshots verify`: every link of the chain (snapshot/chain.ts) and, with keys, the
 * signatures.
 */
import { DamageError } from "../lib/errors.ts";
import { proveChain } from "../snapshot/chain.ts";
import { requireSignedEntry, signedNumbers } from "../snapshot/entry-signature.ts";
import { isPublication, logLength, type StoredEntry } from "../snapshot/publication-log.ts";
import { requireRemembered, type Remembered } from "../snapshot/remembered.ts";
import type { VerifyKey } from "../snapshot/signing-key.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { publicationKey, signatureKey, snapshotText } from "../store/paths.ts";
import { atOnce } from "../lib/at-once.ts";

/** A signature of an entry by one of the keys. */
export interface EntrySigner {
  readonly number: number;
  /** The snapshot that the entry makes the head; null: it is a prune. */
  readonly snapshot: string | null;
  readonly fingerprint: string;
}

/** What is proven of the log. */
export interface LogProof {
  /** Oldest first; up to the first break if there is one. */
  readonly entries: readonly StoredEntry[];
  /** Of the signatures that were checked, those that fit, oldest first. */
  readonly signatures: readonly EntrySigner[];
  /** One line each: the log's, then those of the signatures, oldest first. */
  readonly damages: readonly string[];
}

/**
 * Proves the log. With keys, one of them must have signed the newest entry, which vouches for all
 * entries before it; with `isEvery`, each signature there is must be by one of them. The log must have the
 * entry that is remembered.
 */
export async function proveLog(
  store: ObjectStore,
  keys: readonly VerifyKey[] | null,
  isEvery: boolean,
  remembered: Remembered | null = null,
): Promise<LogProof> {
  const entries: StoredEntry[] = [];
  const signatures: EntrySigner[] = [];
  const damages: string[] = [];
  // The signatures first: an entry is there before its signature.
  const signed = await signedNumbers(store);
  let isUnbroken = false;
  try {
    const length = await logLength(store);
    for (const number of signed.filter((each) => each > length)) {
      damages.push(
        `${store.location}/${signatureKey(number)} signs ${publicationKey(number)}, which is gone: ` +
          "the log was cut off",
      );
    }
    await proveChain(store, 1, length, (stored) => entries.push(stored));
    isUnbroken = true;
    if (remembered !== null) {
      requireRemembered(remembered, length, entries[remembered.number - 1]?.sha256);
    }
  } catch (error) {
    damages.push(messageOf(error));
  }
  if (keys === null) return { entries, signatures, damages };
  // After a break nothing is known of the newest entry.
  const newest = isUnbroken ? entries.at(-1) : undefined;
  const isSigned = new Set(isEvery ? signed : []);
  const toCheck = entries.filter((each) => each === newest || isSigned.has(each.entry.number));
  const findings = await atOnce(toCheck, async (stored) => {
    const { entry } = stored;
    try {
      const { fingerprint } = await requireSignedEntry(store, stored, keys);
      const snapshot = isPublication(entry) ? snapshotText(entry) : null;
      return { number: entry.number, snapshot, fingerprint };
    } catch (error) {
      return messageOf(error);
    }
  });
  for (const finding of findings) {
    if (typeof finding === "string") damages.push(finding);
    else signatures.push(finding);
  }
  return { entries, signatures, damages };
}

/** The message of a DamageError; throws every other error. */
function messageOf(error: unknown): string {
  if (error instanceof DamageError) return error.message;
  throw error;
}
