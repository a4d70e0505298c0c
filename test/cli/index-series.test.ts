/** Index series: what changes a published close, and what does not. */
import { describe, expect, test } from "vitest";
import { rollBack } from "../../src/desk/rollback.ts";
import { parseDate, type Day } from "../../src/market/session.ts";
import type { PublishResult } from "../../src/publish/release.ts";
import { rerender, type Renewal } from "../../src/publish/rerender.ts";
import { summaryLines } from "../../src/publish/summary.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { InterceptedStore } from "../faults/crash-store.ts";
import type { Publication } from "../../src/snapshot/log/entry.ts";
import { snapshotText } from "../../src/store/paths.ts";
import { clockAt } from "../store/begun.ts";
import {
  append,
  EMPTY_PRUNE,
  readEntries,
  readHead,
  readPublications,
} from "../store/log-entries.ts";
import { plainBytes } from "../store/stored-file.ts";
import { MemoryStore } from "../store/memory-store.ts";
import {
  closeRows,
  closesOf,
  dateOf,
  noonOf,
  OPEN,
  publishAt,
  rowsOf,
  seriesOf,
  storeOf,
} from "./november.ts";
import {
  catalogOf,
  headJson,
  lines,
  quotesOf,
  tryPublish,
  type CatalogRow,
  type Run,
} from "./small-market.ts";

const CLOCK = clockAt("2026-11-21T12:10:00Z");

const utcOf = (day: number): string => `${dateOf(day)}T12:00:00.000Z`;

/** `id usd` of the levels that were used last. */
const usedOf = async (store: ObjectStore, index?: string): Promise<string[]> =>
  (await seriesOf(store, index)).last_used.map(
    (each: { id: string; usd: number }) => `${each.id} ${each.usd}`,
  );

/** The text of the head's report, without tags. */
async function reportOf(store: ObjectStore): Promise<string> {
  const head = await readHead(store);
  const key = `sessions/${snapshotText(head as Publication)}/report.html`;
  return String(await plainBytes(store, key)).replaceAll(/<[^>]*>/g, "");
}

describe("a published close", () => {
  test("stays with its base when older levels come", async () => {
    const store = await storeOf(["a", "b"], { a: 10, b: 20 }, { a: 11, b: 22 });
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 110 });
    await publishAt(store, noonOf(3), {
      closes: closeRows("a,2026-10-01,5", "a,2026-10-20,7"),
      quotes: quotesOf({ a: 22, b: 22 }),
    });
    // √(22/11 × 22/22) = 1.41421356
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 110, 3: 155.5635 });
    expect((await seriesOf(store)).base).toEqual({ date: dateOf(1), level: 100 });
  });

  test("stays when its level is corrected; the next step brings the correction", async () => {
    const store = await storeOf(["a"], { a: 10 }, { a: 1000 });
    const fix = closeRows("a,2026-11-02,10");
    await publishAt(store, noonOf(3), {
      closes: fix,
      quotes: quotesOf({ a: 12 }),
      revise: "Typing error",
    });
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 10_000, 3: 120 });
    expect(await usedOf(store)).toEqual(["a 12"]);
  });

  test("is changed by a revision of the session that published it, and of no other", async () => {
    const store = await storeOf(["a"], { a: 10 }, { a: 1000 });
    await publishAt(store, noonOf(2), { quotes: quotesOf({ a: 20 }), revise: "Typing error" });
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 200 });
    await publishAt(store, noonOf(2), { closes: closeRows("a,2026-11-01,20"), revise: "Late" });
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 100 });
    await publishAt(store, noonOf(3), { quotes: quotesOf({ a: 30 }) });
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 100, 3: 150 });
  });

  test("stays when the carry limit changes", async () => {
    const store = await storeOf(["a", "b"], { a: 10, b: 10 }, { a: 20 }, { a: 40 });
    const before = await closesOf(store);
    expect(before).toEqual({ 1: 100, 2: 141.4214, 3: 200 });
    await publishAt(store, noonOf(4), { quotes: quotesOf({ a: 80 }), maxCarryDays: 1 });
    // b's level is over its carry limit: a moves the index alone.
    expect(await closesOf(store)).toEqual({ ...before, 4: 400 });
    expect(await usedOf(store)).toEqual(["a 80", "b 10"]);
  });

  test("goes with a rollback, after which the head's series goes on", async () => {
    const store = await storeOf(["a"], { a: 10 }, { a: 1000 });
    await rollBack(store, `${noonOf(1)}/r1`, "wrong market", CLOCK);
    expect(await closesOf(store)).toEqual({ 1: 100 });
    await publishAt(store, noonOf(3), {
      closes: closeRows("a,2026-11-02,11"),
      quotes: quotesOf({ a: 12 }),
    });
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 110, 3: 120 });
  });

  test("is Starter's as well, up to its session", async () => {
    const store = await storeOf(["a"], { a: 10 }, { a: 11 });
    expect(await closesOf(store, "composite", "starter")).toEqual({ 1: 100 });
    const { series } = await headJson(store, "starter/indices/composite.json");
    expect(Object.keys(series)).toEqual([
      "method",
      "base",
      "link",
      "restatements",
      "adjustments",
      "changes",
      "history_from",
      "history",
    ]);
  });
});

