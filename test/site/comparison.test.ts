/** Several lines in one chart: the drawn part of each, its scale, and its place. */
import { describe, expect, test } from "vitest";
import { svgFile } from "../../src/site/chart-file.js";
import {
  comparisonHtml,
  breakWords,
  filedComparison,
  layoutOf,
  linesReader,
  onScale,
  scaleWords,
  type Line,
} from "../../src/site/comparison.js";
import { layout } from "../../src/site/layout.js";
import { drawnFrom, perGigabyte, type Level } from "../../src/site/levels.js";

const day = (at: number): string => new Date(Date.UTC(2026, 9, 1 + at)).toISOString().slice(0, 10);
const points = (closes: readonly (number | null)[]) =>
  closes.flatMap((close, at) =>
    close === null ? [] : [{ date: day(at), close, text: String(close) }],
  );

const HOSTILE = `"><img src=x onerror=alert(1)>`;
const at = (days: number): string => `${day(days)}T12:00:00.000Z`;
const lineOf = (levels: readonly Level[], carryDays = 45) => ({ levels, carryDays, to: at(7) });
const MODULE: Line = {
  id: "module",
  name: "A module",
  unit: "USD per module",
  capacityGb: 16,
  line: lineOf(points([80, 81, 82, 90, null, null, 99, 120])),
  changes: {},
  breaks: [],
};
const CHIP: Line = {
  id: "chip",
  name: HOSTILE,
  unit: "USD per chip",
  capacityGb: null,
  line: lineOf(
    points([null, null, 2, 4, 5, 5.5, 6, 3]).map((point) =>
      point.date === day(3) ? { ...point, isBreak: true, breakReason: "5600 MT/s" } : point,
    ),
  ),
  changes: {},
  breaks: [],
};
const INDEX: Line = {
  id: "dram",
  name: "DRAM",
  unit: null,
  capacityGb: null,
  line: lineOf(points([100, 101, 102, 103, 104, 105, 106, 107]), Infinity),
  changes: {},
  breaks: [],
};

const closesOf = ({ lines }: ReturnType<typeof onScale>) =>
  Object.fromEntries(lines.map((line) => [line.id, line.points.map(({ close }) => close)]));
const BREAK_WORDS = [
  `Break of ${HOSTILE} on 4 Oct 2026: 5600 MT/s`,
  "Grey: before a break, not comparable.",
];
const CHART = { title: "A chip", unit: "USD", decimals: 2, from: at(0), to: at(7) };
const OPTIONS = {
  from: at(0),
  to: at(7),
  isLog: false,
  isRebased: false,
  widthPx: 900,
  heightPx: 400,
};

