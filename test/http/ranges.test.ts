/** Parts of downloads (RFC 9110, 14), from memory and streamed: which bytes, which status, what it costs. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openGatekeeper } from "../../src/state/open.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { FILES, snapshotFileKey } from "../../src/store/paths.ts";
import { changeHead } from "../cli/signed.ts";
import { dataPaths, pagePaths, uncountedPaths } from "./addresses.ts";
import type { CallOptions, Received } from "./client.ts";
import {
  eventually,
  publishedStore,
  publishSession,
  SESSION,
  startTestProxy,
  TestClock,
  type TestProxy,
} from "./fixture.ts";
import { expectCode } from "./refusal.ts";

const API = "/api/public/v1";
const CSV = `${API}/export.csv`;
const XLSX = `${API}/export.xlsx`;
const KEY = snapshotFileKey({ session: SESSION, revision: 1 }, FILES.csv("pro"));

/** Several pieces of a stream from a folder (64 kB each), and none of them like another. */
const BIG = Buffer.from(
  Array.from({ length: 30_000 }, (_, line) => `row ${line}\r\n`).join(""),
  "latin1",
);

/** Puts another pro/export.csv into the published snapshot. */
const putCsv = (store: ObjectStore, bytes: Buffer): Promise<void> =>
  changeHead(store, () => ({}), { [FILES.csv("pro")]: bytes });

const usedBy = async (proxy: TestProxy, key: string): Promise<number> =>
  (await proxy.get(`${API}/usage`, { key })).json.used;

type Expected = readonly [first: number, last: number] | 416 | 200;
const N = BIG.length;
const FIELDS: readonly (readonly [range: string | string[], expected: Expected])[] = [
  ["bytes=0-0", [0, 0]],
  ["bytes=0-99", [0, 99]],
  ["bytes=100-199", [100, 199]],
  ["bytes=65535-65536", [65_535, 65_536]],
  ["bytes=1000-200000", [1_000, 200_000]],
  [`bytes=0-${N - 1}`, [0, N - 1]],
  // An open end, and an end beyond the file.
  ["bytes=0-", [0, N - 1]],
  [`bytes=${N - 1}-`, [N - 1, N - 1]],
  [`bytes=200000-${N}`, [200_000, N - 1]],
  ["bytes=5-99999999999999999999999999", [5, N - 1]],
  // The last bytes; more of them than there are.
  ["bytes=-1", [N - 1, N - 1]],
  ["bytes=-70000", [N - 70_000, N - 1]],
  [`bytes=-${N + 1}`, [0, N - 1]],
  [`bytes=-${"9".repeat(400)}`, [0, N - 1]],
  // Nothing of the file.
  [`bytes=${N}-`, 416],
  [`bytes=${N}-${N + 5}`, 416],
  ["bytes=99999999999999999999999999-", 416],
  [`bytes=${"9".repeat(400)}-`, 416],
  ["bytes=-0", 416],
  ["bytes=-000", 416],
  // Allowed spellings of one range.
  ["Bytes=0-4", [0, 4]],
  ["BYTES=007-0010", [7, 10]],
  [" bytes=0-4 ", [0, 4]],
  ["bytes=,0-4", [0, 4]],
  ["bytes=0-4,", [0, 4]],
  ["bytes=, ,\t0-4 , ,", [0, 4]],
  // Several ranges, also in two fields.
  ["bytes=0-4,10-14", 200],
  ["bytes=0-4, 3-9", 200],
  ["bytes=0-0,-1", 200],
  [["bytes=0-4", "bytes=0-4"], 200],
  [`bytes=${Array.from({ length: 2_000 }, () => "0-0").join(",")}`, 200],
  // Other units.
  ["lines=0-4", 200],
  ["seconds=1-2", 200],
  ["none", 200],
  // What is not a range.
  ["", 200],
  ["bytes", 200],
  ["bytes=", 200],
  ["bytes=-", 200],
  ["bytes=,", 200],
  ["bytes=4", 200],
  ["bytes=5-2", 200],
  ["bytes=-5-2", 200],
  ["bytes=--5", 200],
  ["bytes=-1-", 200],
  ["bytes=+1-2", 200],
  ["bytes=0x0-0x4", 200],
  ["bytes=1e2-1e3", 200],
  ["bytes=1.0-2", 200],
  ["bytes=a-b", 200],
  ["bytes= 0-4", 200],
  ["bytes =0-4", 200],
  ["bytes=0 -4", 200],
  ["bytes=0- 4", 200],
  ["bytes=0-4;x", 200],
  ["bytes=0-4bytes=0-4", 200],
  ["bytes:0-4", 200],
  ["0-4", 200],
  ["bytes=é-4", 200],
  [`bytes=${",".repeat(10_000)}`, 200],
  [`bytes=${", \t".repeat(5_000)}x`, 200],
];

