import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FolderStore } from "../../src/store/folder-store.ts";
import { describeStore } from "./store.contract.ts";

describeStore("the folder store", async () => {
  const parent = await mkdtemp(join(tmpdir(), "chipboard-store-"));
  const folder = join(parent, "not", "there", "yet");
  return {
    store: new FolderStore(folder),
    other: new FolderStore(folder),
    rawNames: () => readdir(folder, { recursive: true }).catch(() => []),
    dispose: () => rm(parent, { recursive: true }),
  };
});

test("files in a folder keep their mode; new ones are for the owner and the group alone", async () => {
  const parent = await mkdtemp(join(tmpdir(), "chipboard-store-"));
  onTestFinished(() => rm(parent, { recursive: true }));
  const folder = join(parent, "shared");
  await mkdir(join(folder, "old"), { recursive: true });
  await writeFile(join(folder, "old/a"), "a");
  await chmod(folder, 0o775);
  await chmod(join(folder, "old"), 0o755);
  await chmod(join(folder, "old/a"), 0o644);
  const store = new FolderStore(folder);
  await store.prove();
  for (const key of ["old/b", "new/c"]) await store.create(key, Buffer.from(key));
  const modes = await Promise.all(
    ["", "old", "old/a", "old/b", "new", "new/c"].map(
      async (path) => (await stat(join(folder, path))).mode & 0o777,
    ),
  );
  const [newFile, newFolder] = [0o640 & ~process.umask(), 0o750 & ~process.umask()];
  expect(modes).toEqual([0o775, 0o755, 0o644, newFile, newFolder, newFile]);
});
