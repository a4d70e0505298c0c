/** Where everything of a chart stands: axes, points, what is marked and in which words. Pure. */
import { dateTicks, dateWords, dayOf, dayText, levelTicks } from "./axis.js";
import { grouped, roundedText } from "./text.js";

/**
 * @typedef {object} Point A close.
 * @property {string} date `YYYY-MM-DD`. Points ascend by date.
 * @property {number} close Of at most 15 significant digits.
 * @property {string} [text] The close as a decimal, if its digits count.
 * @property {number | null} [low] The lowest price behind the close; with `high` only.
 * @property {number | null} [high]
 * @property {boolean} [isBreak] Not comparable with the point before: no line is drawn between them.
 * @property {string | null} [breakReason] What is marked in words; closes before it are muted.
 * @property {boolean} [isCorrected] Shown as an open circle.
 * @property {boolean} [isCarried] No new close, but the one before.
 */

/**
 * @typedef {object} ChartOptions
 * @property {string} title What the line is. The label for screen readers begins with it.
 * @property {string} unit Of the levels.
 * @property {number} decimals Of figures in words; `Infinity`: as given.
 * @property {number} [base] A level with a line of its own, such as 100 of an index.
 * @property {string} [from] The first date of the axis, if it is before the first point.
 * @property {string} [to] The last date of the axis, if it is after the last point.
 * @property {number} [heightPx]
 * @property {number} [widthPx] How wide it will be shown, about: for words, and for what a pixel can show.
 */

/**
 * @typedef {object} Place `x` is in percent of the plot's width, `y` in pixels.
 * @property {Point} point
 * @property {number} x
 * @property {number} y
 * @property {boolean} isAlone No other close is near.
 * @property {boolean} isGap The close before was carried until this one.
 * @property {boolean} isPast A later break makes it incomparable with the last close.
 * @property {{ low: number, high: number } | null} range The `y` of both.
 */

/**
 * `breaks` are those with a reason; `end` is the last level, carried up to the edge or not; `begins` is
 * the level at which the axis begins (null: 0); `columns` are about the pixels of the plot's width.
 *
 * @typedef {ReturnType<typeof layout>} Layout
 */

const HEIGHT_PX = 300;
/** The width of a file, and of a report. */
const WIDTH_PX = 960;
/** Above the plot, for the words at the highest close; and for each break. */
const HEAD_PX = 24;
const BREAK_PX = 18;
/** More breaks have a line without words. */
const MOST_BREAKS = 3;
/** For the dates, below the plot. */
const FOOT_PX = 28;
/** Of a tabular digit of 13 px, and of a letter. */
const DIGIT_PX = 7.5;
const LETTER_PX = 7;
/** Between a level and the plot. */
export const GAP_PX = 10;
/** A close as many days from those beside it has a dot. */
const ALONE_DAYS = 3;
/** A close is carried when no new one came for more days: a weekend is none. */
const CARRIED_DAYS = 3;
/** Below the lowest close, for its words. */
const LOW_SHARE = 0.08;

/**
 * Where a chart stands in its box; a cursor takes its places from here.
 *
 * @param {readonly Point[]} points at least one
 * @param {ChartOptions} options
 */
