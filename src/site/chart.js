/**
 * Charts as SVG text, made from data: a line over days, sparklines, bars around zero. Pure: it runs in
 * Node and in the browser. Colours come from the classes that style.css names.
 *
 * A chart stretches to the width of its box without distorting text and strokes: marks and labels stand
 * at percentages, and only the curve, in an SVG of its own, is stretched. So it needs no script.
 */
import { dateTicks, dayOf, levelTicks } from "./axis.js";
import { escaped, grouped } from "./text.js";

/**
 * @typedef {object} Point A close.
 * @property {string} date `YYYY-MM-DD`. Points ascend by date.
 * @property {number} close Of at most 15 significant digits.
 * @property {boolean} [isBreak] Not comparable with the point before: no line is drawn between them.
 * @property {boolean} [isCorrected] Shown as an open circle.
 */

/**
 * @typedef {object} ChartOptions
 * @property {string} title What the line is. The label for screen readers begins with it.
 * @property {string} unit Of the levels; it stands at the head of their axis.
 * @property {number} [base] A level with a line of its own, such as 100 of an index.
 * @property {readonly string[]} [breaks] Dates, each with a dashed line and a `B`.
 * @property {string} [from] The first date of the axis, if it is before the first point.
 * @property {string} [to] The last date of the axis, if it is after the last point.
 * @property {number} [heightPx]
 */

/**
 * @typedef {object} Layout Where everything stands. `x` is in percent of the plot's width, `y` in pixels.
 * @property {readonly { point: Point, x: number, y: number, isAlone: boolean }[]} points
 * @property {readonly { text: string, y: number }[]} levels
 * @property {readonly { text: string, x: number, isWideOnly: boolean }[]} dates
 * @property {readonly number[]} breaks The `x` of each.
 * @property {number | null} base The `y` of the base.
 * @property {number} gutterPx The width of the levels, left of the plot.
 * @property {number} topPx The upper edge of the plot.
 * @property {number} bottomPx The lower edge of the plot.
 * @property {number} heightPx
 */

const HEIGHT_PX = 300;
/** For the unit and the letters of breaks, above the plot. */
const HEAD_PX = 36;
/** For the dates, below it. */
const FOOT_PX = 28;
/** Of a tabular digit of 13 px. */
const DIGIT_PX = 7.5;
/** Between a level and the plot. */
const GAP_PX = 10;
/** The width of a curve before it is stretched. */
const CURVE_WIDTH = 1000;
/** A close as many days from those beside it has a dot. */
const ALONE_DAYS = 3;

/**
 * Where a chart stands in its box; a cursor takes its places from here.
 *
 * @param {readonly Point[]} points at least one
 * @param {ChartOptions} options
 * @returns {Layout}
 */
export function layout(points, { base, breaks = [], from, to, heightPx = HEIGHT_PX }) {
  const [first, last] = ends(points);
  const [firstDay, lastDay] = [dayOf(first.date), dayOf(last.date)];
  const left = Math.min(firstDay, dayOf(from ?? first.date));
  const right = Math.max(lastDay, dayOf(to ?? last.date));
  const shown = [...points.map(({ close }) => close), ...(base === undefined ? [] : [base])];
  const levels = levelTicks(Math.min(...shown), Math.max(...shown));
  const [low, high] = [levels[0]?.level ?? 0, levels.at(-1)?.level ?? 1];
  const [topPx, bottomPx] = [HEAD_PX, heightPx - FOOT_PX];
  /** @param {number} day */
  const x = (day) => (left === right ? 50 : ((day - left) / (right - left)) * 100);
  /** @param {number} level */
  const y = (level) => bottomPx - ((level - low) / (high - low)) * (bottomPx - topPx);
  const labels = levels.map(({ text, level }) => ({ text: grouped(text, 0), y: y(level) }));
  return {
    points: points.map((point, at) => ({
      point,
      x: x(dayOf(point.date)),
      y: y(point.close),
      isAlone: [points[at - 1], points[at + 1]].every(
        (next) =>
          next === undefined || Math.abs(dayOf(next.date) - dayOf(point.date)) >= ALONE_DAYS,
      ),
    })),
    levels: labels,
    dates: dateTicks(left, right).map(({ day, ...tick }) => ({ ...tick, x: x(day) })),
    breaks: breaks.map((date) => x(dayOf(date))).filter((at) => at >= 0 && at <= 100),
    base: base === undefined ? null : y(base),
    gutterPx: Math.ceil(Math.max(...labels.map(({ text }) => text.length)) * DIGIT_PX) + GAP_PX,
    topPx,
    bottomPx,
    heightPx,
  };
}

