/** Charts: where points, gaps, breaks and labels stand, against a naive calculation. */
import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { dateTicks, dateWords, dayOf, levelTicks } from "../../src/site/axis.js";
import { chartFile } from "../../src/site/chart-file.js";
import * as drawing from "../../src/site/chart.js";
import { bars, sparkline } from "../../src/site/chart.js";
import { layout, thinned, type ChartOptions } from "../../src/site/layout.js";
import type { Point } from "../../src/site/levels.js";

/** Each drawn of what `layout` makes of them. */
const of =
  (draw: (drawn: drawing.Layout) => string) =>
  (points: readonly Point[], options: ChartOptions): string =>
    draw(layout(points, options));
const [chart, chartHtml, unitLine] = [
  of(drawing.chart),
  of(drawing.chartHtml),
  of(drawing.unitLine),
];

const OPTIONS: ChartOptions = { title: "A contract", unit: "USD per piece", decimals: Infinity };
const DAY_MS = 86_400_000;

const dateAt = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

/** A level from 0.000001 to 1e9, as given: at most 15 significant digits, 6 decimals. */
const levels = fc.oneof(
  fc.integer({ min: 1, max: 1_000_000 }).map((micros) => micros / 1e6),
  fc.integer({ min: 1, max: 1_000_000_000 }).map((cents) => cents / 100),
  fc.integer({ min: 1, max: 1_000_000_000 }),
  fc.constantFrom(0.000001, 1e9, 999_999_999.999999),
);

/** Closes with gaps of days, some at breaks, some corrected. */
const series = fc
  .tuple(
    fc.integer({ min: dayOf("1900-01-01"), max: dayOf("2100-01-01") }),
    fc.array(
      fc.record({
        gap: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 40 })),
        close: levels,
        marks: fc.constantFrom({}, {}, { isBreak: true }, { isBreak: false, isCorrected: true }),
      }),
      { minLength: 1, maxLength: 60 },
    ),
  )
  .map(([start, items]) => {
    let day = start;
    return items.map(({ gap, close, marks }): Point => {
      day += gap;
      return { date: dateAt(day), close, ...marks };
    });
  });

/**
 * Reads path data back: of each line the horizontal parts with their heights. No other part than horizontal and vertical
 * ones may be there.
 */
function linesOf(
  path: string,
): { levels: [from: number, to: number, y: number][]; isDot: boolean }[] {
  expect(path).toMatch(/^(?:m-?[\d.]+ -?[\d.]+(?:z|(?:[hv]-?[\d.]+)*))+$/);
  let [x, y] = [0, 0];
  return path
    .split("m")
    .slice(1)
    .map((line) => {
      const [begin = "", ...steps] = line.replace("z", "").split(/(?=[hv])/);
      const [dx, dy] = begin.split(" ").map(Number) as [number, number];
      x += dx;
      y += dy;
      const levels: [number, number, number][] = [];
      for (const step of steps) {
        const by = Number(step.slice(1));
        if (step.startsWith("v")) y += by;
        else levels.push([x, (x += by), y]);
      }
      if (steps.length === 0) levels.push([x, x, y]);
      return { levels, isDot: line.endsWith("z") };
    });
}

const pathIn = (svg: string, kind = ""): string =>
  new RegExp(`<path(?: class="${kind}"[^>]*)? d="([^"]*)"`).exec(svg)?.[1] as string;
const numberIn = (text: string): number => Number(text.replaceAll(",", ""));

/** The exact decimal of a number without exponent, in units of 10^-20. */
function scaled(decimal: string): bigint {
  const [whole = "", fraction = ""] = decimal.split(".");
  return BigInt(whole + fraction.padEnd(20, "0"));
}

/** All steps there are, in units of 10^-20. */
const STEPS = Array.from({ length: 35 }, (_, exponent) =>
  [1n, 2n, 5n].map((factor) => factor * 10n ** BigInt(exponent)),
).flat();

