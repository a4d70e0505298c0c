/** Conditional requests, content codings, HEAD, cache and CORS fields. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sessionStartMs } from "../../src/market/session.ts";
import { SUMS_ROUTE } from "../../src/proxy/routes.ts";
import { storedKey } from "../store/stored-file.ts";
import { dataPaths, pagePaths, uncountedPaths } from "./addresses.ts";
import { SESSION, startTestProxy, type TestProxy } from "./fixture.ts";

const API = "/api/public/v1";
const VARY = "Authorization, X-Api-Key, Accept-Encoding";

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy();
});
afterAll(() => proxy.close());

const ask = (path: string, headers: Record<string, string> = {}, method = "GET") =>
  proxy.get(API + path, { key: proxy.pro, headers, method });

describe("conditional requests", () => {
  test("each coding has its own strong tag, and a 304 has the fields that a cache needs", async () => {
    const tags = new Set<string>();
    for (const coding of ["identity", "gzip"]) {
      const full = await ask("/prices", { "accept-encoding": coding });
      const etag = full.headers.etag as string;
      expect(etag).toMatch(/^"[\x21\x23-\x7e]+"$/);
      tags.add(etag);
      const again = await ask("/prices", { "accept-encoding": coding, "if-none-match": etag });
      expect([again.status, again.raw.length]).toEqual([304, 0]);
      expect(again.headers).toMatchObject({
        etag,
        vary: VARY,
        "cache-control": full.headers["cache-control"],
        "last-modified": full.headers["last-modified"],
        "x-snapshot": full.headers["x-snapshot"],
      });
      expect(again.headers["content-length"]).toBeUndefined();
    }
    expect(tags.size).toBe(2);
    const [plain = ""] = tags;
    const other = { "accept-encoding": "gzip", "if-none-match": plain };
    expect((await ask("/prices", other)).status).toBe(200);
  });

  test("lists, weak tags, * and HEAD", async () => {
    const { headers } = await ask("/prices");
    const etag = headers.etag as string;
    const matching = [
      etag,
      `W/${etag}`,
      `"a", ${etag}`,
      `"a,b" , W/"c",${etag},"d"`,
      "*",
      ` ${etag} `,
    ];
    for (const value of matching) {
      expect([value, (await ask("/prices", { "if-none-match": value })).status]).toEqual([
        value,
        304,
      ]);
      expect((await ask("/prices", { "if-none-match": value }, "HEAD")).status).toBe(304);
    }
    const others = [
      '"other"',
      etag.slice(1, -1),
      `"${etag}"`,
      "",
      `x${etag}`,
      '"*"',
      `"unclosed, ${etag.slice(1)}`,
    ];
    for (const value of others) {
      expect([value, (await ask("/prices", { "if-none-match": value })).status]).toEqual([
        value,
        200,
      ]);
    }
  });

  test("If-Modified-Since counts if there is no If-None-Match", async () => {
    const { headers } = await ask("/prices");
    const since = headers["last-modified"] as string;
    const earlier = new Date(Date.parse(since) - 1_000).toUTCString();
    expect((await ask("/prices", { "if-modified-since": since })).status).toBe(304);
    expect((await ask("/prices", { "if-modified-since": earlier })).status).toBe(200);
    expect((await ask("/prices", { "if-modified-since": "yesterday" })).status).toBe(200);
    const both = { "if-modified-since": since, "if-none-match": '"other"' };
    expect((await ask("/prices", both)).status).toBe(200);
  });

  test("every route with data, also baskets and pages", async () => {
    const data = [...dataPaths("pro"), `${API}/index?ids=dram-0`, SUMS_ROUTE.path];
    for (const path of [...data, ...pagePaths(), "/openapi.json"]) {
      const { headers } = await proxy.get(path, { key: proxy.pro });
      const again = { key: proxy.pro, headers: { "if-none-match": headers.etag as string } };
      expect([path, (await proxy.get(path, again)).status]).toEqual([path, 304]);
    }
  });
});

describe("content codings", () => {
  const CASES: readonly (readonly [acceptEncoding: string, coding: string | undefined])[] = [
    ["", undefined],
    ["identity", undefined],
    ["gzip", "gzip"],
    ["x-gzip", "gzip"],
    ["GZIP", "gzip"],
    ["br", undefined],
    ["gzip, deflate, br, zstd", "gzip"],
    ["gzip;q=0.5, br", "gzip"],
    ["br;q=0, gzip", "gzip"],
    ["gzip;q=0", undefined],
    ["*", "gzip"],
    ["*;q=0, gzip;q=0.1", "gzip"],
    ["br;q=0, *;q=0.3", "gzip"],
    ["identity;q=0", undefined],
    ["identity;q=0, gzip", "gzip"],
    ["identity;q=0, *;q=0", undefined],
    ["identity;q=0.5, gzip;q=0.4", undefined],
    ["identity;q=1, gzip;q=1", "gzip"],
    ["deflate, zstd", undefined],
    ["gzip;q=2", undefined],
    ["gzip;q=abc, br;;", undefined],
    ["gzip;q=0, *", undefined],
    [" gzip ; q=0.8 ", "gzip"],
  ];
  for (const [acceptEncoding, coding] of CASES) {
    test(`Accept-Encoding: ${acceptEncoding} -> ${coding ?? "identity"}`, async () => {
      const plain = await ask("/prices/dram-0");
      const coded = await ask("/prices/dram-0", { "accept-encoding": acceptEncoding });
      expect(coded.headers["content-encoding"]).toBe(coding);
      expect(coded.headers["content-length"]).toBe(String(coded.raw.length));
      expect(coded.headers.vary).toBe(VARY);
      expect(coded.body.equals(plain.body)).toBe(true);
      if (coding === undefined) return;
      expect(coded.raw.length).toBeLessThan(plain.raw.length / 3);
      const key = storedKey({ session: SESSION, revision: 1 }, "pro/contracts/dram-0.json");
      expect(coded.raw).toEqual(await proxy.store.get(key));
    });
  }

  test.each([
    ["/export.xlsx", "PK"],
    ["/history.parquet", "PAR1"],
  ])("%s, compressed by itself, is sent as it is", async (path, start) => {
    const { headers, raw } = await ask(path, { "accept-encoding": "br, gzip" });
    expect(headers["content-encoding"]).toBeUndefined();
    expect(raw.toString("latin1", 0, start.length)).toBe(start);
  });
});

test("HEAD has the fields of GET and no body, on every address", async () => {
  const found = [
    ...dataPaths("pro"),
    SUMS_ROUTE.path,
    ...uncountedPaths("key"),
    ...uncountedPaths("everybody"),
    ...pagePaths(),
    `${API}/index?ids=dram-0`,
    `${API}/publications?limit=1`,
    "/assets/reference.js",
  ];
  for (const path of [...found, "/none", `${API}/index?x=1`]) {
    const headers = { "accept-encoding": "gzip" };
    const get = await proxy.get(path, { key: proxy.pro, headers });
    const head = await proxy.get(path, { key: proxy.pro, headers, method: "HEAD" });
    const { date: _, ...ofGet } = get.headers;
    const { date: __, ...ofHead } = head.headers;
    expect([path, head.status, ofHead]).toEqual([path, get.status, ofGet]);
    expect([path, get.status === 200]).toEqual([path, found.includes(path)]);
    expect(head.headers["content-length"]).toBe(String(get.raw.length));
  }
});

test("max-age is a minute at most, and ends before the next session and the end of the grace", async () => {
  const { clock } = proxy;
  const start = sessionStartMs(SESSION);
  const hours = 3_600_000;
  const expected: [number, number][] = [
    [start + 5 * 60_000, 60],
    [start + 12 * hours - 60_000, 60],
    [start + 12 * hours - 59_000, 59],
    [start + 12 * hours - 1_500, 1],
    [start + 12 * hours - 1, 0],
    [start + 12 * hours, 60],
    [start + 13 * hours - 30_000, 30],
    [start + 13 * hours, 60],
    [start + 24 * hours - 10_000, 10],
  ];
  const before = clock.ms;
  for (const [ms, seconds] of expected) {
    clock.ms = ms;
    const { headers } = await ask("/prices");
    expect([ms - start, headers["cache-control"]]).toEqual([
      ms - start,
      `private, max-age=${seconds}`,
    ]);
  }
  clock.ms = before;
});

test("any page may read every answer, and its fields", async () => {
  const origin = { origin: "https://example.com" };
  for (const path of ["/prices", "/prices?x=1", "/none"]) {
    const { headers } = await ask(path, origin);
    expect(headers["access-control-allow-origin"]).toBe("*");
    for (const name of [
      "X-RateLimit-Remaining",
      "X-Session-UTC",
      "X-Delayed-Sessions",
      "X-Snapshot",
      "ETag",
      "Retry-After",
    ]) {
      expect(headers["access-control-expose-headers"]?.split(", ")).toContain(name);
    }
  }
});

test("problems are not stored and vary like the data", async () => {
  const { headers, text } = await ask("/prices?x=1");
  expect(headers).toMatchObject({
    "cache-control": "no-store",
    "content-type": "application/problem+json",
    vary: VARY,
  });
  expect(headers["content-length"]).toBe(String(Buffer.byteLength(text)));
});

test("the OpenAPI document is the one the tests check with", async () => {
  const { openApiDocument } = await import("../../src/docs/openapi.ts");
  const { json, headers } = await proxy.get("/openapi.json");
  // Requests of examples name contracts of the served market (test/guide/names.test.ts).
  const withoutExamples = (document: unknown): unknown =>
    JSON.parse(JSON.stringify(document), (name, value) => (name === "examples" ? null : value));
  expect(withoutExamples(json)).toEqual(
    withoutExamples({ ...openApiDocument(), servers: [{ url: "/" }] }),
  );
  expect(headers["content-type"]).toBe("application/json");
});
