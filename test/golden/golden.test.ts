/**
 * Whole stores, compared with the committed ones: the set of files, and every plain byte. Two machines
 * may code the same bytes differently, so what depends on that is left out.
 */
import { createHash, verify } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { verifySnapshots } from "../../src/desk/verify.ts";
import type { Manifest } from "../../src/snapshot/manifest.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { plainFile } from "../store/stored-file.ts";
import { GOLDEN_KEY } from "./golden-key.ts";
import { EXAMPLE, publishExample } from "./example.ts";
import { EXPECTED, publishGolden } from "./golden-market.ts";

const STORES = [
  { name: "the golden store", folder: EXPECTED, publish: publishGolden },
  { name: "snapshots/example", folder: EXAMPLE, publish: publishExample },
];

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
    .toSorted();

/** The bytes of an object without what depends on the zlib that coded the files. */
function comparable(key: string, bytes: Buffer): Buffer {
  if (key.endsWith(".gz")) return gunzipSync(bytes);
  const text = bytes.toString();
  if (key.endsWith("/manifest.json")) {
    const { files, ...manifest } = JSON.parse(text) as Manifest;
    const plain = files.map(({ gzip, parts, ...file }) => ({
      ...file,
      isCoded: gzip !== undefined,
      parts: parts?.map(({ id, at }) => [id, at]),
    }));
    return Buffer.from(JSON.stringify({ ...manifest, files: plain }, null, 1));
  }
  if (!key.startsWith("publications/")) return bytes;
  return Buffer.from(text.replaceAll(/"(previous|manifest_sha256|signature)":"[^"]*"/g, '"$1":""'));
}

const SAME = "the same files with the same bytes (node test/golden/regenerate.ts writes new ones)";
test.each(STORES)(`$name has ${SAME}`, async ({ folder, publish }) => {
  const store = new MemoryStore();
  await publish(store);
  const keys: string[] = [];
  const different: string[] = [];
  for await (const { key } of store.list("")) keys.push(key);
  expect(keys).toEqual(filesBelow(folder));
  for (const key of keys) {
    const bytes = comparable(key, (await store.get(key)) as Buffer);
    const expected = comparable(key, readFileSync(join(folder, key)));
    if (bytes.equals(expected)) continue;
    different.push(key);
    // Shows the first text file that differs as text, which is easier to read.
    if (!/\.(xlsx|parquet)$/.test(key)) expect(bytes.toString()).toBe(expected.toString());
  }
  expect(different).toEqual([]);
});

test("SHA256SUMS lists every file of its tier's folder but itself, in byte order, as sha256sum does", () => {
  const files = filesBelow(EXPECTED);
  const sums = files.filter((path) => path.endsWith("/SHA256SUMS"));
  expect(sums).toHaveLength(9 * 3);
  for (const path of sums) {
    const folder = path.slice(0, -"SHA256SUMS".length);
    const names = files
      .filter((file) => file.startsWith(folder) && file !== path)
      .map((file) => file.slice(folder.length).replace(/\.gz$/, ""));
    const listed = [...new Set(names)]
      .toSorted((a, b) => Buffer.from(a).compare(Buffer.from(b)))
      .map((name) => `${sha256(plainFile(join(EXPECTED, folder, name)))}  ${name}\n`);
    expect([path, readFileSync(join(EXPECTED, path), "utf8")]).toEqual([path, listed.join("")]);
  }
});

test("each entry names the one before and the SHA256SUMS of its snapshot, and is signed from 3 on", () => {
  const read = (path: string): Buffer => readFileSync(join(EXPECTED, path));
  let previous: string | null = null;
  for (const path of filesBelow(EXPECTED).filter((file) => /^publications\/.*json$/.test(file))) {
    const entry = JSON.parse(String(read(path)));
    const folder = `sessions/${entry.session}/r${entry.revision}`;
    const tiers = ["free", "starter", "pro"];
    const roots = tiers.map((tier) => [tier, sha256(read(`${folder}/${tier}/SHA256SUMS`))]);
    expect(entry).toMatchObject({ previous, roots: Object.fromEntries(roots) });
    const bytes = read(path);
    previous = sha256(bytes);
    const [, unsigned, signature] = /^(.*),"signature":"(.*)"\}\n$/.exec(String(bytes)) ?? [];
    expect(unsigned === undefined).toBe(entry.number < 3);
    if (unsigned === undefined || signature === undefined) continue;
    const digest = createHash("sha256").update(`${unsigned}}\n`).digest();
    const message = Buffer.concat([Buffer.from("chipboard log v2\n"), digest]);
    const { key } = GOLDEN_KEY.verifyKey;
    expect(verify(null, message, key, Buffer.from(signature, "base64"))).toBe(true);
  }
});

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

test("the committed store is whole", async () => {
  const keys = [GOLDEN_KEY.verifyKey];
  const found = await verifySnapshots(new FolderStore(EXPECTED), null, keys);
  expect([found.damages, found.checked.length, found.pruned]).toEqual([[], 9, []]);
  expect([found.entries, found.signatures.length]).toEqual([10, 8]);
});

test("snapshots/example is whole, and says of itself that it is illustrative", async () => {
  const found = await verifySnapshots(new FolderStore(EXAMPLE), null);
  expect([found.damages, found.checked.length]).toEqual([[], 2]);
  for (const path of filesBelow(EXAMPLE).filter((file) => file.endsWith("/board.json"))) {
    const board = JSON.parse(String(readFileSync(join(EXAMPLE, path))));
    expect(board.attribution).toContain("Illustrative");
    for (const { name } of [...board.memory, ...board.semiconductor]) {
      expect(name).toContain("(illustrative)");
    }
  }
});
