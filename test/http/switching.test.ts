/** The proxy switches from the old snapshot to the new one in one step. */
import { createHash } from "node:crypto";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { sessionUtc } from "../../src/market/session.ts";
import type { Manifest } from "../../src/snapshot/manifest.ts";
import { type Publication } from "../../src/snapshot/log/entry.ts";
import { readManifest } from "../../src/snapshot/stored-snapshot.ts";
import { MemoryStore } from "../store/memory-store.ts";
import {
  FILES,
  parseSnapshotText,
  snapshotText,
  type SnapshotName,
} from "../../src/store/paths.ts";
import { append, readEntry, readHead } from "../store/log-entries.ts";
import { call } from "./client.ts";
import {
  eventually,
  publishSession,
  SESSION,
  sessionsMs,
  snapshotOf,
  startTestProxy,
  TestClock,
  type TestProxy,
} from "./fixture.ts";

const API = "/api/public/v1";

let proxy: TestProxy;
afterEach(() => proxy.close());

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
  expect(await snapshotOf(proxy)).toBe("2026-11-21T00Z/r1");
});

test("a revision and a new session are served; of several publications the newest is", async () => {
  proxy = await startTestProxy();
  const { store, clock } = proxy;
  await publishSession(store, clock, SESSION, { usd: 12, revise: "Late report" });
  await eventually(async () => (await snapshotOf(proxy)) === "2026-11-21T00Z/r2");
  clock.ms += sessionsMs(2);
  await publishSession(store, clock, SESSION + 1);
  await publishSession(store, clock, SESSION + 2);
  await eventually(async () => (await snapshotOf(proxy)) === "2026-11-22T00Z/r1");
  expect((await proxy.get("/readyz")).json).toMatchObject({ publication: 4, store: "ok" });
});

test("64 connections during three publications: no errors, and no mixture of snapshots", async () => {
  const clock = new TestClock();
  clock.ms += sessionsMs(3);
  // The grace is so long that no delay is raised: each body must be the stored file.
  proxy = await startTestProxy({ clock, graceMs: sessionsMs(100) });
  const { store, url, pro } = proxy;
  const seen: { snapshot: string; path: string; sha256: string }[] = [];
  const counts = new Map<string, number>();
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
      counts.set(snapshot, (counts.get(snapshot) ?? 0) + 1);
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
    const name = snapshotText({ session: SESSION + step, revision: 1 });
    while ((counts.get(name) ?? 0) < 200) await Promise.race([delay(25), Promise.all(clients)]);
  }
  running = false;
  await Promise.all(clients);
  const manifests = new Map<string, Manifest>();
  for (const text of counts.keys()) {
    manifests.set(text, await readManifest(store, parseSnapshotText(text) as SnapshotName, null));
  }
  for (const { snapshot, path, sha256 } of seen) {
    const entry = manifests.get(snapshot)?.files.find((file) => file.path === path);
    expect([snapshot, path, sha256]).toEqual([snapshot, path, entry?.sha256]);
  }
});

test("a rollback: the older snapshot is served again", async () => {
  proxy = await startTestProxy();
  const { store, clock, pro } = proxy;
  const ask = (headers: Record<string, string> = {}) =>
    proxy.get(`${API}/prices`, { key: pro, headers });
  const first = await ask();
  await publishSession(store, clock, SESSION, { usd: 12, revise: "Mistaken" });
  await eventually(async () => (await snapshotOf(proxy)) === "2026-11-21T00Z/r2");
  clock.ms += 60_000;
  const published = (await readEntry(store, 1)) as Publication;
  await append(store, { ...published, action: "rollback", reason: "It was right" }, clock.ms);
  await eventually(async () => (await snapshotOf(proxy)) === "2026-11-21T00Z/r1");
  const again = await ask();
  expect(again.body.equals(first.body)).toBe(true);
  const etag = first.headers.etag as string;
  expect(again.headers.etag).toBe(etag);
  // It has the rollback's date, so answers that were fetched before it are older.
  expect(again.headers["last-modified"]).toBe(new Date(clock.ms).toUTCString());
  expect((await ask({ "if-none-match": etag })).status).toBe(304);
});

test("downloads that start before a switch end with the old bytes", async () => {
  proxy = await startTestProxy();
  const { store, clock, url, pro } = proxy;
  const digestOf = async (revision: number): Promise<unknown> => {
    const manifest = await readManifest(store, { session: SESSION, revision }, null);
    return manifest.files.find(({ path }) => path === FILES.contract("pro", "dram-0"))?.sha256;
  };
  // More answers than the buffers hold, so that some wait until the client reads.
  const asked = 400;
  const sockets = Array.from({ length: 3 }, () => connect(Number(new URL(url).port), "127.0.0.1"));
  const text = `GET ${API}/prices/dram-0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${pro}\r\n\r\n`;
  for (const socket of sockets) socket.pause().write(text.repeat(asked));
  await eventually(async () => (await proxy.get(`${API}/usage`, { key: pro })).json.used > 0);
  await publishSession(store, clock, SESSION, { usd: 12, revise: "Late report" });
  await eventually(async () => (await snapshotOf(proxy)) === "2026-11-21T00Z/r2");

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

/** Reads `count` answers from a connection. */
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

test("the head that is served is the head that was published", async () => {
  proxy = await startTestProxy();
  const head = await readHead(proxy.store);
  expect((await proxy.get("/readyz")).json.publication).toBe(head?.number);
});
