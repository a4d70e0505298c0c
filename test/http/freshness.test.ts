/** Overdue sessions: answers say by how many sessions they are late. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sessionStartMs } from "../../src/market/session.ts";
import {
  eventually,
  publishSession,
  SESSION,
  sessionsMs,
  startTestProxy,
  type TestProxy,
} from "./fixture.ts";

const API = "/api/public/v1";
const GRACE_MS = 3_600_000;
const RAISED = ["/prices", "/prices/dram-0", "/index", "/index?ids=dram-0,dram-1"];

let proxy: TestProxy;
beforeEach(async () => {
  proxy = await startTestProxy({ graceMs: GRACE_MS });
});
afterEach(() => proxy.close());

const ask = (path: string, key: string | undefined, headers: Record<string, string> = {}) =>
  proxy.get(API + path, { ...(key !== undefined && { key }), headers });

for (const missing of [1, 2, 10]) {
  test(`${missing} missing: body and header say so, for every tier`, async () => {
    const before = await ask("/prices", proxy.pro);
    proxy.clock.ms = sessionStartMs(SESSION) + GRACE_MS + sessionsMs(missing);
    for (const path of RAISED) {
      const { json, headers, text } = await ask(path, proxy.pro);
      expect([path, json.delayed_sessions]).toEqual([path, missing]);
      expect(headers["x-delayed-sessions"]).toBe(String(missing));
      expect(headers["content-length"]).toBe(String(Buffer.byteLength(text)));
    }
    for (const key of [undefined, proxy.starter]) {
      const { json, headers } = await ask("/prices", key);
      expect([json.delayed_sessions, headers["x-delayed-sessions"]]).toEqual([
        1 + missing,
        String(1 + missing),
      ]);
    }
    const after = await ask("/prices", proxy.pro);
    expect(after.headers.etag).not.toBe(before.headers.etag);
    expect({ ...after.json, delayed_sessions: 0 }).toEqual(before.json);
    const ready = await proxy.get("/readyz");
    expect([ready.status, ready.json.overdue]).toEqual([200, missing]);
    const metrics = await (await fetch(proxy.metricsUrl)).text();
    expect(metrics).toMatch(new RegExp(`^chipboard_overdue_sessions ${missing}$`, "m"));
  });
}

test("a clock before the head: it serves, and says so", async () => {
  const said = async (ms: number): Promise<unknown[]> => {
    proxy.clock.ms = ms;
    const { status, json } = await proxy.get("/readyz");
    const metrics = await (await fetch(proxy.metricsUrl)).text();
    return [status, json.clock, /^chipboard_clock_behind_seconds (.*)$/m.exec(metrics)?.[1]];
  };
  expect(await said(sessionStartMs(SESSION) - 90_000)).toEqual([200, "behind", "90"]);
  expect((await ask("/prices", proxy.pro)).json.delayed_sessions).toBe(0);
  expect(await said(sessionStartMs(SESSION))).toEqual([200, "ok", "0"]);
});

test("the end of the grace, to the second", async () => {
  const delayed = async (ms: number): Promise<number> => {
    proxy.clock.ms = ms;
    return (await ask("/prices", proxy.pro)).json.delayed_sessions;
  };
  const due = sessionStartMs(SESSION) + sessionsMs(1) + GRACE_MS;
  expect(await delayed(due - 1_000)).toBe(0);
  expect(await delayed(due)).toBe(1);
  expect(await delayed(due + sessionsMs(1) - 1_000)).toBe(1);
  expect(await delayed(due + sessionsMs(1))).toBe(2);
});

test("exports keep their bytes and tag, and the header has the delay", async () => {
  const before = await ask("/export.csv", proxy.pro);
  proxy.clock.ms += sessionsMs(3);
  const after = await ask("/export.csv", proxy.pro);
  expect(after.body.equals(before.body)).toBe(true);
  expect(after.headers.etag).toBe(before.headers.etag);
  expect(after.headers["x-delayed-sessions"]).toBe("2");
  const same = await ask("/export.csv", proxy.pro, {
    "if-none-match": before.headers.etag as string,
  });
  expect([same.status, same.headers["x-delayed-sessions"]]).toEqual([304, "2"]);
  expect((await ask("/export.xlsx", proxy.pro)).headers["x-delayed-sessions"]).toBe("2");
});

test("a tag from before the delay no longer matches, in every coding; each coding has the new number", async () => {
  for (const coding of ["identity", "gzip"]) {
    proxy.clock.ms = sessionStartMs(SESSION);
    const headers = { "accept-encoding": coding };
    const before = await ask("/prices", proxy.pro, headers);
    proxy.clock.ms += GRACE_MS + sessionsMs(1);
    const tag = { "if-none-match": before.headers.etag as string };
    const first = await ask("/prices", proxy.pro, { ...headers, ...tag });
    expect([first.status, first.json.delayed_sessions]).toEqual([200, 1]);
    const after = await ask("/prices", proxy.pro, headers);
    expect(after.headers["content-encoding"] ?? "identity").toBe(coding);
    expect(after.json).toEqual(first.json);
    expect(after.headers.etag).not.toBe(before.headers.etag);
    expect(Date.parse(after.headers["last-modified"] as string)).toBe(proxy.clock.ms);
  }
});

test("many callers at once get the same new body when the delay changes", async () => {
  proxy.clock.ms += sessionsMs(1) + GRACE_MS;
  const received = await Promise.all(
    Array.from({ length: 40 }, (_, at) =>
      ask("/prices/dram-0", proxy.pro, at % 2 === 0 ? {} : { "accept-encoding": "gzip" }),
    ),
  );
  expect(new Set(received.map(({ text }) => text)).size).toBe(1);
  expect(new Set(received.map(({ json }) => json.delayed_sessions))).toEqual(new Set([1]));
  // A tag and bytes for each coding.
  expect(new Set(received.map(({ headers }) => headers.etag)).size).toBe(2);
  expect(new Set(received.map(({ raw }) => raw.toString("latin1"))).size).toBe(2);
});

describe("when the session comes after all", () => {
  test("the delay goes", async () => {
    proxy.clock.ms = sessionStartMs(SESSION) + sessionsMs(1) + 2 * GRACE_MS;
    expect((await ask("/prices", proxy.pro)).json.delayed_sessions).toBe(1);
    await publishSession(proxy.store, proxy.clock, SESSION + 1);
    await eventually(async () => (await ask("/prices", proxy.pro)).json.delayed_sessions === 0);
    expect((await proxy.get("/readyz")).json.overdue).toBe(0);
  });
});
