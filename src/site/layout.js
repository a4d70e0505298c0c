/** Where everything of a chart stands: axes, points, marks and their words. Pure. */
import { dateTicks, dayAt, dayText, levelTicks } from "./axis.js";
import { comparablePoints, sessionOf } from "./levels.js";
import { grouped, roundedText } from "./text.js";

/** @typedef {import("./levels.js").Point} Point */

/**
 * @typedef {object} ChartOptions
 * @property {string} title What the line is. The label for screen readers begins with it.
 * @property {string} unit Of the levels.
 * @property {number} decimals Of figures in words; `Infinity`: as given.
 * @property {number} [base] A level with a line of its own, such as 100 of an index, if the points come near it.
 * @property {string} [from] The first instant of the axis, if it is before the first point: ISO 8601, or a date.
 * @property {string} [to] The last instant of the axis, if it is after the last point.
 * @property {number} [heightPx]
 * @property {number} [widthPx] How wide it will be shown, about: for words, and for what a pixel can show.
 */

/**
 * The options, and where a chart stands: `x` in percent of the plot's width, `y` in pixels. Of a point,
 * `x` and `toX` are where its level begins and ends, `isStart` says that a line begins there, `isPast`
 * that a later break makes it incomparable with the last level, and `range` has the `y` of both prices.
 * `breaks` are those with a reason; `extremes` are the highest and the lowest level after the last of them,
 * and stand in words on the plot only if nothing is drawn before it; `end` is where the last level ends;
 * `begins` is the level at which the axis begins (null: 0); `columns` are about the pixels of the plot's width.
 *
 * @typedef {ReturnType<typeof layout>} Layout
 *
 * @typedef {Layout["points"][number]} Place
 *
 * What a cursor reads at a point: in words, as HTML beside the line, and the dots on it: height, and class or nothing.
 *
 * @typedef {{ words: string, html: string, dots: readonly { y: number, name: string }[] }} Reading
 */

const HEIGHT_PX = 300;
/** The width of a report. */
const WIDTH_PX = 960;
/** The plot on a sheet of paper, on which a chart drawn for a wide screen may be printed. */
const PAPER_PX = 560;
/** Charts from this height on have more levels. */
const TALL_PX = 360;
/** Above the plot, for the words at the highest close; and for each break. */
export const HEAD_PX = 24;
const BREAK_PX = 18;
/** More breaks have a line without words. */
const MOST_BREAKS = 3;
/** For the dates, below the plot. */
export const FOOT_PX = 28;
/** Of a tabular digit of 13 px, and of a letter. */
export const DIGIT_PX = 7.5;
const LETTER_PX = 7;
/** Between a level and the plot. */
export const GAP_PX = 10;
/** Below the lowest close, for its words. */
const LOW_SHARE = 0.08;

/**
 * The base, unless the points are so far from it that they would be a flat line.
 *
 * @param {number | undefined} base
 * @param {readonly number[]} levels
 */
function nearBase(base, levels) {
  const [least, most] = [Math.min(...levels), Math.max(...levels)];
  if (base === undefined || least === most) return base;
  const isNear = base >= least - (most - least) && base <= most + (most - least);
  return isNear ? base : undefined;
}

/**
 * The dates that stand clear of each other: without the first one if it would run into the second, and as on a narrow
 * axis if others would.
 *
 * @template {{ text: string, x: number, isWideOnly: boolean }} Tick
 * @param {readonly Tick[]} dates
 * @param {number} widthPx of the plot
 */
export function clearDates(dates, widthPx) {
  /** @param {Tick} date @param {Tick | undefined} next */
  const isClear = (date, next) => {
    if (next === undefined) return true;
    // A label at the left edge begins at its place.
    const share = isAtLeft(date) ? 1 : 0.5;
    const end = (date.x / 100) * widthPx + date.text.length * LETTER_PX * share;
    return end + GAP_PX < (next.x / 100) * widthPx - (next.text.length * LETTER_PX) / 2;
  };
  const isWide = dates.every((date, at) => at === 0 || isClear(date, dates[at + 1]));
  const kept = isWide ? dates : dates.filter(({ isWideOnly }) => !isWideOnly);
  return kept.filter((date, at) => at > 0 || isClear(date, kept[1]));
}

