/** Gates and carried levels: which levels pass, which are refused, and the messages. */
import { describe, expect, test } from "vitest";
import { MemoryStore } from "../store/memory-store.ts";
import { catalogOf, headJson, lines, mustPublish, quotesOf } from "./small-market.ts";
import { tryPublish, type Ended, type Run } from "./small-market.ts";
import { failure, NOON, published, QUOTES } from "./two-sessions.ts";

describe("moves", () => {
  const move = (from: string, to: string, more: Run = {}): Promise<Ended> =>
    (async () => {
      const store = new MemoryStore();
      await mustPublish(store, {
        session: "2026-11-20T12Z",
        catalog: catalogOf(["a"]),
        quotes: quotesOf({ a: from }),
      });
      const run = { quotes: quotesOf({ a: to }), ...more };
      const ended = await tryPublish(store, { ...run, dryRun: true });
      expect((await tryPublish(store, run)).code).toBe(ended.code);
      return ended;
    })();

  test.each([
    ["10", "15", 0],
    ["10", "15.000001", 3],
    ["10", "5", 0],
    ["10", "4.999999", 3],
    ["0.000002", "0.000003", 0],
    ["0.000002", "0.000004", 3],
    ["3", "4.5", 0],
    ["0.1", "0.15", 0],
    ["0.7", "1.05", 0],
    ["999999999.999998", "499999999.999999", 0],
    ["999999999.999998", "499999999.999998", 3],
  ])("from %s to %s ends with %i", async (from, to, code) => {
    expect((await move(from, to)).code).toBe(code);
  });

  test("the refusal names the contract and the --accept that lets it through", async () => {
    const { code, said } = await move("10", "16");
    expect([code, said]).toEqual([
      3,
      [
        "Refused: 1 finding; nothing was written",
        "a moves by 60 percent, from 10 (2026-11-20T12Z) to 16 (2026-11-21T00Z), expected at most 50",
        "If something else is priced from now on, give the contract's level with a break in the same run.",
        "If the moves are right, publish with --accept moves:a",
      ],
    ]);
    expect((await move("10", "16", { acceptMoves: true })).code).toBe(0);
    expect((await move("10", "16", { maxMoveMicros: 60_000_000 })).code).toBe(0);
    expect((await move("10", "16", { maxMoveMicros: 59_999_999 })).code).toBe(3);
    expect((await move("10", "10.000001", { maxMoveMicros: 0 })).code).toBe(3);
    expect(
      (await move("10", "16", { quotes: lines("id,spot_usd,break", "a,16,New unit") })).code,
    ).toBe(0);
  });

  test("the catalog's own limit replaces the run's limit, in both directions", async () => {
    const own = (max_move_pct: string, usd: string, more: Run = {}) =>
      move("10", usd, { catalog: catalogOf([{ id: "a", max_move_pct }]), ...more });
    expect((await own("5.5", "10.55")).code).toBe(0);
    const { code, said } = await own("5.5", "10.56");
    expect([code, said[1]]).toEqual([3, expect.stringMatching(/expected at most 5\.5$/)]);
    expect((await own("80", "18")).code).toBe(0);
    expect((await own("80", "18.000001")).code).toBe(3);
    expect((await own("", "15.000001")).code).toBe(3);
    expect((await own("60", "16", { maxMoveMicros: 0 })).code).toBe(0);
  });

  test("also between levels of the input, and only within the carry limit", async () => {
    const closes = (earlier: string) =>
      lines("id,date,close_usd", `a,${earlier},1`, "a,2026-11-20,2");
    const run = (earlier: string): Run => ({
      catalog: catalogOf(["a"]),
      quotes: quotesOf({ a: 2 }),
      closes: closes(earlier),
    });
    expect((await failure(new MemoryStore(), run("2026-10-06"))).code).toBe(3);
    await mustPublish(new MemoryStore(), run("2026-10-05"));
  });

  test("a correction is compared with both neighbours; a published move is not judged again", async () => {
    const store = await published();
    const fix = {
      quotes: lines(QUOTES, "a,20,2026-11-20T12Z"),
      revise: "Typing error",
      maxMoveMicros: 30_000_000,
    };
    expect((await failure(store, fix)).said[1]).toBe(
      "a moves by -40 percent, from 20 (2026-11-20T12Z) to 12 (2026-11-21T00Z), expected at most 30",
    );
    await mustPublish(store, { ...fix, acceptMoves: true });
    const later = { session: NOON, quotes: quotesOf({ a: 12, b: 5 }), maxMoveMicros: 30_000_000 };
    await mustPublish(store, { ...later, maxIndexMoveMicros: 40_000_000 });
  });
});

