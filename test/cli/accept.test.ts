/** `--accept`: each gate is let through by itself, by contract, and only if it refuses. */
import { describe, expect, test } from "vitest";
import { rollBack } from "../../src/desk/rollback.ts";
import { acceptanceOf } from "../../src/feed/gates.ts";
import type { Judgement } from "../../src/snapshot/judgement.ts";
import { NO_KEYS } from "../../src/snapshot/log/sign.ts";
import { USUAL_TIME_GATES } from "../../src/snapshot/log/time-gates.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { catalogOf, headJson, lines, mustPublish, quotesOf } from "./small-market.ts";
import { tryPublish, type CatalogRow, type Run } from "./small-market.ts";
import { failure, NOON, published, QUOTES } from "./two-sessions.ts";

const accepting = (...texts: readonly string[]): Run => ({ accept: texts.map(acceptanceOf) });
/** Without by and why. */
const judgements = async (store: MemoryStore): Promise<unknown> =>
  (await headJson(store, "manifest.json")).judgements.map(
    ({ by: _by, why: _why, ...judgement }: Judgement) => judgement,
  );

describe("moves", () => {
  const run: Run = {
    session: NOON,
    quotes: quotesOf({ a: 24, b: 1 }),
    maxIndexMoveMicros: 200_000_000,
  };

  test("the ids of the refusal let exactly these through, and the manifest keeps them", async () => {
    const store = await published();
    const { code, said } = await failure(store, run);
    expect([code, said.at(-1)]).toEqual([
      3,
      "If the moves are right, publish with --accept moves:a,b",
    ]);
    expect((await failure(store, { ...run, ...accepting("moves:a") })).said.slice(1)).toEqual([
      expect.stringMatching(/^b moves by -80 percent, /),
      expect.stringContaining("break"),
      "If the moves are right, also publish with --accept moves:b",
    ]);
    await mustPublish(store, { ...run, ...accepting("moves:a", "moves:b") });
    expect(await judgements(store)).toEqual([
      { gate: "moves", contract: "a", measured: 100, limit: 50 },
      { gate: "moves", contract: "b", measured: -80, limit: 50 },
    ]);
  });

  test("the same run again is nothing to do, with the same --accept and without", async () => {
    const store = await published();
    await mustPublish(store, { ...run, ...accepting("moves") });
    for (const more of [accepting("moves"), accepting("free:a"), {}]) {
      expect((await tryPublish(store, { ...run, ...more })).result?.outcome).toBe("unchanged");
    }
  });
});

