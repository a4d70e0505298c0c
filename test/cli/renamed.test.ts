/** Contracts that get another id, and contracts that are delisted. */
import { describe, expect, test } from "vitest";
import { FILES } from "../../src/store/paths.ts";
import type { MemoryStore } from "../store/memory-store.ts";
import {
  catalogOf,
  headJson,
  lines,
  mustPublish,
  quotesOf,
  type CatalogRow,
} from "./small-market.ts";
import { failure, NOON, published, QUOTES } from "./two-sessions.ts";

const NEXT = "2026-11-22T00Z";

describe("a contract that gets another id", () => {
  const RENAMED = catalogOf([{ id: "z", formerly: "a" }, "b"]);

  /** The two sessions with a corrected level of a, then a session in which a is called z. */
  async function renamed(): Promise<MemoryStore> {
    const store = await published();
    const quotes = lines(QUOTES, "a,10.5,2026-11-19T12Z");
    await mustPublish(store, { quotes, revise: "Typing error" });
    const levels = quotesOf({ z: 12, b: 5 });
    await mustPublish(store, { session: NOON, catalog: RENAMED, quotes: levels });
    return store;
  }

  test("keeps its levels, breaks, changes and corrections", async () => {
    const store = await renamed();
    const contract = await headJson(store, "pro/contracts/z.json");
    expect(contract).toMatchObject({
      id: "z",
      chg_24h_pct: 9.09,
      history: [
        { date: "2026-11-19", close_usd: 10.5 },
        { date: "2026-11-20", close_usd: 11 },
        { date: "2026-11-21", close_usd: 12 },
      ],
      breaks: [{ reason: "New mask" }],
      corrections: [{ old_usd: 10, new_usd: 10.5, corrected_in: "2026-11-21T00Z/r2" }],
    });
    const { files, corrected } = await headJson(store, FILES.manifest);
    expect(corrected).toEqual([]);
    expect(files.map(({ path }: { path: string }) => path)).not.toContain("pro/contracts/a.json");
    // The delayed tiers also have the new id for the session before.
    expect((await headJson(store, "starter/board.json")).memory[0].id).toBe("z");
    // The next session goes on with the stored catalog.
    await mustPublish(store, { session: NEXT, quotes: quotesOf({ z: 12.5, b: 5 }) });
    expect((await headJson(store, "pro/contracts/z.json")).history).toHaveLength(4);
  });

  test("keeps the ids of all its names, also those that the catalog no longer says", async () => {
    const store = await renamed();
    const rename = (session: string, id: string, formerly: string, usd: number) =>
      mustPublish(store, {
        session,
        catalog: catalogOf([{ id, formerly }, "b"]),
        quotes: quotesOf({ [id]: usd, b: 5 }),
      });
    const formerIds = async (): Promise<unknown> =>
      (await headJson(store, FILES.catalog)).map((row: CatalogRow) => row.formerly);
    await rename(NEXT, "y", "z", 12.5);
    expect(await formerIds()).toEqual(["a z", null]);
    await rename("2026-11-22T12Z", "x", "y", 12.25);
    expect(await formerIds()).toEqual(["a z y", null]);
    expect((await headJson(store, "pro/contracts/x.json")).history).toHaveLength(4);
    // A catalog without them changes nothing; a contract that gets one of them again takes it.
    await rename("2026-11-23T00Z", "x", "", 12);
    expect(await formerIds()).toEqual(["a z y", null]);
    await mustPublish(store, {
      session: "2026-11-23T12Z",
      catalog: catalogOf(["x", "b", "z"]),
      quotes: quotesOf({ x: 12, b: 5.5, z: 3 }),
      accept: [{ gate: "free", ids: ["z"] }],
    });
    expect(await formerIds()).toEqual(["a y", null, null]);
    const one = await headJson(store, "pro/contracts/z.json");
    expect(one.history).toEqual([{ date: "2026-11-23", close_usd: 3 }]);
  });

  test("may name several former ids at once", async () => {
    const store = await published();
    await mustPublish(store, {
      session: NOON,
      catalog: catalogOf([{ id: "z", formerly: "before a" }, "b"]),
      quotes: quotesOf({ z: 12, b: 5 }),
    });
    expect((await headJson(store, FILES.catalog))[0].formerly).toBe("before a");
    const twice = catalogOf([{ id: "z", formerly: "a a" }, "b"]);
    const { code, said } = await failure(store, { session: NEXT, catalog: twice });
    expect([code, said[1]]).toEqual([
      2,
      expect.stringContaining('formerly "a a": expected a lowercase slug'),
    ]);
  });

  test("keeps what corrections say of a level that was withdrawn", async () => {
    const store = await published();
    const withdrawn = lines(`${QUOTES},basis`, "a,,2026-11-20T12Z,withdrawn");
    await mustPublish(store, { quotes: withdrawn, revise: "No trade" });
    const again = lines(`${QUOTES},basis`, "z,,2026-11-20T12Z,withdrawn", "z,12,,", "b,5,,");
    await mustPublish(store, { session: NOON, catalog: RENAMED, quotes: again });
    expect(await headJson(store, FILES.corrections)).toMatchObject([{ contract: "z" }]);
  });

  test("a quote or a --hold with the former id is an error that names the present one", async () => {
    const store = await renamed();
    const quotes = lines(QUOTES, "a,12,", "a,12,2026-11-21T12Z", "b,5,");
    const { code, said } = await failure(store, { session: NEXT, quotes });
    expect([code, said.slice(1)]).toEqual([
      2,
      ['quotes.csv:2 id "a": expected its present id, z; 2 rows name it'],
    ]);
    const held = { session: NEXT, quotes: quotesOf({ z: 12, b: 5 }), hold: ["a"] };
    expect((await failure(store, held)).said[1]).toBe('--hold "a": expected its present id, z');
  });

  test("cannot take over another contract's levels", async () => {
    const store = await published();
    const catalog = catalogOf([{ id: "b", formerly: "a" }]);
    const { code, said } = await failure(store, {
      session: NOON,
      catalog,
      quotes: quotesOf({ b: 5 }),
    });
    expect([code, said.slice(1)]).toEqual([
      2,
      [
        'catalog.csv:2 formerly "a": expected an id whose levels b can take over, but b has levels of its own',
      ],
    ]);
  });

  test("may get its old id back", async () => {
    const store = await renamed();
    const catalog = catalogOf([{ id: "a", formerly: "z" }, "b"]);
    await mustPublish(store, { session: NEXT, catalog, quotes: quotesOf({ a: 12.5, b: 5 }) });
    expect((await headJson(store, "pro/contracts/a.json")).history).toHaveLength(4);
  });

  test("may change its unit at once, with a break", async () => {
    const store = await published();
    const trays: CatalogRow = { id: "z", formerly: "a", unit: "USD per tray" };
    const run = { session: NOON, catalog: catalogOf([trays, "b"]) };
    const { code, said } = await failure(store, { ...run, quotes: quotesOf({ z: 12, b: 5 }) });
    expect([code, said[1]]).toEqual([3, expect.stringContaining("z changes its unit")]);
    await mustPublish(store, { ...run, quotes: lines("id,spot_usd,break", "z,120,Trays", "b,5,") });
    expect((await headJson(store, "starter/board.json")).memory[0].unit).toBe("USD per piece");
    expect((await headJson(store, "pro/board.json")).memory[0].unit).toBe("USD per tray");
  });
});

