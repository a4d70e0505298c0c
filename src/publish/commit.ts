/**
 * Writes a plan: claim the folder, objects, manifest, its signature, and last the publication, when
 * all that the manifest names was read back and found to be there.
 * Until that last step readers see the old head, and a crash leaves at worst a folder that no
 * publication names.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { ConflictError, DamageError } from "../errors.ts";
import { sha256Hex } from "../snapshot/digest.ts";
import { renderManifest, type Manifest } from "../snapshot/manifest.ts";
import { condemnedSince } from "../snapshot/marks.ts";
import {
  appendPublication,
  readPublication,
  type Publication,
} from "../snapshot/publication-log.ts";
import { signatureOf } from "../snapshot/signature.ts";
import type { SigningKey } from "../snapshot/signing-key.ts";
import { compareObjects, objectsOf } from "../snapshot/stored-snapshot.ts";
import { JSON_TYPE, NDJSON_TYPE, SIGNATURE_TYPE } from "../store/media-types.ts";
import type { ObjectStore } from "../store/object-store.ts";
import {
  FILES,
  snapshotFileKey,
  snapshotFolder,
  snapshotText,
  type SnapshotName,
} from "../store/paths.ts";
import type { Plan, Planned } from "./plan.ts";
import type { Progress } from "./request.ts";

const WRITES_AT_ONCE = 16;
/** How often, and how many times, a publish looks whether a prune is over. */
const PRUNE_POLL_MS = 250;
const PRUNE_POLLS_MAX = 240;

/** A plan, and the names it is written under. */
interface Commit {
  readonly name: SnapshotName;
  readonly plan: Plan;
  readonly manifest: Manifest;
  /** Null: the snapshot is not signed. */
  readonly signingKey: SigningKey | null;
  /** The entry to append, but for the manifest's digest. */
  readonly publication: Omit<Publication, "manifest_sha256">;
}

/**
 * "committed": the snapshot is the head. "claimed": somebody else has this revision, nothing was
 * written. "superseded": another publication came first; what was written here is removed again.
 */
type CommitOutcome = "committed" | "claimed" | "superseded";

/**
 * Writes the plan and makes it the head, or finds that somebody was first. Throws DamageError where a
 * key holds other bytes than the plan's, ConflictError where a prune in its way does not end within a
 * minute, UnreachableError where the store cannot be written.
 */
export async function commit(
  store: ObjectStore,
  { name, plan, manifest, signingKey, publication }: Commit,
  progress: Progress,
): Promise<CommitOutcome> {
  await store.prove();
  if ((await claim(store, name, plan)) === "taken") return "claimed";
  await outlastPrunes(store, name, plan);

  const writes: { key: string; mediaType: string; planned: Planned<{ sha256: string }> }[] = [
    ...plan.freshParts.map((part) => ({
      key: part.entry.key,
      mediaType: NDJSON_TYPE,
      planned: part,
    })),
    ...plan.files
      .filter(({ entry }) => entry.path !== FILES.catalog)
      .map((file) => ({
        key: snapshotFileKey(name, file.entry.path),
        mediaType: file.entry.media_type,
        planned: file,
      })),
  ];
  let written = 0;
  const queue = writes.values();
  await Promise.all(
    Array.from({ length: WRITES_AT_ONCE }, async () => {
      for (const { key, mediaType, planned } of queue) {
        await createProven(store, key, await planned.bytes(), planned.entry.sha256, mediaType);
        progress("Writing", (written += 1), writes.length);
      }
    }),
  );

  const bytes = renderManifest(manifest);
  const sha256 = sha256Hex(bytes);
  await createProven(store, snapshotFileKey(name, FILES.manifest), bytes, sha256, JSON_TYPE);
  if (signingKey !== null) {
    const signature = signatureOf(sha256, signingKey);
    const key = snapshotFileKey(name, FILES.signature);
    await createProven(store, key, signature, sha256Hex(signature), SIGNATURE_TYPE);
  }
  const { damages } = await compareObjects(store, [
    { key: snapshotFileKey(name, FILES.manifest), bytes: bytes.length, sha256 },
    ...objectsOf(name, manifest),
  ]);
  if (damages.length > 0) {
    const what = `${snapshotText(name)} is not in ${store.location} as it was written`;
    throw new DamageError(`${what}; it is not published`, damages);
  }
  const entry: Publication = { ...publication, manifest_sha256: sha256 };
  if ((await appendPublication(store, entry)) === "created") return "committed";
  // A retried request may have met its own first attempt; only this run can have named this digest.
  const winner = await readPublication(store, entry.number);
  if (winner?.manifest_sha256 === sha256) return "committed";
  await removeOwn(store, name);
  return "superseded";
}

/** The catalog is the first file of a snapshot: who creates it owns the folder. */
async function claim(
  store: ObjectStore,
  name: SnapshotName,
  plan: Plan,
): Promise<"created" | "taken"> {
  const catalog = plan.files.find(({ entry }) => entry.path === FILES.catalog);
  if (catalog === undefined) throw new Error("A plan holds a catalog");
  return store.create(snapshotFileKey(name, FILES.catalog), await catalog.bytes(), JSON_TYPE);
}

/** Creates the object, or proves that what is there already has the very bytes. */
async function createProven(
  store: ObjectStore,
  key: string,
  bytes: Uint8Array,
  sha256: string,
  mediaType: string,
): Promise<void> {
  if ((await store.create(key, bytes, mediaType)) === "created") return;
  const there = await store.get(key);
  if (there !== null && sha256Hex(there) === sha256) return;
  throw new DamageError(`${store.location}/${key} is there already and holds other bytes`);
}

/**
 * A prune that began before the folder was claimed may be removing a part of the ledger that this
 * snapshot will name again. Waits until it is over; prunes that begin later see the claim.
 */
async function outlastPrunes(store: ObjectStore, name: SnapshotName, plan: Plan): Promise<void> {
  const claimKey = snapshotFileKey(name, FILES.catalog);
  for (let poll = 0; ; poll += 1) {
    const condemned = new Set((await condemnedSince(store, claimKey)).parts);
    const inDoubt = plan.freshParts.find(({ entry }) => condemned.has(entry.key));
    if (inDoubt === undefined) return;
    if (poll === PRUNE_POLLS_MAX) {
      throw new ConflictError(
        `A prune is removing ${store.location}/${inDoubt.entry.key}; try again when it is over`,
      );
    }
    await sleep(PRUNE_POLL_MS);
  }
}

async function removeOwn(store: ObjectStore, name: SnapshotName): Promise<void> {
  const keys: string[] = [];
  for await (const { key } of store.list(snapshotFolder(name))) keys.push(key);
  // The claim goes last, so that the number stays taken until the folder is empty.
  const claimKey = snapshotFileKey(name, FILES.catalog);
  await Promise.all(keys.filter((key) => key !== claimKey).map((key) => store.delete(key)));
  await store.delete(claimKey);
}
