/** A store that is away when the proxy starts: the proxy says so, and serves when the store is back. */
import { afterEach, expect, test } from "vitest";
import { UnfitError, UnreachableError } from "../../src/lib/errors.ts";
import { FILES, snapshotFileKey } from "../../src/store/paths.ts";
import { InterceptedStore } from "../faults/crash-store.ts";
import type { MemoryStore } from "../store/memory-store.ts";
import {
  eventually,
  publishedStore,
  publishSession,
  SESSION,
  startTestProxy,
  TestClock,
  type TestProxy,
} from "./fixture.ts";
import { expectCode } from "./refusal.ts";

const API = "/api/public/v1";
const AWAY = "The store is away";

let proxy: TestProxy | undefined;
afterEach(async () => {
  await proxy?.close();
  proxy = undefined;
});

/** A store whose calls to these keys fail, or never end, until `back`. */
function away(inner: MemoryStore, keys: RegExp, fails: () => Promise<never>) {
  let isAway = true;
  const store = new InterceptedStore(inner, async ({ key }, run) =>
    isAway && keys.test(key) ? fails() : run(),
  );
  const back = (): void => {
    isAway = false;
  };
  return { store, back };
}

const refuse = async (): Promise<never> => {
  throw new UnreachableError(AWAY);
};

test.each([
  ["refuses", /./, refuse, AWAY],
  ["refuses the files of a snapshot", /^sessions\//, refuse, AWAY],
  ["does not answer", /./, () => new Promise<never>(() => {}), "has not answered in 5 seconds"],
] as const)("one that %s", async (_, keys, fails, reason) => {
  const { store, back } = away(await publishedStore(), keys, fails);
  proxy = await startTestProxy({ store });
  const { metricsUrl, logged, get, pro } = proxy;
  await expectCode(proxy, `${API}/prices`, { key: pro }, "no_session");
  const ready = await get("/readyz");
  expect([ready.status, ready.json.detail]).toEqual([503, "No snapshot is loaded (unreachable)."]);
  const metrics = await (await fetch(metricsUrl)).text();
  expect(metrics).toMatch(/^chipboard_store_up 0$/m);
  expect(metrics).toMatch(/^chipboard_ready 0$/m);
  expect(logged.filter((line) => line.includes(reason))).toEqual([
    expect.stringContaining('"level":50'),
  ]);
  if (reason !== AWAY) return;
  back();
  await eventually(async () => (await get(`${API}/prices`, { key: pro })).status === 200);
  expect((await get("/readyz")).json).toMatchObject({ status: "ready", store: "ok" });
});

test("when it is back with a damaged head, the newest publication that is whole is served", async () => {
  const inner = await publishedStore();
  const clock = new TestClock();
  await publishSession(inner, clock, SESSION, { usd: 12, revise: "Restated" });
  await inner.delete(snapshotFileKey({ session: SESSION, revision: 2 }, FILES.manifest));
  const { store, back } = away(inner, /./, refuse);
  proxy = await startTestProxy({ store, clock });
  const { get } = proxy;
  expect((await get("/readyz")).status).toBe(503);
  back();
  await eventually(async () => (await get("/readyz")).status === 200);
  expect((await get("/readyz")).json).toMatchObject({
    snapshot: "2026-11-21T00Z/r1",
    damaged: { publication: 2, snapshot: "2026-11-21T00Z/r2" },
    store: "damaged",
  });
});

test("one that answers that it cannot be used ends the start", async () => {
  const { store } = away(await publishedStore(), /./, async () => {
    throw new UnfitError("There is no such bucket");
  });
  await expect(startTestProxy({ store })).rejects.toThrow("There is no such bucket");
});