describe("a step", () => {
  test("of a contract that returns brings its move against the index", async () => {
    const rows = [{ id: "a", max_carry_days: "1" }, "b"];
    const days = [{ a: 10, b: 10 }, { b: 10 }, { b: 10 }, { b: 10 }, { a: 40, b: 10 }] as const;
    const store = await storeOf(rows, ...(days as readonly Record<string, number>[]));
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 100, 3: 100, 4: 100, 5: 200 });
    // The market falls to a half on the 7th, while a is away.
    await publishAt(store, noonOf(7), { quotes: quotesOf({ b: 5 }) });
    expect((await seriesOf(store)).last_used).toEqual([
      { id: "a", session_utc: utcOf(5), usd: 40, reference_usd: 20, away: true },
      { id: "b", session_utc: utcOf(7), usd: 5, reference_usd: 5, away: false },
    ]);
    await publishAt(store, noonOf(8), { quotes: quotesOf({ a: 20, b: 5 }) });
    expect(await closesOf(store)).toMatchObject({ 6: 200, 7: 100, 8: 100 });
    expect(await reportOf(store)).toContain(
      "The series go on from the closes of 2026-11-07: 1 day added.",
    );
  });

  test("takes days without a publication in their order", async () => {
    const store = await storeOf(["a"], { a: 10 });
    await publishAt(store, noonOf(5), {
      closes: closeRows("a,2026-11-02,20", "a,2026-11-04,5"),
      quotes: quotesOf({ a: 15 }),
    });
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 200, 3: 200, 4: 50, 5: 150 });
  });

  test("at 00:00 adds no close and uses no level", async () => {
    const store = await storeOf(["a"], { a: 10 });
    await publishAt(store, "2026-11-02T00Z", { quotes: quotesOf({ a: 99 }) });
    expect(await closesOf(store)).toEqual({ 1: 100 });
    expect(await usedOf(store)).toEqual(["a 10"]);
  });

  test("lets a contract enter without a move, at first and after a break", async () => {
    const store = await storeOf(["a", "b"], { a: 10 }, { a: 11, b: 700 });
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 110 });
    await publishAt(store, noonOf(3), {
      quotes: lines("id,spot_usd,break", "a,1,Sold one by one", "b,1400,"),
    });
    expect(await closesOf(store)).toMatchObject({ 3: 220 });
    await publishAt(store, noonOf(4), { quotes: quotesOf({ a: 2, b: 1400 }) });
    expect(await closesOf(store)).toMatchObject({ 4: 311.127 });
  });

  test("of a contract that is listed again goes on from its last level", async () => {
    const store = await storeOf(["a", "b"], { a: 10, b: 10 }, { a: 10, b: 10 });
    const catalog = catalogOf(["a", { id: "b", delisted_on: dateOf(3) }]);
    await publishAt(store, noonOf(3), { catalog, quotes: quotesOf({ a: 20 }) });
    expect(await usedOf(store)).toEqual(["a 20"]);
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 100, 3: 200 });
    const again = catalogOf(["a", "b"]);
    await publishAt(store, noonOf(4), { catalog: again, quotes: quotesOf({ a: 20, b: 40 }) });
    // It moved with the index from 10 to 20.
    expect(await closesOf(store)).toMatchObject({ 4: 282.8427 });
  });

  test("goes on under a new id", async () => {
    const store = await storeOf(["a"], { a: 10 });
    const catalog = catalogOf([{ id: "z", formerly: "a" }]);
    await publishAt(store, noonOf(2), { catalog, quotes: quotesOf({ z: 15 }) });
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 150 });
    expect(await usedOf(store)).toEqual(["z 15"]);
  });

  test("rounds each close half up, and goes on from the value before", async () => {
    const store = await storeOf(["a"], { a: 3 }, { a: 4 }, { a: 5.5 }, { a: 8 }, { a: 12 });
    expect(await closesOf(store)).toEqual({
      1: 100,
      2: 133.3333,
      3: 183.3333,
      4: 266.6667,
      5: 400,
    });
  });

  test("carries a quarterly contract up to its next price", async () => {
    const rows = [{ id: "q", cadence_days: "92", price_type: "contract" }, "a"];
    const store = new MemoryStore();
    const { result } = await tryPublish(store, {
      ...OPEN,
      session: "2026-10-01T12Z",
      catalog: catalogOf(rows),
      closes: closeRows("q,2026-07-01,10"),
      quotes: quotesOf({ q: 10, a: 10 }),
    });
    expect(summaryLines(result as PublishResult, "the store")).toContain(
      "Carry      by cadence, not for 45 days: 1 (q up to 138 days)",
    );
    const { max_carry_days } = await headJson(store, "pro/contracts/q.json");
    expect(max_carry_days).toBe(138);
    expect((await headJson(store, "pro/contracts/a.json")).max_carry_days).toBe(45);
    const { history } = await seriesOf(store);
    expect([history.length, history.at(-1).close]).toEqual([93, 100]);
  });
});

