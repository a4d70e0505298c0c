/**
 * Writes a snapshot: its first file, the claim of the name, the objects as they are rendered, the manifest.
 * Then it reads back everything that the manifest names, and last it appends the publication and signs it.
 * Until the append readers see the old head. A crash before it leaves at worst objects and a claim that no
 * publication names. A run that fails before it has written its first file leaves its revision to the next.
 */
import { atOnce } from "../lib/at-once.ts";
import type { Clock } from "../lib/clock.ts";
import { DamageError, RefusedError } from "../lib/errors.ts";
import { readInput } from "../ledger/kept-inputs.ts";
import type { Contract } from "../market/contract.ts";
import { renderCatalog } from "../snapshot/catalog-file.ts";
import { sha256Hex } from "../snapshot/digest.ts";
import { renderManifest, type Manifest } from "../snapshot/manifest.ts";
import { claimName, releaseName } from "../snapshot/claims.ts";
import { appendEntry, isOvertaken } from "../snapshot/log/append.ts";
import type { StoredEntry } from "../snapshot/log/entry.ts";
import type { LogKeys } from "../snapshot/log/sign.ts";
import type { TimeGates } from "../snapshot/log/time-gates.ts";
import { compareObjects, objectsOf } from "../snapshot/stored-snapshot.ts";
import { rootsOf } from "../snapshot/sums.ts";
import type { ObjectStore } from "../ports/store.ts";
import {
  FILES,
  snapshotFileKey,
  snapshotFolder,
  snapshotText,
  type SnapshotName,
} from "../store/paths.ts";
import type { KeptInput } from "./read-inputs.ts";
import type { Sink } from "./rendering.ts";

/**
 * Claims the name, and writes the catalog as the snapshot's first file. Returns the sink that writes the other
 * objects; null if another run has this revision. `newest` is the log's newest entry when the run began. Sink
 * and claim throw UnreachableError if the store cannot be written. The sink throws DamageError if a key holds
 * other bytes than the snapshot's.
 */
export async function beginSnapshot(
  store: ObjectStore,
  name: SnapshotName,
  catalog: readonly Contract[],
  newest: StoredEntry | null,
): Promise<Sink | null> {
  await store.prove();
  // Only the run that creates the first file writes the snapshot. This one may have chosen the name long ago,
  // and another run may have published it since, or may still remove its files: then its claim is there.
  const first = snapshotFileKey(name, FILES.catalog);
  const body = Buffer.from(renderCatalog(catalog));
  if ((await store.create(first, body)) === "taken") return null;
  if ((await claimName(store, name, newest?.entry.number ?? 0)) === "taken") return null;
  return async ({ key, sha256 }, bytes) => {
    if (key !== first) await createProven(store, key, bytes, sha256);
  };
}

/** A written snapshot that is to become the head. */
interface Commit {
  readonly name: SnapshotName;
  readonly manifest: Manifest;
  readonly inputs: readonly KeptInput[];
  readonly keys: LogKeys;
  readonly timeGates: TimeGates;
  /** The log's newest entry when the run began. */
  readonly newest: StoredEntry | null;
}

/**
 * Writes inputs and manifest of a snapshot whose other objects are written, makes it the head, and returns
 * the number of the entry that does so. Returns null if another run appended first: the files name the number
 * that the entry would have had. Then it removes the snapshot's folder, as it does before it throws RefusedError:
 * the gates on the time refuse the append, because the clock was moved during the run. Throws DamageError if a key
 * holds other bytes than the snapshot's, or loses them, and UnreachableError if the store cannot be written.
 */
export async function commit(
  store: ObjectStore,
  { name, manifest, inputs, keys, timeGates, newest }: Commit,
  clock: Clock,
): Promise<number | null> {
  await atOnce(inputs, async ({ entry, stored }) => {
    if (stored !== null) await store.create(entry.key, stored);
    // Another machine may have stored the same input in other gzip bytes.
    await readInput(store, entry.key, entry.bytes);
  });
  const bytes = renderManifest(manifest);
  const sha256 = sha256Hex(bytes);
  await createProven(store, snapshotFileKey(name, FILES.manifest), bytes, sha256);
  const { damages } = await compareObjects(store, [
    { key: snapshotFileKey(name, FILES.manifest), bytes: bytes.length, sha256 },
    ...objectsOf(name, manifest),
  ]);
  // A prune takes the files of a run that can no longer publish: that is no damage.
  const isLate = damages.length > 0 && (await isOvertaken(store, newest));
  if (damages.length > 0 && !isLate) {
    const what = `${snapshotText(name)} in ${store.location} differs from the bytes that were written`;
    throw new DamageError(`${what}; it is not published`, damages);
  }
  const appended = isLate
    ? null
    : await appendEntry(
        store,
        {
          ...name,
          action: "publish",
          reason: manifest.reason,
          manifest_sha256: sha256,
          corrections: manifest.corrected.length,
          roots: rootsOf(manifest),
        },
        newest,
        clock.now(),
        timeGates,
        keys,
      ).catch(async (error: unknown) => {
        if (error instanceof RefusedError) await removeSnapshot(store, name);
        throw error;
      });
  if (appended === null) {
    await removeSnapshot(store, name);
    return null;
  }
  // The publication stands even if this fails; the next prune removes the claim.
  await releaseName(store, name).catch(() => {});
  return appended.entry.number;
}

/** Creates the object. If it exists, throws DamageError unless it holds the same bytes. */
async function createProven(
  store: ObjectStore,
  key: string,
  bytes: Uint8Array,
  sha256: string,
): Promise<void> {
  if ((await store.create(key, bytes)) === "created") return;
  const there = await store.get(key, bytes.length);
  if (there !== null && sha256Hex(there) === sha256) return;
  throw new DamageError(`${store.location}/${key} already exists with other bytes`);
}

/** Removes the objects and the claim of a snapshot that will not be published. */
export async function removeSnapshot(store: ObjectStore, name: SnapshotName): Promise<void> {
  const objects = await Array.fromAsync(store.list(snapshotFolder(name)));
  await atOnce(objects, ({ key }) => store.delete(key));
  // A prune removes the claim if this fails.
  await releaseName(store, name).catch(() => {});
}
