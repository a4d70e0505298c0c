/** A market's whole store, compared with the committed one: the set of files, and every byte. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { EXPECTED, publishGolden } from "./market.ts";

const expectedFiles = (): string[] =>
  readdirSync(EXPECTED, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(EXPECTED, join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
    .toSorted();

test("the same files with the same bytes (node test/golden/regenerate.ts writes new ones)", async () => {
  const store = new MemoryStore();
  await publishGolden(store);
  const keys: string[] = [];
  const different: string[] = [];
  for await (const { key } of store.list("")) keys.push(key);
  expect(keys).toEqual(expectedFiles());
  for (const key of keys) {
    const bytes = (await store.get(key)) as Buffer;
    const expected = readFileSync(join(EXPECTED, key));
    if (bytes.equals(expected)) continue;
    different.push(key);
    // Shows the first text file that differs as text, which is easier to read.
    if (!/\.(xlsx|parquet)$/.test(key)) expect(bytes.toString()).toBe(expected.toString());
  }
  expect(different).toEqual([]);
});

test("the committed store is whole", async () => {
  const { damages, checked, pruned } = await verifySnapshots(new FolderStore(EXPECTED), null);
  expect([damages, checked.length, pruned]).toEqual([[], 9, []]);
});