describe("an index", () => {
  const rows = (segment: string): CatalogRow[] => [
    { id: "a", segment },
    { id: "c", segment: "NAND" },
  ];

  test("of a renamed segment goes on under its new id, and back again", async () => {
    const store = await storeOf(rows("DRAM"), { a: 10, c: 1 }, { a: 20, c: 1 });
    // The level of the 1st is corrected: published closes stay, and the next one has the correction.
    await publishAt(store, noonOf(3), {
      catalog: catalogOf(rows("Memory chips")),
      closes: closeRows("a,2026-11-01,40"),
      quotes: quotesOf({ a: 40, c: 1 }),
      revise: "Late",
    });
    expect(await closesOf(store, "memory-chips")).toEqual({ 1: 100, 2: 200, 3: 100 });
    await publishAt(store, noonOf(4), {
      catalog: catalogOf(rows("DRAM")),
      quotes: quotesOf({ a: 80, c: 1 }),
    });
    // 80/40.
    expect(await closesOf(store, "dram")).toEqual({ 1: 100, 2: 200, 3: 100, 4: 200 });
  });

  test("takes a contract again that left it for a while", async () => {
    const at = (segment: string): string =>
      catalogOf([
        { id: "a", segment: "DRAM" },
        { id: "b", segment },
      ]);
    const store = await storeOf(
      [
        { id: "a", segment: "DRAM" },
        { id: "b", segment: "DRAM" },
      ],
      { a: 10, b: 10 },
    );
    const quotes = quotesOf({ a: 10, b: 90 });
    await publishAt(store, noonOf(2), { catalog: at("NAND"), quotes });
    await publishAt(store, noonOf(3), { catalog: at("DRAM"), quotes });
    expect(await closesOf(store, "dram")).toEqual({ 1: 100, 2: 100, 3: 300 });
  });

  test("without a contract in force at a noon has no base", async () => {
    const store = new MemoryStore();
    const run = { catalog: catalogOf(["a"]), quotes: quotesOf({ a: 1 }) };
    await publishAt(store, "2026-11-02T00Z", run);
    expect(await seriesOf(store)).toEqual({
      method: "jevons-chained",
      base: null,
      link: null,
      restatements: [],
      adjustments: [],
      changes: [],
      value: null,
      last_used: [],
      history_from: "2021-11-03",
      history: [],
    });
  });
});