describe.each([
  ["from memory", 64_000_000],
  ["streamed", 0],
])("%s", (_, cacheBytes) => {
  let folder: string;
  let proxy: TestProxy;
  let whole: Received;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "chipboard-ranges-"));
    const store = new FolderStore(folder);
    await publishSession(store, new TestClock(), SESSION, { first: true });
    await putCsv(store, BIG);
    proxy = await startTestProxy({ store, cacheBytes });
    whole = await proxy.get(CSV, { key: proxy.pro });
    expect([whole.status, whole.raw.equals(BIG)]).toEqual([200, true]);
  });
  afterAll(async () => {
    await proxy.close();
    await rm(folder, { recursive: true, force: true });
  });

  const ask = (headers: NonNullable<CallOptions["headers"]>, path = CSV, method = "GET") =>
    proxy.get(path, { key: proxy.pro, headers, method });

  test.each(FIELDS)("Range: %.60s -> %j", async (range, expected) => {
    const before = await usedBy(proxy, proxy.pro);
    const { status, headers, raw, json } = await ask({ range });
    expect(status).toBe(typeof expected === "number" ? expected : 206);
    expect((await usedBy(proxy, proxy.pro)) - before).toBe(status === 416 ? 0 : 1);
    if (status === 416) {
      expect(headers["content-range"]).toBe(`bytes */${N}`);
      expect(json.code).toBe("range_not_satisfiable");
      return;
    }
    const [first, last] = typeof expected === "number" ? [0, N - 1] : expected;
    expect(headers["content-range"]).toBe(
      status === 206 ? `bytes ${first}-${last}/${N}` : undefined,
    );
    expect(headers["content-length"]).toBe(String(last - first + 1));
    expect(raw.equals(BIG.subarray(first, last + 1))).toBe(true);
  });

  test("a part has the fields of the whole file, and the whole file says that it has parts", async () => {
    const { date: _date, "content-length": _length, ...fields } = whole.headers;
    expect(fields["accept-ranges"]).toBe("bytes");
    const part = await ask({ range: "bytes=1-5" });
    const { date: _date2, "content-length": _length2, ...ofPart } = part.headers;
    expect(ofPart).toEqual({ ...fields, "content-range": `bytes 1-5/${N}` });
    const head = await ask({}, CSV, "HEAD");
    expect(head.headers["accept-ranges"]).toBe("bytes");
  });

  test("HEAD has no parts", async () => {
    for (const range of ["bytes=0-4", `bytes=${N}-`]) {
      const { status, headers } = await ask({ range }, CSV, "HEAD");
      expect([status, headers["content-length"]]).toEqual([200, String(N)]);
      expect(headers["content-range"]).toBeUndefined();
    }
  });

  test("a part is one of the uncoded file, whatever Accept-Encoding says", async () => {
    for (const accept of ["gzip", "br", "gzip, br", "identity;q=0, gzip"]) {
      const part = await ask({ range: "bytes=100-199", "accept-encoding": accept });
      expect([part.status, part.headers["content-encoding"]]).toEqual([206, undefined]);
      expect(part.headers.etag).toBe(whole.headers.etag);
      expect(part.raw.equals(BIG.subarray(100, 200))).toBe(true);
      // Where Range does not count, Accept-Encoding does.
      const all = await ask({ range: "bytes=0-4,7-9", "accept-encoding": accept });
      const coding = accept.includes("gzip") ? "gzip" : undefined;
      expect([all.status, all.headers["content-encoding"]]).toEqual([200, coding]);
      expect(all.body.equals(BIG)).toBe(true);
    }
  });

  test("If-Range: the strong tag or the date of the file as it is; otherwise the whole file", async () => {
    const etag = whole.headers.etag as string;
    const date = whole.headers["last-modified"] as string;
    const later = new Date(Date.parse(date) + 1_000).toUTCString();
    const earlier = new Date(Date.parse(date) - 1_000).toUTCString();
    const coded = await ask({ "accept-encoding": "gzip" });
    expect(coded.headers.etag).not.toBe(etag);
    const cases: [string, number][] = [
      [coded.headers.etag as string, 200],
      [etag, 206],
      [date, 206],
      [`W/${etag}`, 200],
      ['"other"', 200],
      [`${etag}, "other"`, 200],
      ["*", 200],
      ["", 200],
      [later, 200],
      [earlier, 200],
      [new Date(Date.parse(date)).toISOString(), 200],
      ["yesterday", 200],
    ];
    for (const [ifRange, status] of cases) {
      const part = await ask({ range: "bytes=7-9", "if-range": ifRange });
      expect([ifRange, part.status]).toEqual([ifRange, status]);
      expect(part.raw.equals(status === 206 ? BIG.subarray(7, 10) : BIG)).toBe(true);
    }
    // A range that has nothing: the whole file if the caller has a part of another one.
    expect((await ask({ range: `bytes=${N}-`, "if-range": '"other"' })).status).toBe(200);
    expect((await ask({ range: `bytes=${N}-`, "if-range": etag })).status).toBe(416);
    // Without Range it means nothing.
    expect((await ask({ "if-range": '"other"' })).status).toBe(200);
  });

  test("If-None-Match and If-Modified-Since come first: 304, at no cost", async () => {
    const before = await usedBy(proxy, proxy.pro);
    for (const range of ["bytes=0-4", `bytes=${N}-`]) {
      for (const headers of [
        { "if-none-match": whole.headers.etag as string },
        { "if-none-match": `W/${whole.headers.etag}, "x"` },
        { "if-modified-since": whole.headers["last-modified"] as string },
        { "if-none-match": whole.headers.etag as string, "if-range": '"other"' },
      ]) {
        const { status, raw, headers: fields } = await ask({ range, ...headers });
        expect([status, raw.length, fields["content-range"]]).toEqual([304, 0, undefined]);
        expect(fields.etag).toBe(whole.headers.etag);
      }
      const changed = await ask({ range: "bytes=0-4", "if-none-match": '"other"' });
      expect(changed.status).toBe(206);
    }
    expect(await usedBy(proxy, proxy.pro)).toBe(before + 2);
  });

  test("the workbook has parts, and they make the file", async () => {
    const { raw } = await ask({}, XLSX);
    const parts: Buffer[] = [];
    for (let first = 0; first < raw.length; first += 1_000) {
      const part = await ask({ range: `bytes=${first}-${first + 999}` }, XLSX);
      expect(part.status).toBe(206);
      parts.push(part.raw);
    }
    expect(Buffer.concat(parts).equals(raw)).toBe(true);
  });

  test("JSON, usage, pages and refusals have no parts", async () => {
    const json = dataPaths("pro").filter((path) => !/\.(?:csv|xlsx|parquet)$/.test(path));
    for (const path of [
      ...json,
      `${API}/index?ids=dram-0`,
      ...uncountedPaths("key"),
      ...uncountedPaths("everybody"),
      ...pagePaths(),
    ]) {
      for (const range of ["bytes=0-4", "bytes=99999999-", "bytes=-0"]) {
        const { status, headers } = await ask({ range }, path);
        expect([path, status]).toEqual([path, 200]);
        expect([headers["accept-ranges"], headers["content-range"]]).toEqual([
          undefined,
          undefined,
        ]);
      }
    }
    const range = { range: "bytes=0-4" };
    await expectCode(proxy, CSV, { headers: range }, "key_required");
    await expectCode(proxy, XLSX, { key: proxy.starter, headers: range }, "tier_required");
    await expectCode(proxy, `${CSV}?x=1`, { key: proxy.pro, headers: range }, "unknown_parameter");
  });

  test("while sessions are overdue, downloads keep their parts and tags", async () => {
    const date = whole.headers["last-modified"] as string;
    proxy.clock.ms += 24 * 3_600_000;
    try {
      const part = await ask({ range: "bytes=3-8", "if-range": whole.headers.etag as string });
      expect([part.status, part.text]).toEqual([206, BIG.subarray(3, 9).toString()]);
      expect(part.headers["x-delayed-sessions"]).toBe("1");
      expect((await ask({ range: "bytes=3-8", "if-range": date })).status).toBe(200);
    } finally {
      proxy.clock.ms -= 24 * 3_600_000;
    }
  });
});

