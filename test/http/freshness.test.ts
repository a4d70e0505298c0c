/** Never silently stale: what callers are told when sessions that are due do not come. */
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
  test(`${missing} missing: body and field say so, for every tier`, async () => {
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

test("exports keep bytes and tag, and their field is right", async () => {
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

test("a tag of before the delay is stale after it, in every coding; each coding has the new number", async () => {
  for (const coding of ["identity", "gzip", "br"]) {
    proxy.clock.ms = sessionStartMs(SESSION);
    const before = await ask("/prices", proxy.pro, { "accept-encoding": coding });
    proxy.clock.ms += GRACE_MS + sessionsMs(1);
    const after = await ask("/prices", proxy.pro, {
      "accept-encoding": coding,
      "if-none-match": before.headers.etag as string,
    });
    expect([after.status, after.json.delayed_sessions]).toEqual([200, 1]);
    expect(after.headers["content-encoding"]).toBe(before.headers["content-encoding"]);
    expect(Date.parse(after.headers["last-modified"] as string)).toBe(proxy.clock.ms);
  }
});

test("many at once when the delay changes all get the same new body", async () => {
  proxy.clock.ms += sessionsMs(1) + GRACE_MS;
  const received = await Promise.all(
    Array.from({ length: 40 }, () => ask("/prices/dram-0", proxy.pro, { "accept-encoding": "br" })),
  );
  expect(new Set(received.map(({ headers }) => headers.etag)).size).toBe(1);
  expect(new Set(received.map(({ json }) => json.delayed_sessions))).toEqual(new Set([1]));
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
