/**
 * The objects that a copy of a store must hold besides the log. These are the store's mark, all that the log names
 * and no prune took, and all inputs, also of pruned snapshots.
 */
import { atOnce } from "../lib/at-once.ts";
import { DamageError, orDamage } from "../lib/errors.ts";
import { readInput } from "../ledger/kept-inputs.ts";
import { CLAIM_BYTES_MAX } from "../snapshot/claims.ts";
import { sha256Hex } from "../snapshot/digest.ts";
import { MANIFEST_BYTES_MAX } from "../snapshot/manifest.ts";
import { isPublication, takenIn } from "../snapshot/log/entry.ts";
import type { Publication, StoredEntry } from "../snapshot/log/entry.ts";
import { MARK_BYTES_MAX } from "../snapshot/store-mark.ts";
import { objectsOf, readManifest, readVerified } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../ports/store.ts";
import {
  FILES,
  INPUTS,
  parseClaimKey,
  parseInputKey,
  snapshotFileKey,
  snapshotText,
  STORE_MARK,
  TAKEN,
} from "../store/paths.ts";

/** Tells how far the copy is. */
export type CopyProgress = (stage: string, done: number, total: number) => void;

/** An object to copy. */
export interface Needed {
  readonly key: string;
  readonly sha256: string;
  /** It has as many bytes, or fewer. */
  readonly bytesMax: number;
}

/** All of it. */
export interface Needs {
  /** Files of snapshots, parts of the ledger, and inputs. */
  readonly files: readonly Needed[];
  /** Manifests, which vouch for the files, names never used again, and the mark. */
  readonly manifests: readonly Needed[];
  /** The snapshots whose objects these are. */
  readonly names: ReadonlySet<string>;
  /** A line for each object that the store lacks. */
  readonly damages: readonly string[];
  /** Damaged inputs that no snapshot names, one line each: a crash left half of one, or a prune took its snapshots. */
  readonly leftOut: readonly string[];
}

type Log = readonly Pick<StoredEntry, "entry">[];

/** Reads the manifests that the log names. With `all` it also takes what none of them names. */
export async function needsOf(
  store: ObjectStore,
  log: Log,
  progress: CopyProgress,
  all = true,
): Promise<Needs> {
  const files = new Map<string, Needed>();
  const manifests: Needed[] = [];
  const names = new Set<string>();
  const damages: string[] = [];
  const leftOut: string[] = [];
  // Others may write to the store: what no run names so is not copied.
  const keptIn = async (prefix: string, parse: (key: string) => unknown): Promise<string[]> =>
    all ? (await keysBelow(store, prefix)).filter((key) => parse(key) !== null) : [];
  const inputs = new Set<string>();
  const entries = [...publicationsOf(log).values()];
  let read = 0;
  await atOnce(entries, async (entry) => {
    const { session, revision, manifest_sha256: sha256 } = entry;
    const name = { session, revision };
    await collect(damages, async () => {
      const manifest = await readManifest(store, name, sha256);
      names.add(snapshotText(name));
      for (const { key } of manifest.inputs) inputs.add(key);
      for (const { key, sha256, bytes: bytesMax } of objectsOf(name, manifest)) {
        files.set(key, { key, sha256, bytesMax });
      }
      const key = snapshotFileKey(name, FILES.manifest);
      manifests.push({ key, sha256, bytesMax: MANIFEST_BYTES_MAX });
    });
    progress("Reading", (read += 1), entries.length);
  });
  const others = (await keptIn(INPUTS, parseInputKey)).filter((key) => !inputs.has(key));
  await atOnce([...inputs, ...others], (key) =>
    collect(inputs.has(key) ? damages : leftOut, async () => {
      const stored = await readInput(store, key);
      files.set(key, { key, sha256: sha256Hex(stored), bytesMax: stored.length });
    }),
  );
  await atOnce(await keptIn(TAKEN, parseClaimKey), async (key) => {
    const bytes = await store.get(key, CLAIM_BYTES_MAX);
    if (bytes === null) return;
    manifests.push({ key, sha256: sha256Hex(bytes), bytesMax: CLAIM_BYTES_MAX });
  });
  const mark = all ? await markIn(store) : null;
  if (mark !== null) manifests.push(mark);
  return { files: [...files.values()], manifests, names, damages, leftOut };
}

/** The mark as it is stored; null: the store has none. */
export async function markIn(store: ObjectStore): Promise<Needed | null> {
  const bytes = await store.get(STORE_MARK, MARK_BYTES_MAX);
  return bytes && { key: STORE_MARK, sha256: sha256Hex(bytes), bytesMax: MARK_BYTES_MAX };
}

/** An entry for each snapshot that the log names and no prune took. */
function publicationsOf(log: Log): ReadonlyMap<string, Publication> {
  const taken = takenIn(log);
  const publications = log
    .map(({ entry }) => entry)
    .filter(isPublication)
    .filter((entry) => !taken.has(snapshotText(entry)))
    // Two entries that name different manifests for a snapshot are a damage, which is found later.
    .map((entry) => [`${snapshotText(entry)} ${entry.manifest_sha256}`, entry] as const);
  return new Map(publications);
}

export async function holds(store: ObjectStore, of: Needed): Promise<boolean> {
  const read = await orDamage(() => readVerified(store, of.key, of.sha256, of.bytesMax));
  return !(read instanceof DamageError);
}

/** Does the work. A DamageError becomes a finding; other errors pass. */
export async function collect(damages: string[], work: () => Promise<void>): Promise<void> {
  const damage = await orDamage(work);
  if (damage instanceof DamageError) damages.push(damage.message);
}

export const keysBelow = (store: ObjectStore, prefix: string): Promise<string[]> =>
  Array.fromAsync(store.list(prefix), ({ key }) => key);