describe("series", () => {
  const DAY_BEFORE = "2026-11-20T12Z";

  /** Two days: a and b of one segment, c of another. */
  async function begun(levels: Readonly<Record<string, number>>): Promise<MemoryStore> {
    const store = new MemoryStore();
    const catalog = catalogOf(["a", "b", { id: "c", segment: "NAND" }]);
    await mustPublish(store, {
      session: DAY_BEFORE,
      catalog,
      quotes: lines(QUOTES, ...["a", "b", "c"].map((id) => `${id},5,2026-11-19T12Z`)),
      closes: lines(
        "id,date,close_usd",
        ...Object.entries(levels).map(([id, usd]) => `${id},2026-11-20,${usd}`),
      ),
      acceptMoves: true,
    });
    return store;
  }

  test("each index whose move is too large is named, and its id lets it through", async () => {
    // The first publication of an index passes, also with a history that doubles in a day.
    const store = await begun({ a: 10, b: 10, c: 10 });
    const run: Run = { session: NOON, quotes: quotesOf({ a: 14, b: 12, c: 15 }) };
    const { code, said } = await failure(store, run);
    expect([code, said.slice(1)]).toEqual([
      3,
      [
        "composite moves by 36.08 percent on 2026-11-21, from 200 to 272.1637, most by c (50 percent), a (40 percent), b (20 percent), expected at most 25",
        "dram moves by 29.61 percent on 2026-11-21, from 200 to 259.2296, most by a (40 percent), b (20 percent), expected at most 25",
        "If a level is wrong, leave it out with --hold, or correct it in the same run.",
        "If the indices should move so, publish with --accept series:composite,dram",
      ],
    ]);
    const some = await failure(store, { ...run, ...accepting("series:dram") });
    expect(some.said.at(-1)).toBe(
      "If the indices should move so, also publish with --accept series:composite",
    );
    const more = await failure(store, { ...run, ...accepting("series:nand,composite,dram") });
    expect([more.code, more.said[1]]).toEqual([
      2,
      "--accept series:nand: the gate series refuses composite, dram, not nand",
    ]);
    await mustPublish(store, { ...run, ...accepting("series:composite,dram") });
    expect(await judgements(store)).toEqual([
      { gate: "series", contract: null, index: "composite", measured: 36.08, limit: 25 },
      { gate: "series", contract: null, index: "dram", measured: 29.61, limit: 25 },
    ]);
    expect((await headJson(store, "manifest.json")).options.max_index_move_pct).toBe("25");
  });

  test.each([
    [{ a: 12.5, b: 12.5, c: 12.5 }, 0],
    [{ a: 12.5, b: 12.500001, c: 12.5 }, 3],
    [{ a: 7.5, b: 7.5, c: 7.5 }, 0],
    [{ a: 7.5, b: 7.499999, c: 7.5 }, 3],
    // An index of one contract has the gate on moves alone.
    [{ a: 10, b: 10, c: 15 }, 0],
  ])("%j ends with %i: a move of the limit passes", async (levels, code) => {
    const store = await begun({ a: 10, b: 10, c: 10 });
    const run: Run = { session: NOON, quotes: quotesOf(levels), dryRun: true };
    expect((await tryPublish(store, run)).code).toBe(code);
    expect((await tryPublish(store, { ...run, maxIndexMoveMicros: 50_000_000 })).code).toBe(0);
  });

  test("corrections that change the value of the last published day are refused above 1 percent", async () => {
    const store = await begun({ a: 10, b: 10, c: 10 });
    const quotes = quotesOf({ a: 10, b: 10, c: 10 });
    const correct = (usd: number): Run => ({
      session: NOON,
      quotes,
      closes: lines("id,date,close_usd", `c,2026-11-20,${usd}`),
      revise: "A misprint",
      maxMoveMicros: 200_000_000,
    });
    expect((await tryPublish(store, { ...correct(10.1), dryRun: true })).said).toEqual([]);
    const { code, said } = await failure(store, correct(9.8));
    expect([code, said.slice(1)]).toEqual([
      3,
      [
        "nand on 2026-11-20 was 200 as known before this run, and is 196 with it: -2 percent, expected at most 1",
        "If a level is wrong, leave it out with --hold, or correct it in the same run.",
        "If the indices should move so, publish with --accept series:nand",
      ],
    ]);
    await mustPublish(store, { ...correct(9.8), ...accepting("series") });
    expect(await judgements(store)).toEqual([
      { gate: "series", contract: null, index: "nand", measured: -2, limit: 1 },
    ]);
  });

  test("days that a run adds are judged, days of earlier sessions are not", async () => {
    const store = await begun({ a: 10, b: 10, c: 10 });
    const closes = lines(
      "id,date,close_usd",
      ...["a", "b", "c"].map((id) => `${id},2026-11-21,16`),
    );
    const run: Run = { session: "2026-11-22T12Z", quotes: quotesOf({ a: 16, b: 16, c: 16 }) };
    const { said } = await failure(store, { ...run, closes, maxMoveMicros: 100_000_000 });
    expect(said[1]).toMatch(/^composite moves by 60 percent on 2026-11-21, /);
    await mustPublish(store, { ...run, closes, acceptMoves: true });
    const calm = { session: "2026-11-23T12Z", quotes: quotesOf({ a: 16, b: 16, c: 17 }) };
    await mustPublish(store, calm);
    expect(await judgements(store)).toEqual([]);
  });
});

