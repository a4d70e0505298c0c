/** Small markets whose index series must end at a value that anybody can work out without the program. */
import { describe, expect, test } from "vitest";
import { rerender } from "../../src/publish/rerender.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { closeRows, closesOf, dateOf, noonOf, publishAt, storeOf } from "./november.ts";
import { catalogOf, lines, quotesOf, type CatalogRow, type Run } from "./small-market.ts";

/** The runs of a market, from 2026-11-01 on, one a day. */
interface SmallMarket {
  readonly name: string;
  readonly rows: readonly (string | CatalogRow)[];
  readonly runs: readonly (Run | Readonly<Record<string, number>>)[];
  readonly closes: readonly number[];
}

/** Levels of sessions. Without a price a level is withdrawn. */
const levelRows = (...rows: readonly string[]): string =>
  lines("id,session_utc,spot_usd,basis,break", ...rows);
const level = (id: string, day: number, usd: number, breakReason = ""): string =>
  `${id},${noonOf(day)},${usd},,${breakReason}`;
const withdrawn = (id: string, day: number): string => `${id},${noonOf(day)},,withdrawn,`;
const corrects = (...rows: readonly string[]): Run => ({
  quotes: levelRows(...rows),
  revise: "Corrected",
});
const A_FOR_A_DAY: CatalogRow = { id: "a", max_carry_days: "1" };

const MARKETS: readonly SmallMarket[] = [
  {
    name: "two contracts double, one of them unseen",
    rows: [A_FOR_A_DAY, "b"],
    runs: [{ a: 10, b: 10 }, { b: 12.5 }, { b: 16 }, { a: 20, b: 20 }],
    closes: [100, 111.8034, 143.1084, 200],
  },
  {
    name: "three contracts fall to a sixteenth, one of them unseen",
    rows: [A_FOR_A_DAY, "b", "c"],
    runs: [
      { a: 16, b: 16, c: 16 },
      { b: 16, c: 16 },
      { b: 4, c: 4 },
      { a: 1, b: 1, c: 1 },
    ],
    closes: [100, 100, 25, 6.25],
  },
  {
    name: "a unit is corrected together with its break",
    rows: ["a", "b"],
    runs: [
      { a: 10, b: 10 },
      { a: 10, b: 10 },
      corrects(level("a", 2, 80, "per module"), level("a", 3, 80), level("b", 3, 10)),
    ],
    closes: [100, 100, 100],
  },
  {
    name: "a wrong break is withdrawn with its level",
    rows: ["a", "b"],
    runs: [
      { a: 10, b: 10 },
      { quotes: levelRows(level("a", 2, 20, "new unit"), level("b", 2, 10)) },
      corrects(withdrawn("a", 2), level("a", 3, 40), level("b", 3, 10)),
    ],
    closes: [100, 100, 200],
  },
  {
    name: "another contract enters before a misprint is corrected",
    rows: ["a", "b", "c"],
    runs: [
      { a: 10, b: 10 },
      { a: 1000, b: 10, c: 7 },
      corrects(level("a", 2, 10), level("a", 3, 10), level("b", 3, 10), level("c", 3, 7)),
    ],
    closes: [100, 1000, 100],
  },
  {
    name: "another contract leaves before a misprint is corrected",
    rows: ["a", "b", { id: "c", max_carry_days: "0" }],
    runs: [
      { a: 10, b: 10, c: 10 },
      { a: 1000, b: 10, c: 10 },
      corrects(level("a", 2, 10), level("a", 3, 10), level("b", 3, 10)),
    ],
    closes: [100, 464.1589, 100],
  },
  {
    name: "a break follows a misprint",
    rows: ["a", "b"],
    runs: [
      { a: 10, b: 10 },
      { a: 1000, b: 10 },
      corrects(level("a", 2, 10), level("a", 3, 80, "per module"), level("b", 3, 10)),
    ],
    closes: [100, 1000, 100],
  },
  {
    name: "a contract is delisted after a misprint",
    rows: ["a", "b"],
    runs: [
      { a: 10, b: 10 },
      { a: 1000, b: 10 },
      {
        catalog: catalogOf([{ id: "a", delisted_on: dateOf(3) }, "b"]),
        ...corrects(level("a", 2, 10), level("b", 3, 10)),
      },
    ],
    closes: [100, 1000, 100],
  },
  {
    name: "all levels of a contract are withdrawn after a misprint, then given rightly",
    rows: ["a", "b"],
    runs: [
      { a: 10, b: 10 },
      { a: 1000, b: 10 },
      corrects(withdrawn("a", 1), withdrawn("a", 2), level("b", 3, 10)),
      corrects(level("a", 1, 10), level("a", 2, 10), level("a", 4, 10), level("b", 4, 10)),
    ],
    closes: [100, 1000, 100, 100],
  },
  {
    name: "the break of another unit is told a day later",
    rows: ["a", "b"],
    runs: [
      { a: 10, b: 10 },
      { a: 80, b: 10 },
      corrects(level("a", 2, 80, "per module"), level("a", 3, 80), level("b", 3, 10)),
    ],
    closes: [100, 282.8427, 100],
  },
  {
    name: "a contract is delisted by mistake for a day, and rises fourfold meanwhile",
    rows: ["a", "b"],
    runs: [
      { a: 10, b: 10 },
      {
        catalog: catalogOf([{ id: "a", delisted_on: dateOf(2) }, "b"]),
        quotes: quotesOf({ b: 10 }),
      },
      { catalog: catalogOf(["a", "b"]), quotes: quotesOf({ a: 40, b: 10 }) },
    ],
    closes: [100, 100, 200],
  },
  {
    name: "a member's only level of a day is withdrawn",
    rows: [{ id: "a", max_carry_days: "0" }, "b"],
    runs: [
      { a: 10, b: 10 },
      { a: 40, b: 20 },
      corrects(withdrawn("a", 2), level("a", 3, 20), level("b", 3, 20)),
    ],
    // a moved with b, from 10 to 20.
    closes: [100, 282.8427, 200],
  },
];

