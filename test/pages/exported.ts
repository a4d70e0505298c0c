/** Exports of stores in memory to folders of their own. */
import { mkdtemp, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { replaceFolder } from "../../src/hosts/files/folder.ts";
import { exportedSite } from "../../src/hosts/files/site.ts";
import type { VerifyKey } from "../../src/snapshot/signing-key.ts";
import type { ObjectStore } from "../../src/ports/store.ts";

/** Exports a store, and returns the new folder. */
export async function exportOf(
  store: ObjectStore,
  publicUrl: string,
  service: string | null = null,
  verifyKeys: readonly VerifyKey[] | null = null,
): Promise<string> {
  const site = await exportedSite({
    store,
    publicUrl,
    service,
    graceMs: 3_600_000,
    verifyKeys,
  });
  const folder = join(await mkdtemp(join(tmpdir(), "chipboard-export-")), "site");
  await replaceFolder(
    folder,
    site.files(() => {}),
  );
  return folder;
}

/** The files of a folder, by their paths. */
export async function filesIn(folder: string): Promise<ReadonlyMap<string, Buffer>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return new Map(
    await Promise.all(
      files.map(async ({ parentPath, name }) => {
        const file = join(parentPath, name);
        return [relative(folder, file), await readFile(file)] as const;
      }),
    ),
  );
}
