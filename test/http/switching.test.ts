/** The live snapshot: one step from old to new, whole or not at all. */
import { createHash } from "node:crypto";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { sessionUtc } from "../../src/market/session.ts";
import type { Manifest } from "../../src/snapshot/manifest.ts";
import {
  appendPublication,
  readHead,
  readPublication,
  type Publication,
} from "../../src/snapshot/publication-log.ts";
import { readManifest } from "../../src/snapshot/stored-snapshot.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import {
  FILES,
  parseSnapshotText,
  snapshotFileKey,
  type SnapshotName,
} from "../../src/store/paths.ts";
import { call } from "./client.ts";
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

const API = "/api/public/v1";
const R1: SnapshotName = { session: SESSION, revision: 1 };
const NEXT: SnapshotName = { session: SESSION + 1, revision: 1 };

let proxy: TestProxy;
afterEach(() => proxy.close());

const snapshotOf = async (): Promise<unknown> =>
  (await proxy.get(`${API}/prices`)).headers["x-snapshot"];

/** Bytes of a key replaced, as no store would do it by itself. */
async function overwrite(store: MemoryStore, key: string, bytes: Buffer): Promise<void> {
  await store.delete(key);
  await store.create(key, bytes, "");
}

const flipped = (bytes: Buffer): Buffer => {
  const copy = Buffer.from(bytes);
  copy[copy.length - 10] = (copy.at(-10) as number) ^ 1;
  return copy;
};

test("an empty store: 503 with retry-after, then the first publication", async () => {
  const store = new MemoryStore();
  proxy = await startTestProxy({ store });
  const none = await proxy.get(`${API}/prices`);
  expect([none.status, none.json.code, none.headers["retry-after"]]).toEqual([
    503,
    "no_session",
    "1",
  ]);
  const ready = await proxy.get("/readyz");
  expect([ready.status, ready.json.code]).toEqual([503, "no_session"]);
  expect((await proxy.get("/healthz")).status).toBe(200);
  expect((await proxy.get(`${API}/usage`)).status).toBe(200);
  await publishSession(store, proxy.clock, SESSION, { first: true });
  await eventually(async () => (await proxy.get("/readyz")).status === 200);
  expect(await snapshotOf()).toBe("2026-11-21T00Z/r1");
});

test("a revision and a session take their places; several at once end at the newest", async () => {
  proxy = await startTestProxy();
  const { store, clock } = proxy;
  await publishSession(store, clock, SESSION, { usd: 12, revise: "Late report" });
  await eventually(async () => (await snapshotOf()) === "2026-11-21T00Z/r2");
  clock.ms += sessionsMs(2);
  await publishSession(store, clock, SESSION + 1);
  await publishSession(store, clock, SESSION + 2);
  await eventually(async () => (await snapshotOf()) === "2026-11-22T00Z/r1");
  expect((await proxy.get("/readyz")).json).toMatchObject({ publication: 4, store: "ok" });
});

test(
  "64 connections across three publications: no error, no mixture",
  { timeout: 60_000 },
  async () => {
    const clock = new TestClock();
    clock.ms += sessionsMs(3);
    // The grace is so long that no body is raised: each must be the stored file, to the byte.
    proxy = await startTestProxy({ clock, graceMs: sessionsMs(100) });
    const { store, url, pro } = proxy;
    const seen: { snapshot: string; path: string; sha256: string }[] = [];
    const snapshots = new Set<string>();
    let running = true;
    const paths = [
      ["/prices", FILES.board("pro")],
      ["/prices/dram-3", FILES.contract("pro", "dram-3")],
      ["/index", FILES.index("pro")],
      ["/export.csv", FILES.csv("pro")],
    ] as const;
    const client = async (start: number): Promise<void> => {
      for (let at = start; running; at += 1) {
        const [path, file] = paths[at % paths.length] as (typeof paths)[number];
        const { status, headers, body, text } = await call(url + API + path, { key: pro });
        expect(status).toBe(200);
        const snapshot = headers["x-snapshot"] as string;
        snapshots.add(snapshot);
        const session = text.startsWith("{")
          ? JSON.parse(text).session_utc
          : text.split("\r\n")[1]?.split(",")[0];
        expect(session).toBe(headers["x-session-utc"]);
        const name = parseSnapshotText(snapshot);
        expect(headers["x-session-utc"]).toBe(sessionUtc(name?.session as number));
        seen.push({
          snapshot,
          path: file,
          sha256: createHash("sha256").update(body).digest("hex"),
        });
      }
    };
    const clients = Array.from({ length: 64 }, (_, at) => client(at));
    for (const step of [1, 2, 3]) {
      await publishSession(store, clock, SESSION + step, { usd: 11 + step });
      const wanted = sessionUtc(SESSION + step);
      await eventually(async () => (await proxy.get("/readyz")).json.session_utc === wanted);
      await new Promise((resolve) => setTimeout(resolve, 3_400));
    }
    running = false;
    await Promise.all(clients);
    expect(snapshots.size).toBeGreaterThanOrEqual(3);
    const manifests = new Map<string, Manifest>();
    for (const text of snapshots) {
      manifests.set(text, await readManifest(store, parseSnapshotText(text) as SnapshotName, null));
    }
    for (const { snapshot, path, sha256 } of seen) {
      const entry = manifests.get(snapshot)?.files.find((file) => file.path === path);
      expect([snapshot, path, sha256]).toEqual([snapshot, path, entry?.sha256]);
    }
    expect(seen.length).toBeGreaterThan(1_000);
  },
);

