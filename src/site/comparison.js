/**
 * Several lines in one chart: contracts and indices, rebased to 100 on the first day that all have, or in US
 * dollars. Pure: it runs in Node and in the browser.
 */
import { dateTicks, dateWords, dayOf, dayText, levelTicks } from "./axis.js";
import { svgFile } from "./chart-file.js";
import { quotient, rounded } from "./decimal.js";
import { closesFrom, NEAR_DAYS, perGigabyte } from "./history.js";
import * as layout from "./layout.js";
import * as plot from "./plot.js";
import { escaped, foreign, grouped } from "./text.js";

/** @typedef {import("./layout.js").Point} Point */

/**
 * A contract or an index with its closes, ascending by date. An index has neither unit nor capacity.
 *
 * @typedef {{ id: string, name: string, unit: string | null, capacityGb: number | null, points: readonly Point[] }} Line
 *
 * What its axis has: `rebased`, `usd`, or `gb` for US dollars per gigabyte.
 *
 * @typedef {"rebased" | "usd" | "gb"} Scale
 *
 * A line as it is drawn: its points have the figures of the scale, `place` is its colour.
 *
 * @typedef {Line & { place: number }} DrawnLine
 */

export const MOST_LINES = 4;
/** Between the labels at the end of two lines. */
const LABEL_PX = 16;

/**
 * The lines on a scale, from a day on, and why others are left out.
 *
 * @param {readonly Line[]} lines
 * @param {Scale} scale
 * @param {string} from `YYYY-MM-DD`
 * @returns {{ lines: DrawnLine[], base: string | null, latest: string | null, leftOut: { name: string, why: string }[] }}
 *   rebased lines begin on the day `base`; `latest` names the line that has no close before it that compares, if
 *   another one has
 */
export function onScale(lines, scale, from) {
  /** @type {{ name: string, why: string }[]} */
  const leftOut = [];
  const placed = lines.map((line, place) => ({ ...line, place }));
  const fitting = placed.filter(({ name, unit, capacityGb, points }) => {
    const why =
      points.length === 0
        ? "no close in your history"
        : scale !== "rebased" && unit === null
          ? "an index has no price"
          : scale === "gb" && capacityGb === null
            ? "no capacity in gigabytes"
            : null;
    if (why !== null) leftOut.push({ name, why });
    return why === null;
  });
  if (scale !== "rebased") {
    const drawn = fitting.map((line) => {
      const points = closesFrom(line.points, from);
      const { capacityGb } = line;
      return {
        ...line,
        points: scale === "gb" && capacityGb !== null ? perGigabyte(points, capacityGb) : points,
      };
    });
    return { lines: drawn, base: null, latest: null, leftOut };
  }
  // Closes before a break cannot be compared with later ones.
  const comparable = fitting.map((line) => ({
    ...line,
    points: layout.comparablePoints(closesFrom(line.points, from)),
  }));
  const firsts = comparable.map(({ points }) => points[0]?.date ?? "");
  const base = firsts.toSorted().at(-1) ?? null;
  if (base === null) return { lines: [], base, latest: null, leftOut };
  const isLater = firsts.some((date) => dayOf(base) - dayOf(date) > NEAR_DAYS);
  const latest = isLater ? (comparable[firsts.indexOf(base)]?.name ?? null) : null;
  const drawn = comparable.map((line) => {
    const start = line.points.findLastIndex(({ date }) => date <= base);
    const first = /** @type {Point} */ (line.points[start]);
    const points = line.points.slice(start).map(({ date, close, text }, at) => {
      const level = quotient(text ?? String(close), textOf(first), 100);
      return { date: at === 0 ? base : date, close: Number(level), text: level };
    });
    return { ...line, points };
  });
  return { lines: drawn, base, latest, leftOut };
}

/** @param {Point} point */
const textOf = ({ text, close }) => text ?? String(close);

/**
 * Where everything of a comparison stands.
 *
 * @param {readonly DrawnLine[]} lines at least one, each with a point
 * @param {{ from: string, to: string, isLog: boolean, base: string | null, widthPx: number, heightPx: number }} options
 */
