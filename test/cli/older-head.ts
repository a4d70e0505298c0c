/** A head as another version of the program would have published it: other files, tiers or format. */
import { identityOf, type Manifest } from "../../src/snapshot/manifest.ts";
import { readHead } from "../../src/snapshot/publication-log.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { FILES, snapshotFileKey } from "../../src/store/paths.ts";
import { pointHeadTo } from "./signed.ts";

/** Changes the head's manifest, removes the files that it no longer names, and makes the log agree. */
export async function changeHead(
  store: ObjectStore,
  change: (manifest: Manifest) => object,
): Promise<void> {
  const head = await readHead(store);
  if (head === null) throw new Error("The store is empty");
  const before = JSON.parse(String(await store.get(snapshotFileKey(head, FILES.manifest))));
  const manifest = { ...before, ...change(before) };
  manifest.identity = identityOf(manifest.files, manifest.ledger);
  const kept = new Set(manifest.files.map(({ path }: { path: string }) => path));
  for (const { path } of before.files) {
    if (!kept.has(path)) await store.delete(snapshotFileKey(head, path));
  }
  await pointHeadTo(store, Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`));
}

/** The same without the files whose paths match. */
export const withoutFiles = (store: ObjectStore, paths: RegExp): Promise<void> =>
  changeHead(store, ({ files }) => ({ files: files.filter(({ path }) => !paths.test(path)) }));

/** The same without a tier: neither its files nor its summary. */
export const withoutTier = (store: ObjectStore, tier: string): Promise<void> =>
  changeHead(store, ({ files, tiers }) => ({
    files: files.filter((file) => file.tier !== tier),
    tiers: Object.fromEntries(Object.entries(tiers).filter(([name]) => name !== tier)),
  }));