/**
 * Whether a date is so far left that its label begins at its place.
 *
 * @param {{ text: string, x: number }} date
 */
const isAtLeft = ({ text, x }) => x <= text.length * 0.4;

/**
 * Lays out a chart.
 *
 * @param {readonly Point[]} points at least one
 * @param {ChartOptions} options
 */
export function layout(points, options) {
  const { from, to, heightPx = HEIGHT_PX, widthPx = WIDTH_PX, decimals } = options;
  const [first, last] = ends(points);
  const spans = spansOf(points);
  const lastDay = dayAt(/** @type {string} */ (spans.at(-1)?.until));
  const left = Math.min(dayAt(placeOf(first)), dayAt(from ?? placeOf(first)));
  const right = Math.max(lastDay, to === undefined ? lastDay : dayAt(to));
  const values = points.flatMap(({ close, low = close, high = close }) => [close, low, high]);
  const base = nearBase(options.base, values);
  const least = Math.min(...values, base ?? Infinity);
  const most = Math.max(...values, base ?? -Infinity);
  const margin = (most - least) * LOW_SHARE;
  const bottom = least < 0 ? least - margin : Math.max(0, least - margin);
  const levels = levelTicks(bottom, most, heightPx < TALL_PX ? 4 : 6);
  const low = levels[0]?.level ?? 0;
  const high = levels.at(-1)?.level ?? 1;
  const marked = points.filter(({ breakReason }) => breakReason);
  const worded = Math.min(marked.length, MOST_BREAKS);
  const topPx = HEAD_PX + worded * BREAK_PX;
  const bottomPx = heightPx - FOOT_PX;
  /** @param {number} day */
  const x = (day) => (left === right ? 50 : ((day - left) / (right - left)) * 100);
  /** @param {number} level */
  const y = (level) => bottomPx - ((level - low) / (high - low)) * (bottomPx - topPx);
  const labels = levels.map(({ text, level }) => ({ text: grouped(text, 0), y: y(level) }));
  const gutterPx = widest(labels, DIGIT_PX) + GAP_PX;
  const end = { text: closeText(last, decimals), x: x(lastDay), y: y(last.close) };
  const endPx = widest([end], DIGIT_PX + 1.5) + GAP_PX;
  const columns = Math.max(1, Math.round(widthPx - gutterPx - endPx));
  const rest = comparablePoints(points);
  const comparable = points.length - rest.length;
  const places = points.map((point, at) => {
    const { close, low, high } = point;
    const { begin, until, isStart } = /** @type {Span} */ (spans[at]);
    return {
      ...point,
      x: x(dayAt(begin)),
      toX: x(dayAt(until)),
      y: y(close),
      isStart,
      isPast: at < comparable,
      range: low === undefined || high === undefined ? null : { low: y(low), high: y(high) },
    };
  });
  return {
    ...options,
    points: places,
    levels: labels,
    dates: clearDates(
      dateTicks(left, right).map(({ day, ...tick }) => ({ ...tick, x: x(day) })),
      columns,
    ),
    breaks: marked.map((point, at) => {
      const { date, breakReason } = point;
      const row = at - (marked.length - worded);
      const place = x(dayAt(placeOf(point)));
      // The words stand on the side with more room.
      const roomPx = (Math.max(place, 100 - place) / 100) * Math.min(columns, PAPER_PX);
      const text = row < 0 ? "" : breakWords(breakReason ?? "", date, roomPx / LETTER_PX);
      return { text, x: place, y: topPx - HEAD_PX - (worded - 1 - row) * BREAK_PX };
    }),
    extremes: [highest(rest), lowest(rest)]
      .map((point, at) => ({
        x: x(dayAt(placeOf(point))),
        y: y(point.close),
        isHigh: at === 0,
        isOnPlot: comparable === 0,
        text: `${at === 0 ? "High" : "Low"} ${closeText(point, decimals)}, ${sinceText(point)}`,
      }))
      .filter((_, at, [high, low]) => high?.y !== low?.y),
    end,
    begins: low === 0 ? null : (labels[0]?.text ?? null),
    baseY: base === undefined ? null : y(base),
    gutterPx,
    endPx,
    topPx,
    bottomPx,
    heightPx,
    columns,
  };
}