describe("the levels of an axis", () => {
  /** Two levels, some of them as near to each other as levels can be. */
  const pairs = fc.oneof(
    fc.tuple(levels, levels),
    levels.map((level) => [level, (Math.round(level * 1e6) - 1) / 1e6]),
  );

  test.prop([pairs])("equal a naive calculation's", ([a, b]) => {
    fc.pre(a !== b && a !== undefined && b !== undefined);
    const [low, high] = [Math.min(a, b), Math.max(a, b)];
    const [from, to] = [scaled(String(low)), scaled(String(high))];
    const ideal = Number(to - from) / 4;
    const distance = (step: bigint) => Math.abs(Math.log(Number(step) / ideal));
    const step = STEPS.reduce((best, item) => (distance(item) < distance(best) ? item : best));
    const expected = [];
    for (let level = (from / step) * step; level - to < step; level += step) expected.push(level);
    const ticks = levelTicks(low, high);
    expect(ticks.map(({ text }) => scaled(text))).toEqual(expected);
    expect(ticks.map(({ level }) => level)).toEqual(ticks.map(({ text }) => Number(text)));
    expect(new Set(ticks.map(({ text }) => text.split(".")[1]?.length)).size).toBe(1);
  });

  test.prop([levels])("stand on both sides of a level that does not move", (level) => {
    const ticks = levelTicks(level, level);
    expect(ticks[0]?.level).toBeLessThan(level);
    expect(ticks.at(-1)?.level).toBeGreaterThan(level);
    expect(ticks.length).toBeLessThan(10);
  });

  test("have a sign below zero, and one form of zero", () => {
    expect(levelTicks(-3, 4).map(({ text }) => text)).toEqual(["-4", "-2", "0", "2", "4"]);
    expect(levelTicks(0, 0).map(({ level }) => level)).toContain(0);
  });
});

describe("the dates of an axis", () => {
  const spans = fc.tuple(
    fc.integer({ min: dayOf("1900-01-01"), max: dayOf("2100-01-01") }),
    fc.integer({ min: 0, max: 8_000 }),
  );

  test.prop([spans])("are first days of months at equal steps, as many as fit", ([from, days]) => {
    const to = from + days;
    const starts: number[] = [];
    for (let day = from; day <= to; day += 1) if (dateAt(day).endsWith("-01")) starts.push(day);
    const ticks = dateTicks(from, to);
    if (starts.length < 2) {
      expect(ticks.map(({ day }) => day)).toEqual([...new Set([from, to])]);
      return;
    }
    const step = [1, 3, 6, 12, 24, 120].find((months) => labelled(starts, months).length <= 13);
    expect(ticks.map(({ day }) => day)).toEqual(labelled(starts, step as number));
    expect(ticks.filter(({ isWideOnly }) => !isWideOnly).length).toBeLessThanOrEqual(5);
    for (const { day, text } of ticks) {
      const [year = "", month = ""] = dateAt(day).split("-");
      const name = new Date(day * DAY_MS).toLocaleString("en", { month: "short", timeZone: "UTC" });
      expect([year, name, `${name} ${year}`]).toContain(text);
      if (month === "01") expect(text).toContain(year);
    }
  });

  /** The starts of every `months` months, counted from January 1900. */
  const labelled = (starts: readonly number[], months: number): number[] =>
    starts.filter((day) => {
      const [year, month] = dateAt(day).split("-").map(Number);
      return (((year as number) - 1970) * 12 + (month as number) - 1) % months === 0;
    });

  test("name years and months so that each label is clear", () => {
    const texts = (from: string, to: string) =>
      dateTicks(dayOf(from), dayOf(to)).map(({ text, isWideOnly }) =>
        isWideOnly ? `(${text})` : text,
      );
    expect(texts("2026-08-24", "2026-11-21")).toEqual(["Sep 2026", "Oct", "Nov"]);
    expect(texts("2025-11-22", "2026-11-21")).toEqual(
      "(Dec),Jan 2026,(Feb),(Mar),Apr,(May),(Jun),Jul,(Aug),(Sep),Oct,(Nov)".split(","),
    );
    expect(texts("2021-11-22", "2026-11-21")).toEqual(
      "2022,(Jul),2023,(Jul),2024,(Jul),2025,(Jul),2026,(Jul)".split(","),
    );
    expect(texts("2026-11-03", "2026-11-21")).toEqual(["3 Nov 2026", "21 Nov 2026"]);
    expect(texts("2026-11-21", "2026-11-21")).toEqual(["21 Nov 2026"]);
  });
});