/**
 * What a chart shows, in words: the lowest, highest, first and last close as given, and what is marked.
 *
 * @param {readonly Point[]} points at least one
 * @param {ChartOptions} options
 */
export function chartLabel(points, { title, unit, breaks = [] }) {
  const [first, last] = ends(points);
  /** @param {Point} point */
  const told = ({ date, close }) => `${grouped(String(close))} on ${date}`;
  const lowest = points.reduce((a, b) => (b.close < a.close ? b : a));
  const highest = points.reduce((a, b) => (b.close > a.close ? b : a));
  const corrected = points.filter(({ isCorrected }) => isCorrected).map(({ date }) => date);
  return [
    `${title}, ${unit}.`,
    `Lowest ${told(lowest)}, highest ${told(highest)}, first ${told(first)}, last ${told(last)}.`,
    ...(breaks.length === 0 ? [] : [`Breaks: ${breaks.join(", ")}.`]),
    ...(corrected.length === 0 ? [] : [`Corrected: ${corrected.join(", ")}.`]),
  ].join(" ");
}

/**
 * A chart for a page, as wide as its box.
 *
 * @param {readonly Point[]} points at least one
 * @param {ChartOptions} options
 */
export function chart(points, options) {
  const drawn = layout(points, options);
  const { gutterPx, heightPx } = drawn;
  return (
    `<div class="chart" role="img" aria-label="${escaped(chartLabel(points, options))}">` +
    `<svg width="${gutterPx}" height="${heightPx}">${levelsSvg(drawn)}</svg>` +
    `<svg class="plot" height="${heightPx}">${plotSvg(drawn, options.unit, CURVE_WIDTH)}</svg></div>`
  );
}

/**
 * The labels of the levels.
 *
 * @param {Layout} drawn
 */
export const levelsSvg = ({ levels, gutterPx }) =>
  levels
    .map(
      ({ text, y }) =>
        `<text x="${gutterPx - GAP_PX}" y="${short(y)}" dy="4" text-anchor="end">${text}</text>`,
    )
    .join("");

/**
 * All but the labels of the levels.
 *
 * @param {Layout} drawn
 * @param {string} unit
 * @param {number} curveWidth of the curve before it is stretched
 */
export function plotSvg({ topPx, bottomPx, heightPx, ...drawn }, unit, curveWidth) {
  /** @param {string} kind @param {number} y */
  const across = (kind, y) => `<line${kind} x2="100%" y1="${short(y)}" y2="${short(y)}"/>`;
  /** @param {string} kind @param {number} x @param {number} from @param {number} to */
  const down = (kind, x, from, to) =>
    `<line${kind} x1="${percent(x)}" x2="${percent(x)}" y1="${from}" y2="${to}"/>`;
  const dates = drawn.dates.map(({ text, x, isWideOnly }) => {
    const kind = isWideOnly ? ' class="wide"' : "";
    return (
      `${down(kind, x, bottomPx, bottomPx + 5)}<text${kind} x="${percent(x)}" y="${bottomPx + 20}" ` +
      `text-anchor="${anchorAt(x, text)}">${text}</text>`
    );
  });
  const breaks = drawn.breaks.map(
    (x) =>
      `${down(' class="break"', x, topPx - 4, bottomPx)}<text class="break" x="${percent(x)}" ` +
      `y="${topPx - 8}" text-anchor="middle">B</text>`,
  );
  const circles = drawn.points.flatMap(({ point, x, y, isAlone }) => {
    const kind = point.isCorrected ? 'class="corrected" r="4"' : 'class="dot" r="2.5"';
    const isShown = isAlone || point.isCorrected;
    return isShown ? [`<circle ${kind} cx="${percent(x)}" cy="${short(y)}"/>`] : [];
  });
  const path = linePath(
    drawn.points.map(({ point, x, y }) => ({ x: (x * curveWidth) / 100, y, point })),
    10,
  );
  return [
    `<svg width="100%" height="18"><text y="13">${escaped(unit)}</text></svg>`,
    ...drawn.levels.map(({ y }) => across("", y)),
    ...(drawn.base === null ? [] : [across(' class="base"', drawn.base)]),
    ...dates,
    ...breaks,
    `<svg width="100%" height="${heightPx}" viewBox="0 0 ${curveWidth} ${heightPx}" ` +
      `preserveAspectRatio="none"><path class="curve" vector-effect="non-scaling-stroke" d="${path}"/></svg>`,
    ...circles,
  ].join("");
}

