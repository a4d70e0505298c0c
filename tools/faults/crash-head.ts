/** Checks what is promised to the readers of a store: a log without a gap, a complete head. */
import { createHash } from "node:crypto";
import { proveLog } from "../../src/desk/verify-log.ts";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { readPublications, type Publication } from "../../src/snapshot/publication-log.ts";
import { readManifest } from "../../src/snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { FILES, snapshotFileKey, snapshotText, type SnapshotName } from "../../src/store/paths.ts";
import { STRICT } from "../../test/golden/golden-key.ts";

/** The log and the name of the head. Throws if the log has a gap or the head is not complete. */
export async function wholeHead(
  store: ObjectStore,
): Promise<{ log: readonly Publication[]; head: string }> {
  const log = await readPublications(store);
  const head = log.at(-1);
  if (head === undefined) throw new Error("The log is empty");
  await wholeSnapshot(store, head, head.manifest_sha256);
  return { log, head: snapshotText(head) };
}

/**
 * The keys of all objects that a snapshot needs: its files, its manifest, the parts of its ledger.
 * Throws if one is missing or differs from what the manifest says.
 */
export async function wholeSnapshot(
  store: ObjectStore,
  name: SnapshotName,
  manifestSha256: string,
): Promise<string[]> {
  const manifest = await readManifest(store, name, manifestSha256);
  const objects = [
    ...manifest.files.map((file) => ({ ...file, key: snapshotFileKey(name, file.path) })),
    ...manifest.ledger,
  ];
  await Promise.all(
    objects.map(async ({ key, bytes, sha256 }) => {
      const found = await store.get(key);
      if (found === null) throw new Error(`${snapshotText(name)} lacks ${key}`);
      const digest = createHash("sha256").update(found).digest("hex");
      if (found.length !== bytes || digest !== sha256) {
        throw new Error(`${snapshotText(name)}: ${key} holds other bytes than were published`);
      }
    }),
  );
  return [snapshotFileKey(name, FILES.manifest), ...objects.map(({ key }) => key)];
}

/** Throws if `snapshots verify --all` finds damage. */
export async function requireVerified(store: ObjectStore): Promise<void> {
  const { damages } = await verifySnapshots(store, null);
  if (damages.length > 0) throw new Error(`verify --all: ${damages.join("; ")}`);
}

/** Throws if the log is not whole, or if an entry is not signed by the key of the runs. */
export async function requireSigned(store: ObjectStore): Promise<void> {
  const { damages, signatures, entries } = await proveLog(store, STRICT.verifyKeys, true);
  if (damages.length > 0) throw new Error(`The log: ${damages.join("; ")}`);
  if (signatures.length === entries.length) return;
  throw new Error(`${signatures.length} of ${entries.length} entries are signed`);
}
