/** `/contracts`: the catalog for everybody, for nothing, without a level or the date of one. */
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { FolderStore } from "../../src/store/folder-store.ts";
import { FILES } from "../../src/store/paths.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import { catalogOf, headJson, mustPublish, quotesOf } from "../cli/small-market.ts";
import { ASKED_AT } from "../released/frozen-release.ts";
import { MemoryStore } from "../store/memory-store.ts";
import {
  DROPPED,
  eventually,
  KEYED_IDS,
  NEVER,
  sessionsMs,
  startTestProxy,
  TestClock,
  type TestProxy,
} from "./fixture.ts";

const PATH = "/api/public/v1/contracts";
const FIELDS = [
  ..."id,ticker,name,board,segment,segment_id,unit,capacity_gb,price_type,cadence_days".split(","),
  ..."source,source_url,free,formerly,delisted_on,closes".split(","),
];

let proxy: TestProxy;
afterEach(() => proxy.close());

/** Two contracts are renamed, one of them twice; one is delisted. */
async function publishRenames(store: MemoryStore): Promise<void> {
  const more = { board: "semiconductor", segment: "Wafers 300 mm" };
  const [usd, renamed] = [10, 11];
  await mustPublish(store, {
    session: "2026-11-20T12Z",
    catalog: catalogOf([{ id: "chip", ...more }, "a", "b"]),
    quotes: quotesOf({ chip: usd, a: usd, b: usd }),
  });
  const next = [
    { id: "chip", delisted_on: "2026-11-21", ...more },
    { id: "a2", formerly: "a" },
  ];
  await mustPublish(store, {
    session: "2026-11-21T00Z",
    catalog: catalogOf([...next, "b"]),
    quotes: quotesOf({ a2: renamed, b: renamed }),
  });
  await mustPublish(store, {
    session: "2026-11-21T12Z",
    catalog: catalogOf([
      { id: "b2", formerly: "b", capacity_gb: "0.016", cadence_days: "30", price_type: "spot" },
      ...next.slice(0, 1),
      { id: "a3", formerly: "a2", free: "true" },
    ]),
    quotes: quotesOf({ a3: 12, b2: 12 }),
  });
}

test("has every contract of the catalog in its order, and each segment", async () => {
  const store = new MemoryStore();
  await publishRenames(store);
  proxy = await startTestProxy({ store, clock: new TestClock(Date.parse("2026-11-21T12:05:00Z")) });
  const { status, headers, text, json } = await proxy.get(PATH);
  expect([status, headers["content-type"], Object.keys(json)]).toEqual([
    200,
    "application/json",
    ["session_utc", "contracts", "segments"],
  ]);
  expect(json.session_utc).toBe("2026-11-21T12:00:00.000Z");
  expect(json.segments).toEqual([
    { id: "dram", name: "DRAM", formerly: [], contracts: 2 },
    { id: "wafers-300-mm", name: "Wafers 300 mm", formerly: [], contracts: 1 },
  ]);
  const catalog: { id: string }[] = await headJson(store, FILES.catalog);
  expect(json.contracts.map(({ id }: { id: string }) => id)).toEqual(catalog.map(({ id }) => id));
  expect(json.contracts).toEqual([
    {
      id: "b2",
      ticker: "B2",
      name: "Contract b2",
      board: "memory",
      segment: "DRAM",
      segment_id: "dram",
      unit: "USD per piece",
      capacity_gb: 0.016,
      price_type: "spot",
      cadence_days: 30,
      source: "InputSource",
      source_url: "https://s.example/b2",
      free: true,
      formerly: ["b"],
      delisted_on: null,
      closes: {
        starter: { count: 2, first_month: "2026-11" },
        pro: { count: 2, first_month: "2026-11" },
      },
    },
    expect.objectContaining({
      id: "chip",
      segment_id: "wafers-300-mm",
      capacity_gb: null,
      price_type: null,
      formerly: [],
      delisted_on: "2026-11-21",
    }),
    expect.objectContaining({ id: "a3", formerly: ["a", "a2"], cadence_days: 0.5 }),
  ]);
  for (const contract of json.contracts) expect(Object.keys(contract)).toEqual(FIELDS);
  // A contract is one line.
  expect(text.split("\n").filter((line) => line.includes('"id":"a3"'))).toHaveLength(1);
});

test("is the same with any key and without one, and says nothing of levels", async () => {
  proxy = await startTestProxy();
  const { text } = await proxy.get(PATH);
  for (const key of [proxy.starter, proxy.pro]) {
    expect((await proxy.get(PATH, { key })).text).toBe(text);
    expect((await proxy.get("/api/public/v1/usage", { key })).json.used).toBe(0);
  }
  // Also of contracts that need a key, that have no level, and that left the board.
  for (const id of [...KEYED_IDS, NEVER, DROPPED]) expect(text).toContain(`"id":"${id}"`);
  expect(text).not.toMatch(/usd"|_utc":"2026-11-20|as_of|close_|basis|chg_/);
  expect(text.match(/\d{4}-\d\d-\d\d/g)).toEqual(["2026-11-21"]);
});

test("follows the head, also back", async () => {
  const store = new MemoryStore();
  const clock = new TestClock();
  const run = { catalog: catalogOf(["a"]), quotes: quotesOf({ a: 1 }) };
  await mustPublish(store, { ...run, session: "2026-11-21T00Z" });
  proxy = await startTestProxy({ store, clock });
  const idsAt = async (): Promise<string[]> =>
    (await proxy.get(PATH)).json.contracts.map(({ id }: { id: string }) => id);
  expect(await idsAt()).toEqual(["a"]);
  const { etag } = (await proxy.get(PATH)).headers;
  const headers = { "if-none-match": etag as string };
  expect((await proxy.get(PATH, { headers })).status).toBe(304);
  clock.ms += sessionsMs(1);
  await mustPublish(store, {
    session: "2026-11-21T12Z",
    nowMs: clock.ms,
    catalog: catalogOf([{ id: "b", formerly: "a" }]),
    quotes: quotesOf({ b: 1.1 }),
  });
  await eventually(async () => (await idsAt())[0] === "b");
  expect((await proxy.get(PATH, { headers })).status).toBe(200);
  await rollBack(store, "2026-11-21T00Z/r1", "Renamed too early", clock);
  await eventually(async () => (await idsAt())[0] === "a");
});

test("a store of 0.2.0 has it, with one former id", async () => {
  const store = new FolderStore(join(import.meta.dirname, "../released/0.2.0/store"));
  proxy = await startTestProxy({ store, clock: new TestClock(Date.parse(ASKED_AT)) });
  const { status, json } = await proxy.get(PATH);
  const [former] = json.contracts.filter(
    ({ formerly }: { formerly: string[] }) => formerly.length > 0,
  );
  expect([status, json.contracts.length]).toEqual([200, 4]);
  expect(former).toMatchObject({ id: "ddr5-16gb-spot", formerly: ["ddr5-16gb"] });
});
