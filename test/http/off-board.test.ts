/** Contracts off the boards, and ids that contracts had formerly. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { apiAt } from "../../src/mcp/api.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { catalogOf, lines, mustPublish, quotesOf, type CatalogRow } from "../cli/small-market.ts";
import { startTestProxy, type TestProxy } from "./fixture.ts";
import { expectCode } from "./refusal.ts";

const API = "/api/public/v1";
const FREE = Array.from({ length: 8 }, (_, at) => `free-${at}`);
/** In the free slice: delisted, and dropped. Outside it: delisted, and never priced. */
const LISTED: readonly (string | CatalogRow)[] = [
  ...FREE,
  "delisted",
  "dropped",
  { id: "keyed-delisted" },
  "keyed-never",
  "keyed",
];
const PRICED = [...FREE, "keyed"];

let proxy: TestProxy;
beforeAll(async () => {
  const store = new MemoryStore();
  const closes = lines(
    "id,date,close_usd,break",
    ...[...PRICED, "delisted", "keyed-delisted"].flatMap((id) => [
      `${id},2025-11-19,10,`,
      `${id},2026-07-01,11,Other packaging`,
      `${id},2026-11-19,12,`,
    ]),
    "dropped,2026-07-01,7,Other packaging",
  );
  const levels = (usd: number): string =>
    quotesOf(Object.fromEntries(PRICED.map((id) => [id, usd])));
  const gates = { minCoverageMicros: 0 };
  const first = { catalog: catalogOf(LISTED), quotes: levels(12), closes };
  await mustPublish(store, { ...gates, session: "2026-11-20T12Z", ...first });
  // keyed is called renamed from now on; two contracts are delisted.
  const now = LISTED.map((row): CatalogRow => {
    const id = typeof row === "string" ? row : row.id;
    if (id === "keyed") return { id: "renamed", formerly: "keyed" };
    return id.endsWith("delisted") ? { id, delisted_on: "2026-11-20" } : { id };
  });
  const quotes = quotesOf(
    Object.fromEntries([...FREE, "renamed"].map((id, at) => [id, 12 + at / 10])),
  );
  const second = { catalog: catalogOf(now), quotes };
  await mustPublish(store, { ...gates, session: "2026-11-21T00Z", ...second });
  proxy = await startTestProxy({ store });
});
afterAll(() => proxy.close());

const used = async (key: string): Promise<number> =>
  (await proxy.get(`${API}/usage`, { key })).json.used;

describe("/prices/{id} of a contract off the boards", () => {
  const CHANGES = {
    chg_24h_pct: null,
    chg_7d_pct: null,
    chg_180d_pct: null,
    chg_yoy_pct: null,
    low_52w_usd: null,
    high_52w_usd: null,
    prev_as_of: null,
  };
  const LATER = [
    { date: "2026-07-01", close_usd: 11 },
    { date: "2026-11-19", close_usd: 12 },
  ];
  const ALL = [{ date: "2025-11-19", close_usd: 10 }, ...LATER];
  const record = {
    ...CHANGES,
    basis: "discontinued",
    as_of: "2026-11-19",
    spot_usd: 12,
  };

  test("has the last level without changes, and the tier's history", async () => {
    for (const id of ["delisted", "keyed-delisted"]) {
      const pro = await proxy.get(`${API}/prices/${id}`, { key: proxy.pro });
      expect([pro.status, pro.json]).toMatchObject([
        200,
        { ...record, id, age_days: 1.5, history: ALL, break: { reason: "Other packaging" } },
      ]);
      const starter = await proxy.get(`${API}/prices/${id}`, { key: proxy.starter });
      expect([starter.status, starter.json]).toMatchObject([
        200,
        { ...record, id, age_days: 1, delayed_sessions: 1, history: LATER.slice(1), breaks: [] },
      ]);
    }
    const dropped = await proxy.get(`${API}/prices/dropped`, { key: proxy.starter });
    // The last entry is there whatever its age.
    const history = [{ date: "2026-07-01", close_usd: 7 }];
    const age = { ...CHANGES, basis: "discontinued", as_of: "2026-07-01", history };
    expect([dropped.status, dropped.json]).toMatchObject([200, age]);
  });

  test("without a key: only in the free slice, without history", async () => {
    const { status, json } = await proxy.get(`${API}/prices/delisted`);
    expect([status, json]).toMatchObject([200, { ...record, history: [], breaks: [] }]);
    await expectCode(proxy, `${API}/prices/keyed-delisted`, {}, "key_required");
  });

  test("costs a call as any other; a 304 does not", async () => {
    const before = await used(proxy.pro);
    const path = `${API}/prices/delisted`;
    const { headers } = await proxy.get(path, { key: proxy.pro });
    expect(await used(proxy.pro)).toBe(before + 1);
    const again = { key: proxy.pro, headers: { "if-none-match": headers.etag as string } };
    expect((await proxy.get(path, again)).status).toBe(304);
    expect(await used(proxy.pro)).toBe(before + 1);
  });

  test("is on no board, in no export and in no index", async () => {
    const key = proxy.pro;
    const board = (await proxy.get(`${API}/prices`, { key })).json;
    expect(board.counts.memory).toBe(9);
    expect(board.memory.map(({ id }: { id: string }) => id)).toEqual([...FREE, "renamed"]);
    expect((await proxy.get(`${API}/export.csv`, { key })).text).not.toMatch(/delisted|dropped/);
    expect((await proxy.get(`${API}/index`, { key })).text).not.toMatch(/delisted|dropped/);
  });

  test("says so where only boards count: since when it is delisted, and no other product", async () => {
    const key = proxy.pro;
    for (const path of ["/prices", "/export.csv", "/sparklines", "/index"]) {
      const refused = (ids: string) =>
        expectCode(proxy, `${API}${path}?ids=${ids}`, { key }, "not_on_board", 400);
      const { json } = await refused("delisted");
      expect(json).toMatchObject({ as_of: "2026-11-19", delisted_on: "2026-11-20" });
      expect(json.detail).toContain("was delisted on 2026-11-20");
      expect(json.errors).toEqual([
        {
          parameter: "ids",
          value: "delisted",
          detail: "was delisted on 2026-11-20; /prices/delisted has its last level",
          as_of: "2026-11-19",
          delisted_on: "2026-11-20",
        },
      ]);
      const two = (await refused("keyed-delisted,delisted")).json.errors;
      expect(two.map(({ value }: { value: string }) => value)).toEqual([
        "keyed-delisted",
        "delisted",
      ]);
    }
    // Without a key, of free contracts.
    const free = await expectCode(proxy, `${API}/prices?ids=delisted`, {}, "not_on_board", 400);
    expect(free.json.delisted_on).toBe("2026-11-20");
    // Off the boards for other reasons: a basket knows no such contract, and suggests none.
    for (const id of ["dropped", "keyed-never"]) {
      const basket = `${API}/index?ids=${id}`;
      const { json } = await expectCode(proxy, basket, { key }, "unknown_contract", 400);
      expect(Object.keys(json.errors[0])).toEqual(["parameter", "value", "detail"]);
      expect(json).not.toHaveProperty("delisted_on");
    }
  });

  test("that never had a level: not_on_board", async () => {
    const path = `${API}/prices/keyed-never`;
    const { json } = await expectCode(proxy, path, { key: proxy.pro }, "not_on_board");
    expect(json.as_of).toBeNull();
    await expectCode(proxy, path, {}, "key_required");
  });
});

