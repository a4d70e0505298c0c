/** Index series: what changes a published close, and what does not. */
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { rollBack } from "../../src/desk/rollback.ts";
import type { PublishResult } from "../../src/publish/release.ts";
import { rerender } from "../../src/publish/rerender.ts";
import { summaryLines } from "../../src/publish/summary.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { InterceptedStore } from "../faults/crash-store.ts";
import type { Publication } from "../../src/snapshot/log/entry.ts";
import { snapshotText } from "../../src/store/paths.ts";
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
  catalogOf,
  headJson,
  lines,
  mustPublish,
  quotesOf,
  tryPublish,
  type CatalogRow,
  type Run,
} from "./small-market.ts";

/** Every gate is open, because levels here move as no market does. */
const OPEN: Run = {
  acceptMoves: true,
  allowSparse: true,
  maxUnchangedSessions: 99_999,
  maxGapSessions: 99_999,
};
const clockAt = (instant: string) => ({ now: () => Date.parse(instant) });
const CLOCK = clockAt("2026-11-21T12:10:00Z");

const publishAt = (store: ObjectStore, session: string, run: Run): Promise<string> =>
  mustPublish(store, { ...OPEN, session, ...run });

/** An empty store, and a publish of each day's levels at 12:00, from 2026-11-01 on. */
async function storeOf(
  rows: readonly (string | CatalogRow)[],
  ...days: readonly Readonly<Record<string, number>>[]
): Promise<MemoryStore> {
  const store = new MemoryStore();
  for (const [at, levels] of days.entries()) {
    await publishAt(store, noonOf(1 + at), {
      ...(at === 0 && { catalog: catalogOf(rows) }),
      quotes: quotesOf(levels),
    });
  }
  return store;
}

const dateOf = (day: number): string => `2026-11-${String(day).padStart(2, "0")}`;
const noonOf = (day: number): string => `${dateOf(day)}T12Z`;

/** The closes of an index by their day of November, as the tier's payload has them. */
async function closesOf(
  store: ObjectStore,
  index = "composite",
  tier = "pro",
): Promise<Record<string, number>> {
  const { series } = await headJson(store, `${tier}/indices/${index}.json`);
  return Object.fromEntries(
    series.history.map((point: { date: string; close: number }) => [
      Number(point.date.slice(-2)),
      point.close,
    ]),
  );
}

const seriesOf = async (store: ObjectStore, index = "composite") =>
  (await headJson(store, `pro/indices/${index}.json`)).series;

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

const closeRows = (...rows: readonly string[]): string => lines("id,date,close_usd", ...rows);

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
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 200 });
    await publishAt(store, noonOf(3), { quotes: quotesOf({ a: 30 }) });
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 200, 3: 300 });
  });

  test("stays when the carry limit changes", async () => {
    const store = await storeOf(["a", "b"], { a: 10, b: 10 }, { a: 20 }, { a: 40 });
    const before = await closesOf(store);
    expect(before).toEqual({ 1: 100, 2: 141.4214, 3: 200.0001 });
    await publishAt(store, noonOf(4), { quotes: quotesOf({ a: 80 }), maxCarryDays: 1 });
    // b's level is over its carry limit: a moves the index alone.
    expect(await closesOf(store)).toEqual({ ...before, 4: 400.0002 });
    expect(await usedOf(store)).toEqual(["a 80", "b 10"]);
  });

  test("goes with a rollback, after which the head's state goes on", async () => {
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
      "restatements",
      "history_from",
      "history",
    ]);
  });
});

