/** The list of publications: what the log says, to everybody, for nothing. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, test } from "vitest";
import { UnreachableError } from "../../src/lib/errors.ts";
import { prune } from "../../src/desk/prune.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import { publicationKey } from "../../src/store/paths.ts";
import { appendRollbacks } from "../../tools/bench/vintage-store.ts";
import { InterceptedStore } from "../faults/crash-store.ts";
import { Visitor } from "./crowd.ts";
import {
  eventually,
  publishedStore,
  publishSession,
  SESSION,
  sessionsMs,
  startTestProxy,
  TestClock,
  type TestProxy,
} from "./fixture.ts";
import { expectCode } from "./refusal.ts";
import { MemoryStore } from "../store/memory-store.ts";

const PATH = "/api/public/v1/publications";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** What objects in use take, in bytes. */
function usedHeapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

let proxy: TestProxy;
afterEach(() => proxy.close());

interface Row {
  readonly number: number;
  readonly action: string;
  readonly snapshot: string | null;
  readonly corrections: number | null;
}
const rowsAt = async (path = PATH): Promise<Row[]> => (await proxy.get(path)).json.publications;
const has = (count: number) => async (): Promise<boolean> => (await rowsAt()).length === count;

describe("a log that grows", () => {
  test("publish, revision, rollback and prune, each with its effect", async () => {
    const clock = new TestClock();
    proxy = await startTestProxy({ clock });
    const { store } = proxy;
    expect((await proxy.get(PATH)).json).toEqual({
      publications: [
        {
          number: 1,
          at: "2026-11-21T00:05:00.000Z",
          action: "publish",
          snapshot: "2026-11-21T00Z/r1",
          session_utc: "2026-11-21T00:00:00.000Z",
          revision: 1,
          reason: null,
          corrections: 0,
        },
      ],
      next: null,
    });
    await publishSession(store, clock, SESSION, { ids: ["dram-0"], usd: 12, revise: "Restated" });
    clock.ms += sessionsMs(1);
    await publishSession(store, clock, SESSION + 1, { ids: ["dram-0"], usd: 13 });
    await rollBack(store, "2026-11-21T00Z/r2", "Wrong feed", clock);
    clock.ms += sessionsMs(20);
    await publishSession(store, clock, SESSION + 21, { usd: 13 });
    await prune(store, 1, false, clock);
    await eventually(has(6));
    const rows = await rowsAt();
    expect(
      rows.map(({ number, action, snapshot, corrections }) => [
        number,
        action,
        snapshot,
        corrections,
      ]),
    ).toEqual([
      [1, "publish", "2026-11-21T00Z/r1", 0],
      [2, "publish", "2026-11-21T00Z/r2", 1],
      [3, "publish", "2026-11-21T12Z/r1", 0],
      [4, "rollback", "2026-11-21T00Z/r2", 0],
      [5, "publish", "2026-12-01T12Z/r1", 0],
      [6, "prune", null, null],
    ]);
    expect(rows[3]).toMatchObject({
      reason: "Wrong feed",
      session_utc: "2026-11-21T00:00:00.000Z",
    });
    expect(rows[5]).toEqual({
      number: 6,
      at: new Date(clock.ms).toISOString(),
      action: "prune",
      snapshot: null,
      session_utc: null,
      revision: null,
      reason: null,
      corrections: null,
    });
    const pages: unknown[] = [];
    for (let after: number | null = 0; after !== null;) {
      const { json } = await proxy.get(`${PATH}?after=${after}&limit=4`);
      pages.push(...json.publications);
      after = json.next;
    }
    expect(pages).toEqual(rows);
    expect((await proxy.get(`${PATH}?limit=2`)).json).toEqual({
      publications: rows.slice(-2),
      next: null,
    });
    expect((await proxy.get(`${PATH}?after=6`)).json).toEqual({ publications: [], next: null });
  });

  test("a poller gets 304 until something happens, at no cost", async () => {
    proxy = await startTestProxy();
    const key = proxy.starter;
    for (const path of [PATH, `${PATH}?after=0`, `${PATH}?limit=5`]) {
      const first = await proxy.get(path, { key });
      const headers = { "if-none-match": first.headers.etag as string };
      const again = await proxy.get(path, { key, headers });
      expect([again.status, again.raw.length]).toEqual([304, 0]);
      expect(again.headers).toMatchObject({ "x-ratelimit-remaining": "25000" });
      expect(again.headers["cache-control"]).toMatch(/^private, max-age=\d\d?$/);
    }
    const any = await proxy.get(PATH, { key, headers: { "if-none-match": "*" } });
    expect([any.status, any.headers["x-ratelimit-remaining"]]).toEqual([304, "25000"]);
    const { headers } = await proxy.get(PATH);
    await publishSession(proxy.store, proxy.clock, SESSION, { usd: 12, revise: "Restated" });
    await eventually(has(2));
    const changed = { "if-none-match": headers.etag as string };
    expect((await proxy.get(PATH, { headers: changed })).status).toBe(200);
  });
});

