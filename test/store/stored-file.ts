/** Files of snapshots in the form in which they are stored. */
import { existsSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type { ObjectStore } from "../../src/ports/store.ts";
import { codedPath, snapshotFileKey, storedAs, type SnapshotName } from "../../src/store/paths.ts";

/** The key of the plain bytes or, where there are none, of their gzip-coded form. */
export const storedKey = (name: SnapshotName, path: string): string =>
  snapshotFileKey(name, storedAs(path) === "gzip" ? codedPath(path) : path);

/** The plain bytes of the file whose plain form has, or would have, this key. */
export async function plainBytes(store: Pick<ObjectStore, "get">, key: string): Promise<Buffer> {
  const bytes = await store.get(key);
  if (bytes !== null) return bytes;
  const code = await store.get(codedPath(key));
  if (code === null) throw new Error(`${key} is not there`);
  return gunzipSync(code);
}

/** The same of a file in a folder. */
export const plainFile = (path: string): Buffer =>
  existsSync(path) ? readFileSync(path) : gunzipSync(readFileSync(codedPath(path)));