describe("rebased", () => {
  test("a line with a level in force at the start begins at 100, whatever its age", () => {
    const quarterly = {
      ...MODULE,
      line: lineOf(points([80, null, null, null, null, null, 100]), 92),
    };
    const scaled = onScale([quarterly, INDEX], "rebased", at(5));
    expect(closesOf(scaled)).toEqual({ module: [100, 125], dram: [100, 100.952381, 101.904762] });
    expect(scaled.lines.map(({ points: [first], since }) => [first?.at, since])).toEqual([
      [at(5), null],
      [at(5), null],
    ]);
    expect(scaleWords("rebased", scaled.lines, at(5))).toBe(
      "Lines begin at 100 on 6 October 2026.",
    );
  });

  test("a later line begins at the first of the chosen lines that is drawn by then", () => {
    const young = {
      ...INDEX,
      id: "young",
      line: lineOf(points([null, null, null, null, null, 50, 60])),
    };
    const scaled = onScale([young, MODULE, INDEX], "rebased", at(0));
    // The module, which is chosen before the index, is at 90 / 80.
    expect(closesOf(scaled)["young"]).toEqual([112.5, 135]);
    expect(closesOf(scaled)["module"]?.[0]).toBe(100);
    expect(scaled.lines[0]?.since).toBe(day(5));
    expect(scaled.leftOut).toEqual([]);
  });

  test("a break begins a line anew; as on the contract's page it is grey before", () => {
    const scaled = onScale([MODULE, CHIP, INDEX], "rebased", at(0));
    expect(closesOf(scaled)["chip"]).toEqual([56.25, 112.5, 140.625, 154.6875, 168.75, 84.375]);
    expect(scaled.lines[1]?.since).toBe(day(3));
    expect(breakWords(scaled.lines)).toEqual(BREAK_WORDS);
    const own = layout(drawnFrom(CHIP.line, at(0)).points, CHART);
    const laid = layoutOf(scaled.lines, { ...OPTIONS, isRebased: true });
    for (const field of ["at", "isPast", "isStart", "breakReason"] as const) {
      const ofPage = own.points.map((place) => place[field]);
      expect(laid.lines[1]?.places.map((place) => place[field])).toEqual(ofPage);
    }
    const html = comparisonHtml(laid, "Lines");
    expect(html.match(/<path class="[^"]*"/g)).toEqual([
      '<path class="line line-0"',
      '<path class="line line-1 past"',
      '<path class="line line-1"',
      '<path class="line line-2"',
    ]);
  });

  test("if none has a level at the start, the earliest begins at 100", () => {
    const late = { ...MODULE, line: lineOf(points([null, null, 10, 20])) };
    const later = { ...CHIP, line: lineOf(points([null, null, null, 3, 6])) };
    const scaled = onScale([later, late], "rebased", at(0));
    expect(closesOf(scaled)).toEqual({ module: [100, 200], chip: [200, 400] });
    expect(scaleWords("rebased", scaled.lines, at(0))).toMatch(
      /^Lines begin at 100 on 3 October 2026\./,
    );
  });

  test("a contract without a level in the range is named", () => {
    const gone = { ...MODULE, line: lineOf(points([80]), 1) };
    expect(onScale([gone], "rebased", at(5)).leftOut).toEqual([
      { name: "A module", why: "no level in force in this range" },
    ]);
  });
});

