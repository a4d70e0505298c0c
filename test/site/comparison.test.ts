/** Several lines in one chart: the drawn part of each, its scale, and its place. */
import { describe, expect, test } from "vitest";
import {
  comparisonCsv,
  comparisonFile,
  comparisonHtml,
  breakWords,
  layoutOf,
  linesReader,
  onScale,
  scaleWords,
  type Line,
} from "../../src/site/comparison.js";

const day = (at: number): string => new Date(Date.UTC(2026, 9, 1 + at)).toISOString().slice(0, 10);
const points = (closes: readonly (number | null)[]) =>
  closes.flatMap((close, at) =>
    close === null ? [] : [{ date: day(at), close, text: String(close) }],
  );

const HOSTILE = `"><img src=x onerror=alert(1)>`;
const MODULE: Line = {
  id: "module",
  name: "A module",
  unit: "USD per module",
  capacityGb: 16,
  points: points([80, 81, 82, 90, null, null, 99, 120]),
};
const CHIP: Line = {
  id: "chip",
  name: HOSTILE,
  unit: "USD per chip",
  capacityGb: null,
  points: points([null, null, 2, 4, 5, 5.5, 6, 3]).map((point) =>
    point.date === day(3) ? { ...point, isBreak: true, breakReason: "5600 MT/s" } : point,
  ),
};
const INDEX: Line = {
  id: "dram",
  name: "DRAM",
  unit: null,
  capacityGb: null,
  points: points([100, 101, 102, 103, 104, 105, 106, 107]),
};

const closesOf = ({ lines }: ReturnType<typeof onScale>) =>
  Object.fromEntries(lines.map((line) => [line.id, line.points.map(({ close }) => close)]));
const OPTIONS = { from: day(0), to: day(7), isLog: false, base: null, widthPx: 900, heightPx: 400 };

describe("rebased", () => {
  test("all lines are 100 on the first day that all have, after the last break of each", () => {
    const scaled = onScale([MODULE, CHIP, INDEX], "rebased", day(0));
    expect([scaled.base, scaled.leftOut]).toEqual([day(3), []]);
    expect(closesOf(scaled)).toEqual({
      module: [100, 110, 133.333333],
      chip: [100, 125, 137.5, 150, 75],
      dram: [100, 100.970874, 101.941748, 102.912621, 103.883495],
    });
    expect(scaleWords("rebased", scaled)).toBe("Each line is 100 on 4 October 2026.");
  });

  test("a line without a close on that day begins with the one in force", () => {
    const young = { ...INDEX, id: "young", points: INDEX.points.slice(5) };
    const scaled = onScale([MODULE, young], "rebased", day(0));
    expect(closesOf(scaled)["module"]).toEqual([100, 110, 133.333333]);
    expect(scaled.lines[0]?.points[0]?.date).toBe(day(5));
    expect(scaleWords("rebased", scaled)).toBe(
      "Each line is 100 on 6 October 2026. DRAM has no earlier close that compares.",
    );
  });
});

describe("in US dollars", () => {
  test("an index has no price; per gigabyte a contract needs a capacity", () => {
    const usd = onScale([MODULE, CHIP, INDEX], "usd", day(2));
    expect(closesOf(usd)).toEqual({ module: [82, 90, 99, 120], chip: [2, 4, 5, 5.5, 6, 3] });
    expect(usd.leftOut).toEqual([{ name: "DRAM", why: "an index has no price" }]);
    expect(scaleWords("usd", usd)).toBe("USD per unit of each contract");
    const perGb = onScale([MODULE, CHIP, INDEX], "gb", day(6));
    expect(closesOf(perGb)).toEqual({ module: [6.1875, 7.5] });
    expect(perGb.leftOut.map(({ why }) => why)).toEqual([
      "no capacity in gigabytes",
      "an index has no price",
    ]);
    expect(perGb.lines[0]?.place).toBe(0);
  });

  test("a break stays a break, and is said in words", () => {
    const { lines } = onScale([CHIP], "usd", day(0));
    const html = comparisonHtml(layoutOf(lines, OPTIONS), "Chips");
    expect(/d="(m[^"]*)"/.exec(html)?.[1]?.split("m")).toHaveLength(3);
    expect(html.match(/<line class="break"/g)).toHaveLength(1);
    expect(breakWords(lines)).toEqual([`Break of ${HOSTILE} on 4 Oct 2026: 5600 MT/s`]);
  });

  test("days are real days, and equal ratios are equally far apart on a logarithmic axis", () => {
    const doubled = { ...MODULE, points: points([1, 10, null, null, 100]) };
    const { lines } = onScale([doubled], "usd", day(0));
    const laid = layoutOf(lines, { ...OPTIONS, to: day(4), isLog: true });
    const places = laid.lines[0]?.places ?? [];
    expect(places.map(({ x }) => x)).toEqual([0, 25, 100]);
    const [a, b, c] = places.map(({ y }) => y) as [number, number, number];
    expect(a - b).toBeCloseTo(b - c, 9);
    expect(laid.levels.map(({ text }) => text)).toEqual("1,2,5,10,20,50,100".split(","));
  });

  test("a level of zero has no logarithm: the axis is linear", () => {
    const { lines } = onScale([{ ...MODULE, points: points([0, 10]) }], "usd", day(0));
    const { places = [] } = layoutOf(lines, { ...OPTIONS, isLog: true }).lines[0] ?? {};
    expect(places.every(({ y }) => Number.isFinite(y))).toBe(true);
  });
});

test("labels at the end of lines that meet do not cover each other", () => {
  const lines = [0, 1, 2, 3].map((at) => ({
    ...MODULE,
    id: `m${at}`,
    points: points([80 - at, 90]),
  }));
  const { ends } = layoutOf(onScale(lines, "usd", day(0)).lines, OPTIONS);
  const heights = ends.map(({ labelY }) => labelY).toSorted((a, b) => a - b);
  for (const [at, y] of heights.slice(1).entries()) {
    expect(y - (heights[at] as number)).toBeGreaterThanOrEqual(16);
  }
});

test("the cursor reads all lines at a day, of each the last close until then", () => {
  const { lines } = onScale([MODULE, CHIP], "usd", day(0));
  const read = linesReader(layoutOf(lines, OPTIONS));
  expect(read(0).words).toBe("1 October 2026: A module 80.00");
  expect(read(5).words).toBe(`6 October 2026: A module 90.00, ${HOSTILE} 5.50`);
  expect(read(5).html).toContain("<small>4 Oct 2026</small>");
  expect(read(5).dots.map(({ name }) => name)).toEqual(["end-0", "end-1"]);
});

test("the drawn lines can be saved as CSV, a row for each day", () => {
  const { lines } = onScale([MODULE, CHIP], "usd", day(5));
  expect(comparisonCsv(lines)).toBe(
    "date,module,chip\r\n2026-10-06,,5.5\r\n2026-10-07,99,6\r\n2026-10-08,120,3\r\n",
  );
});

test("hostile names are text on the page, for the cursor and in the file", () => {
  const { lines } = onScale([CHIP, INDEX], "rebased", day(0));
  const laid = layoutOf(lines, { ...OPTIONS, base: day(3) });
  const file = comparisonFile(laid, HOSTILE, HOSTILE, [HOSTILE]);
  for (const text of [comparisonHtml(laid, HOSTILE), linesReader(laid)(0).html, file]) {
    expect(text).not.toContain("<img");
    expect(text).toContain("&lt;img");
  }
  expect(file).toContain('class="line line-1"');
});