export function layout(points, options) {
  const { base, from, to, heightPx = HEIGHT_PX, widthPx = WIDTH_PX, decimals } = options;
  const [first, last] = ends(points);
  const [firstDay, lastDay] = [dayOf(first.date), dayOf(last.date)];
  const left = Math.min(firstDay, dayOf(from ?? first.date));
  const right = Math.max(lastDay, dayOf(to ?? last.date));
  const shown = points.flatMap(({ close, low, high }) => [close, low ?? close, high ?? close]);
  if (base !== undefined) shown.push(base);
  const [least, most] = [Math.min(...shown), Math.max(...shown)];
  const margin = (most - least) * LOW_SHARE;
  const levels = levelTicks(least < 0 ? least - margin : Math.max(0, least - margin), most);
  const [low, high] = [levels[0]?.level ?? 0, levels.at(-1)?.level ?? 1];
  const marked = points.filter(({ breakReason }) => breakReason);
  const worded = Math.min(marked.length, MOST_BREAKS);
  const [topPx, bottomPx] = [HEAD_PX + worded * BREAK_PX, heightPx - FOOT_PX];
  /** @param {number} day */
  const x = (day) => (left === right ? 50 : ((day - left) / (right - left)) * 100);
  /** @param {number} level */
  const y = (level) => bottomPx - ((level - low) / (high - low)) * (bottomPx - topPx);
  const labels = levels.map(({ text, level }) => ({ text: grouped(text, 0), y: y(level) }));
  const gutterPx = widest(labels, DIGIT_PX) + GAP_PX;
  /** @param {Point} point */
  const told = ({ close, text }) => roundedText(text ?? close, decimals);
  const end = { text: told(last), x: x(lastDay), y: y(last.close) };
  const endPx = widest([end], DIGIT_PX + 1.5) + GAP_PX;
  const columns = Math.max(1, Math.round(widthPx - gutterPx - endPx));
  // The first point that compares with the last one.
  const comparable = Math.max(
    0,
    points.findLastIndex(({ breakReason }) => breakReason),
  );
  const rest = points.slice(comparable);
  const places = points.map((point, at) => {
    const day = dayOf(point.date);
    const before = points[at - 1];
    const gap = before === undefined || point.isBreak ? 0 : day - dayOf(before.date);
    return {
      point,
      x: x(day),
      y: y(point.close),
      isAlone: [before, points[at + 1]].every(
        (next) => next === undefined || Math.abs(dayOf(next.date) - day) >= ALONE_DAYS,
      ),
      isGap: point.isCarried === true || gap > CARRIED_DAYS,
      isPast: at < comparable,
      range:
        point.low == null || point.high == null ? null : { low: y(point.low), high: y(point.high) },
    };
  });
  return {
    points: places,
    levels: labels,
    dates: dateTicks(left, right).map(({ day, ...tick }) => ({ ...tick, x: x(day) })),
    breaks: marked.map(({ date, breakReason }, at) => {
      const row = at - (marked.length - worded);
      const text = row < 0 ? "" : breakWords(breakReason ?? "", date, columns / 2 / LETTER_PX);
      return { text, x: x(dayOf(date)), y: topPx - HEAD_PX - (worded - 1 - row) * BREAK_PX };
    }),
    extremes: [highest(rest), lowest(rest)]
      .map((point, at) => ({
        x: x(dayOf(point.date)),
        y: y(point.close),
        isHigh: at === 0,
        text: `${at === 0 ? "High" : "Low"} ${told(point)}, ${dayText(dayOf(point.date))}`,
      }))
      .filter((_, at, [high, low]) => high?.y !== low?.y),
    end: { ...end, isCarried: right - lastDay > CARRIED_DAYS },
    begins: low === 0 ? null : (labels[0]?.text ?? null),
    base: base === undefined ? null : y(base),
    gutterPx,
    endPx,
    topPx,
    bottomPx,
    heightPx,
    columns,
  };
}

/**
 * What a break says at the top: `5600 MT/s from 1 June 2026`, cut to about so many letters.
 *
 * @param {string} reason
 * @param {string} date
 * @param {number} most
 */
function breakWords(reason, date, most) {
  const when = ` from ${dateWords(date)}`;
  const room = Math.max(8, Math.floor(most) - when.length);
  const letters = [...reason].slice(0, room);
  return letters.join("") === reason ? reason + when : `${letters.join("").trimEnd()}…${when}`;
}

/** @param {readonly Point[]} points */
export const lowest = (points) => points.reduce((a, b) => (b.close < a.close ? b : a));

/** @param {readonly Point[]} points */
export const highest = (points) => points.reduce((a, b) => (b.close > a.close ? b : a));

/**
 * The places that a line needs: of each column of pixels the highest and the lowest, the first and the
 * last of all, and both sides of a break or gap. The line looks the same, and no extreme is lost.
 *
 * @template {{ x: number, y: number, isGap: boolean, point: Point }} P
 * @param {readonly P[]} places ascending by `x`, percent
 * @param {number} columns
 */
export function thinned(places, columns) {
  /** @type {Map<number, [P, P]>} */
  const extremes = new Map();
  for (const place of places) {
    const column = Math.floor((place.x / 100) * columns);
    const [least, most] = extremes.get(column) ?? [place, place];
    extremes.set(column, [place.y < least.y ? place : least, place.y > most.y ? place : most]);
  }
  const kept = new Set([...extremes.values()].flat());
  return places.filter((place, at) => {
    const isEdge = [place, places[at + 1]].some((of) => !of || of.isGap || of.point.isBreak);
    return at === 0 || isEdge || kept.has(place);
  });
}

/** @param {readonly { text: string }[]} labels @param {number} letterPx */
const widest = (labels, letterPx) =>
  Math.ceil(Math.max(...labels.map(({ text }) => text.length)) * letterPx);

/** @param {readonly Point[]} points @returns {[Point, Point]} */
export function ends(points) {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) throw new RangeError("A chart needs a point");
  return [first, last];
}
