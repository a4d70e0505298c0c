/** Old snapshots that are damaged, lost or pruned: none of their bytes are sent, and live answers go on. */
import { afterEach, describe, expect, test } from "vitest";
import { prune } from "../../src/desk/prune.ts";
import { API } from "../../src/public/routes.ts";
import type { MemoryStore } from "../store/memory-store.ts";
import { storedKey } from "../store/stored-file.ts";
import {
  codedPath,
  FILES,
  publicationKey,
  snapshotFileKey,
  snapshotFolder,
  type SnapshotName,
} from "../../src/store/paths.ts";
import {
  copyOf,
  publishedStore,
  publishSession,
  SESSION,
  sessionsMs,
  startTestProxy,
  TestClock,
  type TestProxy,
  type TestProxyOptions,
} from "./fixture.ts";
import { expectCode } from "./refusal.ts";

const OLD: SnapshotName = { session: SESSION, revision: 1 };
const HEAD = 3;
const LOGGED_ERROR = '"level":50';

let store: MemoryStore;
let proxy: TestProxy;
afterEach(() => proxy.close());

let published: Promise<MemoryStore> | undefined;

/** A store with three entries, each of another session. */
async function threeSessions(): Promise<MemoryStore> {
  published ??= (async () => {
    const made = await publishedStore();
    for (const ahead of [1, 2]) {
      const clock = new TestClock(new TestClock().ms + sessionsMs(ahead));
      await publishSession(made, clock, SESSION + ahead, { usd: 11 + ahead });
    }
    return made;
  })();
  return copyOf(await published);
}

async function serve(options: TestProxyOptions = {}): Promise<void> {
  store = await threeSessions();
  const clock = new TestClock(new TestClock().ms + sessionsMs(2));
  proxy = await startTestProxy({ store, clock, ...options });
}

/** Replaces the bytes of a key; null: removes it. No store does this itself. */
async function put(key: string, bytes: Buffer | null): Promise<void> {
  await store.delete(key);
  if (bytes !== null) await store.create(key, bytes);
}

const flipped = (bytes: Buffer): Buffer => {
  const copy = Buffer.from(bytes);
  copy[copy.length - 10] = (copy.at(-10) as number) ^ 1;
  return copy;
};

const DAMAGES: readonly (readonly [string, (bytes: Buffer) => Buffer | null])[] = [
  ["a flipped byte", flipped],
  ["a byte less", (bytes) => bytes.subarray(0, -1)],
  ["a byte more", (bytes) => Buffer.concat([bytes, Buffer.from("\n")])],
  ["nothing in it", () => Buffer.alloc(0)],
  ["everything gone", () => null],
];

const board = `${API}/prices`;

/** Files of OLD, and the paths that they answer. */
const FILES_ASKED: readonly (readonly [file: string, path: string])[] = [
  [FILES.board("pro"), "/prices"],
  [FILES.contract("pro", "dram-0"), "/prices/dram-0"],
  [FILES.csv("pro"), "/export.csv"],
  [codedPath(FILES.index("pro")), "/index"],
  [FILES.levelsCsv("pro"), "/levels.csv"],
  [FILES.supersededCsv("pro"), "/superseded.csv"],
  [FILES.xlsx("pro"), "/export.xlsx"],
  [FILES.historyParquet("pro"), "/history.parquet"],
  [FILES.basket("pro"), "/index?ids=dram-0,dram-1"],
];
const EVERY_PATH = FILES_ASKED.map(([, path]) => path);
const ofPublication = (path: string, number: number): string =>
  `${API}${path}${path.includes("?") ? "&" : "?"}publication=${number}`;

const used = async (): Promise<number> =>
  (await proxy.get(`${API}/usage`, { key: proxy.pro })).json.used;

async function expectLive(): Promise<void> {
  const { status, headers } = await proxy.get(`${API}/prices`, { key: proxy.pro });
  expect([status, headers["x-publication"]]).toEqual([200, String(HEAD)]);
  expect((await proxy.get("/readyz")).json).toMatchObject({ status: "ready", store: "ok" });
}

