import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