/**
 * Keeps a label near an edge inside the chart, also of a narrow one. At the left it may reach below the
 * labels of the levels.
 *
 * @param {number} x in percent
 * @param {string} text
 */
function anchorAt(x, text) {
  if (x < text.length * 0.4) return "start";
  return x > 100 - text.length * 1.2 ? "end" : "middle";
}

const SPARK_DAYS = 90;
const SPARK_WIDTH = 180;
const SPARK_HEIGHT = 40;
const SPARK_MARGIN = 4;

/**
 * The closes of 90 days as a line without axes, which spans its own range. It has no text: the figures
 * stand beside it. A last close that is older stands at the left edge.
 *
 * @param {readonly Point[]} all older ones but the last are left out
 * @param {string} to the last day
 */
export function sparkline(all, to) {
  const [left, right] = [dayOf(to) - SPARK_DAYS + 1, dayOf(to)];
  const points = all.filter(({ date }, at) => at === all.length - 1 || dayOf(date) >= left);
  const closes = points.map(({ close }) => close);
  const [low, high] = [Math.min(...closes), Math.max(...closes)];
  const [width, height] = [SPARK_WIDTH - 2 * SPARK_MARGIN, SPARK_HEIGHT - 2 * SPARK_MARGIN];
  const places = points.map((point) => ({
    point,
    x: SPARK_MARGIN + Math.max(0, (dayOf(point.date) - left) / (right - left)) * width,
    y: SPARK_MARGIN + (low === high ? 0.5 : (high - point.close) / (high - low)) * height,
  }));
  return (
    `<svg class="spark" viewBox="0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}" aria-hidden="true">` +
    `<path d="${linePath(places, 1)}"/></svg>`
  );
}

/**
 * A line as path data, broken before each break. Relative steps take little more than half the text of
 * absolute ones. A line of one point becomes a dot, if its ends are round.
 *
 * @param {readonly { point: Point, x: number, y: number }[]} places
 * @param {number} perUnit to what part of a unit places are rounded
 */
function linePath(places, perUnit) {
  let path = "";
  let [fromX, fromY] = [0, 0];
  places.forEach(({ point, x, y }, at) => {
    const next = places[at + 1];
    const isStart = at === 0 || point.isBreak === true;
    const isAlone = isStart && (next === undefined || next.point.isBreak === true);
    const [toX, toY] = [Math.round(x * perUnit), Math.round(y * perUnit)];
    const down = (toY - fromY) / perUnit;
    path += `${isStart ? "m" : " "}${(toX - fromX) / perUnit}${down < 0 ? "" : " "}${down}`;
    if (isAlone) path += "z";
    [fromX, fromY] = [toX, toY];
  });
  return path;
}

/**
 * A horizontal bar for each value, to the left or the right of a common zero. Bars have no text: they
 * stand in the rows of a table, beside labels and figures.
 *
 * @param {readonly number[]} values
 * @returns {string[]}
 */
export function bars(values) {
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  /** @param {number} value */
  const x = (value) => (low === high ? 50 : ((value - low) / (high - low)) * 100);
  const zero = percent(x(0));
  return values.map((value) => {
    const [left, right] = [Math.min(0, value), Math.max(0, value)].map(x);
    const width = percent((right ?? 0) - (left ?? 0));
    return (
      '<svg class="bar" aria-hidden="true">' +
      `<rect class="${value < 0 ? "down" : "up"}" x="${percent(left ?? 0)}" width="${width}" height="100%"/>` +
      `<line x1="${zero}" x2="${zero}" y2="100%"/></svg>`
    );
  });
}

/**
 * @param {readonly Point[]} points
 * @returns {[Point, Point]}
 */
function ends(points) {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) throw new RangeError("A chart needs a point");
  return [first, last];
}

/** @param {number} x */
const percent = (x) => `${Number(x.toFixed(3))}%`;
/** @param {number} y */
const short = (y) => String(Number(y.toFixed(1)));