export function layoutOf(lines, { from, to, isLog, base, widthPx, heightPx }) {
  const all = lines.flatMap(({ points }) => points);
  const dates = [...new Set(all.map(({ date }) => date))].toSorted();
  const left = dayOf(base ?? [from, dates[0] ?? from].toSorted()[0] ?? from);
  const right = Math.max(dayOf(to), dayOf(dates.at(-1) ?? to));
  const least = Math.min(...all.map(({ close }) => close));
  const most = Math.max(...all.map(({ close }) => close));
  const isLogarithmic = isLog && least > 0;
  const levels = isLogarithmic
    ? logTicks(least, most)
    : levelTicks(least, most, heightPx < 360 ? 4 : 6);
  const [low, high] = [levels[0]?.level ?? 0, levels.at(-1)?.level ?? 1];
  const topPx = layout.HEAD_PX;
  const bottomPx = heightPx - layout.FOOT_PX;
  /** @param {number} level */
  const share = (level) =>
    isLogarithmic ? Math.log(level / low) / Math.log(high / low) : (level - low) / (high - low);
  /** @param {number} level */
  const y = (level) => bottomPx - share(level) * (bottomPx - topPx);
  /** @param {string} date */
  const x = (date) => (left === right ? 50 : ((dayOf(date) - left) / (right - left)) * 100);
  const labels = levels.map(({ text, level }) => ({ text: grouped(text, 0), y: y(level) }));
  const ends = spread(
    lines.map(({ place, points }) => {
      const last = /** @type {Point} */ (points.at(-1));
      return { place, text: figureText(last), y: y(last.close), x: x(last.date) };
    }),
    topPx,
    bottomPx,
  );
  const gutterPx = layout.widest(labels, layout.DIGIT_PX) + layout.GAP_PX;
  const endPx = layout.widest(ends, layout.DIGIT_PX + 1.5) + layout.GAP_PX;
  return {
    lines: lines.map(({ points, ...line }) => ({
      ...line,
      places: points.map((point, at) => ({
        ...point,
        x: x(point.date),
        y: y(point.close),
        isStart: at === 0 || point.isBreak === true,
      })),
    })),
    points: dates.map((date) => ({ date, x: x(date) })),
    levels: labels,
    dates: dateTicks(left, right).map(({ day, ...tick }) => ({
      ...tick,
      x: left === right ? 50 : ((day - left) / (right - left)) * 100,
    })),
    baseY: base === null ? null : y(100),
    breaks: [],
    ends,
    gutterPx,
    endPx,
    topPx,
    bottomPx,
    heightPx,
    columns: Math.max(1, Math.round(widthPx - gutterPx - endPx)),
  };
}

/** @typedef {ReturnType<typeof layoutOf>} ComparisonLayout */

/** A figure of a line for people: two decimals, three below 100 if they count. @param {Point} point */
export const figureText = (point) =>
  grouped((rounded(textOf(point), point.close < 100 ? 3 : 2) ?? "").replace(/(\.\d\d)0$/, "$1"));

/**
 * The levels of a logarithmic axis: 1, 2 and 5 times powers of ten. A small range has the levels of a linear axis.
 *
 * @param {number} least above 0
 * @param {number} most
 */
function logTicks(least, most) {
  const first = Math.floor(Math.log10(least));
  const steps = Array.from({ length: Math.ceil(Math.log10(most)) - first + 1 }, (_, at) =>
    ["1", "2", "5"].map((digit) => {
      const exponent = first + at;
      const text =
        exponent < 0 ? `0.${"0".repeat(-exponent - 1)}${digit}` : digit + "0".repeat(exponent);
      return { text, level: Number(text) };
    }),
  ).flat();
  const start = steps.findLastIndex(({ level }) => level <= least);
  const end = steps.findIndex(({ level }) => level >= most);
  const ticks = steps.slice(Math.max(0, start), end + 1);
  const linear = levelTicks(least, most, 6);
  return most / least > 3 || (linear[0]?.level ?? 0) <= 0 ? ticks : linear;
}

/**
 * Labels moved apart, in the order of their lines' heights, so that none covers another.
 *
 * @template {{ y: number }} L
 * @param {readonly L[]} labels
 * @param {number} topPx
 * @param {number} bottomPx
 * @returns {(L & { labelY: number })[]}
 */
function spread(labels, topPx, bottomPx) {
  const sorted = labels.map((label) => ({ ...label, labelY: label.y })).sort((a, b) => a.y - b.y);
  let lowest = topPx;
  for (const label of sorted) {
    label.labelY = Math.max(label.y, lowest);
    lowest = label.labelY + LABEL_PX;
  }
  let highest = bottomPx;
  for (const label of sorted.toReversed()) {
    label.labelY = Math.min(label.labelY, highest);
    highest = label.labelY - LABEL_PX;
  }
  return sorted;
}

/** The parts of the drawing, for a page and for a file. @param {ComparisonLayout} drawn */
function partsOf(drawn) {
  const paths = drawn.lines.map(({ place, places }) => {
    const kept = layout.thinned(places, drawn.columns);
    const path = plot.linePath(kept.map((at) => ({ ...at, x: (at.x * plot.CURVE_WIDTH) / 100 })));
    return `<path class="line line-${place}" vector-effect="non-scaling-stroke" d="${path}"/>`;
  });
  const breaks = drawn.lines.flatMap(({ places }) =>
    places
      .filter(({ breakReason }) => breakReason)
      .map(({ x }) => plot.down(' class="break"', x, drawn.topPx, drawn.bottomPx)),
  );
  const dots = drawn.ends.map(({ place, x, y }) => plot.circle(`class="end-${place}" r="3"`, x, y));
  return {
    levelsSvg: plot.levelsSvg(drawn),
    plotSvg:
      plot.axesSvg(drawn) +
      breaks.join("") +
      plot.stretched(drawn.heightPx, paths.join("")) +
      dots.join(""),
    endSvg: drawn.ends
      .map(
        ({ place, text, labelY }) =>
          `<text class="end end-${place}" x="${layout.GAP_PX}" y="${plot.short(labelY)}" dy="4">${text}</text>`,
      )
      .join(""),
  };
}

