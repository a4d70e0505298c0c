/** A proxy with snapshots that lack files of this version, or that have a newer format. */
import { afterEach, expect, test } from "vitest";
import type { MemoryStore } from "../store/memory-store.ts";
import { append, EMPTY_PRUNE } from "../store/log-entries.ts";
import { withoutFiles, withoutTier } from "../cli/older-head.ts";
import { changeHead } from "../cli/signed.ts";
import { copyOf, DROPPED, eventually, KEYED_IDS, NEVER } from "./fixture.ts";
import { publishedStore, publishSession } from "./fixture.ts";
import { SESSION, sessionsMs, snapshotOf, startTestProxy, TestClock } from "./fixture.ts";
import type { TestProxy } from "./fixture.ts";
import { expectCode } from "./refusal.ts";

const API = "/api/public/v1";
const FIRST = "2026-11-21T00Z/r1";

let proxy: TestProxy;
afterEach(() => proxy.close());

async function serve(change: (store: MemoryStore) => Promise<void>): Promise<void> {
  const store = await publishedStore();
  await change(store);
  proxy = await startTestProxy({ store });
  expect((await proxy.get("/readyz")).json).toMatchObject({ status: "ready", store: "ok" });
}

const notThere = async (key: string | undefined, ...paths: string[]): Promise<void> => {
  for (const path of paths) {
    await expectCode(proxy, API + path, key === undefined ? {} : { key }, "not_in_snapshot");
  }
};

const served = async (key: string | undefined, ...paths: string[]): Promise<void> => {
  for (const path of paths) {
    const { status } = await proxy.get(API + path, key === undefined ? {} : { key });
    expect([path, status]).toEqual([path, 200]);
  }
};

test("addresses without a file are not_in_snapshot, which costs nothing; the rest is served", async () => {
  await serve((store) => withoutFiles(store, /^pro\/(export\.csv|index\.json|basket\.json)$/));
  await notThere(proxy.pro, "/export.csv", "/index", "/index?ids=dram-0");
  await expectCode(proxy, `${API}/export.csv?x=1`, { key: proxy.pro }, "unknown_parameter");
  for (const query of ["ids=dram-0&weights=x", "ids=dram-0&publication=0"]) {
    await expectCode(proxy, `${API}/index?${query}`, { key: proxy.pro }, "invalid_parameter");
  }
  expect((await proxy.get(`${API}/usage`, { key: proxy.pro })).json.used).toBe(0);
  await served(proxy.pro, "/prices", "/prices/dram-0", "/export.xlsx");
  await served(proxy.starter, "/index");
});

test("a snapshot of a version without files of all contracts and tiers' corrections", async () => {
  const files =
    /^(pro|starter)\/((history|levels|superseded|indices)\.(csv|parquet)|(corrections|sparklines)\.json)$/;
  await serve((store) => withoutFiles(store, files));
  await notThere(proxy.pro, "/history.csv", "/history.parquet", "/corrections");
  await notThere(proxy.pro, "/levels.csv", "/superseded.csv", "/indices.csv", "/sparklines");
  await notThere(proxy.starter, "/history.csv", "/corrections");
  await served(proxy.pro, "/prices", "/prices/dram-0", "/export.csv");
});

test("a tier without its index", async () => {
  await serve((store) => withoutFiles(store, /^starter\/index\.json$/));
  await notThere(proxy.starter, "/index");
  await served(proxy.starter, "/prices", "/export.csv");
  await served(proxy.pro, "/index");
});

test("a snapshot of a version without indices of segments", async () => {
  await serve((store) => withoutFiles(store, /^(pro|starter)\/indices(\.json|\/.*)$/));
  const paths = ["/indices", "/indices/dram", "/indices/none"];
  await notThere(proxy.pro, ...paths, ...paths.map((path) => `${path}?publication=1`));
  await served(proxy.pro, "/index");
});

test("contracts without a file are not_in_snapshot, ids outside the catalog are unknown", async () => {
  await serve((store) => withoutFiles(store, /^(pro|free)\/contracts\/(dram-0|nand-0)\.json$/));
  await notThere(proxy.pro, "/prices/dram-0", "/prices/nand-0");
  await notThere(undefined, "/prices/dram-0");
  await expectCode(proxy, `${API}/prices/${KEYED_IDS[0]}`, {}, "key_required");
  await expectCode(proxy, `${API}/prices/none`, { key: proxy.pro }, "unknown_contract");
  await served(proxy.starter, "/prices/dram-0", "/prices/nand-0");
});

