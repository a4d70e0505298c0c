/** `/sums`: the SHA-256 of each file of the caller's tier, for one call. */
import { createHash } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import { MemoryStore } from "../store/memory-store.ts";
import { FILES, snapshotFileKey } from "../../src/store/paths.ts";
import { oldestVintage, TIERS } from "../../src/market/tier.ts";
import { prune } from "../../src/desk/prune.ts";
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
import { CLOCK_MS, HEAD, publishThree } from "./signed-log.ts";

const API = "/api/public/v1";
const SUMS = `${API}/sums`;
const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

let proxy: TestProxy;
afterEach(() => proxy.close());

const three = async (): Promise<void> => {
  proxy = await startTestProxy({ store: await publishThree(null), clock: new TestClock(CLOCK_MS) });
};
const keyOf = (tier: string): { key?: string } =>
  tier === "free" ? {} : { key: tier === "pro" ? proxy.pro : proxy.starter };

describe("each tier", () => {
  test("gets the sums of its own files, whose digest is the root in the entry", async () => {
    await three();
    const entry = (await proxy.get("/log/3")).json;
    for (const tier of ["free", "starter", "pro"]) {
      const { status, headers, body, text } = await proxy.get(SUMS, keyOf(tier));
      expect([status, headers["content-type"]]).toEqual([200, "text/plain; charset=utf-8"]);
      expect([headers["x-snapshot"], headers["x-publication"]]).toEqual([HEAD, "3"]);
      expect(sha256(body)).toBe(entry.roots[tier]);
      const board = await proxy.get(`${API}/prices`, keyOf(tier));
      expect(text).toContain(`${sha256(board.body)}  board.json\n`);
      for (const [line] of text.matchAll(/^.+$/gm))
        expect(line).toMatch(/^[0-9a-f]{64} {2}[\w./-]+$/);
      expect(text.includes("export.xlsx")).toBe(tier === "pro");
    }
  });

  test("gets the sums of an old entry, as they were, by the limits of old data; and free only the head's", async () => {
    await three();
    for (const [number, snapshot] of [
      [1, "2026-11-21T00Z/r1"],
      [2, "2026-11-21T00Z/r2"],
      [3, HEAD],
    ] as const) {
      const entry = (await proxy.get(`/log/${number}`)).json;
      for (const tier of ["starter", "pro"]) {
        const { headers, body } = await proxy.get(`${SUMS}?publication=${number}`, keyOf(tier));
        expect([headers["x-snapshot"], sha256(body)]).toEqual([snapshot, entry.roots[tier]]);
        expect(headers["cache-control"]).toBe("private, max-age=31536000, immutable");
      }
    }
    const own = await proxy.get(`${SUMS}?publication=3`);
    expect([own.status, own.text]).toEqual([200, (await proxy.get(SUMS)).text]);
    for (const query of [
      "publication=2",
      "publication=4",
      "publication=x",
      "as_of=2026-11-21T01:00:00Z",
    ]) {
      await expectCode(proxy, `${SUMS}?${query}`, {}, "key_required");
    }
  });

  test("is beyond its depth with old entries", async () => {
    await three();
    const depth = oldestVintage(TIERS.starter, SESSION) as number;
    const ahead = SESSION - depth + 2;
    proxy.clock.ms += sessionsMs(ahead);
    await publishSession(proxy.store, proxy.clock, SESSION + ahead, { usd: 14 });
    await eventually(async () => (await proxy.get("/readyz")).json.publication === 4);
    await expectCode(proxy, `${SUMS}?publication=1`, keyOf("starter"), "tier_required");
    expect((await proxy.get(`${SUMS}?publication=1`, keyOf("pro"))).status).toBe(200);
    proxy.clock.ms += sessionsMs(4);
    await publishSession(proxy.store, proxy.clock, SESSION + ahead + 4, { usd: 14 });
    await prune(proxy.store, 1, false, proxy.clock);
    await eventually(
      async () => (await proxy.get(`${API}/publications`)).json.publications.length === 6,
    );
    await expectCode(proxy, `${SUMS}?publication=1`, keyOf("pro"), "pruned");
  });
});

