/**
 * A process of its own for the folder store's fault tests: writes objects `many/<first+n>` until it
 * has written `count` or is killed, and prints each key once its create has returned.
 *
 *   node store-folder-child.ts FOLDER FIRST COUNT SIZE_BYTES [UID]
 *
 * With UID it becomes that user first. Ends with the error's JSON on a line, if there is one.
 */
import { ChipboardError } from "../../src/errors.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { contentOf } from "./store-content.ts";

const [folder = "", first, count, sizeBytes, uid] = process.argv.slice(2);
if (uid !== undefined) {
  process.setgroups?.([]);
  process.setgid?.(Number(uid));
  process.setuid?.(Number(uid));
}
const store = new FolderStore(folder);
try {
  await store.prove();
  await Promise.all(
    Array.from({ length: Number(count) }, async (_, n) => {
      const key = `many/${Number(first) + n}`;
      await store.create(key, contentOf(key, Number(sizeBytes)), "application/octet-stream");
      process.stdout.write(`${key}\n`);
    }),
  );
} catch (error) {
  if (!(error instanceof ChipboardError)) throw error;
  process.stdout.write(`${JSON.stringify({ exitCode: error.exitCode, message: error.message })}\n`);
}