describe("a chart", () => {
  test.prop([series])(
    "has each level from its session to the next one, horizontal; lines end at breaks",
    (points) => {
      // Wide enough that no two closes share a column of pixels.
      const options = { ...OPTIONS, widthPx: 100_000 };
      const html = chart(points, options);
      const { topPx, bottomPx, levels: labels } = layout(points, options);
      const [low, high] = [labels[0], labels.at(-1)].map((label) =>
        numberIn(label?.text as string),
      );
      const [first, last] = [points[0], points.at(-1)].map((point) => dayOf((point as Point).date));
      const lines = linesOf(pathIn(html, "curve"));
      const xOf = ({ date }: Point): number =>
        1000 *
        (first === last
          ? 0.5
          : (dayOf(date) - (first as number)) / ((last as number) - (first as number)));
      for (const [at, point] of points.entries()) {
        const share = (point.close - (low as number)) / ((high as number) - (low as number));
        const y = bottomPx - share * (bottomPx - topPx);
        const next = points[at + 1];
        const [from, to] = [xOf(point), xOf(next ?? point)];
        const isDrawn = lines
          .flatMap((line) => line.levels)
          .some(
            (level) =>
              Math.abs(level[2] - y) < 0.06 && level[0] - from < 0.11 && to - level[1] < 0.11,
          );
        // The last level has no length yet, and equal ones are one.
        expect(isDrawn || next === undefined).toBe(true);
        expect(y).toBeGreaterThan(topPx - 0.06);
        expect(y).toBeLessThan(bottomPx + 0.06);
      }
      const breaks = points.slice(1).filter(({ isBreak }) => isBreak).length;
      expect(lines).toHaveLength(1 + breaks);
      const corrected = points.filter(({ isCorrected }) => isCorrected).length;
      expect(html.split('class="corrected"')).toHaveLength(corrected + 1);
    },
  );

  test.prop([series, fc.integer({ min: 1, max: 400 })])(
    "thinned, keeps the first, the last and the extremes of each column of pixels",
    (points, columns) => {
      const places = layout(points, OPTIONS).points;
      const kept = thinned(places, columns);
      expect(kept).toEqual(places.filter((place) => kept.includes(place)));
      expect([kept[0], kept.at(-1)]).toEqual([places[0], places.at(-1)]);
      const byColumn = (all: typeof places) =>
        Map.groupBy(all, ({ x }) => Math.floor((x / 100) * columns));
      const thin = byColumn(kept);
      for (const [column, all] of byColumn(places)) {
        const ys = (of: typeof places = []) => of.map(({ y }) => y);
        expect(Math.min(...ys(thin.get(column)))).toBe(Math.min(...ys(all)));
        expect(Math.max(...ys(thin.get(column)))).toBe(Math.max(...ys(all)));
      }
    },
  );

  test.prop([series])("says its lowest, highest, first and last close", (points) => {
    const html = chart(points, OPTIONS);
    const closes = points.map(({ close }) => close);
    for (const [word, close] of [
      ["Lowest", Math.min(...closes)],
      ["highest", Math.max(...closes)],
      ["first", closes[0]],
      ["last", closes.at(-1)],
    ] as const) {
      const [, figure = "", date] = new RegExp(`${word} ([\\d.,]+) on ([\\d-]+)`).exec(html) ?? [];
      expect(numberIn(figure)).toBe(close);
      expect(points).toContainEqual(expect.objectContaining({ date, close }));
    }
  });

  const YEAR: Point[] = Array.from({ length: 366 }, (_, at) => ({
    date: dateAt(dayOf("2025-11-21") + at),
    close: 10 + (at % 30) / 8,
  }));

  test("says a break in words at its dashed line, and mutes the closes before", () => {
    const at = YEAR.findIndex(({ date }) => date === "2026-05-22");
    const broken = YEAR.with(at, {
      ...(YEAR[at] as Point),
      isBreak: true,
      breakReason: "5600 MT/s",
    });
    const html = chart(broken, OPTIONS);
    const x = `${Number(((182 / 365) * 100).toFixed(3))}%`;
    expect(html.match(/<line class="break" x1="[^"]*"/g)).toEqual([
      `<line class="break" x1="${x}"`,
    ]);
    expect(html).toContain(">From 22 May 2026: 5600 MT/s</text>");
    expect(html).toContain("Breaks: 2026-05-22 (5600 MT/s).");
    const ends = ["past", "curve"].map((kind) => {
      const levels = linesOf(pathIn(html, kind)).flatMap((line) => line.levels);
      return [levels[0]?.[0], levels.at(-1)?.[1]].map((end) => Math.round(end ?? Number.NaN));
    });
    expect(ends).toEqual([
      [0, 499],
      [499, 1000],
    ]);
    // High and low are of what compares with the last close, and stand below the chart.
    expect(html).not.toContain(">High");
    expect(html.split('class="extreme"')).toHaveLength(3);
    expect(chartHtml(broken, OPTIONS)).toMatch(
      /Since the break: High 13.625, \d+ \w+ 2026; Low 10.00, \d+ \w+ 2026</,
    );
    const long = broken.with(at, {
      ...(broken[at] as Point),
      breakReason: "Modules of 5600 MT/s, before of 4800 ".repeat(9),
    });
    // Cut after a word, so that no number is cut.
    const words = (widthPx: number): string =>
      />From 22 May 2026: ([^<]*)…</.exec(chart(long, { ...OPTIONS, widthPx }))?.[1] ?? "";
    expect(words(500)).toBe("Modules of");
    expect(chart(long, { ...OPTIONS, widthPx: 360 })).toContain(">Break on 22 May 2026</text>");
    expect(`${long[at]?.breakReason}`.startsWith(`${words(1_200)} `)).toBe(true);
    // On paper, which is narrower than a wide screen, it stays within the plot.
    expect(words(3_000)).toBe(words(1_200));
    expect(chartHtml(broken, OPTIONS)).toContain("Before a break: not comparable");
  });

  test("marks its last, highest and lowest close with value and date", () => {
    const points = [
      { date: "2026-11-19", close: 1683 },
      { date: "2026-11-20", close: 1700.504 },
      { date: "2026-11-21", close: 1690 },
    ];
    const html = chart(points, OPTIONS);
    expect(html).toContain(">High 1,700.504, 20 Nov 2026</text>");
    expect(html).toContain(">Low 1,683.00, 19 Nov 2026</text>");
    expect(html).toMatch(/<text class="end"[^>]*>1,690.00<\/text>/);
    expect(chart(points, { ...OPTIONS, decimals: 2 })).toContain(">High 1,700.50, 20 Nov 2026<");
    expect(chart(points.slice(2), OPTIONS)).not.toContain("High");
  });

  test("has more levels where it is tall", () => {
    const count = (heightPx: number) => layout(YEAR, { ...OPTIONS, heightPx }).levels.length;
    expect(count(380)).toBeGreaterThan(count(300));
  });

  test("says where its axis begins, unless that is 0", () => {
    expect(unitLine(YEAR, OPTIONS)).toBe(
      "USD per piece, 21 November 2025 to 21 November 2026. The axis begins at 9.",
    );
    expect(unitLine([{ date: "2026-11-21", close: 0.5 }, ...YEAR.slice(-1)], OPTIONS)).toBe(
      `USD per piece, ${dateWords("2026-11-21")} to ${dateWords("2026-11-21")}.`,
    );
  });

  test("has a band from lowest to highest prices where both are given", () => {
    const banded = YEAR.map((point, at) =>
      at < 100 ? point : { ...point, low: point.close - 1, high: point.close + 2 },
    );
    const { levels: labels } = layout(banded, OPTIONS);
    expect(numberIn(labels.at(-1)?.text as string)).toBeGreaterThanOrEqual(15.6);
    expect(pathIn(chart(banded, OPTIONS), "band")).toMatch(/^M[\d.]+ [\d.]+(?:[HV][\d.]+)+z$/);
    expect(chart(YEAR, OPTIONS)).not.toContain('class="band"');
    expect(chartHtml(banded, OPTIONS)).toContain(
      "Lowest to highest price, given since 1 Mar 2026<",
    );
    expect(chartHtml(banded.slice(100), OPTIONS)).toContain("Lowest to highest price<");
  });

  test("ends with the last level, where its carry limit ends it", () => {
    const held = YEAR.with(YEAR.length - 1, {
      ...(YEAR.at(-1) as Point),
      until: "2026-12-01T12:00:00.000Z",
    });
    const late = { ...OPTIONS, to: "2026-12-21" };
    const [line] = linesOf(pathIn(chart(held, late), "curve"));
    expect(line?.levels.at(-1)?.[1]).toBeCloseTo((375 / 395) * 1000, 0);
    expect(chartHtml(held, late)).not.toContain("Carried");
  });

  test("has a line at the base, if the closes come near it", () => {
    const closes = YEAR.map(({ close }) => close);
    const [least, most] = [Math.min(...closes), Math.max(...closes)];
    const near = Math.round(least - (most - least) / 2);
    const far = Math.round(least - 2 * (most - least));
    const { baseY, bottomPx, topPx } = layout(YEAR, { ...OPTIONS, base: near });
    expect(baseY).toBeGreaterThan(topPx);
    expect(baseY).toBeLessThanOrEqual(bottomPx);
    expect(chart(YEAR, { ...OPTIONS, base: near })).toContain('<line class="base"');
    const { baseY: none, levels: usual } = layout(YEAR, { ...OPTIONS, base: far });
    expect([none, usual]).toEqual([null, layout(YEAR, OPTIONS).levels]);
    expect(chart(YEAR, OPTIONS)).not.toContain('class="base"');
  });

  test("reaches to the dates given", () => {
    const { points, dates } = layout(YEAR.slice(0, 2), {
      ...OPTIONS,
      from: "2025-11-11",
      to: "2025-12-01",
    });
    expect(points.map(({ x }) => x.toFixed(9))).toEqual(["50.000000000", "55.000000000"]);
    expect(dates.map(({ x }) => x)).toEqual([0, 100]);
  });

  test("has a dot where a level stands alone and has no length", () => {
    const dots = (points: readonly Point[]) =>
      chart(points, OPTIONS).split('class="dot"').length - 1;
    expect(dots(YEAR)).toBe(0);
    expect(dots(YEAR.slice(0, 1))).toBe(1);
  });

  test("shows hostile text as text", () => {
    const hostile = `"><script>alert(1)</script><b a='&amp;\u0000\u202e`;
    const broken = YEAR.with(9, { ...(YEAR[9] as Point), isBreak: true, breakReason: hostile });
    const options = { ...OPTIONS, title: hostile, unit: hostile };
    for (const svg of [chartHtml(broken, options), chartFile(broken, options, [hostile])]) {
      expect(svg).not.toMatch(/<script|<b[ >]|\0/);
      expect(svg).toContain("&lt;script&gt;");
    }
  });

  test("has neither style nor colour of its own", () => {
    expect(chartHtml(YEAR, { ...OPTIONS, base: 12 })).not.toMatch(/style|fill=|stroke=/);
  });

  test("needs a close", () => {
    expect(() => chart([], OPTIONS)).toThrow("A chart needs a point");
  });

  test("of 1,830 closes takes less than 20 kB", () => {
    const points = Array.from({ length: 1_830 }, (_, at) => ({
      date: dateAt(dayOf("2021-11-21") + at),
      close: Number((20 + 5 * Math.sin(at / 50) + ((at * 7919) % 97) / 100).toFixed(3)),
    }));
    expect(chart(points, OPTIONS).length).toBeLessThan(20_000);
  });
});

