/**
 * Charts as text, made from data: a line over days with its words, sparklines, bars around zero. Pure: it
 * runs in Node and in the browser. Colours come from the classes that chart.css names.
 *
 * A chart stretches to the width of its box without distorting text and strokes: marks and labels stand
 * at percentages, and only the curve, in an SVG of its own, is stretched. So it needs no script.
 */
import { dateWords, dayOf } from "./axis.js";
import { ends, highest, layout, lowest } from "./layout.js";
import { endSvg, legendOf, levelsSvg, linePath, percent, plotSvg } from "./plot.js";
import { escaped, foreign, roundedText } from "./text.js";

/** @typedef {import("./layout.js").Point} Point */
/** @typedef {import("./layout.js").ChartOptions} ChartOptions */

/** The width of a curve before it is stretched. */
const CURVE_WIDTH = 1000;

/**
 * What a chart shows, in words: the lowest, highest, first and last close, and what is marked.
 *
 * @param {readonly Point[]} points at least one
 * @param {ChartOptions} options
 */
export function chartLabel(points, { title, unit, decimals }) {
  const [first, last] = ends(points);
  /** @param {Point} point */
  const told = ({ date, close, text }) => `${roundedText(text ?? close, decimals)} on ${date}`;
  const breaks = points.flatMap(({ date, breakReason }) =>
    breakReason ? [`${date} (${breakReason})`] : [],
  );
  const corrected = points.filter(({ isCorrected }) => isCorrected).map(({ date }) => date);
  return [
    `${title}, ${unit}.`,
    `Lowest ${told(lowest(points))}, highest ${told(highest(points))}, first ${told(first)}, last ${told(last)}.`,
    ...(breaks.length === 0 ? [] : [`Breaks: ${breaks.join(", ")}.`]),
    ...(corrected.length === 0 ? [] : [`Corrected: ${corrected.join(", ")}.`]),
  ].join(" ");
}

/**
 * The line below a chart's title: unit, dates, and where the axis begins. Plain text.
 *
 * @param {readonly Point[]} points at least one
 * @param {ChartOptions} options
 */
export function unitLine(points, options) {
  const [first, last] = ends(points);
  const { begins } = layout(points, options);
  const from = dateWords(options.from ?? first.date);
  const axis = begins === null ? "" : ` The axis begins at ${begins}.`;
  return `${options.unit}, ${from} to ${dateWords(options.to ?? last.date)}.${axis}`;
}

/**
 * A chart for a page, as wide as its box.
 *
 * @param {readonly Point[]} points at least one
 * @param {ChartOptions} options
 */
export function chart(points, options) {
  const drawn = layout(points, options);
  const { gutterPx, endPx, heightPx } = drawn;
  return (
    `<div class="chart" role="img" aria-label="${escaped(chartLabel(points, options))}">` +
    `<svg width="${gutterPx}" height="${heightPx}">${levelsSvg(drawn)}</svg>` +
    `<svg class="plot" height="${heightPx}">${plotSvg(drawn, CURVE_WIDTH)}</svg>` +
    `<svg width="${endPx}" height="${heightPx}">${endSvg(drawn)}</svg></div>`
  );
}

/**
 * A chart with its title, its unit and what its marks mean. `tools` are controls above the drawing.
 *
 * @param {readonly Point[]} points at least one
 * @param {ChartOptions} options
 * @param {string} [tools] HTML
 */
export function chartHtml(points, options, tools = "") {
  const legend = legendOf(layout(points, options)).map(
    ({ sample, words }) =>
      `<span><svg width="24" height="12" aria-hidden="true">${sample}</svg> ${words}</span>`,
  );
  return (
    `<p class="chart-title">${foreign(options.title)}</p>\n` +
    `<p class="chart-unit">${foreign(unitLine(points, options))}</p>\n${tools}` +
    `<div class="charted">${chart(points, options)}</div>\n` +
    `<p class="chart-legend">${legend.join("")}</p>`
  );
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
    isStart: point.isBreak === true,
    x: SPARK_MARGIN + Math.max(0, (dayOf(point.date) - left) / (right - left)) * width,
    y: SPARK_MARGIN + (low === high ? 0.5 : (high - point.close) / (high - low)) * height,
  }));
  return (
    `<svg class="spark" viewBox="0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}" aria-hidden="true">` +
    `<path d="${linePath(places, 1)}"/></svg>`
  );
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