describe("coverage", () => {
  const ids = Array.from({ length: 10 }, (_, n) => `c${n}`);
  const some = (count: number): string =>
    quotesOf(Object.fromEntries(ids.slice(0, count).map((id) => [id, 5])));

  test("exactly 80 percent passes, less is refused", async () => {
    const run = { catalog: catalogOf(ids) };
    await mustPublish(new MemoryStore(), { ...run, quotes: some(8) });
    const { code, said } = await failure(new MemoryStore(), { ...run, quotes: some(7) });
    expect([code, said[1], said[2]]).toEqual([
      3,
      "7 of 10 contracts have a level for 2026-11-21T00Z, expected at least 80 percent; without one: c7, c8, c9",
      "If the feed is complete, publish with --accept sparse",
    ]);
    await mustPublish(new MemoryStore(), { ...run, quotes: some(7), allowSparse: true });
    await mustPublish(new MemoryStore(), {
      ...run,
      quotes: some(7),
      minCoverageMicros: 70_000_000,
    });
  });

  test("a file of an earlier session is told as stale, with both sessions, and not as sparse", async () => {
    const catalog = catalogOf(["a", "b"]);
    const stale = lines(QUOTES, "a,5,2026-11-20T12Z", "b,5,2026-11-20T00Z");
    const { code, said } = await failure(new MemoryStore(), { catalog, quotes: stale });
    expect([code, said.slice(1)]).toEqual([
      3,
      [
        "The input is stale: its newest quotes are of 2026-11-20T12Z, and none is of 2026-11-21T00Z",
        "Publish when the feed has the levels of 2026-11-21T00Z",
      ],
    ]);
    const half = lines(QUOTES, "a,5,2026-11-21T00Z", "b,5,2026-11-20T00Z");
    const sparse = await failure(new MemoryStore(), { catalog, quotes: half });
    expect(sparse.said[1]).toMatch(/^1 of 2 contracts/);
  });

  test("a level for another session does not count", async () => {
    const closes = lines("id,date,close_usd", ...ids.map((id) => `${id},2026-11-20,5`));
    const { said } = await failure(new MemoryStore(), { catalog: catalogOf(ids), closes });
    expect(said[1]).toMatch(/^0 of 10 contracts/);
  });
});

describe("a changed unit or capacity", () => {
  const changed = catalogOf([
    { id: "a", unit: "USD per tray" },
    { id: "b", capacity_gb: "2" },
  ]);
  const run: Run = { session: NOON, catalog: changed, quotes: quotesOf({ a: 12, b: 5 }) };

  test("is refused without a break in the same run", async () => {
    const store = await published(["a", { id: "b", capacity_gb: "1" }]);
    const { code, said } = await failure(store, run);
    expect([code, said.slice(1, 3)]).toEqual([
      3,
      [
        'a changes its unit from "USD per piece" to "USD per tray" without a break',
        'b changes its capacity_gb from "1" to "2" without a break',
      ],
    ]);
    expect((await failure(store, { ...run, acceptMoves: true, allowSparse: true })).code).toBe(3);
    const quotes = lines("id,spot_usd,break", "a,120,Now by the tray", "b,10,Larger die");
    expect(await mustPublish(store, { ...run, quotes })).toBe(`${NOON}/r1`);
    expect((await headJson(store, "pro/board.json")).memory[0]).toMatchObject({
      unit: "USD per tray",
      chg_24h_pct: null,
      break: { session_utc: "2026-11-21T12:00:00.000Z", reason: "Now by the tray" },
    });
    // The published catalog now has this unit.
    await mustPublish(store, { session: "2026-11-22T00Z", quotes: quotesOf({ a: 121, b: 10 }) });
  });
});

describe("carried levels", () => {
  /** a has one level at the start; b keeps the coverage up. */
  async function aged(sessions: number, run: Run = {}, row = {}): Promise<MemoryStore> {
    const store = new MemoryStore();
    const first = new Date(
      Date.parse("2026-11-21T00:00Z") - sessions * 12 * 3_600_000,
    ).toISOString();
    const quotes = lines(QUOTES, "b,5,", `a,7,${first}`);
    await mustPublish(store, {
      catalog: catalogOf([{ id: "a", ...row }, "b"]),
      quotes,
      allowSparse: true,
      ...run,
    });
    return store;
  }

  test("a level is carried for exactly 45 times 24 hours, with its as_of", async () => {
    const stands = await aged(90);
    expect((await headJson(stands, "pro/board.json")).memory[0]).toMatchObject({
      id: "a",
      spot_usd: 7,
      basis: "carried",
      as_of: "2026-10-07",
      chg_24h_pct: 0,
    });
    expect((await headJson(stands, "manifest.json")).carried).toEqual([
      { id: "a", session_utc: "2026-10-07T00:00:00.000Z", as_of: "2026-10-07" },
    ]);
    const gone = await aged(91);
    expect((await headJson(gone, "pro/board.json")).counts).toEqual({
      memory: 1,
      semiconductor: 0,
    });
    expect((await headJson(gone, "starter/board.json")).counts.memory).toBe(1);
    const { carried, dropped, tiers } = await headJson(gone, "manifest.json");
    expect([carried, dropped]).toEqual([
      [],
      [{ id: "a", session_utc: "2026-10-06T12:00:00.000Z", as_of: "2026-10-06" }],
    ]);
    expect(tiers.pro.off_board).toEqual([{ id: "a", as_of: "2026-10-06" }]);
    expect(String(await gone.get("sessions/2026-11-21T00Z/r1/pro/export.csv"))).not.toContain(
      ",a,A,",
    );
  });

  test.each([
    ["the option", { maxCarryDays: 1 }, {}],
    ["the catalog's own limit", {}, { max_carry_days: "1" }],
    ["the catalog's own before the option", { maxCarryDays: 100 }, { max_carry_days: "1" }],
  ])("%s", async (_, run, row) => {
    const board = async (sessions: number): Promise<number> =>
      (await headJson(await aged(sessions, run, row), "pro/board.json")).counts.memory;
    expect([await board(2), await board(3)]).toEqual([2, 1]);
  });

  test("with zero days, only levels of the session itself are on the board", async () => {
    const store = await aged(1, { maxCarryDays: 0 });
    expect((await headJson(store, "pro/board.json")).counts.memory).toBe(1);
  });
});