describe("a small market", () => {
  test.each(MARKETS)("$name", async ({ rows, runs, closes }) => {
    const store = new MemoryStore();
    for (const [at, run] of runs.entries()) {
      const levels = Object.values(run).every((value) => typeof value === "number");
      await publishAt(store, noonOf(1 + at), {
        ...(at === 0 && { catalog: catalogOf(rows) }),
        ...(levels ? { quotes: quotesOf(run as Readonly<Record<string, number>>) } : run),
      });
    }
    expect(Object.values(await closesOf(store))).toEqual(closes);
  });
});

test("a restatement keeps the members of then: a contract that left has moved the index", async () => {
  const all = { a: 10, b: 10, c: 10 };
  const store = await storeOf(["a", "b", "c"], all, { ...all, c: 4000 });
  const fix = closeRows(`c,${dateOf(2)},40`);
  const quotes = quotesOf({ ...all, c: 40 });
  await publishAt(store, noonOf(3), { closes: fix, quotes, revise: "Typing error" });
  const catalog = catalogOf(["a", "b"]);
  await publishAt(store, noonOf(4), {
    catalog,
    quotes: quotesOf({ a: 10, b: 10 }),
    accept: [
      { gate: "delisting", ids: null },
      { gate: "free", ids: null },
    ],
  });
  expect(Object.values(await closesOf(store))).toEqual([100, 736.8063, 158.7401, 158.7401]);
  const restates = { from: null, members: false };
  const clock = { now: () => Date.parse("2026-11-21T12:10:00Z") };
  await rerender("A misprint of c", { dryRun: false, restates }, store, clock, () => {});
  expect(Object.values(await closesOf(store))).toEqual([100, 158.7401, 158.7401, 158.7401]);
});
