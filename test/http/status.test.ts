/** The status of sessions over sockets: what the clock and the log change in it. */
import { afterEach, describe, expect, test } from "vitest";
import { rollBack } from "../../src/desk/rollback.ts";
import { sessionStartMs } from "../../src/market/session.ts";
import { MemoryStore } from "../store/memory-store.ts";
import {
  eventually,
  publishSession,
  SESSION,
  sessionsMs,
  startTestProxy,
  type TestProxy,
} from "./fixture.ts";

const PATH = "/status.json";
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let proxy: TestProxy;
afterEach(() => proxy.close());

const overdue = async (): Promise<number[]> => [
  (await proxy.get(PATH)).json.overdue,
  (await proxy.get("/readyz")).json.overdue,
];

test("nothing is published", async () => {
  proxy = await startTestProxy({ store: new MemoryStore() });
  const { status, json } = await proxy.get(PATH);
  expect([status, json]).toEqual([
    200,
    { head: null, overdue: 0, next_session_utc: null, sessions: [] },
  ]);
});

test("one session is published, for everybody, and may be kept for a minute", async () => {
  proxy = await startTestProxy();
  const { json, headers } = await proxy.get(PATH, { key: "cbk_none" });
  expect(headers["cache-control"]).toBe("public, max-age=60");
  expect(json).toEqual({
    head: {
      publication: 1,
      snapshot: "2026-11-21T00Z/r1",
      session_utc: "2026-11-21T00:00:00.000Z",
      revision: 1,
      published_at: "2026-11-21T00:05:00.000Z",
    },
    overdue: 0,
    next_session_utc: "2026-11-21T12:00:00.000Z",
    sessions: [
      {
        session_utc: "2026-11-21T00:00:00.000Z",
        published_at: "2026-11-21T00:05:00.000Z",
        minutes_late: 5,
        missed: false,
        revised: false,
        rolled_back: false,
        snapshot: "2026-11-21T00Z/r1",
      },
    ],
  });
});

describe("the clock", () => {
  test("a session begins, and then its grace ends: overdue as in /readyz", async () => {
    proxy = await startTestProxy();
    const start = sessionStartMs(SESSION + 1);
    const seen: unknown[] = [];
    for (const ms of [-1, 0, HOUR_MS - 1, HOUR_MS, sessionsMs(1), sessionsMs(2) + HOUR_MS]) {
      proxy.clock.ms = start + ms;
      const { json, headers } = await proxy.get(PATH);
      const missed = json.sessions.filter((row: { missed: boolean }) => row.missed);
      seen.push([json.sessions.length, missed.length, headers["last-modified"]]);
      expect(await overdue()).toEqual([missed.length, missed.length]);
    }
    expect(seen).toEqual([
      [1, 0, "Sat, 21 Nov 2026 01:00:00 GMT"],
      [2, 0, "Sat, 21 Nov 2026 12:00:00 GMT"],
      [2, 0, "Sat, 21 Nov 2026 12:00:00 GMT"],
      [2, 1, "Sat, 21 Nov 2026 13:00:00 GMT"],
      [3, 1, "Sun, 22 Nov 2026 00:00:00 GMT"],
      [4, 3, "Sun, 22 Nov 2026 13:00:00 GMT"],
    ]);
  });

  test("between these instants a poller gets 304", async () => {
    proxy = await startTestProxy();
    const { headers } = await proxy.get(PATH);
    const asked = { headers: { "if-none-match": headers.etag as string } };
    const start = sessionStartMs(SESSION);
    for (const ms of [0, 30 * MINUTE_MS, HOUR_MS, 11 * HOUR_MS, sessionsMs(1) - 1]) {
      proxy.clock.ms = start + ms;
      expect((await proxy.get(PATH, asked)).status).toBe(304);
    }
    proxy.clock.ms = start + sessionsMs(1);
    expect((await proxy.get(PATH, asked)).status).toBe(200);
  });
});

test("late, missed, revised and rolled back sessions, as they come about", async () => {
  proxy = await startTestProxy();
  const { store, clock } = proxy;
  const lines = async (): Promise<string[]> =>
    (await proxy.get(PATH)).json.sessions.map((row: Record<string, unknown>) =>
      [
        String(row["session_utc"]).slice(8, 13),
        row["minutes_late"],
        ...["missed", "revised", "rolled_back"].filter((name) => row[name]),
        String(row["snapshot"]).replace(/^.*\//, ""),
      ].join(" "),
    );
  const becomes = (newest: string) => eventually(async () => (await lines())[0] === newest);
  await publishSession(store, clock, SESSION, { usd: 12, revise: "Restated" });
  await becomes("21T00 5 revised r2");
  // The session of 12:00 is missed, the one after it 90 minutes late.
  clock.ms = sessionStartMs(SESSION + 2) + 90 * MINUTE_MS;
  await publishSession(store, clock, SESSION + 2, { usd: 13 });
  await becomes("22T00 90 r1");
  expect(await lines()).toEqual(["22T00 90 r1", "21T12  missed null", "21T00 5 revised r2"]);
  expect(await overdue()).toEqual([0, 0]);
  await rollBack(store, "2026-11-21T00Z", "Wrong feed", clock);
  await becomes("22T00 90 rolled_back null");
  expect(await lines()).toEqual([
    "22T00 90 rolled_back null",
    "21T12  missed null",
    "21T00 5 revised r2",
  ]);
  // The head is two sessions behind again; the served snapshot lacks both.
  expect(await overdue()).toEqual([2, 2]);
  clock.ms += 10 * MINUTE_MS;
  await publishSession(store, clock, SESSION + 2, { usd: 14, revise: "The right feed" });
  await becomes("22T00 90 revised r2");
});
