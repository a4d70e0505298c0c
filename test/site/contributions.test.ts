/** Contributions as people see them: small ones differ, in figures and in bars. */
import { expect, test } from "vitest";
import {
  closesOfSeries,
  contributionsTable,
  partsOfSeries,
  seriesEvents,
  shareOf,
  type Contribution,
  type OneIndex,
} from "../../src/site/contributions.js";

const part = (id: string, year: string, day: string): Contribution => ({
  id,
  ticker: id,
  segment: "DRAM",
  weight_pct: "0.87",
  base_usd: "1",
  spot_usd: "2",
  relative: "2",
  contribution: year,
  contribution_24h_pct: day,
  basis: "reported",
  as_of: "2026-11-27",
  base_as_of: "2025-11-27",
});

const shown = (html: string, field: string): (string | undefined)[] =>
  [...html.matchAll(new RegExp(`data-field="${field}"><span[^>]*>([^<]*)`, "g"))].map(
    ([, text]) => text,
  );

test("a column of small contributions has four places, and bars of the exact values", () => {
  const html = contributionsTable(
    [part("a", "2.3512", "0.0041"), part("b", "1.2", "0.0039"), part("c", "0.004", "-0.0001")],
    String,
  );
  expect(shown(html, "contribution")).toEqual(["+2.35", "+1.20", "0.00"]);
  expect(shown(html, "contribution_24h_pct")).toEqual(["+0.0041", "+0.0039", "\u22120.0001"]);
  const widths = [...html.matchAll(/<rect[^>]* width="([^"]+)"/g)].map(([, width]) => width);
  expect(new Set(widths).size).toBe(6);
});

test("the shares of a cost are rounded each by itself; a missing cost has none", () => {
  const costs = ["1", "1", "1", null];
  expect(costs.map((cost) => shareOf(cost, costs))).toEqual(["33.33", "33.33", "33.33", null]);
  expect(shareOf("0", ["0"])).toBeNull();
});

test("a contract that a break keeps from the rolling base has the level of its record", () => {
  const contributions = [
    { id: "a", points: "1.0000" },
    { id: "b", points: "2.0000" },
  ];
  const changes = [
    { range: "1y", contributions },
    { range: "24h", contributions: null },
  ];
  const body = { series: { changes }, contributions: [part("a", "1", "1")] };
  const record = { ticker: "B", segment: "DRAM", as_of: "2026-11-28", spot_usd: 7 };
  const parts = partsOfSeries(body as unknown as OneIndex, new Map([["b", record]]));
  expect(parts.map(({ year, day, level }) => [year, day, level?.spot_usd])).toEqual([
    ["1.0000", null, "2"],
    ["2.0000", null, 7],
  ]);
});

test("a series says where it goes on, its restatements and its closes with corrections, if it has any", () => {
  expect(seriesEvents({ link: null, restatements: [], adjustments: [] })).toEqual([]);
  expect(seriesEvents({})).toEqual([]);
  expect(
    seriesEvents({
      link: { date: "2026-11-20", publication: "3" },
      restatements: [
        { publication: "9", reason: "A unit was wrong", from: "2026-11-21", members: false },
      ],
      adjustments: [
        { date: "2026-11-22", publication: "7", factor: "1.01" },
        { date: "2026-11-23", publication: "9", factor: "0.99" },
      ],
    }),
  ).toEqual([
    "The series goes on from the close of 20 November 2026, which an earlier rule made.",
    "Restated from 21 November 2026 on by publication 9: A unit was wrong",
    "Closes that contain corrections: 22 November 2026, 23 November 2026.",
  ]);
});

test("closes that contain corrections are marked, and the first one of a restatement", () => {
  const history = ["2026-11-24", "2026-11-25", "2026-11-26"].map((date) => ({
    date,
    close: "101.5",
  }));
  const series = {
    history,
    adjustments: [{ date: "2026-11-26", publication: "3", factor: "1.01" }],
    restatements: [{ publication: "2", reason: "A misprint", from: "2026-11-25", members: false }],
  };
  const marks = closesOfSeries(series).map(({ isCorrected }) => isCorrected);
  expect(marks).toEqual([false, true, true]);
  expect(closesOfSeries({ history }).some(({ isCorrected }) => isCorrected)).toBe(false);
});
