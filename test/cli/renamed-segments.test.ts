/** A renamed segment: its index goes on under the new id, and the old one leads to it. */
import { describe, expect, test } from "vitest";
import { plainBytes } from "../store/stored-file.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { startTestProxy } from "../http/fixture.ts";
import {
  catalogOf,
  headJson,
  mustPublish,
  quotesOf,
  tryPublish,
  type CatalogRow,
} from "./small-market.ts";
import { summaryLines } from "../../src/publish/summary.ts";

const ALL = { a: "LPDDR", b: "LPDDR", c: "NAND" };
const catalog = (segments: Readonly<Record<string, string>>, more: Partial<CatalogRow> = {}) =>
  catalogOf(Object.entries(segments).map(([id, segment]) => ({ id, segment, ...more })));
const [DAY_1, DAY_2, DAY_3] = ["2026-11-19T12Z", "2026-11-20T12Z", "2026-11-21T00Z"] as const;

async function twoDays(segments: Readonly<Record<string, string>> = ALL): Promise<MemoryStore> {
  const store = new MemoryStore();
  const first = {
    session: DAY_1,
    catalog: catalog(segments),
    quotes: quotesOf({ a: 10, b: 5, c: 1 }),
  };
  await mustPublish(store, first);
  await mustPublish(store, { session: DAY_2, quotes: quotesOf({ a: 11, b: 5, c: 1 }) });
  return store;
}
const DAY_3_QUOTES = quotesOf({ a: 12, b: 5, c: 1 });
const rename = (segments: Readonly<Record<string, string>>) => ({
  session: DAY_3,
  catalog: catalog(segments),
  quotes: DAY_3_QUOTES,
});
const listed = async (store: MemoryStore): Promise<Record<string, readonly string[]>> => {
  const { indices } = await headJson(store, "pro/indices.json");
  return Object.fromEntries(
    indices.map(({ id, formerly }: { id: string; formerly: string[] }) => [id, formerly]),
  );
};

test("series, members and settlements go on under the new id, and the summary says so", async () => {
  const store = await twoDays();
  const before = await headJson(store, "pro/indices/lpddr.json");
  const { result } = await tryPublish(
    store,
    rename({ ...ALL, a: "Mobile DRAM", b: "Mobile DRAM" }),
  );
  if (result === null) throw new Error("nothing was published");
  expect(summaryLines(result, "memory:")).toContain(
    'Segment    "LPDDR" is now "Mobile DRAM": its index lpddr goes on as mobile-dram',
  );
  const after = await headJson(store, "pro/indices/mobile-dram.json");
  expect(after.series.base).toEqual(before.series.base);
  expect(after.series.values ?? after.series.closes).toEqual(
    before.series.values ?? before.series.closes,
  );
  expect(await listed(store)).toEqual({ composite: [], "mobile-dram": ["lpddr"], nand: [] });
  const members = String(await plainBytes(store, `sessions/${DAY_3}/r1/pro/members.csv`));
  expect(members).toMatch(/^mobile-dram,a,2026-11-19,/m);
  expect(members).not.toContain("lpddr");
});

test("former ids stay through later publications and renames, until a segment has one again", async () => {
  const store = await twoDays();
  await mustPublish(store, rename({ ...ALL, a: "Mobile", b: "Mobile" }));
  await mustPublish(store, {
    session: "2026-11-21T12Z",
    quotes: quotesOf({ a: 12.5, b: 5, c: 1 }),
  });
  expect(await listed(store)).toMatchObject({ mobile: ["lpddr"] });
  const again = { a: "Phone", b: "Phone", c: "NAND" };
  await mustPublish(store, { ...rename(again), session: "2026-11-22T00Z" });
  expect(await listed(store)).toMatchObject({ phone: ["lpddr", "mobile"] });
  const back = { a: "Phone", b: "Phone", c: "NAND", d: "LPDDR" };
  const quotes = quotesOf({ a: 12, b: 5, c: 1, d: 3 });
  await mustPublish(store, {
    session: "2026-11-22T12Z",
    catalog: catalog(back),
    quotes,
    accept: [{ gate: "free", ids: null }],
  });
  expect(await listed(store)).toMatchObject({ phone: ["mobile"], lpddr: [] });
});

describe("nothing is renamed", () => {
  test.each([
    ["if its contracts stand in two segments", { a: "X", b: "Y", c: "NAND" }],
    ["if they stand in one that was there", { a: "NAND", b: "NAND", c: "NAND" }],
    ["if two segments become one", { a: "X", b: "X", c: "X" }],
    ["if the name is still there", { a: "X", b: "LPDDR", c: "NAND" }],
  ])("%s", async (_what, segments) => {
    const store = await twoDays();
    await mustPublish(store, rename(segments));
    expect(Object.values(await listed(store)).flat()).toEqual([]);
  });
});

test("the old id is answered with 308, and works in ids and segment", async () => {
  const store = await twoDays();
  await mustPublish(store, rename({ ...ALL, a: "Mobile DRAM", b: "Mobile DRAM" }));
  const proxy = await startTestProxy({ store });
  try {
    const get = (path: string) => proxy.get(`/api/public/v1/${path}`, { key: proxy.pro });
    const { status, headers } = await get("indices/lpddr?from=2026-11-01");
    expect([status, headers.location]).toEqual([
      308,
      "/api/public/v1/indices/mobile-dram?from=2026-11-01",
    ]);
    expect((await get("indices/LPDDR")).status).toBe(308);
    const { json: contracts } = await get("contracts");
    expect(contracts.segments[0]).toMatchObject({ id: "mobile-dram", formerly: ["lpddr"] });
    const old = await get("indices.csv?ids=lpddr");
    const now = await get("indices.csv?ids=mobile-dram");
    expect([old.status, old.text]).toEqual([200, now.text]);
    expect(old.headers["x-asked"]).toBe("lpddr=mobile-dram");
    const rows = await get("prices?segment=lpddr");
    expect(rows.json.memory.map(({ id }: { id: string }) => id)).toEqual(["a", "b"]);
  } finally {
    await proxy.close();
  }
});

test("settled months, and those settled later, stand under the new id", async () => {
  const store = new MemoryStore();
  const quotes = quotesOf({ a: 10, b: 5, c: 1 });
  await mustPublish(store, { session: "2026-09-30T12Z", catalog: catalog(ALL), quotes });
  await mustPublish(store, { session: "2026-10-01T00Z", quotes });
  const settled = async (id: string) =>
    (await headJson(store, `pro/settlements/indices/${id}.json`)).settlements;
  const before = await settled("lpddr");
  expect(before.map(({ month }: { month: string }) => month)).toEqual(["2026-09"]);
  const renamed = { a: "Mobile", b: "Mobile", c: "NAND" };
  await mustPublish(store, { session: "2026-10-02T00Z", catalog: catalog(renamed), quotes });
  expect(await settled("mobile")).toEqual(before);
  const later = { session: "2026-11-01T00Z", quotes, maxUnchangedSessions: 100 };
  await mustPublish(store, { ...later, maxGapSessions: 100 });
  const months = (await settled("mobile")).map(({ month }: { month: string }) => month);
  expect(months).toEqual(["2026-09", "2026-10"]);
});