describe("/prices/{id} of a former id", () => {
  const OLD = `${API}/prices/keyed`;
  const NEW = `${API}/prices/renamed`;

  test("is 308 to the present one for everybody, and costs nothing", async () => {
    for (const key of [proxy.pro, proxy.starter]) {
      const before = await used(key);
      for (const method of ["GET", "HEAD"]) {
        const { status, headers, text } = await proxy.get(OLD, { key, method });
        expect([status, headers.location, text]).toEqual([308, NEW, ""]);
        expect(headers["x-ratelimit-remaining"]).toMatch(/^\d+$/);
        expect(headers["access-control-allow-origin"]).toBe("*");
      }
      expect(await used(key)).toBe(before);
    }
    const { status, headers } = await proxy.get(OLD);
    expect([status, headers.location]).toEqual([308, NEW]);
    const left = (await proxy.get(`${API}/usage`)).json.remaining;
    expect(headers["x-ratelimit-remaining"]).toBe(String(left));
    // The present one is outside the free slice.
    await expectCode(proxy, NEW, {}, "key_required");
  });

  test("a client that follows gets the contract", async () => {
    const answer = await fetch(proxy.url + OLD, { headers: { "x-api-key": proxy.pro } });
    expect([
      answer.status,
      answer.redirected,
      ((await answer.json()) as { id: string }).id,
    ]).toEqual([200, true, "renamed"]);
  });

  test("an agent's program follows, also where the proxy says a prefix that it does not reach it by", async () => {
    const { store } = proxy;
    const prefixed = await startTestProxy({ store, publicUrl: "https://prices.example/market" });
    try {
      for (const { url, pro } of [proxy, prefixed]) {
        const ask = apiAt(url, { "x-api-key": pro });
        const { isRefused, address, body } = await ask("/prices/keyed", { last: 2 });
        expect([isRefused, address]).toEqual([false, `${url}${NEW}?last=2`]);
        expect(JSON.parse(body)).toMatchObject({ id: "renamed" });
        const then = await ask("/prices/renamed", { publication: 1 });
        expect([then.isRefused, JSON.parse(then.body).id]).toEqual([false, "keyed"]);
      }
    } finally {
      await prefixed.close();
    }
  });

  test("after keys and parameters, before the quota", async () => {
    await expectCode(proxy, `${OLD}?x=1`, { key: proxy.pro }, "unknown_parameter");
    await expectCode(proxy, OLD, { key: "cbk_x" }, "invalid_key");
    await expectCode(proxy, OLD, { method: "POST" }, "method_not_allowed");
    for (let left = 1; left > 0;) {
      const { headers } = await proxy.get(`${API}/prices`);
      left = Number(headers["x-ratelimit-remaining"]);
    }
    await expectCode(proxy, `${API}/prices`, {}, "quota_exceeded");
    expect((await proxy.get(OLD)).status).toBe(308);
  });
});
