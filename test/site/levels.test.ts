/** The level in force at an instant, until when it is in force, and what a chart of a range begins with. */
import { describe, expect, test } from "vitest";
import {
  changeOfCloses,
  drawnOf,
  firstRange,
  levelAt,
  perGigabyte,
  rangesWithin,
  referenceAt,
  startOf,
  titleOf,
  withReferences,
  type Level,
} from "../../src/site/levels.js";
import { HORIZONS, RANGES } from "../../src/market/change.ts";
import { parseSession, sessionUtc, type Session } from "../../src/market/session.ts";

const level = (session: string, close: number, more: Partial<Level> = {}): Level => ({
  date: session.slice(0, 10),
  session: `${session}:00:00.000Z`,
  close,
  text: String(close),
  ...more,
});
const QUARTERLY = {
  levels: [level("2026-05-03T12", 3), level("2026-08-03T12", 4), level("2026-11-02T12", 6)],
  carryDays: 138,
  to: "2026-11-28T00:00:00.000Z",
};
const spans = (range: string, line = QUARTERLY) =>
  drawnOf(line, range).points.map(({ close, at, until }) => [close, at, until]);

test("a range begins at the instant that the API's change of its length counts from", () => {
  for (const to of ["2026-11-21T12Z", "2028-02-29T00Z", "2029-02-28T12Z", "2027-01-01T00Z"]) {
    const session = parseSession(to) as Session;
    for (const range of RANGES) {
      expect(startOf(range, sessionUtc(session))).toBe(sessionUtc(HORIZONS[range](session)));
    }
  }
  expect(startOf("6m", "2026-08-31T00:00:00.000Z")).toBe("2026-02-28T00:00:00.000Z");
  expect(startOf("ytd", "2026-08-31T00:00:00.000Z")).toBe("2026-01-01T00:00:00.000Z");
});

test("the last level until an instant is in force, up to its carry limit", () => {
  expect(levelAt(QUARTERLY, "2026-08-03T12:00:00.000Z")?.close).toBe(4);
  expect(levelAt(QUARTERLY, "2026-08-03T00:00:00.000Z")?.close).toBe(3);
  expect(levelAt(QUARTERLY, "2026-05-03T00:00:00.000Z")).toBeUndefined();
  const short = { ...QUARTERLY, carryDays: 10 };
  expect(levelAt(short, "2026-08-13T12:00:00.000Z")?.close).toBe(4);
  expect(levelAt(short, "2026-08-14T00:00:00.000Z")).toBeUndefined();
});

describe("the drawn part of a range", () => {
  test("begins with the level in force then, and holds each until the next one or the end", () => {
    expect(spans("90d")).toEqual([
      [4, "2026-08-30T00:00:00.000Z", "2026-11-02T12:00:00.000Z"],
      [6, "2026-11-02T12:00:00.000Z", "2026-11-28T00:00:00.000Z"],
    ]);
    expect(spans("30d")[0]).toEqual([4, "2026-10-29T00:00:00.000Z", "2026-11-02T12:00:00.000Z"]);
  });

  test("ends a level at its carry limit", () => {
    const short = { ...QUARTERLY, carryDays: 10 };
    expect(spans("90d", short)).toEqual([
      [6, "2026-11-02T12:00:00.000Z", "2026-11-12T12:00:00.000Z"],
    ]);
  });

  test("begins with the first level after a break, or in the range", () => {
    const levels = QUARTERLY.levels.with(
      2,
      level("2026-11-02T12", 6, { isBreak: true, breakReason: "Trays" }),
    );
    const broken = { ...QUARTERLY, levels };
    expect(referenceAt(broken, "2026-08-30T00:00:00.000Z")).toBeUndefined();
    expect(spans("90d", broken).map(([close]) => close)).toEqual([6]);
    expect(spans("all", broken).map(([close]) => close)).toEqual([3, 4, 6]);
  });

  test("at 00:00 begins with the reference, which need not be a close", () => {
    const closes = [
      level("2026-10-28T12", 4),
      level("2026-10-29T12", 5),
      level("2026-11-28T00", 6),
    ];
    const references = [{ session_utc: "2026-10-29T00:00:00.000Z", usd: 4.5 }];
    const line = { ...QUARTERLY, levels: closes, known: withReferences(closes, references) };
    expect(spans("30d", line).map(([close]) => close)).toEqual([4.5, 5, 6]);
  });
});

test("the ranges offered are those with a level at their start, within the depth", () => {
  expect(rangesWithin(QUARTERLY, 1825)).toEqual(["30d", "90d", "6m", "all"]);
  expect(rangesWithin(QUARTERLY, 90)).toEqual(["30d", "90d", "all"]);
});

test("a chart begins with the wanted range, or the longest one that the depth has", () => {
  const first = (wanted: string, depthDays: number) =>
    firstRange(wanted, rangesWithin(QUARTERLY, depthDays), QUARTERLY.to, depthDays);
  // A level of 90 days ago is beyond a depth of 90 days.
  expect(first("", 90)).toBe("30d");
  expect(first("90d", 90)).toBe("90d");
  expect(first("1y", 90)).toBe("30d");
  // It has no level a year ago.
  expect(first("", 1825)).toBe("all");
  const { levels } = QUARTERLY;
  const year = { ...QUARTERLY, levels: [level("2025-11-03T12", 2), ...levels], carryDays: 200 };
  expect(firstRange("", rangesWithin(year, 1825), year.to, 1825)).toBe("1y");
});

test("a title has the API's figure of its range, or the levels where there is none", () => {
  const changes = { "90d": 50, "1y": null };
  const { points } = drawnOf(QUARTERLY, "90d");
  expect(titleOf("A", "90d", changes, points, Infinity)).toBe("A, 90 days: +50.00\u00A0%");
  expect(titleOf("A", "1y", changes, points, Infinity)).toBe("A, 1 year: n/a");
  expect(titleOf("A", "6m", changes, points, Infinity)).toBe(
    "A: 4.00 on 3 Aug 2026, 6.00 on 2 Nov 2026",
  );
});

test("per gigabyte a level before a break has the capacity of then", () => {
  const breaks = [{ session_utc: "2026-11-02T12:00:00.000Z", capacity_gb: 2 }];
  const { levels } = perGigabyte(QUARTERLY, 3, breaks);
  expect(levels.map(({ close }) => close)).toEqual([1.5, 2, 2]);
  expect(
    perGigabyte(QUARTERLY, 3, [{ ...breaks[0], capacity_gb: null, session_utc: "2026-09" }]).levels,
  ).toHaveLength(1);
});

test("the change of an index is from close to close, of whole ranges alone", () => {
  const closes = [
    level("2026-11-20T12", 100),
    level("2026-11-27T12", 112.5),
    level("2026-11-28T12", 90),
  ];
  expect(changeOfCloses(closes, "24h")).toBe("-20.00");
  expect(changeOfCloses(closes, "7d")).toBeNull();
});