test("a rollback is a publication like any other: the older snapshot takes over", async () => {
  proxy = await startTestProxy();
  const { store, clock, pro } = proxy;
  const ask = (headers: Record<string, string> = {}) =>
    proxy.get(`${API}/prices`, { key: pro, headers });
  const first = await ask();
  await publishSession(store, clock, SESSION, { usd: 12, revise: "Mistaken" });
  await eventually(async () => (await snapshotOf()) === "2026-11-21T00Z/r2");
  clock.ms += 60_000;
  const published = (await readPublication(store, 1)) as Publication;
  const at = new Date(clock.ms).toISOString();
  const rollback = {
    ...published,
    number: 3,
    action: "rollback",
    reason: "It was right",
    at,
  } as const;
  expect(await appendPublication(store, rollback)).toBe("created");
  await eventually(async () => (await snapshotOf()) === "2026-11-21T00Z/r1");
  const again = await ask();
  expect(again.body.equals(first.body)).toBe(true);
  const etag = first.headers.etag as string;
  expect(again.headers.etag).toBe(etag);
  // What was fetched in between, or before, is seen to be older.
  expect(again.headers["last-modified"]).toBe(new Date(clock.ms).toUTCString());
  expect((await ask({ "if-none-match": etag })).status).toBe(304);
});

test("downloads begun before a switch end with the old bytes", async () => {
  proxy = await startTestProxy();
  const { store, clock, url, pro } = proxy;
  const digestOf = async (revision: number): Promise<unknown> => {
    const manifest = await readManifest(store, { session: SESSION, revision }, null);
    return manifest.files.find(({ path }) => path === FILES.contract("pro", "dram-0"))?.sha256;
  };
  // So many answers that they cannot all be on their way before the client reads any.
  const asked = 400;
  const sockets = Array.from({ length: 3 }, () => connect(Number(new URL(url).port), "127.0.0.1"));
  const text = `GET ${API}/prices/dram-0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${pro}\r\n\r\n`;
  for (const socket of sockets) socket.pause().write(text.repeat(asked));
  await eventually(async () => (await proxy.get(`${API}/usage`, { key: pro })).json.used > 0);
  await publishSession(store, clock, SESSION, { usd: 12, revise: "Late report" });
  await eventually(async () => (await snapshotOf()) === "2026-11-21T00Z/r2");

  const expected = {
    "2026-11-21T00Z/r1": await digestOf(1),
    "2026-11-21T00Z/r2": await digestOf(2),
  };
  for (const socket of sockets) {
    const answers = await readAnswers(socket, asked);
    const snapshots = answers.map(({ head }) => /x-snapshot: (\S+)/.exec(head)?.[1] as string);
    expect(snapshots[0]).toBe("2026-11-21T00Z/r1");
    expect(snapshots).toEqual(snapshots.toSorted());
    for (const [at, { body }] of answers.entries()) {
      const sha256 = createHash("sha256").update(body).digest("hex");
      expect(sha256).toBe(expected[snapshots[at] as keyof typeof expected]);
    }
    socket.destroy();
  }
});