/** Expects a 500 that has nothing of the file and costs nothing, and a line of the log about it. */
async function expectDamage(path: string, key: string): Promise<void> {
  const before = await used();
  for (const options of [{}, { headers: { range: "bytes=0-9" } }, { method: "HEAD" }]) {
    const url = ofPublication(path, 1);
    const { status, json, text, headers } = await proxy.get(url, { key: proxy.pro, ...options });
    const code = "method" in options ? undefined : "internal";
    expect([path, options, status, json?.code]).toEqual([path, options, 500, code]);
    expect(text).not.toMatch(/dram-0|sessions\/|sha/i);
    expect(headers).not.toHaveProperty("etag");
    expect(headers).not.toHaveProperty("x-publication");
  }
  expect(await used()).toBe(before);
  expect(proxy.logged.filter((line) => line.includes(LOGGED_ERROR)).join("")).toContain(key);
}

async function expectServed(path: string, number: number): Promise<void> {
  const { status, headers } = await proxy.get(ofPublication(path, number), { key: proxy.pro });
  expect([path, status, headers["x-publication"]]).toEqual([path, 200, String(number)]);
}

describe.each([
  ["with memory", 64_000_000],
  ["without memory", 0],
])("%s", (_, cacheBytes) => {
  test.each(DAMAGES)(
    "a file with %s: 500 until it is mended; all else is served",
    async (__, damage) => {
      await serve({ cacheBytes });
      const whole = new Map<string, Buffer>();
      for (const [file] of FILES_ASKED) {
        const key = storedKey(OLD, file);
        whole.set(key, (await store.get(key)) as Buffer);
        await put(key, damage(whole.get(key) as Buffer));
      }
      for (const [file, path] of FILES_ASKED) await expectDamage(path, storedKey(OLD, file));
      await expectServed("/prices/dram-1", 1);
      for (const path of EVERY_PATH) await expectServed(path, 2);
      await expectLive();
      for (const [key, bytes] of whole) await put(key, bytes);
      for (const path of EVERY_PATH) await expectServed(path, 1);
    },
  );

  test.each(DAMAGES)("a manifest with %s: the same for all of its files", async (__, damage) => {
    await serve({ cacheBytes });
    const key = snapshotFileKey(OLD, FILES.manifest);
    const whole = (await store.get(key)) as Buffer;
    await put(key, damage(whole));
    for (const path of EVERY_PATH) await expectDamage(path, key);
    for (const path of EVERY_PATH) await expectServed(path, 2);
    await expectLive();
    await put(key, whole);
    for (const path of EVERY_PATH) await expectServed(path, 1);
  });
});

test("a streamed file that is damaged after an answer: the first to find out gets no whole body, the next ones a 500", async () => {
  // Enough for the files' descriptions; the workbook is larger than the part of a file that is held.
  await serve({ cacheBytes: 1_000_000 });
  await expectServed("/export.xlsx", 1);
  const key = snapshotFileKey(OLD, FILES.xlsx("pro"));
  const whole = (await store.get(key)) as Buffer;
  await put(key, flipped(whole));
  const asked = proxy.get(ofPublication("/export.xlsx", 1), { key: proxy.pro });
  await expect(asked).rejects.toThrow(/aborted|hang up|reset/);
  await expectDamage("/export.xlsx", key);
  await put(key, whole);
  await expectServed("/export.xlsx", 1);
});

test.each([
  ["damaged", Buffer.from("{")],
  ["gone", null],
])("an entry of the log that is %s: 500 where it decides, until it is mended", async (_, bytes) => {
  store = await threeSessions();
  const key = publicationKey(1);
  const whole = (await store.get(key)) as Buffer;
  await put(key, bytes);
  const clock = new TestClock(new TestClock().ms + sessionsMs(2));
  proxy = await startTestProxy({ store, clock });
  const paths = ["publication=1", "as_of=2026-11-21T12:00:00Z"].map((text) => `${board}?${text}`);
  for (const path of paths) await expectCode(proxy, path, { key: proxy.pro }, "internal");
  expect(proxy.logged.join("")).toContain(key);
  for (const parameter of ["publication=2", "as_of=2026-11-21T12:06:00Z"]) {
    const { headers } = await proxy.get(`${board}?${parameter}`, { key: proxy.pro });
    expect(headers["x-publication"]).toBe("2");
  }
  expect((await proxy.get(board, { key: proxy.pro })).status).toBe(200);
  await put(key, whole);
  const statuses = (): Promise<number[]> =>
    Promise.all(paths.map(async (path) => (await proxy.get(path, { key: proxy.pro })).status));
  // A poll finds that it is whole again.
  await expect.poll(statuses).toEqual(paths.map(() => 200));
});