describe("board", () => {
  const ids = Array.from({ length: 11 }, (_, at) => `c${at}`);
  const levels = (count: number, usd: number): Record<string, number> =>
    Object.fromEntries(ids.map((id, at) => [id, at < count ? usd : 10]));

  async function begun(session = "2026-11-20T12Z"): Promise<MemoryStore> {
    const store = new MemoryStore();
    await mustPublish(store, { session, catalog: catalogOf(ids), quotes: quotesOf(levels(0, 10)) });
    return store;
  }

  test("half of the contracts that move by more than the limit are refused", async () => {
    const store = await begun();
    const run: Run = { quotes: quotesOf(levels(10, 12)) };
    const { code, said } = await failure(store, run);
    expect([code, said.slice(1)]).toEqual([
      3,
      [
        "Half of the 10 contracts that move in 2026-11-21T00Z move by more than 20 percent, expected at most 15",
        "If currency, tax or market of the feed is another one, correct the feed.",
        "If the whole market moved so, publish with --accept board",
      ],
    ]);
    await mustPublish(store, { ...run, ...accepting("board") });
    expect(await judgements(store)).toEqual([
      { gate: "board", contract: null, measured: 20, limit: 15 },
    ]);
  });

  test.each<[string, Record<string, number>, string, number]>([
    ["a median of the limit passes", levels(10, 11.5), "2026-11-20T12Z", 0],
    ["a median a millionth above it does not", levels(10, 8.499999), "2026-11-20T12Z", 3],
    ["nine that move are too few", levels(9, 12), "2026-11-20T12Z", 0],
    ["levels of 7 days before count", levels(10, 12), "2026-11-14T00Z", 3],
    ["older ones do not", levels(10, 12), "2026-11-13T12Z", 0],
    [
      "the mean of the two in the middle counts",
      { ...levels(10, 11), ...Object.fromEntries(ids.slice(0, 5).map((id) => [id, 12])) },
      "2026-11-20T12Z",
      0,
    ],
  ])("%s", async (_, quotes, before, code) => {
    const run: Run = { quotes: quotesOf(quotes), maxGapSessions: 20, dryRun: true };
    expect((await tryPublish(await begun(before), run)).code).toBe(code);
  });

  test("a first publication has no board before it", async () => {
    const before = ids.slice(0, 10).map((id) => `${id},2026-11-20T12Z,10`);
    const now = ids.slice(0, 10).map((id) => `${id},2026-11-21T00Z,12`);
    const quotes = lines("id,session_utc,spot_usd", ...before, ...now);
    const run: Run = { catalog: catalogOf(ids.slice(0, 10)), quotes };
    expect((await tryPublish(new MemoryStore(), run)).code).toBe(0);
  });

  test("a contract with a break in the session does not count", async () => {
    const rows = ids.slice(0, 10).map((id, at) => `${id},12,${at === 0 ? "Another unit" : ""}`);
    const run: Run = { quotes: lines("id,spot_usd,break", ...rows), allowSparse: true };
    expect((await tryPublish(await begun(), run)).code).toBe(0);
  });
});

describe("a gate that refuses nothing", () => {
  const calm: Run = { session: NOON, quotes: quotesOf({ a: 12.5, b: 5 }) };
  const wild: Run = { ...calm, quotes: quotesOf({ a: 24, b: 5 }), maxIndexMoveMicros: 200_000_000 };

  test.each([
    [calm, "moves", "--accept moves: the gate moves refuses nothing"],
    [calm, "sparse", "--accept sparse: the gate sparse refuses nothing"],
    [calm, "series", "--accept series: the gate series refuses nothing"],
    [calm, "board", "--accept board: the gate board refuses nothing"],
    [calm, "unchanged", "--accept unchanged: the gate unchanged refuses nothing"],
    [calm, "free:a", "--accept free: the gate free refuses nothing"],
    [calm, "gap", "--accept gap: the gate gap refuses nothing"],
    [wild, "moves:a,b", "--accept moves:b: the gate moves refuses a, not b"],
    [wild, "moves:zebra", "--accept moves:zebra: the gate moves refuses a, not zebra"],
  ])("%j --accept %s: 2, named, and nothing is written", async (run, text, told) => {
    const { code, said } = await failure(await published(), { ...run, ...accepting(text) });
    expect([code, said.slice(0, 2)]).toEqual([
      2,
      ["--accept names a gate that refuses nothing; nothing was written", told],
    ]);
  });

  test("the error also names the refused gates, so that the next run can be right", async () => {
    const { said } = await failure(await published(), { ...wild, ...accepting("sparse") });
    expect(said.at(-1)).toBe("If the moves are right, publish with --accept moves:a");
  });

  test("--accept-moves and --allow-sparse stay silent if nothing is refused", async () => {
    const store = await published();
    await mustPublish(store, { ...calm, acceptMoves: true, allowSparse: true });
    expect(await judgements(store)).toEqual([]);
  });
});

