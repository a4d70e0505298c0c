/** A snapshot of a program that wrote fewer files: what is missing is a 404, everything else is served. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import { parseManifest, renderManifest } from "../../src/snapshot/manifest.ts";
import { FILES, publicationKey, snapshotFileKey } from "../../src/store/paths.ts";
import type { MemoryStore } from "../../src/store/memory-store.ts";
import { publishedStore, SESSION, startTestProxy, type TestProxy } from "./fixture.ts";
import { expectCode } from "./refusal.ts";

const API = "/api/public/v1";
const LACKING = [FILES.csv("pro"), FILES.index("pro"), FILES.basket("pro")];

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy({ store: await storeLacking(LACKING) });
});
afterAll(() => proxy.close());

test("addresses without a file are not_in_snapshot, which costs nothing", async () => {
  for (const path of ["/export.csv", "/index", "/index?ids=dram-0"]) {
    await expectCode(proxy, API + path, { key: proxy.pro }, "not_in_snapshot");
  }
  await expectCode(proxy, `${API}/export.csv?x=1`, { key: proxy.pro }, "unknown_parameter");
  const usage = await proxy.get(`${API}/usage`, { key: proxy.pro });
  expect(usage.json.used).toBe(0);
});

test("the rest is served, and /readyz is ready", async () => {
  for (const path of ["/prices", "/prices/dram-0", "/export.xlsx"]) {
    expect((await proxy.get(API + path, { key: proxy.pro })).status).toBe(200);
  }
  expect((await proxy.get(`${API}/index`, { key: proxy.starter })).status).toBe(200);
  expect((await proxy.get("/readyz")).json).toMatchObject({ status: "ready", store: "ok" });
});

/** A published store whose manifest names no file of `paths`. */
async function storeLacking(paths: readonly string[]): Promise<MemoryStore> {
  const store = await publishedStore();
  const key = snapshotFileKey({ session: SESSION, revision: 1 }, FILES.manifest);
  const manifest = parseManifest((await store.get(key)) as Buffer, key);
  const files = manifest.files.filter(({ path }) => !paths.includes(path));
  const bytes = renderManifest({ ...manifest, files });
  await overwrite(store, key, bytes);
  const entryKey = publicationKey(1);
  const entry = JSON.parse(String(await store.get(entryKey)));
  const changed = { ...entry, manifest_sha256: sha256Hex(bytes) };
  await overwrite(store, entryKey, Buffer.from(`${JSON.stringify(changed)}\n`));
  return store;
}

async function overwrite(store: MemoryStore, key: string, bytes: Buffer): Promise<void> {
  await store.delete(key);
  await store.create(key, bytes, "");
}