describe("a step", () => {
  test("of a contract that returns brings its whole move", async () => {
    const rows = [{ id: "a", max_carry_days: "1" }, "b"];
    const days = [{ a: 10, b: 10 }, { b: 10 }, { b: 10 }, { b: 10 }, { a: 40, b: 10 }] as const;
    const store = await storeOf(rows, ...(days as readonly Record<string, number>[]));
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 100, 3: 100, 4: 100, 5: 200 });
    await publishAt(store, noonOf(7), { quotes: quotesOf({ b: 10 }) });
    const run: Run = { ...OPEN, session: noonOf(8), quotes: quotesOf({ a: 20, b: 10 }) };
    const { result } = await tryPublish(store, run);
    const said = summaryLines(result as PublishResult, "the store");
    expect(said).toContain("Series     returned with their move: 1 (a -50 % since 2026-11-05T12Z)");
    const report = await reportOf(store);
    expect(report).toContain("The series go on from the closes of 2026-11-07: 1 day added.");
    expect(report).toMatch(/Returned with their move[^]*a2026-11-05 12:00 UTC40.0020.00\S50.00/);
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

  test("drops the level of a delisted contract", async () => {
    const store = await storeOf(["a", "b"], { a: 10, b: 10 }, { a: 10, b: 10 });
    const catalog = catalogOf(["a", { id: "b", delisted_on: dateOf(3) }]);
    await publishAt(store, noonOf(3), { catalog, quotes: quotesOf({ a: 20 }) });
    expect(await usedOf(store)).toEqual(["a 20"]);
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 100, 3: 200 });
    const again = catalogOf(["a", "b"]);
    await publishAt(store, noonOf(4), { catalog: again, quotes: quotesOf({ a: 20, b: 40 }) });
    expect(await closesOf(store)).toMatchObject({ 4: 200 });
  });

  test("goes on under a new id", async () => {
    const store = await storeOf(["a"], { a: 10 });
    const catalog = catalogOf([{ id: "z", formerly: "a" }]);
    await publishAt(store, noonOf(2), { catalog, quotes: quotesOf({ z: 15 }) });
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 150 });
    expect(await usedOf(store)).toEqual(["z 15"]);
  });

  test("rounds each close half up, from the published one before", async () => {
    const store = await storeOf(["a"], { a: 3 }, { a: 4 }, { a: 5.5 }, { a: 8 }, { a: 12 });
    expect(await closesOf(store)).toEqual({
      1: 100,
      2: 133.3333,
      3: 183.3333,
      4: 266.6666,
      5: 399.9999,
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

  test("of a renamed segment is new; the old one goes on when its name comes back", async () => {
    const store = await storeOf(rows("DRAM"), { a: 10, c: 1 }, { a: 20, c: 1 });
    // The level of the 1st is corrected: an index that is new is stepped from the levels as they are.
    await publishAt(store, noonOf(3), {
      catalog: catalogOf(rows("Memory chips")),
      closes: closeRows("a,2026-11-01,40"),
      quotes: quotesOf({ a: 40, c: 1 }),
      revise: "Late",
    });
    expect(await closesOf(store, "memory-chips")).toEqual({ 1: 100, 2: 50, 3: 100 });
    await publishAt(store, noonOf(4), {
      catalog: catalogOf(rows("DRAM")),
      quotes: quotesOf({ a: 80, c: 1 }),
    });
    expect(await closesOf(store, "dram")).toEqual({ 1: 100, 2: 200, 3: 400, 4: 800 });
  });

  test("does not keep the level of a contract that left it for a while", async () => {
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
    expect(await closesOf(store, "dram")).toEqual({ 1: 100, 2: 100, 3: 100 });
  });

  test("without a contract in force at a noon has no base", async () => {
    const store = new MemoryStore();
    const run = { catalog: catalogOf(["a"]), quotes: quotesOf({ a: 1 }) };
    await publishAt(store, "2026-11-02T00Z", run);
    expect(await seriesOf(store)).toEqual({
      method: "jevons-chained",
      base: null,
      restatements: [],
      last_used: [],
      history_from: "2021-11-03",
      history: [],
    });
  });
});

describe("--restate-series", () => {
  /** The first close of `a` was wrong, and the correction came a day later. */
  async function corrected(): Promise<MemoryStore> {
    const store = await storeOf(["a"], { a: 10 }, { a: 10 });
    await publishAt(store, noonOf(3), {
      closes: closeRows("a,2026-11-01,5", "a,2026-10-31,4"),
      quotes: quotesOf({ a: 10 }),
      revise: "The source corrected it",
    });
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 100, 3: 100 });
    return store;
  }
  const REASON = "The first level was of another market";
  const RESTATED = { 1: 125, 2: 250, 3: 250 };
  const alone = (store: ObjectStore) =>
    rerender(REASON, { dryRun: false, restates: true }, store, CLOCK, () => {});

  test("alone steps all closes again, in a revision, and says so", async () => {
    const store = await corrected();
    expect(await alone(store)).toMatchObject({ outcome: "published", publication: 4 });
    const { base, restatements, history } = await seriesOf(store);
    expect(base).toEqual({ date: "2026-10-31", level: 100 });
    expect(history.map(({ close }: { close: number }) => close)).toEqual([100, 125, 250, 250]);
    expect(restatements).toEqual([{ publication: 4, reason: REASON }]);
    expect(await reportOf(store)).toContain(`Publication 4 calculated all closes again: ${REASON}`);
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

  test("stands through a revision of its session, and is withdrawn by a rollback", async () => {
    const store = await corrected();
    await alone(store);
    await publishAt(store, noonOf(3), { quotes: quotesOf({ a: 20 }), revise: "Typing error" });
    expect(await closesOf(store)).toMatchObject({ ...RESTATED, 3: 500 });
    expect((await seriesOf(store)).restatements).toEqual([{ publication: 4, reason: REASON }]);
    await rollBack(store, `${noonOf(3)}/r1`, "not yet", CLOCK);
    await publishAt(store, noonOf(4), { quotes: quotesOf({ a: 12 }) });
    expect(await closesOf(store)).toEqual({ 1: 100, 2: 100, 3: 100, 4: 120 });
    expect((await seriesOf(store)).restatements).toEqual([]);
  });

  test("with a new session restates earlier closes, also for its revisions", async () => {
    const store = await corrected();
    const run: Run = { quotes: quotesOf({ a: 20 }), restateSeries: REASON };
    await publishAt(store, noonOf(4), run);
    expect(await closesOf(store)).toMatchObject({ ...RESTATED, 4: 500 });
    expect((await readPublications(store)).at(-1)).toMatchObject({ reason: REASON, revision: 1 });
    await publishAt(store, noonOf(4), {
      closes: closeRows("a,2026-11-02,5"),
      quotes: quotesOf({ a: 30 }),
      revise: "Typing error",
    });
    expect(await closesOf(store)).toMatchObject({ ...RESTATED, 4: 750 });
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
    expect((await seriesOf(store)).restatements).toEqual([{ publication: 5, reason: REASON }]);
  });
});

describe("a store of 0.2.0, which kept no states", () => {
  const FROZEN = join(import.meta.dirname, "../released/0.2.0/store");

  async function frozen(work: (store: FolderStore) => Promise<void>): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), "chipboard-series-"));
    await cp(FROZEN, join(folder, "store"), { recursive: true });
    await work(new FolderStore(join(folder, "store")));
    await rm(folder, { recursive: true });
  }
  const quotes = quotesOf({ "ddr5-16gb-spot": 3.2, "tlc-1tb": 119, "n3-wafer": 11_200 });

  test("keeps its closes and its base, and goes on from each contract's last level", () =>
    frozen(async (store) => {
      const before = await headJson(store, "pro/indices/composite.json");
      const { history, base } = before.series;
      await publishAt(store, "2026-11-21T12Z", { quotes });
      const { series } = await headJson(store, "pro/indices/composite.json");
      expect(series.base).toEqual(base);
      expect(series.history.slice(0, -1)).toEqual(history);
      // At noon of the 20th 3.01, 59.5 and 11000 were in force. tlc-1tb has a break, nor-old is delisted.
      const close = history.at(-1).close * Math.sqrt((3.2 / 3.01) * (11_200 / 11_000));
      expect(series.history.at(-1).date).toBe("2026-11-21");
      expect(Math.abs(series.history.at(-1).close - close)).toBeLessThanOrEqual(0.0001);
    }));

  test("keeps the closes of its last session through a revision", () =>
    frozen(async (store) => {
      const before = await headJson(store, "pro/indices/composite.json");
      const revise = "The source corrected it";
      const run = { quotes, closes: closeRows("tlc-1tb,2026-11-11,50"), revise };
      await publishAt(store, "2026-11-21T00Z", run);
      const after = await headJson(store, "pro/indices/composite.json");
      expect(after.series.history).toEqual(before.series.history);
      expect(
        (await rerender("New program", { dryRun: false }, store, CLOCK, () => {})).outcome,
      ).toBe("unchanged");
    }));

  test("is restated like any other", () =>
    frozen(async (store) => {
      const { base, history } = await seriesOf(store, "dram");
      const again = { dryRun: false, restates: true };
      const { outcome } = await rerender("One method", again, store, CLOCK, () => {});
      expect(outcome).toBe("published");
      const { series } = await headJson(store, "pro/indices/dram.json");
      expect(series.base).toEqual(base);
      expect(series.restatements).toEqual([{ publication: 7, reason: "One method" }]);
      // 0.2.0 dropped the move from 2 to 2.4 over eleven months.
      const closeOn = (day: string, points: { date: string; close: number }[]) =>
        points.find(({ date }) => date === day)?.close;
      expect(closeOn("2026-10-12", history)).toBe(100);
      expect(closeOn("2026-10-12", series.history)).toBe(120);
    }));

  test("can be rolled back to, and goes on from there", () =>
    frozen(async (store) => {
      const { series: before } = await headJson(store, "pro/indices/dram.json");
      await publishAt(store, "2026-11-21T12Z", { quotes });
      const closes = (await seriesOf(store, "dram")).history;
      await rollBack(store, "2026-11-21T00Z/r1", "back to 0.2.0", CLOCK);
      await publishAt(store, "2026-11-21T12Z", { quotes, revise: "again" });
      const { history } = await seriesOf(store, "dram");
      expect(history).toEqual(closes);
      expect(history.slice(0, -1)).toEqual(before.history);
    }));
});
