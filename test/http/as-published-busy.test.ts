/** Old files while the store is slow, or away: a bounded number of reads, and live answers go on. */
import { afterEach, expect, test } from "vitest";
import { prune } from "../../src/desk/prune.ts";
import { UnreachableError } from "../../src/lib/errors.ts";
import { API } from "../../src/public/routes.ts";
import { InterceptedStore } from "../faults/crash-store.ts";
import {
  eventually,
  FREE_IDS,
  publishedStore,
  publishSession,
  SESSION,
  sessionsMs,
  startTestProxy,
  TestClock,
  type TestProxy,
} from "./fixture.ts";
import type { Received } from "./client.ts";
import { expectCode } from "./refusal.ts";

/** Of one account in the queue (lib/turns.ts). */
const PLACES = 8;
const AT_ONCE_EACH = 2;
/** Entries: 1 (pruned), 2, 3 (the head), 4 (the prune). */
const OLD = 2;
const HEAD = 3;

type Trouble = "none" | "slow" | "away";

let proxy: TestProxy;
let trouble: Trouble;
/** Continue the reads that wait. */
let waiting: (() => void)[];
afterEach(() => proxy.close());

/** Reads of contracts' files and catalogs of old snapshots meet the trouble. */
async function serve(): Promise<void> {
  [trouble, waiting] = ["none", []];
  const store = await publishedStore();
  const clock = new TestClock();
  for (const ahead of [1, 2]) {
    clock.ms = new TestClock().ms + sessionsMs(ahead);
    await publishSession(store, clock, SESSION + ahead, { usd: 11 + ahead });
  }
  clock.ms += 2 * 3_600_000;
  expect((await prune(store, 0, false, clock)).snapshots).toHaveLength(1);
  const intercepted = new InterceptedStore(store, async ({ key }, run) => {
    if (/sessions\/.*\/(contracts|catalog)/.test(key)) {
      if (trouble === "away") throw new UnreachableError("The store is away");
      if (trouble === "slow") await new Promise<void>((go) => waiting.push(go));
    }
    return run();
  });
  proxy = await startTestProxy({ store: intercepted, clock });
  // From now on the proxy knows the manifest.
  expect((await ask("/prices")).status).toBe(200);
}

const ask = (path: string): Promise<Received> =>
  proxy.get(`${API}${path}?publication=${OLD}`, { key: proxy.pro });

async function expectLive(): Promise<void> {
  const { status, headers } = await proxy.get(`${API}/prices/dram-0`, { key: proxy.pro });
  expect([status, headers["x-publication"]]).toEqual([200, String(HEAD)]);
}

const used = async (): Promise<number> =>
  (await proxy.get(`${API}/usage`, { key: proxy.pro })).json.used;

test("a slow store: some reads wait for it, the others are busy", async () => {
  await serve();
  const before = await used();
  trouble = "slow";
  const settled: Received[] = [];
  const ids = [...FREE_IDS, "nand-0", "nand-1", "chip-0"];
  const asked = ids.map(async (id) => {
    const answer = await ask(`/prices/${id}`);
    settled.push(answer);
    return answer;
  });
  await eventually(() => settled.length === ids.length - PLACES && waiting.length > 0);
  expect(waiting.length).toBeLessThan(PLACES);
  for (const { status, json, headers } of settled) {
    expect([status, json.code]).toEqual([503, "busy"]);
    expect(Number(headers["retry-after"])).toBeGreaterThan(0);
  }
  // Those that wait are counted, those that are refused are not.
  expect(await used()).toBe(before + PLACES);
  // Checks before and after `busy`.
  const key = { key: proxy.pro };
  await expectCode(proxy, `${API}/prices/no-such?publication=${OLD}`, key, "busy");
  await expectCode(proxy, `${API}/prices/dram-0?publication=1`, key, "pruned");
  await expectCode(proxy, `${API}/prices/dram-0?publication=99`, key, "not_published");
  await expectCode(proxy, `${API}/prices/dram-0?publication=x`, key, "invalid_parameter");
  // What needs no read is there.
  expect((await ask("/prices")).status).toBe(200);
  await expectLive();

  trouble = "none";
  for (const go of waiting) go();
  const answers = await Promise.all(asked);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(PLACES);
  for (const id of ids) {
    const { status, json } = await ask(`/prices/${id}`);
    expect([status, json.id]).toEqual([200, id]);
  }
});

test("one account cannot hold all reads: another one is answered meanwhile", async () => {
  await serve();
  trouble = "slow";
  const ids = [...FREE_IDS, "nand-0", "nand-1", "chip-0"];
  const settled: Received[] = [];
  const asked = ids.map(async (id) => {
    const answer = await ask(`/prices/${id}`);
    settled.push(answer);
    return answer;
  });
  await eventually(() => settled.length === ids.length - PLACES && waiting.length > 0);
  const before = waiting.length;
  const ofStarter = proxy.get(`${API}/prices/dram-0?publication=${OLD}`, { key: proxy.starter });
  await eventually(() => waiting.length > before);
  waiting[before]?.();
  const { status, json, headers } = await ofStarter;
  expect([status, json.id, headers["x-publication"]]).toEqual([200, "dram-0", String(OLD)]);
  trouble = "none";
  for (const go of waiting) go();
  await Promise.all(asked);
});

test("a selection takes a place, whatever its size: an account's ninth is busy", async () => {
  await serve();
  const before = await used();
  trouble = "slow";
  const settled: Received[] = [];
  const asked = Array.from({ length: PLACES + 1 }, async (_, at) => {
    const path = `${API}/prices/dram-0?publication=${OLD}&last=${at + 1}`;
    const answer = await proxy.get(path, { key: proxy.pro });
    settled.push(answer);
    return answer;
  });
  // The calls of those that wait are counted, the refused one is not.
  await eventually(async () => settled.length > 0 && (await used()) === before + PLACES);
  expect(settled.map(({ status, json }) => [status, json.code])).toEqual([[503, "busy"]]);
  await expectLive();
  trouble = "none";
  for (const go of waiting) go();
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual([...Array.from({ length: PLACES }, () => 200), 503]);
});

test("callers who wait for the same file share what the first of them read", async () => {
  await serve();
  trouble = "slow";
  const asked = Array.from({ length: PLACES }, () => ask("/prices/dram-0"));
  await eventually(() => waiting.length > 0);
  await expectLive();
  trouble = "none";
  for (const go of waiting) go();
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(asked.map(() => 200));
  // So many read at once, and nobody waits for a promise of another request.
  expect(waiting.length).toBeLessThanOrEqual(AT_ONCE_EACH);
});

test("a store that is away: 503 busy, and files in memory are served", async () => {
  await serve();
  const before = await used();
  trouble = "away";
  const path = `${API}/prices/dram-0?publication=${OLD}`;
  for (const headers of [{}, { range: "bytes=0-9" }]) {
    const refused = await expectCode(proxy, path, { key: proxy.pro, headers }, "busy");
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    expect(refused.text).not.toContain("sessions/");
  }
  expect(proxy.logged.join("")).toContain("The store is away");
  expect(await used()).toBe(before);
  expect((await ask("/prices")).status).toBe(200);
  await expectLive();
  trouble = "none";
  expect((await proxy.get(path, { key: proxy.pro })).status).toBe(200);
});