describe("a sparkline", () => {
  test.prop([series])(
    "stays in its box, spans the range of its 90 days, and never slopes",
    (all) => {
      const { date } = all.at(-1) as Point;
      const line = { levels: all, carryDays: 400, to: `${date}T12:00:00.000Z` };
      const lines = linesOf(pathIn(sparkline(line)));
      const heights = lines.flatMap(({ levels }) => levels.map(([, , y]) => y));
      for (const [from, to, y] of lines.flatMap(({ levels }) => levels)) {
        expect(from).toBeGreaterThanOrEqual(4);
        expect(to).toBeLessThanOrEqual(176);
        expect(y).toBeGreaterThanOrEqual(4);
        expect(y).toBeLessThanOrEqual(36);
      }
      expect(heights.length).toBeGreaterThan(0);
    },
  );

  test("draws a price of a quarter as steps, up to the end", () => {
    const levels = [
      { date: "2026-05-03", close: 3 },
      { date: "2026-08-03", close: 4 },
      { date: "2026-11-02", close: 6 },
    ];
    const line = { levels, carryDays: 138, to: "2026-11-28T12:00:00.000Z" };
    // The price of 3 August is in force 90 days before the end.
    expect(linesOf(pathIn(sparkline(line)))).toEqual([
      {
        levels: [
          [4, 126, 36],
          [126, 176, 4],
        ],
        isDot: false,
      },
    ]);
    // Over its limit it is no more.
    const over = linesOf(pathIn(sparkline({ ...line, carryDays: 30 })));
    expect(over.map((part) => part.levels)).toEqual([[[4, 10, 36]], [[126, 176, 4]]]);
  });
});

describe("bars", () => {
  const values = fc.array(fc.double({ min: -100, max: 100, noNaN: true }), {
    minLength: 1,
    maxLength: 40,
  });

  test.prop([values])("begin at a common zero and have the length of their value", (items) => {
    const [low, high] = [Math.min(0, ...items), Math.max(0, ...items)];
    const zero = low === high ? 50 : (-low / (high - low)) * 100;
    for (const [at, svg] of bars(items).entries()) {
      const value = items[at] as number;
      const [, kind, x, width, line] =
        /<rect class="(\w+)" x="([\d.]+)%" width="([\d.]+)%".*<line x1="([\d.]+)%"/.exec(svg) ?? [];
      const length = low === high ? 0 : (Math.abs(value) / (high - low)) * 100;
      expect(kind).toBe(value < 0 ? "down" : "up");
      expect(Math.abs(Number(line) - zero)).toBeLessThan(0.001);
      expect(Math.abs(Number(width) - length)).toBeLessThan(0.001);
      expect(Math.abs(Number(x) - (value < 0 ? zero - length : zero))).toBeLessThan(0.001);
    }
  });
});
