/** The marks of a chart as SVG text. Colours come from the classes that chart.css names. */
import { dayText } from "./axis.js";
import { GAP_PX, thinned } from "./layout.js";
import { escaped } from "./text.js";

/** @typedef {import("./layout.js").Layout} Layout */
/** @typedef {import("./layout.js").Place} Place */

/** The width of a curve before it is stretched. */
const CURVE_WIDTH = 1000;

/** The labels of the levels. @param {Pick<Layout, "levels" | "gutterPx">} drawn */
export const levelsSvg = ({ levels, gutterPx }) =>
  levels
    .map(
      ({ text, y }) =>
        `<text x="${gutterPx - GAP_PX}" y="${short(y)}" dy="4" text-anchor="end">${text}</text>`,
    )
    .join("");

/** The last level, at the right of the plot. @param {Layout} drawn */
export const endSvg = ({ end }) =>
  `<text class="end" x="${GAP_PX}" y="${short(end.y)}" dy="4">${end.text}</text>`;

/** @param {string} kind @param {number} y */
const across = (kind, y) => `<line${kind} x2="100%" y1="${short(y)}" y2="${short(y)}"/>`;

/** @param {string} kind @param {number} x @param {number} from @param {number} to */
export const down = (kind, x, from, to) =>
  `<line${kind} x1="${percent(x)}" x2="${percent(x)}" y1="${from}" y2="${to}"/>`;

/**
 * The lines of the levels, of the base, and of the dates with their labels.
 *
 * @param {Pick<Layout, "levels" | "dates" | "baseY" | "bottomPx">} drawn
 */
export function axesSvg({ levels, dates, baseY, bottomPx }) {
  const labels = dates.map(({ text, x, isWideOnly }) => {
    const kind = isWideOnly ? ' class="wide"' : "";
    return (
      `${down(kind, x, bottomPx, bottomPx + 5)}<text${kind} x="${percent(x)}" y="${bottomPx + 20}" ` +
      `text-anchor="${anchorAt(x, text.length * 0.4, text.length * 1.2)}">${text}</text>`
    );
  });
  return [
    ...levels.map(({ y }) => across("", y)),
    baseY === null ? "" : across(' class="base"', baseY),
    ...labels,
  ].join("");
}

/** All but the labels of the levels. @param {Layout} drawn */
export function plotSvg(drawn) {
  const { topPx, bottomPx, heightPx, points } = drawn;
  const breaks = drawn.breaks.map(({ text, x, y }) => {
    const words =
      `<text class="break" x="${percent(x)}" dx="${x > 50 ? -6 : 6}" y="${y + 14}" ` +
      `text-anchor="${anchorAt(x, 50, 50)}">${escaped(text)}</text>`;
    return down(' class="break"', x, text === "" ? topPx - 4 : y + 2, bottomPx) + (text && words);
  });
  const circles = points.map(({ x, toX, y, isCorrected, isStart }, at) => {
    if (isCorrected) return circle('class="corrected" r="4"', x, y);
    const isAlone = isStart && toX === x && (points[at + 1]?.isStart ?? true);
    return isAlone ? circle('class="dot" r="2.5"', x, y) : "";
  });
  const extremes = drawn.extremes.map(({ text, x, y, isHigh, isOnPlot }) => {
    const words =
      `<text class="extreme" x="${percent(x)}" y="${short(y + (isHigh ? -8 : 18))}" ` +
      `text-anchor="${anchorAt(x, 30, 30)}">${text}</text>`;
    return circle('class="extreme" r="3"', x, y) + (isOnPlot ? words : "");
  });
  return [
    axesSvg(drawn),
    stretched(heightPx, curves(drawn)),
    ...circles,
    ...breaks,
    ...extremes,
    circle('class="end" r="3"', drawn.end.x, drawn.end.y),
  ].join("");
}

/**
 * Paths whose `x` end at 1,000, as wide as the plot.
 *
 * @param {number} heightPx
 * @param {string} paths
 */
export const stretched = (heightPx, paths) =>
  `<svg width="100%" height="${heightPx}" viewBox="0 0 ${CURVE_WIDTH} ${heightPx}" ` +
  `preserveAspectRatio="none">${paths}</svg>`;

/**
 * The band between lowest and highest prices, and the line.
 *
 * @param {Pick<Layout, "points" | "columns">} drawn
 */
function curves({ points, columns }) {
  const places = thinned(points, columns).map(stretchedPlace);
  const paths = {
    band: bandPath(places),
    past: stepPath(places.filter(({ isPast }) => isPast)),
    curve: stepPath(places.filter(({ isPast }) => !isPast)),
  };
  return Object.entries(paths)
    .map(
      ([kind, path]) =>
        path && `<path class="${kind}" vector-effect="non-scaling-stroke" d="${path}"/>`,
    )
    .join("");
}

