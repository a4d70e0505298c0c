/** The marks of a chart as SVG text. Colours come from the classes that chart.css names. */
import { GAP_PX, thinned } from "./layout.js";
import { escaped } from "./text.js";

/** @typedef {import("./layout.js").Layout} Layout */
/** @typedef {import("./layout.js").Place} Place */

/** The labels of the levels. @param {Layout} drawn */
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

/**
 * All but the labels of the levels.
 *
 * @param {Layout} drawn
 * @param {number} curveWidth of the curve before it is stretched
 */
export function plotSvg({ topPx, bottomPx, heightPx, ...drawn }, curveWidth) {
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
  const breaks = drawn.breaks.map(({ text, x, y }) => {
    const isRight = x > 50;
    const words =
      `<text class="break" x="${percent(x)}" dx="${isRight ? -6 : 6}" y="${y + 14}" ` +
      `text-anchor="${isRight ? "end" : "start"}">${escaped(text)}</text>`;
    return down(' class="break"', x, text === "" ? topPx - 4 : y + 2, bottomPx) + (text && words);
  });
  const circles = drawn.points.flatMap(({ point, x, y, isAlone }) => {
    const kind = point.isCorrected ? 'class="corrected" r="4"' : 'class="dot" r="2.5"';
    const isShown = isAlone || point.isCorrected;
    return isShown ? [circle(kind, x, y)] : [];
  });
  const extremes = drawn.extremes.map(({ text, x, y, isHigh }) => {
    const anchor = x < 30 ? "start" : x > 70 ? "end" : "middle";
    return (
      circle('class="extreme" r="3"', x, y) +
      `<text class="extreme" x="${percent(x)}" y="${short(y + (isHigh ? -8 : 18))}" text-anchor="${anchor}">${text}</text>`
    );
  });
  return [
    ...drawn.levels.map(({ y }) => across("", y)),
    ...(drawn.base === null ? [] : [across(' class="base"', drawn.base)]),
    ...dates,
    `<svg width="100%" height="${heightPx}" viewBox="0 0 ${curveWidth} ${heightPx}" ` +
      `preserveAspectRatio="none">${curves(drawn, curveWidth)}</svg>`,
    ...circles,
    ...breaks,
    ...extremes,
    circle('class="end" r="3"', drawn.end.x, drawn.end.y),
  ].join("");
}

/**
 * The band between lowest and highest prices, the line, and the line of what is carried.
 *
 * @param {Pick<Layout, "points" | "columns" | "end">} drawn
 * @param {number} width
 */
function curves({ points, columns, end }, width) {
  const places = thinned(points, columns).map((place) => ({
    ...place,
    x: (place.x * width) / 100,
  }));
  /** @param {(place: Place) => boolean} isOf */
  const lines = (isOf) =>
    places
      .filter(isOf)
      .map((place) => ({ ...place, isStart: place.point.isBreak === true || place.isGap }));
  const gaps = places.flatMap((place, at) =>
    place.isGap
      ? [
          { ...places[at - 1], isStart: true },
          { ...place, isStart: false },
        ]
      : [],
  );
  const last = places.at(-1);
  if (end.isCarried && last !== undefined) {
    gaps.push({ ...last, isStart: true }, { ...last, x: width, isStart: false });
  }
  const drawn = [
    ["band", bandPath(places)],
    [
      "past",
      linePath(
        lines(({ isPast }) => isPast),
        10,
      ),
    ],
    ["gap", linePath(/** @type {any} */ (gaps), 10)],
    [
      "curve",
      linePath(
        lines(({ isPast }) => !isPast),
        10,
      ),
    ],
  ];
  return drawn
    .filter(([, path]) => path !== "")
    .map(([kind, path]) => `<path class="${kind}" vector-effect="non-scaling-stroke" d="${path}"/>`)
    .join("");
}

/**
 * The area from the highest prices to the lowest ones, of each run of closes that have both.
 *
 * @param {readonly Place[]} places
 */
function bandPath(places) {
  /** @type {Place[][]} */
  const runs = [[]];
  for (const place of places) {
    if (place.range === null || place.isGap || place.point.isBreak) runs.push([]);
    if (place.range !== null) runs.at(-1)?.push(place);
  }
  /** @param {Place} place @param {"low" | "high"} side */
  const at = ({ x, range }, side) => `${short(x)} ${short(range?.[side] ?? 0)}`;
  return runs
    .filter(({ length }) => length > 1)
    .map((run) => {
      const there = run.map((place) => at(place, "high"));
      const back = run.toReversed().map((place) => at(place, "low"));
      return `M${[...there, ...back].join(" ")}z`;
    })
    .join("");
}

/**
 * A line as path data, begun anew at each start. Relative steps take little more than half the text of
 * absolute ones. A line of one point becomes a dot, if its ends are round.
 *
 * @param {readonly { isStart: boolean, x: number, y: number }[]} places
 * @param {number} perUnit to what part of a unit places are rounded
 */
export function linePath(places, perUnit) {
  let path = "";
  let [fromX, fromY] = [0, 0];
  places.forEach(({ isStart: isBegun, x, y }, at) => {
    const next = places[at + 1];
    const isStart = at === 0 || isBegun;
    const isAlone = isStart && (next === undefined || next.isStart);
    const [toX, toY] = [Math.round(x * perUnit), Math.round(y * perUnit)];
    const down = (toY - fromY) / perUnit;
    path += `${isStart ? "m" : " "}${(toX - fromX) / perUnit}${down < 0 ? "" : " "}${down}`;
    if (isAlone) path += "z";
    [fromX, fromY] = [toX, toY];
  });
  return path;
}

/**
 * The marks that need words, with a sample of 24 × 12 pixels: those that occur.
 *
 * @param {Layout} drawn
 * @returns {{ sample: string, words: string }[]}
 */
export function legendOf({ points, end }) {
  const isGap = end.isCarried || points.some((place) => place.isGap);
  const marks = [
    points.some(({ isPast }) => isPast) && [`past" d="M0 6h24`, "Before a break: not comparable"],
    isGap && [`gap" d="M0 6h24`, "Carried: no new close for more than 3 days"],
    points.some(({ range }) => range) && [`band" d="M0 1h24v10h-24z`, "Lowest to highest price"],
    points.some(({ point }) => point.isCorrected) && [CIRCLE_PATH, "Corrected close"],
  ];
  return marks.flatMap((mark) =>
    mark ? [{ sample: `<path class="${mark[0]}"/>`, words: mark[1] ?? "" }] : [],
  );
}

/** Of an open circle. */
const CIRCLE_PATH = `corrected" d="M8 6a4 4 0 1 0 8 0a4 4 0 1 0 -8 0`;

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

/** @param {string} kind @param {number} x @param {number} y */
const circle = (kind, x, y) => `<circle ${kind} cx="${percent(x)}" cy="${short(y)}"/>`;

/** @param {number} x */
export const percent = (x) => `${Number(x.toFixed(3))}%`;
/** @param {number} y */
const short = (y) => String(Number(y.toFixed(1)));