describe("readers can repeat a close", () => {
  const composite = async (store: ObjectStore, file: string): Promise<string[]> =>
    (await rowsOf(store, `pro/${file}.csv`))
      .filter((row) => row.startsWith("composite,"))
      .map((row) => row.slice("composite,".length).replaceAll("2026-11-", ""));

  test("by members: an interval ends where a limit changes, and where a contract is away", async () => {
    const rows = ["a", { id: "b", max_carry_days: "0" }, { id: "c", segment: "NAND" }];
    const store = await storeOf(rows, { a: 1, b: 1, c: 1 }, { a: 1, c: 1 }, { a: 1, b: 1, c: 1 });
    expect(await composite(store, "members")).toEqual([
      "a,01,,45",
      "b,01,01,0",
      "b,03,,0",
      "c,01,,45",
    ]);
    const catalog = catalogOf(["d", { id: "b", max_carry_days: "0" }, { id: "e", formerly: "a" }]);
    const accept = (["delisting", "free"] as const).map((gate) => ({ gate, ids: null }));
    const quotes = quotesOf({ d: 1, b: 1, e: 1 });
    await publishAt(store, noonOf(4), { catalog, quotes, maxCarryDays: 30, accept });
    // c has left the catalog, and a is e now. A revision gives its own session's members anew.
    expect(await composite(store, "members")).toEqual([
      "d,04,,30",
      "b,01,01,0",
      "b,03,,0",
      "e,01,03,45",
      "e,04,,30",
      "c,01,03,45",
    ]);
    await publishAt(store, noonOf(4), { revise: "The usual limit", catalog });
    expect(await composite(store, "members")).toContain("e,01,,45");
    expect(await rowsOf(store, "pro/members.csv")).not.toContain("nand,c,2026-11-01,2026-11-03,45");
  });

  test("by the entries that calculated closes", async () => {
    const store = await storeOf(["a"], { a: 10 }, { a: 11 });
    expect(await composite(store, "indices")).toEqual(["01,100,1", "02,110,2"]);
    // The close is the same, and calculated anew.
    const closes = closeRows("a,2026-10-01,7");
    await publishAt(store, noonOf(2), { closes, revise: "Late" });
    expect(await composite(store, "indices")).toEqual(["01,100,1", "02,110,3"]);
    await publishAt(store, noonOf(4), { quotes: quotesOf({ a: 12 }) });
    const rows = ["01,100,1", "02,110,3", "03,110,4", "04,120,4"];
    expect(await composite(store, "indices")).toEqual(rows);
    await rerender("Other words", { dryRun: false, attribution: "Words" }, store, CLOCK, () => {});
    expect(await composite(store, "indices")).toEqual(rows);
    const [first] = await rowsOf(store, "starter/indices.csv");
    expect(first).toBe("composite,2026-11-01,100");
  });

  test("a restatement calculates the closes from its day on, of every index", async () => {
    const rows = [
      { id: "a", segment: "DRAM" },
      { id: "c", segment: "NAND" },
    ];
    const store = await storeOf(rows, { a: 10, c: 1 }, { a: 1000, c: 1 }, { a: 1000, c: 1 });
    const run: Run = { closes: closeRows("a,2026-11-02,10", "a,2026-11-03,10") };
    await publishAt(store, noonOf(4), { ...run, quotes: quotesOf({ a: 10, c: 1 }), revise: "R" });
    const restates = { from: parseDate(dateOf(3)) as Day, members: false };
    await rerender("R", { dryRun: false, restates }, store, CLOCK, () => {});
    expect(await rowsOf(store, "pro/indices.csv")).toEqual([
      "composite,2026-11-01,100,1",
      "composite,2026-11-02,1000,2",
      "composite,2026-11-03,100,5",
      "composite,2026-11-04,100,5",
      "dram,2026-11-01,100,1",
      "dram,2026-11-02,10000,2",
      "dram,2026-11-03,100,5",
      "dram,2026-11-04,100,5",
      "nand,2026-11-01,100,1",
      "nand,2026-11-02,100,2",
      "nand,2026-11-03,100,5",
      "nand,2026-11-04,100,5",
    ]);
    // The close of the 2nd was calculated with the misprint, the close of the 3rd without it.
    const adjustments = [{ date: dateOf(3), publication: 5, factor: 0.1 }];
    expect((await seriesOf(store)).adjustments).toEqual(adjustments);
  });

  test("a correction stands as an adjustment beside the close that brings it", async () => {
    const store = await storeOf(["a", "b"], { a: 10, b: 10 }, { a: 1000, b: 10 });
    const run: Run = { closes: closeRows("a,2026-11-02,10"), revise: "Typing error" };
    await publishAt(store, noonOf(3), { ...run, quotes: quotesOf({ a: 20, b: 20 }) });
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 1000, 3: 200 });
    const { adjustments, value } = await seriesOf(store);
    expect(adjustments).toEqual([{ date: dateOf(3), publication: 3, factor: 0.1 }]);
    expect(value).toBe(200);
    expect((await seriesOf(store, "dram", "starter")).adjustments).toEqual([]);
    await publishAt(store, noonOf(4), { quotes: quotesOf({ a: 20, b: 20 }) });
    expect((await seriesOf(store)).adjustments).toEqual(adjustments);
    expect((await seriesOf(store, "dram", "starter")).adjustments).toEqual(adjustments);
  });

  test("by the value of the last day, with 12 digits, also where its close is another", async () => {
    const store = await storeOf(["a"], { a: 3 }, { a: 4 });
    expect((await seriesOf(store)).value).toBe(133.333333333);
    const run: Run = { quotes: lines("id,session_utc,spot_usd", "a,2026-11-01T12Z,8") };
    await publishAt(store, "2026-11-03T00Z", { ...run, revise: "Typing error" });
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 133.3333 });
    expect((await seriesOf(store)).value).toBe(50);
  });
});