test("an entry in the middle of the log that is damaged: instants that it does not decide are answered", async () => {
  store = await threeSessions();
  const key = publicationKey(2);
  const whole = (await store.get(key)) as Buffer;
  await put(key, Buffer.from("{"));
  const clock = new TestClock(new TestClock().ms + sessionsMs(2));
  proxy = await startTestProxy({ store, clock });
  const at = async (instant: string): Promise<unknown> => {
    const { status, headers } = await proxy.get(`${board}?as_of=${instant}`, { key: proxy.pro });
    return headers["x-publication"] ?? status;
  };
  const instants = [
    "2026-11-20T12:00:00Z",
    "2026-11-21T12:00:00Z",
    "2026-11-21T12:06:00Z",
    "2026-11-22T00:05:00Z",
  ];
  expect(await Promise.all(instants.map(at))).toEqual([404, 500, 500, "3"]);
  await put(key, whole);
  // A poll finds that it is whole again.
  const published = (): Promise<unknown[]> => Promise.all(instants.map(at));
  await expect.poll(published).toEqual([404, "1", "2", "3"]);
});

test("a whole snapshot that is lost, and that no entry prunes, is damage", async () => {
  await serve();
  for await (const { key } of store.list(snapshotFolder(OLD))) await store.delete(key);
  for (const key of [proxy.starter, proxy.pro]) {
    await expectCode(proxy, `${API}/prices?publication=1`, { key }, "internal");
  }
  await expectLive();
});

describe("a prune that the proxy has not seen yet", () => {
  const taken = async (): Promise<readonly string[]> =>
    (await prune(store, 0, false, proxy.clock)).snapshots.map(({ name }) => name);

  test("410, also for a snapshot that was in use before, and its files that are not in memory", async () => {
    await serve({ pollMs: 600_000 });
    const opened = await proxy.get(`${API}/prices?publication=1`, { key: proxy.pro });
    expect(opened.status).toBe(200);
    proxy.clock.ms += 2 * 3_600_000;
    expect(await taken()).toEqual(["2026-11-21T00Z/r1"]);
    await expectCode(proxy, `${API}/export.csv?publication=1`, { key: proxy.pro }, "pruned");
    // From now on the proxy knows of the prune.
    await expectCode(proxy, `${API}/prices?publication=1`, { key: proxy.pro }, "pruned");
    expect((await proxy.get(`${API}/prices?publication=2`, { key: proxy.pro })).status).toBe(200);
    expect(proxy.logged.filter((line) => line.includes(LOGGED_ERROR))).toEqual([]);
  });

  test("410 for a snapshot that was never opened", async () => {
    await serve({ pollMs: 600_000 });
    proxy.clock.ms += 2 * 3_600_000;
    expect(await taken()).toHaveLength(1);
    for (const key of [proxy.starter, proxy.pro]) {
      await expectCode(proxy, `${API}/prices?publication=1`, { key }, "pruned");
      await expectCode(proxy, `${API}/prices/no-such?publication=1`, { key }, "pruned");
    }
    expect(proxy.logged.filter((line) => line.includes(LOGGED_ERROR))).toEqual([]);
  });

  test("410 for a file that was streamed before; the snapshot's description is still in memory", async () => {
    // Enough for the files' descriptions; the workbook is larger than the part of a file that is held.
    await serve({ pollMs: 600_000, cacheBytes: 800_000 });
    const path = `${API}/export.xlsx?publication=1`;
    expect((await proxy.get(path, { key: proxy.pro })).status).toBe(200);
    const before = await used();
    proxy.clock.ms += 2 * 3_600_000;
    expect(await taken()).toHaveLength(1);
    await expectCode(proxy, path, { key: proxy.pro }, "pruned");
    expect(await used()).toBe(before);
    expect(proxy.logged.filter((line) => line.includes(LOGGED_ERROR))).toEqual([]);
  });

  test("410 while it is being removed", async () => {
    await serve({ pollMs: 600_000 });
    const key = snapshotFileKey(OLD, FILES.board("pro"));
    const bytes = (await store.get(key)) as Buffer;
    const manifestKey = snapshotFileKey(OLD, FILES.manifest);
    const manifest = (await store.get(manifestKey)) as Buffer;
    proxy.clock.ms += 2 * 3_600_000;
    await taken();
    // The manifest goes last, so it may be there without a file.
    await put(manifestKey, manifest);
    await expectCode(proxy, `${API}/prices?publication=1`, { key: proxy.pro }, "pruned");
    // A removal that failed: the entry counts, not the files.
    await put(key, bytes);
    await expectCode(proxy, `${API}/prices?publication=1`, { key: proxy.pro }, "pruned");
  });
});