test("all gates that refuse do so in one go, each with its own way on", async () => {
  const store = await published(["a", { id: "b", unit: "USD per reel" }]);
  const rows: CatalogRow[] = [
    { id: "b", unit: "USD per 1000" },
    ...["c", "d", "e"].map((id) => ({ id })),
  ];
  const run = { session: NOON, catalog: catalogOf(rows), quotes: quotesOf({ b: 50 }) };
  const { code, said } = await failure(store, run);
  const accepts = said.flatMap((line) => /--accept (\S+)$/.exec(line)?.[1] ?? []);
  expect([code, accepts]).toEqual([
    3,
    ["moves:b", "sparse", "units:b", "delisting:a", "free:c,d,e,a"],
  ]);
  await mustPublish(store, { ...run, ...accepting(...accepts) });
  expect(await judgements(store)).toEqual([
    { gate: "moves", contract: "b", measured: 900, limit: 50 },
    { gate: "sparse", contract: null, measured: 25, limit: 80 },
    { gate: "units", contract: "b", measured: "USD per 1000", limit: "USD per reel" },
    { gate: "delisting", contract: "a", measured: null, limit: null },
    { gate: "free", contract: "c", measured: "added", limit: null },
    { gate: "free", contract: "d", measured: "added", limit: null },
    { gate: "free", contract: "e", measured: "added", limit: null },
    { gate: "free", contract: "a", measured: "removed", limit: null },
  ]);
});

describe("units", () => {
  const before = { id: "b", capacity_gb: "2", price_type: "spot" };
  const run = (row: object): Run => ({
    session: NOON,
    catalog: catalogOf(["a", { ...before, ...row }]),
    quotes: quotesOf({ a: 12, b: 5 }),
  });

  test("another wording of the unit alone can be accepted; it holds for every session", async () => {
    const store = await published(["a", before]);
    const reworded = run({ unit: "USD a piece" });
    expect((await failure(store, reworded)).said.at(-1)).toBe(
      "If only the wording of the unit changes, publish with --accept units:b",
    );
    await mustPublish(store, { ...reworded, ...accepting("units:b") });
    const units = async (tier: string) =>
      (await headJson(store, `${tier}/board.json`)).memory.map((item: CatalogRow) => item.unit);
    expect(await units("pro")).toEqual(["USD per piece", "USD a piece"]);
    expect(await units("starter")).toEqual(["USD per piece", "USD a piece"]);
  });

  test.each([
    [{ capacity_gb: "4" }, 'capacity_gb from "2" to "4"'],
    [{ capacity_gb: "" }, 'capacity_gb from "2" to none'],
    [{ price_type: "contract" }, 'price_type from "spot" to "contract"'],
    [
      { unit: "USD per tray", capacity_gb: "4" },
      'unit from "USD per piece" to "USD per tray" and its capacity_gb from "2" to "4"',
    ],
  ])("%j needs a break: --accept does not help, and says so", async (row, change) => {
    const store = await published(["a", before]);
    for (const more of [{}, accepting("units"), accepting("units:b")]) {
      const { code, said } = await failure(store, { ...run(row), ...more });
      expect([code, said.slice(1)]).toEqual([
        3,
        [
          `b changes its ${change} without a break`,
          expect.stringContaining("give the contract's level with a break in the same run"),
          "--accept units does not let a changed capacity or price type through.",
        ],
      ]);
    }
    await mustPublish(store, {
      ...run(row),
      quotes: lines("id,spot_usd,break", "a,12,", "b,5,Other terms"),
    });
  });

  test("to fill in an empty field is no change", async () => {
    const store = await published();
    await mustPublish(store, run({}));
    expect(await judgements(store)).toEqual([]);
  });
});

describe("a catalog cut short", () => {
  const ids = Array.from({ length: 12 }, (_, at) => `c${at}`);
  const levels = (usd: number): string => quotesOf(Object.fromEntries(ids.map((id) => [id, usd])));
  const started = async (): Promise<MemoryStore> => {
    const store = new MemoryStore();
    await mustPublish(store, {
      session: "2026-11-20T12Z",
      catalog: catalogOf(ids),
      quotes: levels(10),
    });
    return store;
  };

  test("names every contract on the boards that it lacks", async () => {
    const store = await started();
    const catalog = catalogOf(ids.slice(0, 11));
    const quotes = quotesOf(Object.fromEntries(ids.slice(0, 11).map((id) => [id, 11])));
    const { code, said } = await failure(store, { catalog, quotes });
    expect([code, said.slice(1)]).toEqual([
      3,
      [
        "c11 is on the board, but the catalog has no row for it",
        expect.stringContaining("delisted_on"),
        "If these contracts should leave without a trace, publish with --accept delisting:c11",
      ],
    ]);
  });

  test("a contract that is delisted, or goes on under another id, is not missing", async () => {
    const store = await started();
    const rows: CatalogRow[] = ids.map((id) =>
      id === "c11"
        ? { id, delisted_on: "2026-11-21" }
        : id === "c0"
          ? { id: "z0", formerly: id }
          : { id },
    );
    const quotes = quotesOf(Object.fromEntries(rows.slice(0, 11).map(({ id }) => [id, 11])));
    await mustPublish(store, { catalog: catalogOf(rows), quotes });
    const { judgements: kept, delisted } = await headJson(store, "manifest.json");
    expect([kept, delisted.map(({ id }: CatalogRow) => id)]).toEqual([[], ["c11"]]);
    // Delisted, it is off the boards, so its row may go.
    const shorter = catalogOf(rows.slice(0, 11));
    await mustPublish(store, {
      session: NOON,
      catalog: shorter,
      quotes: quotes.replaceAll(",11", ",12"),
    });
  });

  test("another order changes the free slice, with the same contracts", async () => {
    const store = await started();
    const catalog = catalogOf([...ids.slice(2), "c0", "c1"]);
    const { said } = await failure(store, { catalog, quotes: levels(11) });
    expect(said.slice(1)).toEqual([
      "c10 enters the free slice",
      "c11 enters the free slice",
      "c0 leaves the free slice",
      "c1 leaves the free slice",
      "If callers without a key should see this, publish with --accept free:c10,c11,c0,c1",
    ]);
  });
});

