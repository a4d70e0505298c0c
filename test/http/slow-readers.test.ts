/**
 * Many readers that do not read: the bytes that wait for them are bounded, and other readers get their
 * answers.
 */
import { connect, type Socket } from "node:net";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { API } from "../../src/public/routes.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { FILES } from "../../src/store/paths.ts";
import { changeHead } from "../cli/signed.ts";
import { Visitor } from "./crowd.ts";
import {
  eventually,
  publishSession,
  SESSION,
  startTestProxy,
  TestClock,
  type TestProxy,
} from "./fixture.ts";

/** More than the buffers of a connection take, so that the proxy waits for the reader. */
const BIG = Buffer.from(
  Array.from({ length: 600_000 }, (_, line) => `row ${line}\r\n`).join(""),
  "latin1",
);
const READERS = 40;
const WAITING_BYTES = 2_000_000;

let folder: string;
let proxy: TestProxy;
let readers: Socket[];
beforeEach(async () => {
  readers = [];
  folder = await mkdtemp(join(tmpdir(), "chipboard-slow-readers-"));
});
afterEach(async () => {
  for (const reader of readers) reader.destroy();
  await proxy.close();
  await rm(folder, { recursive: true, force: true });
});

async function serve(cacheBytes: number, trustedHops = 0, file = BIG): Promise<void> {
  const store = new FolderStore(folder);
  await publishSession(store, new TestClock(), SESSION, { first: true });
  await changeHead(store, () => ({}), { [FILES.csv("pro")]: file });
  const limits = { waitingBytes: WAITING_BYTES };
  proxy = await startTestProxy({ store, cacheBytes, trustedHops, limits });
}

/** Sends `text` on a connection that reads nothing of the answer. */
function sendUnread(text: string, from = "127.0.0.1"): void {
  const port = Number(new URL(proxy.url).port);
  const reader = connect({ port, host: "127.0.0.1", localAddress: from }).pause();
  reader.on("error", () => {});
  reader.write(text);
  readers.push(reader);
}

const getOf = (path: string, lines = ""): string =>
  `GET ${API}${path} HTTP/1.1\r\nHost: x\r\nx-api-key: ${proxy.pro}\r\n${lines}\r\n`;

/** A figure of the proxy's metrics. */
async function metric(name: string): Promise<number> {
  const text = await (await fetch(proxy.metricsUrl)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
}

describe.each([
  ["from memory", 256_000_000],
  ["streamed", 0],
])("a large file, %s", (_, cacheBytes) => {
  test("of readers that do not read, the first ones are cut off", async () => {
    await serve(cacheBytes);
    const waiting: number[] = [];
    const honest: boolean[] = [];
    for (let count = 0; count < READERS; count += 1) {
      sendUnread(getOf("/export.csv"));
      if (count % 8 !== 7) continue;
      const { raw } = await proxy.get(`${API}/export.csv`, { key: proxy.pro });
      honest.push(raw.equals(BIG));
      waiting.push(await metric("chipboard_waiting_bytes"));
    }
    expect(honest).toEqual(honest.map(() => true));
    const least = cacheBytes === 0 ? WAITING_BYTES / 2 / 65_536 : WAITING_BYTES / 65_536;
    await eventually(
      async () => (await metric("chipboard_slow_readers_closed_total")) >= READERS - least,
    );
    waiting.push(await metric("chipboard_waiting_bytes"));
    expect(Math.max(...waiting)).toBeLessThanOrEqual(WAITING_BYTES);
    expect(Math.max(...waiting)).toBeGreaterThan(0);
    for (const reader of readers) reader.destroy();
    await eventually(async () => (await metric("chipboard_waiting_bytes")) === 0);
    expect((await proxy.get(`${API}/export.csv`, { key: proxy.pro })).raw.equals(BIG)).toBe(true);
  });
});

test.each([
  ["lines of a file", "/export.csv?ids=dram-0"],
  ["lines of an old file", "/export.csv?ids=dram-0&publication=1"],
])(
  "a caller keeps at most eight unread answers with %s, and each counts whole",
  async (_, path) => {
    const row = "2026-11-21T00:00:00.000Z,dram-0,with some more text that fills the row\r\n";
    const rows = Buffer.from(`session_utc,contract_id,text\r\n${row.repeat(90_000)}`);
    await serve(256_000_000, 0, rows);
    const waiting = (): Promise<number> => metric("chipboard_waiting_bytes");
    for (let count = 1; count <= 8; count += 1) {
      sendUnread(getOf(path));
      await eventually(async () => (await waiting()) >= count * rows.length);
    }
    const ninth = await proxy.get(API + path, { key: proxy.pro });
    expect([ninth.status, ninth.json.code]).toEqual([503, "busy"]);
    const other = await proxy.get(`${API}/export.csv?ids=dram-0`, { key: proxy.starter });
    expect(other.status).toBe(200);
    for (const reader of readers) reader.destroy();
    await eventually(async () => (await waiting()) === 0);
    const whole = await proxy.get(API + path, { key: proxy.pro });
    expect([whole.status, whole.raw.equals(rows)]).toEqual([200, true]);
  },
);

test("who asks for a thousand answers at once is cut off before a reader who asks for one", async () => {
  await serve(0);
  const slow = await Visitor.at(proxy.url);
  slow.pause().send(getOf("/export.csv"));
  await eventually(async () => (await metric("chipboard_waiting_bytes")) > 0);
  for (let count = 0; count < 4; count += 1) sendUnread(getOf("/prices/dram-0").repeat(500));
  await eventually(async () => (await metric("chipboard_slow_readers_closed_total")) === 4);
  slow.resume();
  await eventually(() => slow.received.endsWith("row 599999\r\n"));
  expect(slow.received.endsWith(BIG.toString("latin1"))).toBe(true);
});

test.each([
  ["of one address", 0],
  ["of one address behind a proxy in front", 1],
])("a crowd %s pushes out no reader at another address", async (_, trustedHops) => {
  await serve(256_000_000, trustedHops);
  const slow = await Visitor.at(proxy.url);
  slow.pause().send(getOf("/export.csv", "X-Forwarded-For: 192.0.2.1\r\n"));
  await eventually(async () => (await metric("chipboard_waiting_bytes")) > 0);
  const crowd = Math.ceil(WAITING_BYTES / 65_536) + 20;
  const from = trustedHops === 0 ? "127.0.0.2" : "127.0.0.1";
  for (let count = 0; count < crowd; count += 1) {
    sendUnread(getOf("/export.csv", "X-Forwarded-For: 192.0.2.2\r\n"), from);
  }
  await eventually(async () => (await metric("chipboard_slow_readers_closed_total")) >= 20);
  slow.resume();
  await eventually(() => slow.received.endsWith("row 599999\r\n") || slow.isClosed);
  expect(slow.received.endsWith(BIG.toString("latin1"))).toBe(true);
});
