/**
 * Several lines in one chart: contracts and indices, rebased to 100, or in US dollars. Pure: it runs in Node and in the
 * browser.
 */
import { dateTicks, dateWords, dayAt, dayText, levelTicks } from "./axis.js";
import { decimalOf, placesOf, quotient, rounded } from "./decimal.js";
import * as layout from "./layout.js";
import { comparablePoints, drawnFrom, perGigabyte, sessionOf, startOf, textOf } from "./levels.js";
import * as plot from "./plot.js";
import { escaped, foreign, grouped } from "./text.js";

/** @typedef {import("./levels.js").Point} Point */

/**
 * A contract or an index with its levels and changes. An index has neither unit nor capacity. `breaks` have the capacity
 * before each; a line in another scale than `gb` needs none.
 *
 * @typedef {{ id: string, name: string, unit: string | null, capacityGb: number | null,
 *   line: import("./levels.js").Line, changes: import("./levels.js").Changes,
 *   breaks: readonly { session_utc: string, capacity_gb?: number | null }[] }} Line
 *
 * What its axis has: `rebased`, `usd`, or `gb` for US dollars per gigabyte.
 *
 * @typedef {"rebased" | "usd" | "gb"} Scale
 *
 * A line as it is drawn: its points have the figures of the scale, `place` is its colour. `since` is the date with which
 * a rebased line begins later than the chart; null: it begins with the chart, or is not rebased.
 *
 * @typedef {Line & { place: number, points: readonly Point[], since: string | null }} DrawnLine
 */

/** Between the labels at the end of two lines. */
const LABEL_PX = 16;

/** The instant with which a range of several lines begins. @param {readonly Line[]} lines @param {string} range @param {string} to */
export function beginOf(lines, range, to) {
  if (range !== "all") return startOf(range, to);
  const firsts = lines.flatMap(({ line: { levels } }) => levels.slice(0, 1).map(sessionOf));
  return firsts.toSorted()[0] ?? to;
}

/**
 * The lines on a scale, from an instant on, and why others are left out.
 *
 * @param {readonly Line[]} lines
 * @param {Scale} scale
 * @param {string} from ISO 8601
 * @returns {{ lines: DrawnLine[], leftOut: { name: string, why: string }[] }}
 */
export function onScale(lines, scale, from) {
  /** @type {{ name: string, why: string }[]} */
  const leftOut = [];
  const drawn = lines.flatMap((line, place) => {
    const { capacityGb, breaks } = line;
    const isPerGb = scale === "gb" && capacityGb !== null;
    const own = isPerGb ? perGigabyte(line.line, capacityGb, breaks) : line.line;
    const { points } = drawnFrom(own, from);
    const isWithin = points.some(({ until = "" }) => until >= from);
    const why = whyNot(line, scale) ?? (isWithin ? null : "no level in force in this range");
    if (why !== null) {
      leftOut.push({ name: line.name, why });
      return [];
    }
    return [{ ...line, place, points, since: null }];
  });
  return { lines: scale === "rebased" ? rebased(drawn, from) : drawn, leftOut };
}

/** @param {Line} line @param {Scale} scale */
function whyNot({ unit, capacityGb, line: { levels } }, scale) {
  if (levels.length === 0) return "no close in your history";
  if (scale !== "rebased" && unit === null) return "an index has no price";
  return scale === "gb" && capacityGb === null ? "no capacity in gigabytes" : null;
}

/**
 * Lines with a level in force at the start begin at 100; if none has one, the earliest does. A later line begins at the
 * value that the first of the chosen lines that are already drawn has then. A line with a break begins with it: levels
 * before it, which do not compare, are divided by the same level.
 *
 * @param {readonly DrawnLine[]} lines
 * @param {string} from ISO 8601
 * @returns {DrawnLine[]} in the order given
 */