test("a hundred pages that nobody reads share the rows of the log", async () => {
  const store = await publishedStore();
  await appendRollbacks(store, 1_500, 1_000);
  const clock = new TestClock(new TestClock().ms + 3_600_000);
  proxy = await startTestProxy({ store, clock, limits: { waitingBytes: 1_000_000_000 } });
  const rows = [
    ...(await rowsAt(`${PATH}?after=0&limit=1000`)),
    ...(await rowsAt(`${PATH}?after=1000&limit=1000`)),
  ];
  expect(rows).toHaveLength(1_501);
  const caller = await Visitor.at(proxy.url);
  const heldBytes = (): number => process.memoryUsage().arrayBuffers + usedHeapBytes();
  const before = heldBytes();
  const pages = Array.from({ length: 100 }, (_, page) => [page, 900] as const);
  const asked = pages.map(([after, limit]) => `${PATH}?after=${after}&limit=${limit}`);
  caller.pause();
  caller.send(asked.map((target) => `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`).join(""));
  const answered = (): number =>
    proxy.logged.filter((line) => line.includes(`"route":"${PATH}"`)).length - 2;
  await eventually(() => answered() === asked.length);
  expect(heldBytes() - before).toBeLessThan(8_000_000);
  caller.resume();
  await eventually(() => caller.received.endsWith(`],"next":999}\n`));
  const bodies = caller.received.split(/(?:^|\n)HTTP\/1.1 200 OK\r\n.*?\r\n\r\n/s).slice(1);
  for (const [at, [after, limit]] of pages.entries()) {
    const publications = rows.slice(after, after + limit);
    expect(JSON.parse(bodies[at] as string)).toEqual({ publications, next: after + limit });
  }
});

describe("the order of checks", () => {
  test("key, no session, parameters; the quota plays no part", async () => {
    proxy = await startTestProxy({ store: new MemoryStore() });
    await expectCode(proxy, `${PATH}?limit=0`, { key: "cbk_none" }, "invalid_key");
    await expectCode(proxy, `${PATH}?limit=0`, {}, "no_session");
    await proxy.close();
    proxy = await startTestProxy();
    for (const query of [
      "limit=0",
      "limit=1001",
      "after=-1",
      "after=1.5",
      `after=1${"0".repeat(20)}`,
    ]) {
      await expectCode(proxy, `${PATH}?${query}`, {}, "invalid_parameter");
    }
    await expectCode(proxy, `${PATH}?after=1&after=1`, {}, "invalid_parameter");
    await expectCode(proxy, `${PATH}?publication=1`, {}, "unknown_parameter");
    await expectCode(proxy, PATH, { headers: { "content-length": "1" }, body: "x" }, "bad_request");
    for (const key of [undefined, proxy.starter, proxy.pro]) {
      const options = key === undefined ? {} : { key };
      expect((await proxy.get(PATH, options)).status).toBe(200);
    }
  });

  test("with a spent quota the list is still there", async () => {
    proxy = await startTestProxy();
    for (let calls = 0; calls < 1_000; calls += 50) {
      await Promise.all(Array.from({ length: 50 }, () => proxy.get("/api/public/v1/prices")));
    }
    await expectCode(proxy, "/api/public/v1/prices", {}, "quota_exceeded");
    const { status, headers } = await proxy.get(PATH);
    expect([status, headers["x-ratelimit-remaining"]]).toEqual([200, "0"]);
  });
});

describe("a log that cannot be read", () => {
  test("while the store does not answer, the log is as it was read at the start", async () => {
    const source = await publishedStore();
    const clock = new TestClock();
    await publishSession(source, clock, SESSION, { usd: 12, revise: "Restated" });
    let isDown = false;
    const store = new InterceptedStore(source, async ({ key }, run) => {
      if (isDown && key.startsWith("publications/")) throw new UnreachableError("It is away");
      return run();
    });
    proxy = await startTestProxy({ store, clock });
    isDown = true;
    await eventually(async () => (await proxy.get("/readyz")).json.store === "unreachable");
    for (const path of [PATH, "/log/1", "/feed.atom", "/status.json"]) {
      expect((await proxy.get(path)).status).toBe(200);
    }
  });

  test("a damaged entry fails the pages that have it; feed and status go on", async () => {
    const store = await publishedStore();
    const clock = new TestClock();
    await publishSession(store, clock, SESSION, { usd: 12, revise: "Restated" });
    await publishSession(store, clock, SESSION, { usd: 13, revise: "Restated again" });
    await store.delete(publicationKey(2));
    await store.create(publicationKey(2), Buffer.from("{}"));
    proxy = await startTestProxy({ store, clock });
    await expectCode(proxy, PATH, {}, "internal");
    await expectCode(proxy, `${PATH}?after=1`, {}, "internal");
    expect((await rowsAt(`${PATH}?after=2`)).map(({ number }) => number)).toEqual([3]);
    expect((await proxy.get("/feed.atom")).text.match(/<entry>/g)).toHaveLength(2);
    expect((await proxy.get("/status.json")).json.sessions[0]).toMatchObject({
      snapshot: "2026-11-21T00Z/r3",
    });
  });
});

test("the list ends with the served snapshot: a damaged head is not in it", async () => {
  const store = await publishedStore();
  const clock = new TestClock();
  await publishSession(store, clock, SESSION, { usd: 12, revise: "Restated" });
  const manifest = "sessions/2026-11-21T00Z/r2/manifest.json";
  const bytes = (await store.get(manifest)) as Buffer;
  await store.delete(manifest);
  proxy = await startTestProxy({ store, clock });
  expect((await rowsAt()).map(({ number }) => number)).toEqual([1]);
  expect((await proxy.get("/feed.atom")).text.match(/<entry>/g)).toHaveLength(1);
  expect((await proxy.get("/status.json")).json.head.snapshot).toBe("2026-11-21T00Z/r1");
  await store.create(manifest, bytes);
  await eventually(has(2));
});