/** Reads so many answers off a connection. */
async function readAnswers(
  socket: Socket,
  count: number,
): Promise<{ head: string; body: Buffer }[]> {
  const answers: { head: string; body: Buffer }[] = [];
  let rest = Buffer.alloc(0);
  for await (const piece of socket) {
    rest = Buffer.concat([rest, piece as Buffer]);
    for (;;) {
      const end = rest.indexOf("\r\n\r\n");
      if (end < 0) break;
      const head = rest.toString("latin1", 0, end);
      const length = Number(/content-length: (\d+)/.exec(head)?.[1]);
      if (rest.length < end + 4 + length) break;
      answers.push({ head, body: rest.subarray(end + 4, end + 4 + length) });
      rest = rest.subarray(end + 4 + length);
      if (answers.length === count) return answers;
    }
  }
  throw new Error(`The connection ended after ${answers.length} answers`);
}

describe("damage", () => {
  const DAMAGES: readonly (readonly [string, (store: MemoryStore) => Promise<void>])[] = [
    [
      "a flipped byte",
      async (store) => {
        const key = snapshotFileKey(NEXT, FILES.contract("starter", "dram-4"));
        await overwrite(store, key, flipped((await store.get(key)) as Buffer));
      },
    ],
    ["a file gone", (store) => store.delete(snapshotFileKey(NEXT, FILES.xlsx("pro")))],
    [
      "a file of the snapshot that is not even sent",
      async (store) => {
        const key = snapshotFileKey(NEXT, FILES.corrections);
        await overwrite(store, key, Buffer.from("[]"));
      },
    ],
    [
      "another manifest",
      async (store) => {
        const key = snapshotFileKey(NEXT, FILES.manifest);
        await overwrite(store, key, flipped((await store.get(key)) as Buffer));
      },
    ],
    [
      "a publication that is none",
      (store) => overwrite(store, "publications/0000000002.json", Buffer.from("{")),
    ],
  ];
  for (const [name, damage] of DAMAGES) {
    test(`${name}: the old snapshot stays, loudly, until it is repaired or superseded`, async () => {
      // Published and damaged in a store apart, then brought over whole: publication last.
      const store = await publishedStore();
      const source = await publishedStore();
      const clock = new TestClock();
      clock.ms += sessionsMs(2);
      await publishSession(source, clock, SESSION + 1);
      const whole = new Map<string, Buffer>();
      for await (const { key } of source.list(""))
        whole.set(key, (await source.get(key)) as Buffer);
      await damage(source);
      proxy = await startTestProxy({ store, clock });
      const bring = async (prefix: string): Promise<void> => {
        for await (const { key } of source.list(prefix)) {
          await store.create(key, (await source.get(key)) as Buffer, "");
        }
      };
      await bring("sessions/");
      await bring("ledger/");
      await bring("publications/");
      await eventually(async () => (await proxy.get("/readyz")).json.store === "damaged");
      expect(await snapshotOf()).toBe("2026-11-21T00Z/r1");
      expect(proxy.logged.some((line) => line.includes('"level":50'))).toBe(true);
      const metrics = await (await fetch(proxy.metricsUrl)).text();
      expect(metrics).toMatch(/^chipboard_snapshot_damaged 1$/m);

      for (const [key, bytes] of whole) await overwrite(store, key, bytes);
      await eventually(async () => (await snapshotOf()) === "2026-11-21T12Z/r1");
      expect((await proxy.get("/readyz")).json.store).toBe("ok");
    });
  }

  test("a damaged head at the start: 503 and loud, until something newer is published", async () => {
    const store = await publishedStore();
    const key = snapshotFileKey(R1, FILES.board("pro"));
    const bytes = (await store.get(key)) as Buffer;
    await overwrite(store, key, flipped(bytes));
    proxy = await startTestProxy({ store });
    expect((await proxy.get(`${API}/prices`)).json.code).toBe("no_session");
    const ready = await proxy.get("/readyz");
    expect([ready.status, ready.json.detail]).toEqual([503, "No snapshot is loaded (damaged)."]);
    await overwrite(store, key, bytes);
    await publishSession(store, proxy.clock, SESSION, { usd: 12, revise: "Repair" });
    await eventually(async () => (await snapshotOf()) === "2026-11-21T00Z/r2");
  });
});