test("a contract off the boards: older versions wrote no file of it", async () => {
  await serve((store) => withoutFiles(store, new RegExp(`contracts/${DROPPED}\\.json$`)));
  await notThere(proxy.pro, `/prices/${DROPPED}`);
  await expectCode(proxy, `${API}/prices/${NEVER}`, { key: proxy.pro }, "not_on_board");
});

test("a snapshot without a catalog", async () => {
  await serve((store) => withoutFiles(store, /^catalog\.json$/));
  await served(proxy.pro, "/prices", "/prices/dram-0");
  await notThere(proxy.pro, "/prices/none");
});

test.each(["free", "starter", "pro"] as const)(
  "no tier %s: the others are served",
  async (tier) => {
    await serve((store) => withoutTier(store, tier));
    const keys = { free: undefined, starter: proxy.starter, pro: proxy.pro };
    for (const [name, key] of Object.entries(keys)) {
      const paths = ["/prices", "/prices/dram-0"];
      if (name !== "free") paths.push("/index", "/export.csv");
      if (name === "pro") paths.push("/index?ids=dram-0");
      await (name === tier ? notThere(key, ...paths) : served(key, ...paths));
    }
  },
);

test("a manifest without a summary of any tier: no tier has data, and the proxy is ready", async () => {
  await serve((store) => changeHead(store, () => ({ tiers: {} })));
  await notThere(undefined, "/prices", "/prices/dram-0");
  await notThere(proxy.starter, "/prices", "/index", "/export.csv");
  await notThere(proxy.pro, "/prices", "/prices/dram-0", "/index?ids=dram-0", "/export.xlsx");
});

/** A proxy that serves FIRST, then gets the next session as `change` alters it. */
async function arriving(change: (store: MemoryStore) => Promise<void>): Promise<MemoryStore> {
  const clock = new TestClock();
  clock.ms += sessionsMs(2);
  const store = await publishedStore();
  const source = await copyOf(store);
  proxy = await startTestProxy({ store, clock });
  expect(await snapshotOf(proxy)).toBe(FIRST);
  await publishSession(source, clock, SESSION + 1);
  await change(source);
  for (const prefix of ["sessions/", "ledger/", "publications/"]) {
    for await (const { key } of source.list(prefix)) {
      await store.create(key, (await source.get(key)) as Buffer);
    }
  }
  return store;
}

async function keepsServing(reason: string): Promise<void> {
  await eventually(async () => (await proxy.get("/readyz")).json.store === "damaged");
  expect(await snapshotOf(proxy)).toBe(FIRST);
  expect((await proxy.get("/readyz")).json.status).toBe("ready");
  expect(proxy.logged.join("")).toContain(reason);
}

test("a head of a newer format: the proxy keeps its snapshot, and says why", async () => {
  await arriving((source) => changeHead(source, () => ({ format: 6, tiers: "elsewhere" })));
  await keepsServing("was published by a newer chipboard: its format is 6, expected at most 5");
});

test("a head of a development version: the proxy keeps its snapshot, and says why", async () => {
  await arriving((source) => changeHead(source, () => ({ format: 2 })));
  await keepsServing("was written by a development version before 0.2.0; publish into a new store");
});

test("an entry with an unknown action: the proxy keeps its snapshot, and says why", async () => {
  const store = await publishedStore();
  proxy = await startTestProxy({ store });
  await store.create("publications/0000000002.json", Buffer.from('{"action":"archive"}\n'));
  await keepsServing('was published by a newer chipboard: its action is \\"archive\\"');
});

test("a prune entry: the proxy keeps its head, and follows later publications", async () => {
  const store = await publishedStore();
  proxy = await startTestProxy({ store });
  const snapshots = ["2026-11-20T00Z/r1"];
  await append(store, { ...EMPTY_PRUNE, snapshots }, proxy.clock.ms);
  // The proxy finds the next publication only by reading it.
  await publishSession(store, proxy.clock, SESSION, { usd: 12, revise: "Late report" });
  await eventually(async () => (await snapshotOf(proxy)) === "2026-11-21T00Z/r2");
  expect((await proxy.get("/readyz")).json).toMatchObject({ store: "ok", publication: 3 });
  const switched = proxy.logged.filter((line) => line.includes("snapshot switched"));
  expect(switched.map((line) => JSON.parse(line).publication)).toEqual([1, 3]);
  expect(proxy.logged.filter((line) => line.includes('"level":50'))).toEqual([]);
});