describe("coverage by cadence", () => {
  const sparse = (cadence: string, hours: number, session = "2026-11-21T00Z"): Run => {
    const then = new Date(Date.parse("2026-11-21T00:00Z") - hours * 3_600_000).toISOString();
    return {
      session,
      catalog: catalogOf([{ id: "a", cadence_days: cadence }, "b"]),
      quotes: lines("id,spot_usd,session_utc", "b,5,", `a,7,${then}`),
      minCoverageMicros: 100_000_000,
    };
  };

  test.each([
    ["", 12, 3],
    ["0.5", 12, 3],
    ["1", 24, 0],
    ["1", 36, 3],
    ["0.75", 12, 0],
    ["0.75", 24, 0],
    ["0.75", 36, 3],
    ["30", 30 * 24, 0],
    ["30", 30 * 24 + 12, 3],
  ])("cadence_days %j with a level %i hours old ends with %i", async (cadence, hours, code) => {
    expect((await tryPublish(new MemoryStore(), sparse(cadence, hours))).code).toBe(code);
  });

  test("a delisted contract does not count", async () => {
    const catalog = catalogOf([{ id: "a", delisted_on: "2026-11-21" }, "b"]);
    const quotes = quotesOf({ b: 5 });
    await mustPublish(new MemoryStore(), { catalog, quotes, minCoverageMicros: 100_000_000 });
  });
});

describe("levels that do not move", () => {
  const key = (sessions: number): string =>
    `${new Date(Date.parse("2026-11-21T00:00Z") + sessions * 12 * 3_600_000)
      .toISOString()
      .slice(0, 13)}Z`;
  const moved = quotesOf({ a: 11, b: 5 });

  async function stale(sessions: number, row: object = {}): Promise<MemoryStore> {
    const store = new MemoryStore();
    const catalog = catalogOf(["a", { id: "b", ...row }]);
    await mustPublish(store, { session: key(-1), catalog, quotes: quotesOf({ a: 10, b: 5 }) });
    await mustPublish(store, { session: key(0), quotes: moved });
    for (let at = 1; at <= sessions; at += 1) {
      await mustPublish(store, { session: key(at), quotes: moved });
    }
    return store;
  }

  test("a stale file passes for eight sessions, and the summary says since when", async () => {
    const store = await stale(0);
    for (let at = 1; at <= 8; at += 1) {
      const { result } = await tryPublish(store, { session: key(at), quotes: moved });
      expect([result?.outcome, result?.unmovedSince]).toEqual([
        "published",
        result!.snapshot.session - at,
      ]);
    }
    const ninth = { session: key(9), quotes: moved };
    const { code, said } = await failure(store, ninth);
    expect([code, said.slice(1)]).toEqual([
      3,
      [
        "No level has moved since 2026-11-21T00Z, for 9 sessions, expected at most 8: the feed may be an old one",
        "If the levels are new, publish with --accept unchanged",
      ],
    ]);
    expect(
      (await tryPublish(store, { ...ninth, maxUnchangedSessions: 9, dryRun: true })).code,
    ).toBe(0);
    await mustPublish(store, { ...ninth, ...accepting("unchanged") });
    expect(await judgements(store)).toEqual([
      { gate: "unchanged", contract: null, measured: 9, limit: 8 },
    ]);
    const { result } = await tryPublish(store, {
      session: key(10),
      quotes: quotesOf({ a: 12, b: 5 }),
    });
    expect([result?.outcome, result?.unmovedSince]).toEqual(["published", null]);
  });

  test("one level that moves, a break, or a first level is enough", async () => {
    const store = await stale(8);
    for (const quotes of [
      quotesOf({ a: 11, b: 5.000001 }),
      lines("id,spot_usd,break", "a,11,New mask", "b,5,"),
    ]) {
      expect((await tryPublish(store, { session: key(9), quotes, dryRun: true })).code).toBe(0);
    }
    const catalog = catalogOf(["a", "b", "c"]);
    const listed = { catalog, quotes: quotesOf({ a: 11, b: 5, c: 1 }), ...accepting("free:c") };
    await mustPublish(store, { session: key(9), ...listed });
  });

  test("a run without levels for the session is not judged: nothing pretends to be new", async () => {
    const store = await stale(8);
    const closes = lines("id,date,close_usd", "a,2026-11-19,9");
    await mustPublish(store, { session: key(9), closes, revise: "Late", allowSparse: true });
  });

  test("the longest cadence among the given levels counts, if it is longer", async () => {
    const store = await stale(8, { cadence_days: "7" });
    const next = { session: key(14), quotes: moved, dryRun: true };
    expect((await tryPublish(store, next)).code).toBe(0);
    expect((await tryPublish(store, { ...next, session: key(15) })).code).toBe(3);
    const others = { session: key(9), quotes: quotesOf({ a: 11 }), allowSparse: true };
    expect((await tryPublish(store, others)).code).toBe(3);
  });
});