/** A sample of a line, of 24 × 12 pixels. @param {number} place */
export const sampleOf = (place) => `<path class="line line-${place}" d="M0 6h24"/>`;

/** What a comparison shows, in words. @param {ComparisonLayout} drawn @param {string} title */
function labelOf({ lines }, title) {
  const sentences = lines.map(({ name, places }) => {
    const [first, last] = [places[0], places.at(-1)];
    if (first === undefined || last === undefined) return name;
    return `${name}: first ${figureText(first)} on ${first.date}, last ${figureText(last)} on ${last.date}`;
  });
  return `${title}. ${sentences.join(". ")}.`;
}

/**
 * The chart for a page, as wide as its box.
 *
 * @param {ComparisonLayout} drawn
 * @param {string} title
 */
export function comparisonHtml(drawn, title) {
  const { gutterPx, endPx, heightPx } = drawn;
  const parts = partsOf(drawn);
  return (
    `<div class="chart" role="img" aria-label="${escaped(labelOf(drawn, title))}">` +
    `<svg width="${gutterPx}" height="${heightPx}">${parts.levelsSvg}</svg>` +
    `<svg class="plot" height="${heightPx}">${parts.plotSvg}</svg>` +
    `<svg width="${endPx}" height="${heightPx}">${parts.endSvg}</svg></div>`
  );
}

/**
 * The chart as a file, which opens alone.
 *
 * @param {ComparisonLayout} drawn laid out for a file
 * @param {string} title
 * @param {string} unit
 * @param {readonly string[]} notes
 */
export const comparisonFile = (drawn, title, unit, notes) =>
  svgFile({
    ...partsOf(drawn),
    title,
    unit,
    label: labelOf(drawn, title),
    gutterPx: drawn.gutterPx,
    endPx: drawn.endPx,
    legend: drawn.lines.map(({ place, name }) => ({
      sample: sampleOf(place),
      words: escaped(name),
    })),
    notes,
  });

/**
 * Reads all lines at a day: of each the close of that day, or the last one before.
 *
 * @param {ComparisonLayout} drawn
 * @returns {(at: number) => import("./layout.js").Reading}
 */
export const linesReader = (drawn) => (at) => {
  const date = drawn.points[at]?.date ?? "";
  const read = drawn.lines.flatMap(({ name, place, places }) => {
    const point = places.findLast((each) => each.date <= date);
    return point === undefined ? [] : [{ name, place, point }];
  });
  const words = read.map(({ name, point }) => `${name} ${figureText(point)}`);
  const rows = read.map(({ name, place, point }) => {
    const of = point.date === date ? "" : ` <small>${dayText(point.date)}</small>`;
    return `<span class="end-${place}"><b>${figureText(point)}</b> ${foreign(name)}${of}</span>`;
  });
  return {
    words: `${dateWords(date)}: ${words.join(", ")}`,
    html: `<time datetime="${date}">${dateWords(date)}</time>${rows.join("")}`,
    dots: read.map(({ place, point }) => ({ y: point.y, name: `end-${place}` })),
  };
};

/** The breaks within the chart, in words. @param {readonly DrawnLine[]} lines */
export const breakWords = (lines) =>
  lines.flatMap(({ name, points }) =>
    points.flatMap(({ date, breakReason }) =>
      breakReason ? `Break of ${name} on ${dayText(date)}: ${breakReason}` : [],
    ),
  );

/**
 * The drawn lines as CSV: a column for each line, a row for each day on which one has a close.
 *
 * @param {readonly DrawnLine[]} lines
 */
export function comparisonCsv(lines) {
  const byDate = lines.map(
    ({ points }) => new Map(points.map((point) => [point.date, textOf(point)])),
  );
  const dates = [...new Set(byDate.flatMap((closes) => [...closes.keys()]))].toSorted();
  const rows = dates.map((date) => [date, ...byDate.map((closes) => closes.get(date) ?? "")]);
  return [["date", ...lines.map(({ id }) => id)], ...rows]
    .map((cells) => `${cells.join(",")}\r\n`)
    .join("");
}

/**
 * What the axis has, in words.
 *
 * @param {Scale} scale
 * @param {Pick<ReturnType<typeof onScale>, "lines" | "base" | "latest">} scaled
 */
export function scaleWords(scale, { lines, base, latest }) {
  if (scale === "rebased") {
    const why = latest === null ? "" : ` ${latest} has no earlier close that compares.`;
    return base === null ? "" : `Each line is 100 on ${dateWords(base)}.${why}`;
  }
  if (scale === "gb") return "USD per GB";
  const units = [...new Set(lines.map(({ unit }) => unit))];
  return units.length === 1 ? String(units[0]) : "USD per unit of each contract";
}
