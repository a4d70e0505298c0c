/** Baskets of quantities over a real socket: their costs, now and before, and refusals. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ProblemCode } from "../../src/public/problems.ts";
import {
  eventually,
  publishedStore,
  publishSession,
  SESSION,
  sessionsMs,
  startTestProxy,
  TestClock,
  YOUNG,
  BROKEN,
  type TestProxy,
} from "./fixture.ts";
import { expectCode } from "./refusal.ts";

interface Part {
  readonly id: string;
  readonly quantity: number;
}

const API = "/api/public/v1";

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy();
});
afterAll(() => proxy.close());

const ask = (query: string, from = proxy) => from.get(`${API}/index?${query}`, { key: from.pro });

/** The close of a contract on a day. */
async function closeOf(id: string, day: string): Promise<number> {
  const { json } = await proxy.get(`${API}/prices/${id}`, { key: proxy.pro });
  return json.history.find(({ date }: { date: string }) => date === day).close_usd;
}

test("a basket of quantities costs what its parts cost, and weighs them by their cost at the base", async () => {
  const { status, json } = await ask("ids=nand-0,dram-2&quantities=3,1.5");
  const [ssd, chip] = json.contributions;
  // Levels have three decimals, so these sums of doubles are exact to 6.
  const costBy = async (day: string): Promise<number> =>
    3 * (await closeOf("nand-0", day)) + 1.5 * (await closeOf("dram-2", day));
  const costs = {
    cost_usd: 3 * ssd.spot_usd + 1.5 * chip.spot_usd,
    cost_base_usd: 3 * ssd.base_usd + 1.5 * chip.base_usd,
    cost_24h_usd: await costBy("2026-11-19"),
    cost_30d_usd: await costBy("2026-10-21"),
  };
  expect(status).toBe(200);
  expect(json).toMatchObject({
    name: "basket",
    weighting: "quantities",
    constituents: 2,
    ...costs,
  });
  expect(costs.cost_base_usd).toBe(await costBy("2025-11-20"));
  expect([ssd.id, ssd.quantity, chip.id, chip.quantity]).toEqual(["nand-0", 3, "dram-2", 1.5]);
  expect(ssd.weight_pct).toBeCloseTo((300 * ssd.base_usd) / costs.cost_base_usd, 4);
  expect(ssd.weight_pct + chip.weight_pct).toBeCloseTo(100, 3);
  expect(json.level).toBeCloseTo((100 * costs.cost_usd) / costs.cost_base_usd, 3);
  const change = (then: number): number => (costs.cost_usd / then - 1) * 100;
  expect(Math.abs(json.chg_24h_pct - change(costs.cost_24h_usd))).toBeLessThanOrEqual(0.006);
  expect(Math.abs(json.chg_30d_pct - change(costs.cost_30d_usd))).toBeLessThanOrEqual(0.006);
});

test("one piece of one contract costs its levels", async () => {
  const { json } = await ask("ids=dram-1&quantities=1");
  const [{ spot_usd, base_usd, relative, weight_pct, quantity }] = json.contributions;
  expect([json.cost_usd, json.cost_base_usd]).toEqual([spot_usd, base_usd]);
  expect([json.cost_24h_usd, json.cost_30d_usd]).toEqual([
    await closeOf("dram-1", "2026-11-19"),
    await closeOf("dram-1", "2026-10-21"),
  ]);
  expect(json.level).toBeCloseTo(100 * relative, 3);
  expect([weight_pct, quantity]).toEqual([100, 1]);
});

