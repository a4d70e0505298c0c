/**
 * A process for the fault tests of the folder store. It writes `count` objects `many/<first+n>`, and
 * prints each key when its create has returned.
 *
 *   node store-folder-child.ts FOLDER FIRST COUNT SIZE_BYTES [UID]
 *
 * With UID it becomes that user first. After an error its last line is the error as JSON.
 */
import { ChipboardError } from "../../src/lib/errors.ts";
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
      await store.create(key, contentOf(key, Number(sizeBytes)));
      process.stdout.write(`${key}\n`);
    }),
  );
} catch (error) {
  if (!(error instanceof ChipboardError)) throw error;
  process.stdout.write(`${JSON.stringify({ exitCode: error.exitCode, message: error.message })}\n`);
}