describe("--restate-series", () => {
  /** The first close of `a` was wrong, and the correction came two days later, with an older level. */
  async function corrected(): Promise<MemoryStore> {
    const store = await storeOf(["a"], { a: 10 }, { a: 10 });
    await publishAt(store, noonOf(3), {
      closes: closeRows("a,2026-11-01,5", "a,2026-10-31,4"),
      quotes: quotesOf({ a: 10 }),
      revise: "The source corrected it",
    });
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 100, 3: 200 });
    return store;
  }
  const REASON = "The first level was of another market";
  const RESTATED = { 1: 100, 2: 200, 3: 200 };
  const OF_THEN = { from: null, members: false };
  const OF_TODAY = { from: null, members: true };
  const alone = (store: ObjectStore, restates: Renewal["restates"] = OF_THEN) =>
    rerender(REASON, { dryRun: false, restates: restates ?? OF_THEN }, store, CLOCK, () => {});
  const listed = (publication: number, from = 1, members = false) => [
    { publication, reason: REASON, from: dateOf(from), members },
  ];

  test("alone calculates all closes again, in a revision, and says so", async () => {
    const store = await corrected();
    expect(await alone(store)).toMatchObject({ outcome: "published", publication: 4 });
    const { base, restatements } = await seriesOf(store);
    expect(base).toEqual({ date: dateOf(1), level: 100 });
    expect(await closesOf(store)).toEqual(RESTATED);
    expect(restatements).toEqual(listed(4));
    expect(await reportOf(store)).toContain(
      `Publication 4 calculated the closes from 2026-11-01 on again: ${REASON}`,
    );
    expect((await readPublications(store)).at(-1)).toMatchObject({
      reason: REASON,
      corrections: 0,
      session: expect.any(Number),
      revision: 2,
    });
    expect((await alone(store)).outcome).toBe("unchanged");
    expect((await rerender("Again", { dryRun: false }, store, CLOCK, () => {})).outcome).toBe(
      "unchanged",
    );
  });

  test("with members begins at the first day that has one by today's levels", async () => {
    const store = await corrected();
    expect(await alone(store, OF_TODAY)).toMatchObject({ outcome: "published", publication: 4 });
    const { base, restatements, history } = await seriesOf(store);
    expect(base).toEqual({ date: "2026-10-31", level: 100 });
    expect(history.map(({ close }: { close: number }) => close)).toEqual([100, 125, 250, 250]);
    const from = "2026-10-31";
    expect(restatements).toEqual([{ publication: 4, reason: REASON, from, members: true }]);
    // The day that it added is one of the head's session: its revision calculates it again.
    const revise = "The first level was another";
    await publishAt(store, noonOf(3), { closes: closeRows("a,2026-10-31,8"), revise });
    expect((await seriesOf(store)).history.map(({ close }: { close: number }) => close)).toEqual([
      100, 125, 250, 125,
    ]);
    await publishAt(store, noonOf(4), { quotes: quotesOf({ a: 10 }) });
    await publishAt(store, noonOf(5), { closes: closeRows("a,2026-10-30,8"), revise: "Older" });
    expect((await seriesOf(store)).base).toEqual(base);
  });

  test("from a date leaves the closes before it", async () => {
    const store = await storeOf(["a"], { a: 10 }, { a: 1000 }, { a: 1000 });
    const closes = closeRows("a,2026-11-02,20", "a,2026-11-03,20");
    const run: Run = { closes, quotes: quotesOf({ a: 20 }), revise: "Typing errors" };
    await publishAt(store, noonOf(4), run);
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 10_000, 3: 10_000, 4: 200 });
    const from = parseDate(dateOf(3)) as Day;
    await alone(store, { from, members: false });
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 10_000, 3: 200, 4: 200 });
    expect((await seriesOf(store)).restatements).toEqual(listed(5, 3));
    expect((await alone(store, { from, members: false })).outcome).toBe("unchanged");
  });

  test("with members from a date takes the present ones from then on", async () => {
    const rows = ["a", "b"];
    const store = await storeOf(rows, { a: 10, b: 10 }, { a: 20, b: 10 }, { a: 40, b: 10 });
    const catalog = catalogOf(["b"]);
    await publishAt(store, noonOf(4), {
      catalog,
      quotes: quotesOf({ b: 10 }),
      accept: [
        { gate: "delisting", ids: null },
        { gate: "free", ids: null },
      ],
    });
    const from = parseDate(dateOf(3)) as Day;
    await alone(store, { from, members: true });
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 141.4214, 3: 141.4214, 4: 141.4214 });
    expect((await seriesOf(store)).restatements).toEqual(listed(5, 3, true));
    await alone(store, OF_TODAY);
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 100, 3: 100, 4: 100 });
  });

  test("stands through a revision of its session, and is withdrawn by a rollback", async () => {
    const store = await corrected();
    await alone(store);
    await publishAt(store, noonOf(3), { quotes: quotesOf({ a: 20 }), revise: "Typing error" });
    expect(await closesOf(store)).toMatchObject({ ...RESTATED, 3: 400 });
    expect((await seriesOf(store)).restatements).toEqual(listed(4));
    await rollBack(store, `${noonOf(3)}/r1`, "not yet", CLOCK);
    await publishAt(store, noonOf(4), { quotes: quotesOf({ a: 12 }) });
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 100, 3: 200, 4: 240 });
    expect((await seriesOf(store)).restatements).toEqual([]);
  });

  test("with a new session restates earlier closes, also for its revisions", async () => {
    const store = await corrected();
    const run: Run = { quotes: quotesOf({ a: 20 }), restateSeries: REASON };
    await publishAt(store, noonOf(4), run);
    expect(await closesOf(store)).toMatchObject({ ...RESTATED, 4: 400 });
    expect((await readPublications(store)).at(-1)).toMatchObject({ reason: REASON, revision: 1 });
    await publishAt(store, noonOf(4), {
      closes: closeRows("a,2026-11-02,5"),
      quotes: quotesOf({ a: 30 }),
      revise: "Typing error",
    });
    expect(await closesOf(store)).toMatchObject({ ...RESTATED, 4: 600 });
  });

  test("is listed with the indices whose closes it changed", async () => {
    const rows = [
      { id: "a", segment: "DRAM" },
      { id: "c", segment: "NAND" },
    ];
    const store = await storeOf(rows, { a: 10, c: 1 }, { a: 1000, c: 1 });
    const run: Run = { closes: closeRows("a,2026-11-02,10"), quotes: quotesOf({ a: 10, c: 1 }) };
    await publishAt(store, noonOf(3), { ...run, revise: "Typing error" });
    await alone(store);
    expect((await seriesOf(store)).restatements).toEqual(listed(4));
    expect((await seriesOf(store, "dram")).restatements).toEqual(listed(4));
    expect((await seriesOf(store, "nand")).restatements).toEqual([]);
  });

  test("that changes no close is nothing to do, or an ordinary publication", async () => {
    const store = await storeOf(["a"], { a: 10 }, { a: 11 });
    expect((await alone(store)).outcome).toBe("unchanged");
    const same: Run = { ...OPEN, session: noonOf(2), quotes: quotesOf({ a: 11 }) };
    const { result } = await tryPublish(store, { ...same, restateSeries: REASON });
    expect(result?.outcome).toBe("unchanged");
    await publishAt(store, noonOf(3), { quotes: quotesOf({ a: 12 }), restateSeries: REASON });
    expect((await readPublications(store)).at(-1)).toMatchObject({ reason: null });
    expect((await seriesOf(store)).restatements).toEqual([]);
  });

  test("with the head's own levels is a revision, with others a conflict", async () => {
    const store = await corrected();
    const run: Run = { ...OPEN, session: noonOf(3), restateSeries: REASON };
    const other = await tryPublish(store, { ...run, quotes: quotesOf({ a: 11 }) });
    expect(other.code).toBe(4);
    const same = await tryPublish(store, { ...run, quotes: quotesOf({ a: 10 }) });
    expect([same.code, same.result?.snapshot.revision]).toEqual([0, 2]);
    expect(await closesOf(store)).toMatchObject(RESTATED);
  });

  test("names its own entry where a prune took the number that it began with", async () => {
    const store = await corrected();
    let isPruned = false;
    const raced = new InterceptedStore(store, async ({ kind, key }, run) => {
      if (kind === "create" && key.startsWith("publications/") && !isPruned) {
        isPruned = true;
        await append(store, EMPTY_PRUNE);
      }
      return run();
    });
    expect(await alone(raced)).toMatchObject({ outcome: "published", publication: 5 });
    expect((await readEntries(store)).map(({ action }) => action).slice(3)).toEqual([
      "prune",
      "publish",
    ]);
    expect((await seriesOf(store)).restatements).toEqual(listed(5));
  });
});

