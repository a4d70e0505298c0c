/** Parts of downloads, from memory and streamed: beside ranges.http, what its requests cannot say. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openAccounts } from "../../src/state/open.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { FILES, snapshotFileKey } from "../../src/store/paths.ts";
import { changeHead } from "../cli/signed.ts";
import { dataPaths, pagePaths, uncountedPaths } from "./addresses.ts";
import type { CallOptions, Received } from "./client.ts";
import {
  eventually,
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

const N = BIG.length;

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

  test("a part has the fields of the whole file, and the whole file says that it has parts", async () => {
    const { date: _date, "content-length": _length, ...fields } = whole.headers;
    expect(fields["accept-ranges"]).toBe("bytes");
    const part = await ask({ range: "bytes=1-5" });
    const { date: _date2, "content-length": _length2, ...ofPart } = part.headers;
    expect(ofPart).toEqual({ ...fields, "content-range": `bytes 1-5/${N}` });
    const head = await ask({}, CSV, "HEAD");
    expect(head.headers["accept-ranges"]).toBe("bytes");
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

  test("JSON, usage and pages have no parts", async () => {
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
    const other = await openAccounts(state, proxy.clock);
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

test("a part also has the digest of the whole file for Node's fetch", async () => {
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