test("at the quota: 429, to parts, to 416 and to 304", async () => {
  const state = await mkdtemp(join(tmpdir(), "chipboard-ranges-"));
  const proxy = await startTestProxy({ state });
  try {
    const { headers } = await proxy.get(CSV, { key: proxy.starter });
    const [size, etag] = [Number(headers["content-length"]), headers.etag as string];
    const ask = async (range: string, more: Record<string, string> = {}): Promise<unknown[]> => {
      const received = await proxy.get(CSV, { key: proxy.starter, headers: { range, ...more } });
      return [received.status, received.headers["x-ratelimit-remaining"]];
    };
    expect(await ask("bytes=0-4")).toEqual([206, "24998"]);
    expect(await ask(`bytes=${size}-`)).toEqual([416, "24998"]);
    // Another proxy on the same state takes all calls but one.
    const other = await openGatekeeper(state, proxy.clock);
    const { account_id } = await proxy.registry.account("small");
    const takes = Array.from({ length: 24_997 }, async () =>
      other.counts.take(`account:${account_id}`, 25_000, proxy.clock.ms),
    );
    await Promise.all(takes);
    await other.close();
    const parts = await Promise.all(Array.from({ length: 20 }, () => ask("bytes=0-4")));
    expect(parts.filter(([status]) => status === 206)).toEqual([[206, "0"]]);
    expect(parts.filter(([status]) => status === 429)).toHaveLength(19);
    expect(await ask(`bytes=${size}-`)).toEqual([429, "0"]);
    expect(await ask("bytes=0-4", { "if-none-match": etag })).toEqual([429, "0"]);
    expect(await usedBy(proxy, proxy.starter)).toBe(25_000);
  } finally {
    await proxy.close();
    await rm(state, { recursive: true, force: true });
  }
});