function rebased(lines, from) {
  /** @param {DrawnLine} line */
  const firstOf = ({ points }) => /** @type {Point} */ (comparablePoints(points)[0]);
  /** @param {DrawnLine} line */
  const begin = (line) => layout.placeOf(firstOf(line));
  /** @type {Map<number, DrawnLine>} */
  const done = new Map();
  for (const line of lines.toSorted((a, b) => (begin(a) < begin(b) ? -1 : 1))) {
    const at = begin(line);
    const earlier = lines.find(({ place }) => {
      const other = done.get(place);
      return other !== undefined && begin(other) < at;
    });
    const then = done
      .get(earlier?.place ?? -1)
      ?.points.findLast((point) => layout.placeOf(point) <= at);
    const first = textOf(firstOf(line));
    const points = line.points.map((point) => {
      const text = rebasedText(textOf(point), first, then ? textOf(then) : "100");
      return { ...point, close: Number(text), text };
    });
    done.set(line.place, { ...line, points, since: at > from ? at.slice(0, 10) : null });
  }
  return lines.flatMap(({ place }) => done.get(place) ?? []);
}

/** @param {string} level @param {string} first @param {string} value of the first one */
const rebasedText = (level, first, value) =>
  quotient(decimalOf(placesOf(level, 6) * placesOf(value, 6), 12), first);

/**
 * Where everything of a comparison stands.
 *
 * @param {readonly DrawnLine[]} lines at least one, each with a point
 * @param {{ from: string, to: string, isLog: boolean, isRebased: boolean, widthPx: number, heightPx: number }} options
 */
export function layoutOf(lines, { from, to, isLog, isRebased, widthPx, heightPx }) {
  const all = lines.flatMap(({ points }) => points);
  const instants = [...new Set([...all.map(layout.placeOf), to])].toSorted();
  const left = dayAt([from, instants[0] ?? from].toSorted()[0] ?? from);
  const right = dayAt([to, instants.at(-1) ?? to].toSorted()[1] ?? to);
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
  /** @param {number} day */
  const x = (day) => (left === right ? 50 : ((day - left) / (right - left)) * 100);
  const labels = levels.map(({ text, level }) => ({ text: grouped(text, 0), y: y(level) }));
  const placed = lines.map(({ points, ...line }) => {
    const spans = layout.spansOf(points);
    const past = points.length - comparablePoints(points).length;
    const places = points.map((point, at) => {
      const { begin, until, isStart } = /** @type {layout.Span} */ (spans[at]);
      return {
        ...point,
        at: begin,
        until,
        toX: x(dayAt(until)),
        x: x(dayAt(begin)),
        y: y(point.close),
        isStart,
        isPast: at < past,
      };
    });
    return { ...line, places };
  });
  const letters = Math.floor((widthPx * NAME_SHARE) / NAME_PX);
  const ends = spread(
    placed.map(({ place, places, name, since }) => {
      const last = /** @type {(typeof places)[number]} */ (places.at(-1));
      const words =
        widthPx < NAMED_PX
          ? ""
          : cut(since === null ? name : `since ${dayText(since)}, ${name}`, letters);
      return { place, text: figureText(last), words, y: last.y, x: last.toX };
    }),
    topPx,
    bottomPx,
  );
  const gutterPx = layout.widest(labels, layout.DIGIT_PX) + layout.GAP_PX;
  const wordsPx = layout.widest(
    ends.map(({ words }) => ({ text: words })),
    NAME_PX,
  );
  const endPx = layout.widest(ends, layout.DIGIT_PX + 1.5) + layout.GAP_PX + wordsPx;
  const columns = Math.max(1, Math.round(widthPx - gutterPx - endPx));
  return {
    lines: placed,
    points: instants.map((at) => ({ at, x: x(dayAt(at)) })),
    levels: labels,
    dates: layout.clearDates(
      dateTicks(left, right).map(({ day, ...tick }) => ({ ...tick, x: x(day) })),
      columns,
    ),
    baseY: isRebased && low <= 100 && high >= 100 ? y(100) : null,
    breaks: [],
    ends,
    gutterPx,
    endPx,
    topPx,
    bottomPx,
    heightPx,
    columns,
  };
}

