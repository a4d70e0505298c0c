/** The indices of segments with their series, and what an index stands on, over a real socket. */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  KEYED_IDS,
  publishedStore,
  publishSession,
  SESSION,
  sessionsMs,
  startTestProxy,
  TestClock,
  type TestProxy,
} from "./fixture.ts";

const API = "/api/public/v1";

let proxy: TestProxy;
beforeAll(async () => {
  const clock = new TestClock();
  clock.ms += sessionsMs(1);
  const store = await publishedStore();
  // All but two contracts have a level for the session.
  const ids = [...Array.from({ length: 10 }, (_, at) => `dram-${at}`), KEYED_IDS[0] as string];
  await publishSession(store, clock, SESSION + 1, { ids });
  proxy = await startTestProxy({ store, clock });
});
afterAll(() => proxy.close());

const of = async (path: string, key: string) => (await proxy.get(API + path, { key })).json;

test("the list has the figures of each index, and the last point of its series", async () => {
  for (const key of [proxy.starter, proxy.pro]) {
    const { indices, ...envelope } = await of("/indices", key);
    expect(indices.map(({ id, name }: Record<string, string>) => [id, name])).toEqual([
      ["composite", "composite"],
      ["dram", "DRAM"],
    ]);
    for (const item of indices) {
      const { contributions, series, ...one } = await of(`/indices/${item.id}`, key);
      const last = series.history.at(-1);
      expect(one).toMatchObject({ ...envelope, name: item.id, level: item.level });
      expect(item).toEqual({
        id: item.id,
        name: item.name,
        formerly: [],
        constituents: contributions.length,
        level: one["level"],
        chg_24h_pct: one["chg_24h_pct"],
        chg_30d_pct: one["chg_30d_pct"],
        series_close: last.close,
        series_date: last.date,
      });
    }
  }
});

test("/indices/composite has the fields of /index, and the series", async () => {
  for (const key of [proxy.starter, proxy.pro]) {
    const { series, ...rest } = await of("/indices/composite", key);
    expect(rest).toEqual(await of("/index", key));
    expect(series).toMatchObject({
      method: "jevons-chained",
      base: { date: "2024-11-21", level: 100 },
    });
  }
});

test("each tier has the series as deep as its history, on one base", async () => {
  const ofPro = (await of("/indices/dram", proxy.pro))["series"];
  const ofStarter = (await of("/indices/dram", proxy.starter))["series"];
  expect(ofPro.history[0]).toEqual({ date: "2024-11-21", close: 100 });
  expect(ofPro.history.at(-1).date).toBe("2026-11-21");
  expect(ofStarter.base).toEqual(ofPro.base);
  // Starter's session is 00:00 of 21 November, so its last point is of the day before.
  expect(ofStarter.history).toEqual(ofPro.history.slice(-90, -1));
});

test("an index and a basket say which levels are carried, and their dates", async () => {
  const index = await of("/index", proxy.pro);
  const basket = await of("/index?ids=chip-0,dram-0", proxy.pro);
  expect([index["carried"], basket["carried"]]).toEqual([2, 1]);
  const standing = { basis: "reported", as_of: "2026-11-21", base_as_of: "2025-11-21" };
  const carried = { ...standing, basis: "carried" };
  expect(basket["contributions"]).toMatchObject([
    { id: "chip-0", ...carried },
    { id: "dram-0", ...standing },
  ]);
  const [first] = index["contributions"];
  expect(first).toMatchObject({ id: "dram-0", ...standing });
  expect(index["contributions"].at(-1)).toMatchObject({ id: "chip-0", ...carried });
});

test("conditional requests and HEAD", async () => {
  const { headers } = await proxy.get(`${API}/indices/dram`, { key: proxy.pro });
  expect(headers).toMatchObject({
    "content-type": "application/json",
    "x-session-utc": "2026-11-21T12:00:00.000Z",
    "x-publication": "2",
  });
  const known = { key: proxy.pro, headers: { "if-none-match": headers.etag as string } };
  expect((await proxy.get(`${API}/indices/dram`, known)).status).toBe(304);
  const head = await proxy.get(`${API}/indices`, { key: proxy.pro, method: "HEAD" });
  expect([head.status, head.text]).toEqual([200, ""]);
});