test.each([64_000_000, 0])("an empty file has no parts (cache of %i bytes)", async (cacheBytes) => {
  const store = await publishedStore();
  await putCsv(store, Buffer.alloc(0));
  const proxy = await startTestProxy({ store, cacheBytes });
  try {
    for (const [range, status] of [
      ["bytes=0-", 416],
      ["bytes=0-0", 416],
      ["bytes=-0", 416],
      ["bytes=-5", 200],
      ["bytes=1-0", 200],
    ] as const) {
      const received = await proxy.get(CSV, { key: proxy.pro, headers: { range } });
      expect([range, received.status]).toEqual([range, status]);
      if (status === 416) expect(received.headers["content-range"]).toBe("bytes */0");
      else expect([received.raw.length, received.headers["content-length"]]).toEqual([0, "0"]);
    }
  } finally {
    await proxy.close();
  }
});

describe("a streamed file that is damaged after the load", () => {
  let folder: string;
  let store: FolderStore;
  let proxy: TestProxy;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "chipboard-ranges-"));
    store = new FolderStore(folder);
    await publishSession(store, new TestClock(), SESSION, { first: true });
    await putCsv(store, BIG);
    proxy = await startTestProxy({ store, cacheBytes: 0 });
  });
  afterEach(async () => {
    await proxy.close();
    await rm(folder, { recursive: true, force: true });
  });

  const damage = async (bytes: Buffer): Promise<void> => {
    await store.delete(KEY);
    await store.create(KEY, bytes);
  };
  const ask = (range: string) => proxy.get(CSV, { key: proxy.pro, headers: { range } });

  test("no part of it arrives whole, wherever the damage is", async () => {
    for (const at of [0, 100_000, N - 1]) {
      const bytes = Buffer.from(BIG);
      bytes[at] = (bytes[at] as number) ^ 1;
      await damage(bytes);
      for (const range of ["bytes=0-4", "bytes=90000-170000", "bytes=-5", "bytes=0-"]) {
        await expect(ask(range)).rejects.toThrow(/aborted|hang up|reset/);
      }
    }
    for (const bytes of [BIG.subarray(0, N - 1), Buffer.concat([BIG, BIG.subarray(0, 1)])]) {
      await damage(bytes);
      await expect(ask("bytes=0-4")).rejects.toThrow(/aborted|hang up|reset/);
    }
    await eventually(() => proxy.logged.some((line) => line.includes("is damaged")));
    await damage(BIG);
    expect((await ask("bytes=0-4")).text).toBe("row 0");
  });

  test("gone: a 500 that costs no call; 304 and 416 need no file", async () => {
    const { headers } = await proxy.get(CSV, { key: proxy.pro, method: "HEAD" });
    await store.delete(KEY);
    await expectCode(proxy, CSV, { key: proxy.pro, headers: { range: "bytes=0-4" } }, "internal");
    expect((await ask(`bytes=${N}-`)).status).toBe(416);
    const both = { range: "bytes=0-4", "if-none-match": headers.etag as string };
    expect((await proxy.get(CSV, { key: proxy.pro, headers: both })).status).toBe(304);
    expect(await usedBy(proxy, proxy.pro)).toBe(1);
  });
});

test("a part has the digest of the whole file for Node's fetch, too", async () => {
  const proxy = await startTestProxy();
  try {
    const part = { "x-api-key": proxy.pro, range: "bytes=0-3", "accept-encoding": "identity" };
    const { status, headers } = await fetch(proxy.url + CSV, { headers: part });
    const whole = await proxy.get(CSV, { key: proxy.pro });
    expect([status, headers.get("unencoded-digest")]).toEqual([
      206,
      whole.headers["unencoded-digest"],
    ]);
  } finally {
    await proxy.close();
  }
});
