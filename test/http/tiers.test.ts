/** How much of the market each tier gets; tiers.http has the table of addresses and tiers. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { API, DATA_ROUTES } from "../../src/public/routes.ts";
import { TIERS } from "../../src/market/tier.ts";
import { historyText, TIER_ROWS } from "../../src/public/tier-words.ts";
import { FREE_IDS, startTestProxy, type TestProxy } from "./fixture.ts";

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy();
});
afterAll(() => proxy.close());

const keyOf = (tier: "starter" | "pro") => ({ key: proxy[tier] });

test("the free slice is the ten free contracts, without history", async () => {
  const { json } = await proxy.get(`${API}/prices`);
  expect(json.memory.map(({ id }: { id: string }) => id)).toEqual(FREE_IDS);
  expect(json.semiconductor).toEqual([]);
  const one = await proxy.get(`${API}/prices/${FREE_IDS[3]}`);
  expect(one.json).toMatchObject({ id: FREE_IDS[3], history: [] });
});

test("history is 90 days deep for starter and 5 years for pro", async () => {
  const ofStarter = await proxy.get(`${API}/prices/dram-0`, keyOf("starter"));
  const ofPro = await proxy.get(`${API}/prices/dram-0`, keyOf("pro"));
  expect(ofStarter.json.history[0].date).toBe("2026-08-23");
  expect(ofStarter.json.history).toHaveLength(90);
  // Two years are published.
  expect(ofPro.json.history[0].date).toBe("2024-11-21");
});

test("a basket is priced with the caller's weights, in the caller's order", async () => {
  const ask = (query: string) => proxy.get(`${API}/index?${query}`, keyOf("pro"));
  const { json } = await ask("ids=nand-0,dram-2&weights=3,1");
  expect(json).toMatchObject({
    name: "basket",
    weighting: "custom",
    constituents: 2,
    excluded: [],
  });
  const [first, second] = json.contributions;
  expect([first.id, first.weight_pct, second.id, second.weight_pct]).toEqual([
    "nand-0",
    75,
    "dram-2",
    25,
  ]);
  expect(json.level).toBeCloseTo(75 * first.relative + 25 * second.relative, 3);
  const scaled = await ask("ids=nand-0,dram-2&weights=0.000000003,0.000000001");
  expect(scaled.json).toEqual(json);
  const equal = await ask("ids=nand-0,dram-2");
  expect(equal.json.weighting).toBe("equal");
  expect(equal.json.contributions.map((item: { weight_pct: number }) => item.weight_pct)).toEqual([
    50, 50,
  ]);
  expect((await ask("ids=nand-0%2Cdram-2")).json).toEqual(equal.json);
});

test.each([
  [{ days: 1 }, "1 day"],
  [{ days: 90 }, "90 days"],
  [{ years: 1 }, "1 year"],
  [{ years: 5 }, "5 years"],
  [null, "none"],
])("a history of %j is %s", (history, words) => {
  expect(historyText({ ...TIERS.pro, history })).toBe(words);
});

test("each address with data is in one row of the table of plans", () => {
  const told = TIER_ROWS.flatMap(({ addresses }) => addresses);
  const paths = Object.values(DATA_ROUTES).map(({ path }) => path);
  for (const path of [...paths, `${API}/sums`, `${API}/contracts`]) {
    expect(told.filter((address) => API + address === path)).toHaveLength(1);
  }
});