describe("the sums", () => {
  test("cost a call; what does not answer with them, and a 304, costs none", async () => {
    await three();
    const key = proxy.starter;
    const left = async (path: string, options: object = {}): Promise<unknown> => {
      const { status, headers } = await proxy.get(path, { key, ...options });
      return [status, headers["x-ratelimit-remaining"]];
    };
    const { headers } = await proxy.get(SUMS, { key });
    expect(headers["x-ratelimit-remaining"]).toBe("24999");
    expect(await left(SUMS, { method: "HEAD" })).toEqual([200, "24998"]);
    expect(await left(`${SUMS}?publication=1`)).toEqual([200, "24997"]);
    expect(await left(`${SUMS}?as_of=2026-11-21T01:00:00Z`)).toEqual([400, "24997"]);
    expect(await left(`${SUMS}?publication=9`)).toEqual([404, "24997"]);
    const known = { headers: { "if-none-match": headers.etag as string } };
    expect(await left(SUMS, known)).toEqual([304, "24997"]);
    expect(await left(SUMS, { headers: { "if-none-match": "*" } })).toEqual([304, "24996"]);
    expect((await proxy.get(`${API}/usage`, { key })).json.used).toBe(4);
  });

  test("without a key count for the address, and are refused when its calls are used", async () => {
    await three();
    const tag = (await proxy.get(SUMS)).headers.etag as string;
    for (let calls = 1; calls < 1_000; calls += 27) {
      const found = await Promise.all(Array.from({ length: 27 }, () => proxy.get(SUMS)));
      expect(found.every(({ status }) => status === 200)).toBe(true);
    }
    for (const headers of [{}, { "if-none-match": tag }]) {
      const refused = await expectCode(proxy, SUMS, { headers }, "quota_exceeded");
      expect(refused.headers["retry-after"]).toMatch(/^\d+$/);
    }
    await expectCode(proxy, `${API}/prices`, {}, "quota_exceeded");
    expect((await proxy.get(SUMS, keyOf("pro"))).status).toBe(200);
  });

  test("keep their bytes while sessions are missing, and answer HEAD and If-None-Match", async () => {
    await three();
    const before = await proxy.get(SUMS, keyOf("pro"));
    proxy.clock.ms += sessionsMs(3);
    const late = await proxy.get(SUMS, keyOf("pro"));
    expect([late.text, late.headers["x-delayed-sessions"]]).toEqual([before.text, "2"]);
    const head = await proxy.get(SUMS, { ...keyOf("pro"), method: "HEAD" });
    expect(head.headers["content-length"]).toBe(String(late.raw.length));
    const tag = { "if-none-match": late.headers.etag as string };
    expect((await proxy.get(SUMS, { ...keyOf("pro"), headers: tag })).status).toBe(304);
    const coded = await proxy.get(SUMS, { headers: { "accept-encoding": "gzip" } });
    expect([coded.status, coded.headers["content-encoding"]]).toEqual([200, undefined]);
  });

  test("the order of checks: key, no session, parameters, not published, not in snapshot", async () => {
    proxy = await startTestProxy({ store: new MemoryStore() });
    await expectCode(proxy, SUMS, { key: "cbk_none" }, "invalid_key");
    await expectCode(proxy, `${SUMS}?publication=1`, {}, "key_required");
    await expectCode(proxy, `${SUMS}?x=1`, {}, "no_session");
    await proxy.close();
    await three();
    const { key } = keyOf("pro") as { key: string };
    await expectCode(proxy, `${SUMS}?publication=0`, { key }, "invalid_parameter");
    await expectCode(proxy, `${SUMS}?as_of=2026-11-21T01:00:00Z`, { key }, "unknown_parameter");
    await expectCode(proxy, `${SUMS}?ids=a`, {}, "unknown_parameter");
    await expectCode(proxy, `${SUMS}?publication=4`, { key }, "not_published");
  });

  test("a damaged file is not sent", async () => {
    const store = await publishedStore();
    proxy = await startTestProxy({ store });
    const key = snapshotFileKey({ session: SESSION, revision: 1 }, FILES.sums("pro"));
    const bytes = (await store.get(key)) as Buffer;
    await store.delete(key);
    await store.create(key, Buffer.from(`${String(bytes)}0`));
    await expectCode(proxy, `${SUMS}?publication=1`, { key: proxy.pro }, "internal");
    expect((await proxy.get(SUMS, { key: proxy.pro })).body.equals(bytes)).toBe(true);
  });
});