/** The day of a level; of one that was in force where the range begins, since when. @param {Point} point */
const sinceText = (point) =>
  (placeOf(point) > sessionOf(point) ? "since " : "") + dayText(point.date);

/** Where a level begins on a chart. @param {Point} point */
export const placeOf = (point) => point.at ?? sessionOf(point);

/**
 * Where each level begins and ends: with the next one, unless the point says so. `isStart`: a line begins there.
 *
 * @typedef {{ begin: string, until: string, isStart: boolean }} Span
 * @param {readonly Point[]} points
 * @returns {Span[]}
 */
export const spansOf = (points) =>
  points.map((point, at) => {
    const begin = placeOf(point);
    const [before, next] = [points[at - 1], points[at + 1]];
    return {
      begin,
      until: point.until ?? (next === undefined ? begin : placeOf(next)),
      isStart: before === undefined || point.isBreak === true || (before.until ?? begin) !== begin,
    };
  });

/**
 * What a break says at the top: `From 1 Jun 2026: 5600 MT/s`, cut after a word to about so many letters; without
 * room for a word only its date.
 *
 * @param {string} reason
 * @param {string} date
 * @param {number} most
 */
function breakWords(reason, date, most) {
  const when = `From ${dayText(date)}: `;
  const letters = [...reason.replace(/\s+/g, " ")];
  const room = Math.max(0, Math.floor(most) - when.length);
  if (letters.length <= room) return when + letters.join("");
  const words = letters
    .slice(0, room)
    .join("")
    .replace(/ ?\S*$/, "");
  return words === "" ? `Break on ${dayText(date)}` : `${when}${words}…`;
}

/** A close for people. @param {Point} point @param {number} decimals */
export const closeText = ({ close, text }, decimals) => roundedText(text ?? close, decimals);

/** @template {{ close: number }} P @param {readonly P[]} points @returns {P} */
export const lowest = (points) => points.reduce((a, b) => (b.close < a.close ? b : a));

/** @template {{ close: number }} P @param {readonly P[]} points @returns {P} */
export const highest = (points) => points.reduce((a, b) => (b.close > a.close ? b : a));

/**
 * The places that a line needs: of each column of pixels the highest and the lowest, the last of all, and
 * both sides of a break or gap. The line looks the same, and no extreme is lost.
 *
 * @template {{ x: number, close: number, isStart: boolean }} P
 * @param {readonly P[]} places ascending by `x`
 * @param {number} columns
 */
export function thinned(places, columns) {
  const byColumn = Map.groupBy(places, ({ x }) => Math.floor((x / 100) * columns));
  const kept = new Set(
    [...byColumn.values()].flatMap((all) => [lowest(all), highest(all), all.at(-1)]),
  );
  return places.filter(
    (place, at) => kept.has(place) || place.isStart || (places[at + 1]?.isStart ?? true),
  );
}

/** @param {readonly { text: string }[]} labels @param {number} letterPx */
export const widest = (labels, letterPx) =>
  Math.ceil(Math.max(...labels.map(({ text }) => text.length)) * letterPx);

/** @param {readonly Point[]} points @returns {[Point, Point]} */
export function ends(points) {
  const first = points[0];
  const last = points.at(-1);
  if (first === undefined || last === undefined) throw new RangeError("A chart needs a point");
  return [first, last];
}
