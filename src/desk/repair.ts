/**
 * `snapshots repair`: puts back lost and damaged objects of published snapshots from another store. It
 * believes that store in nothing: the log says which manifest is right, and the manifest which files, ledger
 * months and inputs are. With the whole log it also puts back the store's mark. It does not touch whole objects. It can
 * stop at any time; the next run puts back the rest.
 */
import { atOnce } from "../lib/at-once.ts";
import { DamageError, orDamage } from "../lib/errors.ts";
import { counted } from "../lib/text.ts";
import { writeTiles } from "../snapshot/log/append.ts";
import type { StoredEntry } from "../snapshot/log/entry.ts";
import { unfitTiles } from "../snapshot/log/tiles.ts";
import { listLog, readLog } from "../snapshot/log/walk.ts";
import { readStoreId } from "../snapshot/store-mark.ts";
import { readVerified } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../ports/store.ts";
import { PUBLICATIONS, tileKey } from "../store/paths.ts";
import { collect, holds, keysBelow, markIn, needsOf, type Needed } from "./copy-needs.ts";
import { findEntry } from "./find-snapshot.ts";
import { verifySnapshots } from "./verify.ts";

/** The result of a repair after which all is whole: the keys of the restored objects, and their origin. */
export interface Repair {
  readonly whole: true;
  readonly from: string;
  readonly put_back: readonly string[];
}

/** Makes tiles that are not the entries of the log anew. Returns their keys. */
async function repairTiles(store: ObjectStore, log: readonly StoredEntry[]): Promise<string[]> {
  const { tiles } = await listLog(store);
  const keys = (await unfitTiles(store, tiles, log)).map(tileKey);
  for (const key of keys) await store.delete(key);
  await writeTiles(store, log.length);
  return keys;
}

/**
 * Repairs the snapshot that `reference` names; null: all that the log names and no prune took. Throws
 * DamageError, with the restored keys, if `verify` still finds damage; InputError if there is no such
 * snapshot.
 */
export async function repairSnapshots(
  store: ObjectStore,
  from: ObjectStore,
  reference: string | null,
): Promise<Repair> {
  const log: StoredEntry[] = reference === null ? await readLog(store) : [];
  const wanted = reference === null ? log : [await findEntry(store, reference)];
  const needed = new Map<string, Needed>();
  // Either may lack the manifest. An input that is whole stays: `from` may have it in other gzip bytes.
  for (const each of [from, store]) {
    const { manifests, files } = await needsOf(each, wanted, () => {}, false);
    for (const object of [...manifests, ...files]) needed.set(object.key, object);
  }
  const mark = reference === null ? await markIn(from) : null;
  // The mark has no digest anywhere: one that can be read is right.
  if (mark !== null && typeof (await orDamage(() => readStoreId(store))) !== "string") {
    needed.set(mark.key, mark);
  }
  const putBack: string[] = [];
  const lacking: string[] = [];
  await atOnce([...needed.values()], async (object) => {
    if (await holds(store, object)) return;
    const { key, sha256, bytesMax } = object;
    await collect(lacking, async () => {
      const bytes = await readVerified(from, key, sha256, bytesMax);
      // An object that is there and not listed is a link, or behind one: reading it fails, and nothing is
      // written there.
      if ((await keysBelow(store, key)).includes(key)) await store.delete(key);
      else await store.get(key);
      // Taken: by another repair, or by a folder of this name, which `verify` reports.
      if ((await store.create(key, bytes)) === "created") putBack.push(key);
    });
  });
  if (reference === null) putBack.push(...(await repairTiles(store, log)));
  putBack.sort();
  const { damages } = await verifySnapshots(store, reference);
  if (damages.length === 0) return { whole: true, from: from.location, put_back: putBack };
  const isNoStore = putBack.length === 0 && (await keysBelow(from, PUBLICATIONS)).length === 0;
  throw new DamageError(
    `${store.location} is still damaged: ${counted(damages.length, "finding")}; ` +
      `${counted(putBack.length, "object")} put back from ${from.location}` +
      (isNoStore ? ", which holds no publication" : ""),
    // A link is found by both.
    [...new Set([...damages, ...lacking])].concat(
      putBack.map((key) => `${store.location}/${key} was put back`),
    ),
  );
}