test("parts without a base leave out what needs it, and nothing else", async () => {
  const { status, json } = await ask(`ids=${YOUNG},dram-2,${BROKEN}&quantities=2,1.5,1`);
  expect(status).toBe(200);
  const spots = json.contributions.map(({ spot_usd }: { spot_usd: number }) => spot_usd);
  expect(json).toMatchObject({
    level: null,
    constituents: 3,
    cost_usd: 2 * spots[0] + 1.5 * spots[1] + spots[2],
    cost_base_usd: null,
    excluded: [],
    without_base: [
      { id: YOUNG, reason: "no_base_level" },
      { id: BROKEN, reason: "break" },
    ],
  });
  expect(json.contributions.map(({ id, quantity }: Part) => [id, quantity])).toEqual([
    [YOUNG, 2],
    ["dram-2", 1.5],
    [BROKEN, 1],
  ]);
  for (const part of json.contributions) {
    expect(part).toMatchObject({ weight_pct: null, contribution: null });
    // Each part has its own costs and its own relative.
    const { quantity, spot_usd, base_usd, cost_usd, cost_base_usd, relative } = part;
    expect(cost_usd).toBe(quantity * spot_usd);
    expect(cost_base_usd).toBe(base_usd && quantity * base_usd);
    expect(relative).toBe(base_usd && Number((spot_usd / base_usd).toFixed(6)));
    expect(part.contribution_24h_pct === null).toBe(json.cost_24h_usd === null);
  }
  const [young, old, broken] = json.contributions;
  expect([young.base_usd, young.base_as_of, young.relative]).toEqual([null, null, null]);
  expect([old.base_usd, old.relative]).toEqual([expect.any(Number), expect.any(Number)]);
  expect(json.like_for_like).toEqual({
    parts: 1,
    cost_usd: old.cost_usd,
    cost_base_usd: old.cost_base_usd,
    level: Number(((100 * old.cost_usd) / old.cost_base_usd).toFixed(4)),
  });
  // Only the part that lacks a level 24 hours ago has no cost then; the others have theirs.
  const dayAgo = json.contributions.map(
    (part: Part & { cost_24h_usd: number | null }) => part.cost_24h_usd,
  );
  expect(json.cost_24h_usd === null).toBe(dayAgo.includes(null));
  expect(old.cost_24h_usd).toBe(1.5 * (await closeOf("dram-2", "2026-11-19")));
  expect([broken.base_usd, broken.cost_base_usd]).toEqual([null, null]);
  // A change depends on its own instant alone.
  const isNull = (cost: string, change: string) =>
    expect(json[cost] === null).toBe(json[change] === null);
  isNull("cost_24h_usd", "chg_24h_pct");
  isNull("cost_30d_usd", "chg_30d_pct");
  const { json: alone } = await ask("ids=dram-2&quantities=1.5");
  expect(alone.without_base).toEqual([]);
  const { parts, level, ...costs } = alone.like_for_like;
  expect([parts, level]).toEqual([1, alone.level]);
  expect(alone).toMatchObject(costs);
  const { json: none } = await ask(`ids=${YOUNG},${BROKEN}&quantities=2,1`);
  expect([none.level, none.like_for_like]).toEqual([null, null]);
});

test("costs are exact beyond the digits of a double", async () => {
  const large = await ask("ids=dram-0,dram-1&quantities=999999999.123456789,0.000000001");
  // 11 × 999999999.123456789 + 12 × 0.000000001 = 10999999990.358024691
  expect(large.text).toContain('"cost_usd":10999999990.358025,');
  expect(large.text).toContain('"quantity":999999999.123456789,');
  expect(large.text).toContain('"quantity":0.000000001,');
  const small = await ask("ids=dram-0&quantities=0.000000001");
  expect(small.text).toContain('"cost_usd":0,"cost_base_usd":0,');
});

test("twice the quantities cost twice as much at the same level", async () => {
  const one = (await ask("ids=dram-0,chip-0&quantities=1.5,2")).json;
  const two = (await ask("ids=dram-0,chip-0&quantities=3,4")).json;
  expect(two.cost_usd).toBe(2 * one.cost_usd);
  expect([two.level, two.chg_24h_pct]).toEqual([one.level, one.chg_24h_pct]);
  const weights = (await ask("ids=dram-0,chip-0&weights=3,4")).json;
  expect(weights.weighting).toBe("custom");
  expect(Object.keys(weights).filter((name) => name.startsWith("cost"))).toEqual([]);
  expect(Object.keys(weights.contributions[0])).not.toContain("quantity");
});