describe("the changes of a series", () => {
  /** What a contract whose relative is one of `count` contributes to the change from one close to another. */
  const pointsOf = (from: number, to: number, relative: number, count = 1): number =>
    (((to - from) / Math.log(to / from)) * Math.log(relative)) / count;

  test("go from close to close, in points of each contract", async () => {
    const store = await storeOf(["b", "a"], { b: 10, a: 10 }, { b: 10, a: 20 }, { b: 40, a: 20 });
    const [day, week, ...longer] = (await seriesOf(store)).changes;
    expect(day).toEqual({
      range: "24h",
      date: dateOf(2),
      close: 141.4214,
      change_pct: 100,
      contributions: [
        { id: "b", points: expect.closeTo(pointsOf(141.4214, 282.8427, 4, 2), 3) },
        { id: "a", points: 0 },
      ],
      // The closes are rounded.
      correction_points: expect.closeTo(0, 3),
    });
    const none = { close: null, change_pct: null, contributions: null, correction_points: null };
    expect(week).toEqual({ range: "7d", date: "2026-10-27", ...none });
    expect(longer.map(({ range, date }: { range: string; date: string }) => [range, date])).toEqual(
      [
        ["30d", "2026-10-04"],
        ["90d", "2026-08-05"],
        ["1y", "2025-11-03"],
      ],
    );
  });

  test("tell corrections apart, and leave out who has no relative", async () => {
    const store = await storeOf(["a", "b"], { a: 10 }, { a: 1000 });
    const fix = closeRows("a,2026-11-02,10");
    const quotes = quotesOf({ a: 12, b: 5 });
    await publishAt(store, noonOf(3), { closes: fix, quotes, revise: "Typing error" });
    const [change] = (await seriesOf(store)).changes;
    const ofA = pointsOf(10_000, 120, 1.2);
    expect(change).toMatchObject({
      close: 10_000,
      change_pct: -98.8,
      contributions: [{ id: "a", points: expect.closeTo(ofA, 3) }],
      correction_points: expect.closeTo(120 - 10_000 - ofA, 3),
    });
  });

  test("divide a return by the moves of the index while the contract was away", async () => {
    const days = [{ a: 10, b: 10 }, { b: 10 }, { b: 20 }, { a: 20, b: 20 }];
    const store = await storeOf([{ id: "a", max_carry_days: "1" }, "b"], ...days);
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 100, 3: 200, 4: 200 });
    const [change] = (await seriesOf(store)).changes;
    expect(change.contributions).toEqual([
      { id: "a", points: 0 },
      { id: "b", points: 0 },
    ]);
  });
});