test("a store that does not answer: what is loaded is served, and /readyz says so", async () => {
  const folder = await mkdtemp(join(tmpdir(), "chipboard-store-"));
  try {
    const store = new FolderStore(folder);
    const clock = new TestClock();
    await publishSession(store, clock, SESSION, { first: true });
    proxy = await startTestProxy({ store, clock });
    // Where the log was there is now a file: reading it fails, as it does with a disk gone.
    await rename(join(folder, "publications"), join(folder, "aside"));
    await writeFile(join(folder, "publications"), "");
    await eventually(async () => (await proxy.get("/readyz")).json.store === "unreachable");
    expect((await proxy.get(`${API}/prices`)).status).toBe(200);
    const metrics = await (await fetch(proxy.metricsUrl)).text();
    expect(metrics).toMatch(/^chipboard_store_up 0$/m);
    expect(proxy.logged.filter((line) => line.includes('"level":50'))).toHaveLength(1);
    await rm(join(folder, "publications"));
    await rename(join(folder, "aside"), join(folder, "publications"));
    await eventually(async () => (await proxy.get("/readyz")).json.store === "ok");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

describe("memory is bounded: what does not fit is streamed", () => {
  test("the same bytes and tags as from memory, HEAD and 304 too, raised when overdue", async () => {
    proxy = await startTestProxy({ cacheBytes: 0 });
    const held = await startTestProxy();
    try {
      for (const overdue of [0, 1, 12]) {
        proxy.clock.ms = held.clock.ms = new TestClock().ms + sessionsMs(overdue) + 3_600_000;
        for (const path of ["/prices", "/prices/dram-0", "/index", "/export.csv", "/export.xlsx"]) {
          const ask = (of: TestProxy, more = {}) => of.get(API + path, { key: of.pro, ...more });
          const streamed = await ask(proxy);
          const fromMemory = await ask(held);
          expect(streamed.status).toBe(200);
          expect(streamed.raw.equals(fromMemory.raw)).toBe(true);
          const { date: _, ...fields } = streamed.headers;
          const { date: __, ...others } = fromMemory.headers;
          expect(fields).toEqual(others);
          const head = await ask(proxy, { method: "HEAD" });
          expect(head.headers["content-length"]).toBe(String(streamed.raw.length));
          const headers = { "if-none-match": streamed.headers.etag };
          expect((await ask(proxy, { headers })).status).toBe(304);
        }
      }
      const metrics = await (await fetch(proxy.metricsUrl)).text();
      expect(metrics).toMatch(/^chipboard_held_bytes 0$/m);
    } finally {
      await held.close();
    }
  });

  test("a file damaged after the load never arrives whole, and costs no 5xx elsewhere", async () => {
    const store = await publishedStore();
    proxy = await startTestProxy({ store, cacheBytes: 0 });
    const key = snapshotFileKey(R1, FILES.contract("pro", "dram-0"));
    await overwrite(store, key, flipped((await store.get(key)) as Buffer));
    const ask = () => proxy.get(`${API}/prices/dram-0`, { key: proxy.pro });
    await expect(ask()).rejects.toThrow(/aborted|hang up|reset/);
    await eventually(() => proxy.logged.some((line) => line.includes("is damaged")));
    expect((await proxy.get(`${API}/prices/dram-1`, { key: proxy.pro })).status).toBe(200);
  });

  test("a file gone after the load is a 500 that costs no call", async () => {
    const store = await publishedStore();
    proxy = await startTestProxy({ store, cacheBytes: 0 });
    await store.delete(snapshotFileKey(R1, FILES.contract("starter", "dram-0")));
    const { status, json, headers } = await proxy.get(`${API}/prices/dram-0`, {
      key: proxy.starter,
    });
    expect([status, json.code]).toEqual([500, "internal"]);
    expect(json.detail).not.toMatch(/starter|memory:|\//);
    expect(headers["x-ratelimit-remaining"]).toBe("25000");
  });
});

test("the head that is served is the head that was published", async () => {
  proxy = await startTestProxy();
  const head = await readHead(proxy.store);
  expect((await proxy.get("/readyz")).json.publication).toBe(head?.number);
});