test("a publication is priced later as it was then", async () => {
  const clock = new TestClock();
  const store = await publishedStore();
  const followed = await startTestProxy({ store, clock });
  try {
    const query = "ids=dram-0,nand-1&quantities=64,0.5";
    const then = (await ask(query, followed)).json;
    const asOf = new Date(clock.ms).toISOString();
    clock.ms += sessionsMs(1);
    await publishSession(store, clock, SESSION + 1, { usd: 12 });
    await eventually(async () => (await ask(query, followed)).headers["x-publication"] === "2");
    expect((await ask(query, followed)).json.cost_usd).toBe(then.cost_usd + 64.5);
    for (const vintage of ["publication=1", `as_of=${asOf}`]) {
      const { json, headers } = await ask(`${query}&${vintage}`, followed);
      expect([json, headers["x-publication"]]).toEqual([then, "1"]);
    }
  } finally {
    await followed.close();
  }
});

describe("refused, with all faults", () => {
  type Fault = readonly [parameter: string, value: string];
  const CASES: readonly (readonly [query: string, code: ProblemCode, ...faults: Fault[]])[] = [
    ["quantities=1", "invalid_parameter", ["ids", ""]],
    ["quantities=1&weights=1", "invalid_parameter", ["ids", ""], ["quantities", "1"]],
    ["ids=dram-0&weights=1&quantities=2", "invalid_parameter", ["quantities", "2"]],
    [
      "ids=dram-0&quantities=x&weights=0",
      "invalid_parameter",
      ["quantities", "x"],
      ["weights", "0"],
      ["quantities", "x"],
    ],
    ["ids=dram-0&quantities=1&quantities=1", "invalid_parameter", ["quantities", "1,1"]],
    ["ids=dram-0,dram-1&quantities=1", "invalid_parameter", ["quantities", "1"]],
    ["ids=dram-0&quantities=1,2", "invalid_parameter", ["quantities", "1,2"]],
    ["ids=dram-0&quantities=", "invalid_parameter", ["quantities", ""]],
    [
      "ids=dram-0,dram-0,no-such&quantities=1,-1,0",
      "invalid_parameter",
      ["ids", "dram-0"],
      ["quantities", "-1"],
      ["quantities", "0"],
      ["ids", "no-such"],
    ],
    ["ids=dram-0&quantities=0&publication=99", "invalid_parameter", ["quantities", "0"]],
    [
      "ids=dram-0&quantities=0&publication=x",
      "invalid_parameter",
      ["publication", "x"],
      ["quantities", "0"],
    ],
    [`ids=${YOUNG}&weights=1`, "no_base_level", ["ids", YOUNG]],
    ["ids=dram-0&quantity=1", "unknown_parameter", ["quantity", "1"]],
  ];
  for (const [query, code, ...faults] of CASES) {
    test(`/index?${query}: ${code}`, async () => {
      const path = `${API}/index?${query}`;
      const { json } = await expectCode(proxy, path, { key: proxy.pro }, code, 400);
      const found = json.errors.map(({ parameter, value }: Record<string, string>) => [
        parameter,
        value,
      ]);
      expect(found).toEqual(faults);
    });
  }

  test("a quantity that is no decimal above 0 with up to 9 digits on each side", async () => {
    const bad = ["0.0", "-1", "+1", "1e3", "1E3", "NaN", "Infinity", "0x10", ".5", "1.", " 1", ""];
    for (const text of [...bad, "1234567890", "1.1234567890", "1_0", "١"]) {
      const query = `ids=dram-0,dram-1&quantities=1,${encodeURIComponent(text)}`;
      const path = `${API}/index?${query}`;
      const { json } = await expectCode(proxy, path, { key: proxy.pro }, "invalid_parameter");
      expect(json.errors).toMatchObject([{ parameter: "quantities", value: text }]);
    }
  });

  test("an entry that is not there comes after the form of quantities, and before unknown ids", async () => {
    const path = `${API}/index?ids=no-such&quantities=1&publication=99`;
    await expectCode(proxy, path, { key: proxy.pro }, "not_published");
  });
});