/**
 * A place on a curve that will be stretched.
 *
 * @template {{ x: number, toX: number }} P
 * @param {P} place
 */
export const stretchedPlace = (place) => ({
  ...place,
  x: (place.x * CURVE_WIDTH) / 100,
  toX: (place.toX * CURVE_WIDTH) / 100,
});

/**
 * The area from the highest prices to the lowest ones, in steps, of each run of levels that have both.
 *
 * @param {readonly { x: number, toX: number, range: { low: number, high: number } | null, isStart: boolean }[]} places
 */
function bandPath(places) {
  /** @type {{ x: number, toX: number, low: number, high: number }[][]} */
  const runs = [];
  for (const { x, toX, range, isStart } of places) {
    if (range === null || isStart) runs.push([]);
    if (range !== null) runs.at(-1)?.push({ x, toX, ...range });
  }
  return runs
    .filter((run) => (run.at(-1)?.toX ?? 0) > (run[0]?.x ?? 0))
    .map((run) => {
      const there = run.map(({ x, toX, high }, at) => {
        const begin = at === 0 ? `M${short(x)} ${short(high)}` : `V${short(high)}`;
        return `${begin}H${short(run[at + 1]?.x ?? toX)}`;
      });
      const back = run.toReversed().map(({ x, low }) => `V${short(low)}H${short(x)}`);
      return `${[...there, ...back].join("")}z`;
    })
    .join("");
}

/**
 * A line as path data, to tenths, begun anew at each start. A level is horizontal from its place to the next one, or
 * to its end; nothing slopes. A line without a length becomes a dot, if its ends are round.
 *
 * @param {readonly { isStart: boolean, x: number, toX: number, y: number }[]} places
 */
export function stepPath(places) {
  let path = "";
  let fromX = 0;
  let fromY = 0;
  places.forEach((place, at) => {
    const next = places[at + 1];
    const isLast = next === undefined || next.isStart;
    const isBegun = place.isStart || at === 0;
    const x = Math.round(place.x * 10);
    const y = Math.round(place.y * 10);
    const end = Math.round((isLast ? place.toX : next.x) * 10);
    const across = step("h", end - x);
    path += isBegun ? `m${(x - fromX) / 10} ${(y - fromY) / 10}` : step("v", y - fromY);
    path += isBegun && isLast && across === "" ? "z" : across;
    fromX = end;
    fromY = y;
  });
  return path;
}

/** @param {"h" | "v"} way @param {number} tenths */
const step = (way, tenths) => (tenths === 0 ? "" : way + tenths / 10);

/**
 * The marks that need words, with a sample of 24 × 12 pixels: those that occur.
 *
 * @param {Layout} drawn
 * @returns {{ sample: string, words: string }[]}
 */
export function legendOf({ points, extremes }) {
  const isAfterBreak = extremes.some(({ isOnPlot }) => !isOnPlot);
  const given = points.findIndex(({ range }) => range);
  const since = given > 0 ? `, given since ${dayText(points[given]?.date ?? "")}` : "";
  /** @type {[boolean, string, string, string][]} */
  const marks = [
    [points.some(({ isPast }) => isPast), "past", "M0 6h24", "Before a break: not comparable"],
    [isAfterBreak, "dot", DOT, `Since the break: ${extremes.map(({ text }) => text).join("; ")}`],
    [given >= 0, "band", "M0 1h24v10h-24z", `Lowest to highest price${since}`],
    [points.some((place) => place.isCorrected), "corrected", CIRCLE, "Correction"],
  ];
  return marks
    .filter(([isShown]) => isShown)
    .map(([, kind, path, words]) => ({ sample: `<path class="${kind}" d="${path}"/>`, words }));
}

/** An open circle, and a smaller one. */
const CIRCLE = "M8 6a4 4 0 1 0 8 0a4 4 0 1 0 -8 0";
const DOT = "M9 6a3 3 0 1 0 6 0a3 3 0 1 0 -6 0";

/**
 * Keeps a label near an edge inside the chart, also of a narrow one. A date at the left may reach below
 * the labels of the levels.
 *
 * @param {number} x in percent, as both others
 * @param {number} left how near to the left edge a label begins at its place
 * @param {number} right how near to the right edge it ends there
 */
const anchorAt = (x, left, right) => (x > 100 - right ? "end" : x <= left ? "start" : "middle");

/** @param {string} kind @param {number} x @param {number} y */
export const circle = (kind, x, y) => `<circle ${kind} cx="${percent(x)}" cy="${short(y)}"/>`;

/** @param {number} x */
export const percent = (x) => `${Number(x.toFixed(3))}%`;
/** @param {number} y */
export const short = (y) => String(Number(y.toFixed(1)));