describe("a contract that is delisted on 2026-11-21", () => {
  const DELISTED = catalogOf([{ id: "a", delisted_on: "2026-11-21" }, "b"]);
  const run = { catalog: DELISTED };

  test("is off the boards from 00:00 on, of each tier by its own session", async () => {
    const store = await published();
    await mustPublish(store, { ...run, quotes: quotesOf({ b: 5.5 }), revise: "a is delisted" });
    // a has levels for 2026-11-21, from before it was delisted.
    expect((await headJson(store, "pro/board.json")).counts.memory).toBe(1);
    expect((await headJson(store, "starter/board.json")).memory[0]).toMatchObject({
      id: "a",
      basis: "assessed",
    });
    const { counts, delisted, dropped, tiers } = await headJson(store, FILES.manifest);
    expect([delisted, dropped]).toEqual([
      [{ id: "a", session_utc: "2026-11-21T00:00:00.000Z", as_of: "2026-11-21" }],
      [],
    ]);
    expect(counts).toMatchObject({ contracts: 2, given: 1, delisted: 1, without_level: 0 });
    expect(tiers.starter.off_board).toEqual([{ id: "b", as_of: null }]);
    const history = [
      { date: "2026-11-19", close_usd: 10 },
      { date: "2026-11-20", close_usd: 11 },
      { date: "2026-11-21", close_usd: 12 },
    ];
    const rest = { chg_24h_pct: null, chg_30d_pct: null, chg_yoy_pct: null };
    expect(await headJson(store, "pro/contracts/a.json")).toMatchObject({
      ...rest,
      spot_usd: 12,
      basis: "discontinued",
      as_of: "2026-11-21",
      history,
    });
    await mustPublish(store, { session: NOON, quotes: quotesOf({ b: 5.5 }) });
    expect((await headJson(store, "starter/board.json")).counts.memory).toBe(1);
    expect(await headJson(store, "free/contracts/a.json")).toMatchObject({
      ...rest,
      basis: "discontinued",
      history: [],
    });
  });

  test("a level for a session from then on is held; one for an earlier session is not", async () => {
    const store = await published();
    const quotes = lines(QUOTES, "a,12,2026-11-20T12Z", "b,5,", "a,12,2026-11-21T00Z", "a,13,");
    const closes = lines("id,date,close_usd", "a,2026-11-21,13");
    await mustPublish(store, { ...run, session: NOON, quotes, closes, revise: "Late report" });
    const judgement = { gate: "held", contract: "a", limit: null, by: null, why: null };
    expect((await headJson(store, "manifest.json")).judgements).toEqual([
      { ...judgement, measured: 3 },
    ]);
    expect(await headJson(store, "pro/contracts/a.json")).toMatchObject({
      spot_usd: 12,
      as_of: "2026-11-21",
      basis: "discontinued",
    });
    // The published catalog also says so.
    await mustPublish(store, { session: NEXT, quotes: quotesOf({ a: 12, b: 5 }) });
    expect((await headJson(store, "manifest.json")).judgements).toEqual([
      { ...judgement, measured: 1 },
    ]);
  });

  test("a feed of nothing else has no level for the session", async () => {
    const store = await published();
    const { code, said } = await failure(store, {
      ...run,
      session: NOON,
      quotes: lines(`${QUOTES},break`, "a,12,,Another die"),
    });
    expect([code, said[1]]).toEqual([3, expect.stringMatching(/^0 of 1 contracts have a level/)]);
  });

  test("a level from then on can be withdrawn", async () => {
    const store = await published();
    const quotes = lines(`${QUOTES},basis`, "a,,2026-11-21T00Z,withdrawn", "b,5,,");
    await mustPublish(store, { ...run, session: NOON, quotes, revise: "It was delisted" });
    expect(await headJson(store, "pro/contracts/a.json")).toMatchObject({
      spot_usd: 11,
      as_of: "2026-11-20",
      basis: "discontinued",
    });
  });
});
