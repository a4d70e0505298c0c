/** Checks the promises to the readers of a store: a log without a gap, a complete head. */
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { type Publication } from "../../src/snapshot/log/entry.ts";
import { readPublications } from "../../test/store/log-entries.ts";
import { requireSigned as requireSignedEntry } from "../../src/snapshot/log/sign.ts";
import { readLog } from "../../src/snapshot/log/walk.ts";
import type { VerifyKey } from "../../src/snapshot/signing-key.ts";
import { objectsOf, readManifest } from "../../src/snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import {
  FILES,
  INPUTS,
  snapshotFileKey,
  snapshotText,
  type SnapshotName,
} from "../../src/store/paths.ts";
import { GOLDEN_KEY } from "../../test/golden/golden-key.ts";

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
 * The keys of all objects that a snapshot needs: its files, its manifest, the parts of its ledger, its inputs.
 * Throws if one is missing or differs from what the manifest says.
 */
export async function wholeSnapshot(
  store: ObjectStore,
  name: SnapshotName,
  manifestSha256: string,
): Promise<string[]> {
  const manifest = await readManifest(store, name, manifestSha256);
  const objects = [
    ...objectsOf(name, manifest),
    ...manifest.inputs.map((input) => ({ ...input, sha256: input.bytes_sha256 })),
  ];
  await Promise.all(
    objects.map(async ({ key, bytes, sha256 }) => {
      const stored = await store.get(key);
      if (stored === null) throw new Error(`${snapshotText(name)} lacks ${key}`);
      const found = key.startsWith(INPUTS) ? gunzipSync(stored) : stored;
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

/** Throws if the log is not whole, or if an entry is not signed by one of the keys. */
export async function requireSigned(
  store: ObjectStore,
  keys = [GOLDEN_KEY.verifyKey] as readonly VerifyKey[],
): Promise<void> {
  for (const stored of await readLog(store)) requireSignedEntry(stored, keys);
}
