/**
 * Unencoded-Digest: the digest of an answer's bytes without content coding. The client of all tests
 * compares it with each body that it receives.
 */
import { afterEach, describe, expect, test } from "vitest";
import { FolderStore } from "../../src/store/folder-store.ts";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dataPaths } from "./addresses.ts";
import { digestField } from "./client.ts";
import {
  eventually,
  publishedStore,
  sessionsMs,
  startTestProxy,
  type TestProxy,
  type TestProxyOptions,
} from "./fixture.ts";

const API = "/api/public/v1";
const BASKET = `${API}/index?ids=dram-0,dram-1&weights=1,2`;
const PATHS = [...dataPaths("pro"), BASKET].map((path) => path.slice(API.length));

let proxy: TestProxy;
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function start(options: TestProxyOptions = {}): Promise<void> {
  proxy = await startTestProxy(options);
  closing.push(() => proxy.close());
}

const ask = (path: string, headers: Record<string, string> = {}, method = "GET") =>
  proxy.get(API + path, { key: proxy.pro, headers, method });
const digestOf = async (path: string, headers: Record<string, string> = {}, method = "GET") =>
  (await ask(path, headers, method)).headers["unencoded-digest"];

test("every coding, a part, HEAD and the same file as published then have the same digest", async () => {
  await start();
  for (const path of PATHS) {
    const { headers, body } = await ask(path);
    const digest = headers["unencoded-digest"];
    expect([path, digest]).toEqual([path, digestField(body)]);
    expect([path, await digestOf(path, { "accept-encoding": "gzip" })]).toEqual([path, digest]);
    expect([path, await digestOf(path, {}, "HEAD")]).toEqual([path, digest]);
    const then = `${path}${path.includes("?") ? "&" : "?"}publication=1`;
    expect([path, await digestOf(then)]).toEqual([path, digest]);
  }
  for (const path of ["/export.csv", "/export.xlsx", "/history.parquet"]) {
    const part = await ask(path, { range: "bytes=3-9" });
    expect([path, part.status]).toEqual([path, 206]);
    expect([path, part.headers["unencoded-digest"]]).toEqual([path, await digestOf(path)]);
  }
});

test("no 304 and no refusal has a digest, and scripts may read it", async () => {
  await start();
  const { headers } = await ask("/prices");
  expect(headers["access-control-expose-headers"]).toMatch(/(^|, )Unencoded-Digest(,|$)/);
  for (const condition of [headers.etag as string, "*"]) {
    const same = await ask("/prices", { "if-none-match": condition });
    expect([same.status, same.headers["unencoded-digest"]]).toEqual([304, undefined]);
  }
  expect(await digestOf("/prices/unknown")).toBeUndefined();
  expect(await digestOf("/export.csv", { range: "bytes=99999999-" })).toBeUndefined();
});

describe("while sessions are missing", () => {
  for (const [where, cacheBytes] of [
    ["from memory", 64_000_000],
    ["streamed", 0],
  ] as const) {
    test(`the digest belongs to the raised body, ${where}, for all who ask at once`, async () => {
      await start({ cacheBytes });
      const punctual = new Map<string, unknown>();
      for (const path of PATHS) punctual.set(path, await digestOf(path));
      for (const more of [2, 1, 10]) {
        proxy.clock.ms += sessionsMs(more);
        for (const path of PATHS) {
          const found = await Promise.all([0, 1, 2].map(() => ask(path)));
          for (const { headers, body } of found) {
            expect([path, headers["unencoded-digest"]]).toEqual([path, digestField(body)]);
          }
          const isRaised = found[0]?.json?.delayed_sessions !== undefined;
          const isChanged = found[0]?.headers["unencoded-digest"] !== punctual.get(path);
          expect([path, isChanged]).toEqual([path, isRaised]);
        }
      }
    });
  }

  test("a file that cannot be read for its digest fails, and is asked for again", async () => {
    const folder = await mkdtemp(join(tmpdir(), "chipboard-digest-"));
    closing.push(() => rm(folder, { recursive: true }));
    const store = new FolderStore(folder);
    const source = await publishedStore();
    for await (const { key } of source.list("")) {
      await store.create(key, (await source.get(key)) as Buffer);
    }
    await start({ store, cacheBytes: 0 });
    proxy.clock.ms += sessionsMs(2);
    const key = "sessions/2026-11-21T00Z/r1/pro/board.json";
    const bytes = (await store.get(key)) as Buffer;
    await store.delete(key);
    expect((await ask("/prices")).status).toBe(500);
    await store.create(key, bytes);
    await eventually(async () => (await ask("/prices")).status === 200);
  });
});