describe("in US dollars", () => {
  test("an index has no price; per gigabyte a contract needs a capacity", () => {
    const usd = onScale([MODULE, CHIP, INDEX], "usd", at(2));
    expect(closesOf(usd)).toEqual({ module: [82, 90, 99, 120], chip: [2, 4, 5, 5.5, 6, 3] });
    expect(usd.leftOut).toEqual([{ name: "DRAM", why: "an index has no price" }]);
    expect(scaleWords("usd", usd.lines, at(2))).toBe("USD per unit of each contract");
    const perGb = onScale([MODULE, CHIP, INDEX], "gb", at(6));
    expect(closesOf(perGb)).toEqual({ module: [6.1875, 7.5] });
    expect(perGb.leftOut.map(({ why }) => why)).toEqual([
      "no capacity in gigabytes",
      "an index has no price",
    ]);
    expect(perGb.lines[0]?.place).toBe(0);
  });

  test("per gigabyte levels before a break have the capacity of then, as on the contract's page", () => {
    const breaks = [{ session_utc: at(3), capacity_gb: 2 }];
    const broken = { ...CHIP, capacityGb: 4, breaks };
    const { lines } = onScale([broken], "gb", at(0));
    expect(closesOf({ lines, leftOut: [] })["chip"]).toEqual([1, 1, 1.25, 1.375, 1.5, 0.75]);
    const own = drawnFrom(perGigabyte(broken.line, 4, breaks), at(0));
    expect(lines[0]?.points).toEqual(own.points);
    const none = [{ session_utc: at(3), capacity_gb: null }];
    const { lines: since } = onScale([{ ...broken, breaks: none }], "gb", at(0));
    expect(since[0]?.points[0]?.date).toBe(day(3));
  });

  test("a break stays a break, and is said in words", () => {
    const { lines } = onScale([CHIP], "usd", at(0));
    const html = comparisonHtml(layoutOf(lines, OPTIONS), "Chips");
    expect(html.match(/ d="m[^"m]*"/g)).toHaveLength(2);
    expect(html.match(/<line class="break"/g)).toHaveLength(1);
    expect(breakWords(lines)).toEqual(BREAK_WORDS);
  });

  test("days are real days, and equal ratios are equally far apart on a logarithmic axis", () => {
    const doubled = { ...MODULE, line: { ...lineOf(points([1, 10, null, null, 100])), to: at(4) } };
    const { lines } = onScale([doubled], "usd", at(0));
    const laid = layoutOf(lines, { ...OPTIONS, to: at(4), isLog: true });
    const places = laid.lines[0]?.places ?? [];
    expect(places.map(({ x }) => x)).toEqual([0, 25, 100]);
    const [a, b, c] = places.map(({ y }) => y) as [number, number, number];
    expect(a - b).toBeCloseTo(b - c, 9);
    expect(laid.levels.map(({ text }) => text)).toEqual("1,2,5,10,20,50,100".split(","));
  });

  test("a level of zero has no logarithm: the axis is linear", () => {
    const { lines } = onScale([{ ...MODULE, line: lineOf(points([0, 10])) }], "usd", at(0));
    const { places = [] } = layoutOf(lines, { ...OPTIONS, isLog: true }).lines[0] ?? {};
    expect(places.every(({ y }) => Number.isFinite(y))).toBe(true);
  });
});

test("labels at the end of lines that meet do not cover each other", () => {
  const lines = [0, 1, 2, 3].map((at) => ({
    ...MODULE,
    id: `m${at}`,
    line: lineOf(points([80 - at, 90])),
  }));
  const { ends } = layoutOf(onScale(lines, "usd", at(0)).lines, OPTIONS);
  const heights = ends.map(({ labelY }) => labelY).toSorted((a, b) => a - b);
  for (const [at, y] of heights.slice(1).entries()) {
    expect(y - (heights[at] as number)).toBeGreaterThanOrEqual(16);
  }
});

test.each([390, 730, 1024, 1440])(
  "dates of a chart of %i pixels do not touch each other",
  (widthPx) => {
    const year = { from: "2025-11-28T12:00:00.000Z", to: "2026-11-28T12:00:00.000Z" };
    const { levels } = lineOf([{ date: "2025-11-28", close: 1 }]);
    const line = { levels, carryDays: 400, to: year.to };
    const named = { ...MODULE, name: "A name that is as long as names are", line };
    const drawn = layoutOf(onScale([named], "usd", year.from).lines, {
      ...OPTIONS,
      ...year,
      widthPx,
    });
    // Narrow screens show fewer.
    const shown = drawn.dates.filter(({ isWideOnly }) => widthPx > 719 || !isWideOnly);
    expect(shown.length).toBeGreaterThan(2);
    const edges = shown.map(({ text, x }) => {
      const [middlePx, halfPx] = [(x / 100) * drawn.columns, text.length * 3.5];
      return [middlePx - halfPx, middlePx + halfPx] as const;
    });
    for (const [at, [left]] of edges.slice(1).entries()) {
      expect(left).toBeGreaterThan(edges[at]?.[1] ?? Infinity);
    }
  },
);

test("the cursor reads all lines at an instant, of each the level in force", () => {
  const { lines } = onScale([MODULE, CHIP], "usd", at(0));
  const read = linesReader(layoutOf(lines, OPTIONS));
  expect(read(0).words).toBe("1 October 2026: A module 80.00");
  expect(read(5).words).toBe(`6 October 2026: A module 90.00, ${HOSTILE} 5.50`);
  expect(read(5).html).toContain("<small>4 Oct 2026</small>");
  expect(read(5).dots.map(({ name }) => name)).toEqual(["end-0", "end-1"]);
});

test("hostile names are text on the page, for the cursor and in the file", () => {
  const { lines } = onScale([CHIP, INDEX], "rebased", at(0));
  const laid = layoutOf(lines, { ...OPTIONS, isRebased: true });
  const file = svgFile(filedComparison(laid, HOSTILE, HOSTILE, [HOSTILE]));
  for (const text of [comparisonHtml(laid, HOSTILE), linesReader(laid)(7).html, file]) {
    expect(text).not.toContain("<img");
    expect(text).toContain("&lt;img");
  }
  expect(file).toContain('class="line line-1"');
});
