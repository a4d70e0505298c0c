/** Writes the expected store again: `node test/golden/regenerate.ts`. Read the diff before you commit it. */
import { rm } from "node:fs/promises";
import { FolderStore } from "../../src/store/folder-store.ts";
import { EXPECTED, publishGolden } from "./market.ts";

if (process.env["CI"] !== undefined) throw new Error("The golden folder is not regenerated in CI");
await rm(EXPECTED, { recursive: true, force: true });
const store = new FolderStore(EXPECTED);
await publishGolden(store);
await store.close();
