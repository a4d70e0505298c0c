/** ETags: their inputs, and the cost of a 304; beside conditional.http. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  copyOf,
  eventually,
  publishedStore,
  publishSession,
  SESSION,
  sessionsMs,
  startTestProxy,
  TestClock,
  type TestProxy,
} from "./fixture.ts";
import { dataPaths } from "./addresses.ts";

const API = "/api/public/v1";
const BASKET = "/index?ids=dram-0,dram-1&weights=60,40";
const DATA = [...dataPaths("pro").map((path) => path.slice(API.length)), BASKET];

const tagOf = async (proxy: TestProxy, path: string, coding = "identity"): Promise<string> => {
  const options = { key: proxy.pro, headers: { "accept-encoding": coding } };
  return (await proxy.get(API + path, options)).headers.etag as string;
};

describe("an ETag depends on", () => {
  test("the snapshot: the same bytes of another one have another tag", async () => {
    const proxy = await startTestProxy();
    try {
      const ask = (path: string, headers = {}) =>
        proxy.get(API + path, { key: proxy.pro, headers });
      const paths = ["/prices/dram-0", "/index?ids=dram-0", BASKET];
      const before = await Promise.all(paths.map((path) => ask(path)));
      const revision = { ids: ["chip-0"], usd: 11.5, revise: "chip-0 was wrong" };
      await publishSession(proxy.store, proxy.clock, SESSION, revision);
      await eventually(
        async () =>
          (await ask("/prices")).headers["x-snapshot"] !== before[0]?.headers["x-snapshot"],
      );
      for (const [at, path] of paths.entries()) {
        const { text, headers } = before[at] as (typeof before)[number];
        const tag = headers.etag as string;
        const after = await ask(path, { "if-none-match": tag });
        expect([path, after.status, after.text === text]).toEqual([path, 200, true]);
        expect(after.headers.etag).not.toBe(tag);
      }
    } finally {
      await proxy.close();
    }
  });

  test("path, coding and delay: all differ", async () => {
    const proxy = await startTestProxy();
    try {
      const tags: string[] = [];
      for (const coding of ["identity", "gzip"]) {
        for (const path of ["/prices", "/prices/dram-0", "/prices/dram-1", "/index"]) {
          tags.push(await tagOf(proxy, path, coding));
        }
      }
      for (const key of [proxy.starter, undefined]) {
        const options = key === undefined ? {} : { key };
        tags.push((await proxy.get(`${API}/prices`, options)).headers.etag as string);
      }
      for (const query of [
        "dram-0",
        "dram-0,dram-1",
        "dram-1,dram-0",
        "dram-0,dram-1&weights=1,1",
        "dram-0,dram-1&weights=1,2",
        "dram-0,dram-1&quantities=1,1",
        "dram-0,dram-1&quantities=1,2",
      ]) {
        tags.push(await tagOf(proxy, `/index?ids=${query}`));
      }
      for (const missing of [1, 2]) {
        proxy.clock.ms = new TestClock().ms + 3_600_000 + sessionsMs(missing);
        for (const path of ["/prices", "/index", BASKET]) tags.push(await tagOf(proxy, path));
      }
      expect(new Set(tags).size).toBe(tags.length);
      for (const tag of tags) expect(tag).toMatch(/^"[\x21\x23-\x7e]+"$/);
    } finally {
      await proxy.close();
    }
  });

  test("nothing else: proxies with files in memory or in the store agree, also after a restart", async () => {
    const store = await publishedStore();
    const proxies = [
      await startTestProxy({ store: await copyOf(store) }),
      await startTestProxy({ store: await copyOf(store), cacheBytes: 1 }),
      await startTestProxy({ store }),
    ];
    try {
      for (const path of DATA) {
        const tags = await Promise.all(proxies.map((proxy) => tagOf(proxy, path)));
        expect([path, new Set(tags).size]).toEqual([path, 1]);
      }
    } finally {
      for (const proxy of proxies) await proxy.close();
    }
  });
});

describe("what a 304 costs", () => {
  let proxy: TestProxy;
  beforeAll(async () => {
    proxy = await startTestProxy();
  });
  afterAll(() => proxy.close());

  const usedBy = async (key: string): Promise<number> =>
    (await proxy.get(`${API}/usage`, { key })).json.used;

  test("one call for *, with GET and HEAD, on every address with data", async () => {
    for (const path of DATA) {
      for (const method of ["GET", "HEAD"]) {
        for (const value of ["*", " * "]) {
          const used = await usedBy(proxy.pro);
          const options = { key: proxy.pro, method, headers: { "if-none-match": value } };
          const { status, raw, headers } = await proxy.get(API + path, options);
          expect([path, method, status, raw.length]).toEqual([path, method, 304, 0]);
          expect(headers.etag).toBeDefined();
          expect(await usedBy(proxy.pro)).toBe(used + 1);
        }
      }
    }
  });

  test("x-ratelimit-remaining of a 304 to * is the number left after it", async () => {
    const headers = { "if-none-match": "*" };
    const first = await proxy.get(`${API}/prices`, { key: proxy.starter, headers });
    const second = await proxy.get(`${API}/prices`, { key: proxy.starter, headers });
    expect([first, second].map((answer) => answer.headers["x-ratelimit-remaining"])).toEqual([
      "24999",
      "24998",
    ]);
  });

  test("the last call can be a 304; then 429", async () => {
    const any = { headers: { "if-none-match": "*" } };
    const calls = Array.from({ length: 1_100 }, () => proxy.get(`${API}/prices`, any));
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 304)).toHaveLength(1_000);
    expect(statuses.filter((status) => status === 429)).toHaveLength(100);
    expect((await proxy.get(`${API}/usage`)).json.used).toBe(1_000);
  });
});
