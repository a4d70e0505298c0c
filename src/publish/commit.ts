/**
 * Writes a plan: the claim of the name, the objects, the manifest. Then it reads back everything that
 * the manifest names, and last it appends the publication and signs it. Until the append readers see
 * the old head. A crash before it leaves at worst objects and a claim that no publication names.
 */
import { atOnce } from "../lib/at-once.ts";
import { DamageError } from "../lib/errors.ts";
import { readInput } from "../ledger/kept-inputs.ts";
import { sha256Hex } from "../snapshot/digest.ts";
import { renderManifest, type Manifest } from "../snapshot/manifest.ts";
import { claimName, releaseName } from "../snapshot/claims.ts";
import { appendPublication, isOvertaken } from "../snapshot/log/append.ts";
import type { Publication, StoredEntry } from "../snapshot/log/entry.ts";
import type { LogKeys } from "../snapshot/log/sign.ts";
import { compareObjects, objectsOf } from "../snapshot/stored-snapshot.ts";
import { rootsOf } from "../snapshot/sums.ts";
import { GZIP_TYPE, JSON_TYPE } from "../store/media-types.ts";
import type { ObjectStore } from "../store/object-store.ts";
import {
  FILES,
  snapshotFileKey,
  snapshotFolder,
  snapshotText,
  type SnapshotName,
} from "../store/paths.ts";
import type { KeptInput } from "./inputs.ts";
import type { Plan } from "./plan.ts";
import type { Progress } from "./request.ts";

/** A plan and what is needed to write it. */
interface Commit {
  readonly name: SnapshotName;
  readonly plan: Plan;
  readonly inputs: readonly KeptInput[];
  readonly manifest: Manifest;
  readonly keys: LogKeys;
  /** The log's newest entry when the run began. */
  readonly newest: StoredEntry | null;
  readonly nowMs: number;
}

/**
 * Writes the plan, makes it the head and returns the entry that does so. Returns null if another run
 * has this revision or appended first a head or a prune of what this run needs; in the second case
 * it removes the snapshot's folder again. Throws DamageError if a key holds other bytes than the
 * plan's, or loses them, and UnreachableError if the store cannot be written.
 */
export async function commit(
  store: ObjectStore,
  { name, plan, inputs, manifest, keys, newest, nowMs }: Commit,
  progress: Progress,
): Promise<Publication | null> {
  await store.prove();
  if ((await claimName(store, name, newest?.entry.number ?? 0)) === "taken") return null;
  // The run may have chosen the name long ago, and another run may have published it since.
  if ((await createCatalog(store, name, plan)) === "taken") return null;

  const writes = [
    ...plan.freshParts.map((part) => ({ key: part.path, object: part })),
    ...plan.objects
      .filter(({ path }) => path !== FILES.catalog)
      .map((object) => ({ key: snapshotFileKey(name, object.path), object })),
  ];
  let written = 0;
  await atOnce(writes, async ({ key, object }) => {
    await createProven(store, key, await object.bytes(), object.sha256, object.mediaType);
    progress("Writing", (written += 1), writes.length);
  });

  await atOnce(inputs, async ({ entry, stored }) => {
    if (stored !== null) await store.create(entry.key, stored, GZIP_TYPE);
    // Another machine may have stored the same input in other gzip bytes.
    await readInput(store, entry.key, entry.bytes);
  });
  const bytes = renderManifest(manifest);
  const sha256 = sha256Hex(bytes);
  await createProven(store, snapshotFileKey(name, FILES.manifest), bytes, sha256, JSON_TYPE);
  const { damages } = await compareObjects(store, [
    { key: snapshotFileKey(name, FILES.manifest), bytes: bytes.length, sha256 },
    ...objectsOf(name, manifest),
  ]);
  const parts = manifest.ledger.map(({ key }) => key);
  // A prune takes the files of a run that can no longer publish: that is no damage.
  const isLate = damages.length > 0 && (await isOvertaken(store, name, newest, parts));
  if (damages.length > 0 && !isLate) {
    const what = `${snapshotText(name)} in ${store.location} differs from what was written`;
    throw new DamageError(`${what}; it is not published`, damages);
  }
  const publication = isLate
    ? null
    : await appendPublication(
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
        nowMs,
        parts,
        keys,
      );
  if (publication === null) await removeOwn(store, name);
  // The publication stands even if this fails; the next prune removes the claim.
  await releaseName(store, name).catch(() => {});
  return publication;
}

async function createCatalog(
  store: ObjectStore,
  name: SnapshotName,
  plan: Plan,
): Promise<"created" | "taken"> {
  const catalog = plan.objects.find(({ path }) => path === FILES.catalog);
  if (catalog === undefined) throw new Error("A plan holds a catalog");
  return store.create(snapshotFileKey(name, FILES.catalog), await catalog.bytes(), JSON_TYPE);
}

/** Creates the object. If it exists, throws DamageError unless it holds the same bytes. */
async function createProven(
  store: ObjectStore,
  key: string,
  bytes: Uint8Array,
  sha256: string,
  mediaType: string,
): Promise<void> {
  if ((await store.create(key, bytes, mediaType)) === "created") return;
  const there = await store.get(key, bytes.length);
  if (there !== null && sha256Hex(there) === sha256) return;
  throw new DamageError(`${store.location}/${key} already exists with other bytes`);
}

async function removeOwn(store: ObjectStore, name: SnapshotName): Promise<void> {
  const objects = await Array.fromAsync(store.list(snapshotFolder(name)));
  await atOnce(objects, ({ key }) => store.delete(key));
}