describe("a session long after the head", () => {
  const quotes = quotesOf({ a: 12.5, b: 5 });
  const late = { session: "2026-11-28T12Z", quotes };

  test("14 sessions pass, the fifteenth is refused: a clock may be wrong", async () => {
    const store = await published();
    const fourteen = { ...late, session: "2026-11-28T00Z", dryRun: true };
    expect((await tryPublish(store, fourteen)).code).toBe(0);
    expect(await failure(store, late)).toMatchObject({
      code: 3,
      said: [
        "Refused: 1 finding; nothing was written",
        "2026-11-28T12Z is 15 sessions after the head, 2026-11-21T00Z, expected at most 14: the clock or --session may be wrong",
        "If the clock is right, publish with --accept gap",
      ],
    });
    expect((await tryPublish(store, { ...late, maxGapSessions: 15, dryRun: true })).code).toBe(0);
    await mustPublish(store, { ...late, ...accepting("gap") });
    expect(await judgements(store)).toEqual([
      { gate: "gap", contract: null, measured: 15, limit: 14 },
    ]);
    expect((await headJson(store, "manifest.json")).options.max_gap_sessions).toBe(14);
  });

  test("after a head that has not begun, the conflict of each later run names the clock", async () => {
    const store = await published();
    const ahead = { session: "2027-11-21T00Z", quotes, acceptMoves: true, ...accepting("gap") };
    await mustPublish(store, ahead);
    const right = { session: NOON, quotes, nowMs: Date.parse("2026-11-21T12:05:00Z") };
    expect(await failure(store, right)).toMatchObject({
      code: 4,
      said: [
        "Session 2026-11-21T12Z is older than the head, 2027-11-21T00Z/r1; it has not begun: the clock says 2026-11-21T12:05:00.000Z. If that is right, go back with snapshots rollback",
      ],
    });
    // The entry of 2027 stays the newest but one, so each run until then is far before the newest entry.
    const clock = { now: () => right.nowMs };
    const gap = { ...USUAL_TIME_GATES, accept: ["gap"] } as const;
    await rollBack(store, "head~1", "A clock was wrong", clock, NO_KEYS, gap);
    expect(await failure(store, right)).toMatchObject({ code: 3 });
    await mustPublish(store, { ...right, ...accepting("gap") });
  });
});

describe("the text of --accept", () => {
  test.each([
    ["", "moves, sparse"],
    ["everything", "moves, sparse"],
    ["Moves", "moves, sparse"],
    ["sparse:a", "sparse without ids"],
    ["unchanged:a", "unchanged without ids"],
    ["gap:a", "gap without ids"],
    ["board:a", "board without ids"],
    ["moves:", "moves:ID or moves:ID,ID"],
    ["moves:a,,b", "moves:ID or moves:ID,ID"],
  ])("%j is refused", (text, expected) => {
    expect(() => acceptanceOf(text)).toThrow(
      `--accept ${JSON.stringify(text)}: expected ${expected}`,
    );
  });
});