/** Charts from this width on name their lines, in at most a share of it. */
const NAMED_PX = 600;
const NAME_SHARE = 0.28;
/** Of a letter of a name. */
const NAME_PX = 7.2;

/** A text of at most so many letters. @param {string} text @param {number} most */
function cut(text, most) {
  const letters = [...text];
  return letters.length <= most
    ? text
    : `${letters
        .slice(0, most - 1)
        .join("")
        .trimEnd()}…`;
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
  const paths = drawn.lines.flatMap(({ place, places }) => {
    const all = layout.thinned(places, drawn.columns).map(plot.stretchedPlace);
    return [true, false].map((isPast) => {
      const path = plot.stepPath(all.filter((each) => each.isPast === isPast));
      const kind = `line line-${place}${isPast ? " past" : ""}`;
      return path && `<path class="${kind}" vector-effect="non-scaling-stroke" d="${path}"/>`;
    });
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
        ({ place, text, words, labelY }) =>
          `<text class="end end-${place}" x="${layout.GAP_PX}" y="${plot.short(labelY)}" dy="4">${text}` +
          `${words === "" ? "" : ` <tspan class="name">${escaped(words)}</tspan>`}</text>`,
      )
      .join(""),
  };
}

/** A sample of a line, of 24 × 12 pixels. @param {number} place */
export const sampleOf = (place) => `<path class="line line-${place}" d="M0 6h24"/>`;

/** What a comparison shows, in words. @param {ComparisonLayout} drawn @param {string} title */
function labelOf({ lines }, title) {
  const sentences = lines.map(({ name, places }) => {
    const [first, last] = [comparablePoints(places)[0], places.at(-1)];
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
 * The chart as `svgFile` of chart-file.js takes it.
 *
 * @param {ComparisonLayout} drawn laid out for a file
 * @param {string} title
 * @param {string} unit
 * @param {readonly string[]} notes
 */
export const filedComparison = (drawn, title, unit, notes) => ({
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
 * Reads all lines at an instant: of each the level in force.
 *
 * @param {ComparisonLayout} drawn
 * @returns {(at: number) => import("./layout.js").Reading}
 */
export const linesReader = (drawn) => (at) => {
  const instant = drawn.points[at]?.at ?? "";
  const date = instant.slice(0, 10);
  const read = drawn.lines.flatMap(({ name, place, places }) => {
    const point = places.findLast((each) => each.at <= instant);
    return point === undefined || point.until < instant ? [] : [{ name, place, point }];
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
export function breakWords(lines) {
  const breaks = lines.flatMap(({ name, points }) =>
    points.flatMap(({ date, breakReason }) =>
      breakReason ? `Break of ${name} on ${dayText(date)}: ${breakReason}` : [],
    ),
  );
  const isPast = lines.some(({ points }) => comparablePoints(points).length < points.length);
  return isPast ? [...breaks, "Grey: before a break, not comparable."] : breaks;
}

/**
 * What the axis has, in words.
 *
 * @param {Scale} scale
 * @param {readonly DrawnLine[]} lines
 * @param {string} from ISO 8601
 */
export function scaleWords(scale, lines, from) {
  if (scale === "gb") return "USD per GB";
  if (scale === "usd") {
    const units = [...new Set(lines.map(({ unit }) => unit))];
    return units.length === 1 ? String(units[0]) : "USD per unit of each contract";
  }
  const begin = lines.some(({ since }) => since === null)
    ? from.slice(0, 10)
    : (lines.flatMap(({ since }) => since ?? []).toSorted()[0] ?? "");
  const later = lines.filter(({ since }) => since !== null && since !== begin);
  const more = later.map(
    ({ name, since }) => ` ${name} begins on ${dateWords(since ?? "")}, at the line that is there.`,
  );
  return `Lines begin at 100 on ${dateWords(begin)}.${more.join("")}`;
}
