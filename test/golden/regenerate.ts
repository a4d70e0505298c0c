/**
 * Writes the expected store and snapshots/example again: `node test/golden/regenerate.ts`. Read the
 * diff before you commit it.
 */
import { rm } from "node:fs/promises";
import { FolderStore } from "../../src/store/folder-store.ts";
import { EXAMPLE, publishExample } from "./example.ts";
import { EXPECTED, publishGolden } from "./golden-market.ts";

if (process.env["CI"] !== undefined) throw new Error("The golden folders are not regenerated in CI");
for (const [folder, publish] of [
  [EXPECTED, publishGolden],
  [EXAMPLE, publishExample],
] as const) {
  await rm(folder, { recursive: true, force: true });
  const store = new FolderStore(folder);
  await publish(store);
  await store.close();
}
