/**
 * Charts as text, made from data: a line over days with its words, sparklines, bars around zero. Pure: it
 * runs in Node and in the browser. Colours come from the classes that chart.css names.
 *
 * A chart stretches to the width of its box without distorting text and strokes: marks and labels stand
 * at percentages, and only the curve, in an SVG of its own, is stretched. So it needs no script.
 */
import { dateWords, dayAt } from "./axis.js";
import { closeText, ends, highest, lowest, spansOf } from "./layout.js";
import { drawnFrom, startOf } from "./levels.js";
import { endSvg, legendOf, levelsSvg, percent, plotSvg, stepPath } from "./plot.js";
import { escaped, foreign } from "./text.js";

/** @typedef {import("./layout.js").Point} Point */
/** @typedef {import("./layout.js").Layout} Layout */

/**
 * What a chart shows, in words: the lowest, highest, first and last close, and the marks.
 *
 * @param {Layout} drawn
 */
export function chartLabel({ points, title, unit, decimals }) {
  const [first, last] = ends(points);
  /** @param {Point} point */
  const describe = (point) => `${closeText(point, decimals)} on ${point.date}`;
  /** @param {string} what @param {(point: Point) => unknown} wordsOf */
  const listed = (what, wordsOf) => {
    const words = points.map(wordsOf).filter(Boolean);
    return words.length === 0 ? "" : ` ${what}: ${words.join(", ")}.`;
  };
  return (
    `${title}, ${unit}. Lowest ${describe(lowest(points))}, highest ${describe(highest(points))}, ` +
    `first ${describe(first)}, last ${describe(last)}.` +
    listed("Breaks", ({ date, breakReason }) => breakReason && `${date} (${breakReason})`) +
    listed("Corrections", ({ date, isCorrected }) => isCorrected && date)
  );
}

/**
 * The line below a chart's title: unit, dates, and where the axis begins. Plain text.
 *
 * @param {Layout} drawn
 */
export function unitLine({ points, unit, from, to, begins }) {
  const [first, last] = ends(points);
  const begin = (from ?? first.at ?? first.date).slice(0, 10);
  const end = (to ?? last.date).slice(0, 10);
  const axis = begins === null ? "" : ` The axis begins at ${begins}.`;
  return `${unit}, ${dateWords(begin)} to ${dateWords(end)}.${axis}`;
}

/** A chart for a page, as wide as its box. @param {Layout} drawn */
export function chart(drawn) {
  const { gutterPx, endPx, heightPx } = drawn;
  return (
    `<div class="chart" role="img" aria-label="${escaped(chartLabel(drawn))}">` +
    `<svg width="${gutterPx}" height="${heightPx}">${levelsSvg(drawn)}</svg>` +
    `<svg class="plot" height="${heightPx}">${plotSvg(drawn)}</svg>` +
    `<svg width="${endPx}" height="${heightPx}">${endSvg(drawn)}</svg></div>`
  );
}

/**
 * A chart with its title, its unit and what its marks mean. `tools` are controls above the drawing.
 *
 * @param {Layout} drawn
 * @param {string} [tools] HTML
 */
export function chartHtml(drawn, tools = "") {
  const legend = legendOf(drawn).map(
    ({ sample, words }) =>
      `<span><svg width="24" height="12" aria-hidden="true">${sample}</svg> ${words}</span>`,
  );
  return (
    `<p class="chart-title">${foreign(drawn.title)}</p>\n` +
    `<p class="chart-unit">${foreign(unitLine(drawn))}</p>\n${tools}` +
    `<div class="charted">${chart(drawn)}</div>\n` +
    `<p class="chart-legend">${legend.join("")}</p>`
  );
}

const SPARK_RANGE = "90d";
const SPARK_WIDTH = 180;
const SPARK_HEIGHT = 40;
const SPARK_MARGIN = 4;

/**
 * The levels of 90 days as a line without axes, which spans its own range. It has no text: the figures
 * stand beside it.
 *
 * @param {import("./levels.js").Line} line with a level
 */
export function sparkline(line) {
  const { points, from, to } = drawnFrom(line, startOf(SPARK_RANGE, line.to));
  const closes = points.map(({ close }) => close);
  const low = Math.min(...closes);
  const high = Math.max(...closes);
  const width = SPARK_WIDTH - 2 * SPARK_MARGIN;
  const height = SPARK_HEIGHT - 2 * SPARK_MARGIN;
  /** @param {string} at */
  const x = (at) =>
    SPARK_MARGIN +
    Math.round(Math.max(0, (dayAt(at) - dayAt(from)) / (dayAt(to) - dayAt(from))) * width);
  const spans = spansOf(points);
  const places = points.map(({ close }, at) => {
    const { begin, until, isStart } = /** @type {import("./layout.js").Span} */ (spans[at]);
    return {
      isStart,
      x: x(begin),
      toX: x(until),
      y: SPARK_MARGIN + Math.round((low === high ? 0.5 : (high - close) / (high - low)) * height),
    };
  });
  return (
    `<svg class="spark" viewBox="0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}" aria-hidden="true">` +
    `<path d="${stepPath(places)}"/></svg>`
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
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  /** @param {number} value */
  const x = (value) => (low === high ? 50 : ((value - low) / (high - low)) * 100);
  const zero = percent(x(0));
  return values.map((value) => {
    const left = x(Math.min(0, value));
    const width = percent(x(Math.max(0, value)) - left);
    return (
      '<svg class="bar" aria-hidden="true">' +
      `<rect class="${value < 0 ? "down" : "up"}" x="${percent(left)}" width="${width}" height="100%"/>` +
      `<line x1="${zero}" x2="${zero}" y2="100%"/></svg>`
    );
  });
}
