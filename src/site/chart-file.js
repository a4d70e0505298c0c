/** A chart as a file: its levels as CSV, or an SVG that opens alone, with title, credit line and a style of its own. */
import { chartLabel, unitLine } from "./chart.js";
import { layout, spansOf } from "./layout.js";
import { textOf } from "./levels.js";
import { endSvg, legendOf, levelsSvg, plotSvg } from "./plot.js";
import { escaped } from "./text.js";

const WIDTH = 960;
const MARGIN = 24;
/** Of a line, and of a letter on average. */
const TITLE = { kind: "title", stepPx: 28, letterPx: 11.5 };
const NOTE = { kind: "note", stepPx: 17, letterPx: 6.5 };
const MOST_WRAPPED = 4;

/**
 * Light colours of style.css, and the marks as in chart.css and compare.css: a file is printed or put into a document. A
 * picture is drawn twice as large (save.js), which widens all but the lines with a vector effect.
 */
const STYLE = `
text { font: 13px "Figtree Variable", system-ui, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif; fill: #595e66; font-variant-numeric: tabular-nums; }
.title { font-size: 20px; font-weight: 600; fill: #16191d; }
.note { font-size: 12px; }
line { stroke: #dcdee1; shape-rendering: crispEdges; }
.base { stroke: #595e66; }
line.break { stroke: #7c4a00; stroke-dasharray: 3 3; }
text.break { fill: #7c4a00; }
.curve, .past, .gap { fill: none; stroke: #0b4f8a; stroke-width: 1.5; stroke-linejoin: round; stroke-linecap: round; }
.past { stroke: #595e66; opacity: 0.6; }
.gap { stroke-dasharray: 1 4; }
.band { fill: #0b4f8a; fill-opacity: 0.18; stroke: #0b4f8a; stroke-opacity: 0.4; }
.dot, circle.end, circle.extreme { fill: #0b4f8a; }
text.extreme, text.break { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; }
text.end { font-weight: 600; fill: #16191d; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.line-0 { stroke: #0b4f8a; }
.line-1 { stroke: #a1440b; stroke-dasharray: 8 4; }
.line-2 { stroke: #0a6645; stroke-dasharray: 2 4; }
.line-3 { stroke: #6f3a97; stroke-dasharray: 9 4 2 4; }
.line.past { stroke: #595e66; }
circle.end-0, text.end-0 { fill: #0b4f8a; }
circle.end-1, text.end-1 { fill: #a1440b; }
circle.end-2, text.end-2 { fill: #0a6645; }
circle.end-3, text.end-3 { fill: #6f3a97; }
.corrected { fill: #ffffff; stroke: #0b4f8a; stroke-width: 2; }
.picture .band[vector-effect] { stroke-width: 2; }
.picture :is(.curve, .past, .gap)[vector-effect] { stroke-width: 3; }
.picture .line[vector-effect] { stroke-width: 4; }
.picture .line-1[vector-effect] { stroke-dasharray: 16 8; }
.picture .line-2[vector-effect] { stroke-dasharray: 4 8; }
.picture .line-3[vector-effect] { stroke-dasharray: 18 8 4 8; }
`;

/**
 * The text of the file.
 *
 * @param {readonly import("./chart.js").Point[]} points at least one
 * @param {import("./layout.js").ChartOptions} options its title stands above the chart
 * @param {readonly string[]} notes lines below the chart, such as the credit line
 */
export function chartFile(points, options, notes) {
  const drawn = layout(points, { ...options, ...FILE_PLOT });
  return svgFile({
    ...drawn,
    unit: unitLine(drawn),
    label: chartLabel(drawn),
    levelsSvg: levelsSvg(drawn),
    plotSvg: plotSvg(drawn),
    endSvg: endSvg(drawn),
    legend: legendOf(drawn),
    notes,
  });
}

/** How large the chart of a file is drawn, with the labels at its sides. */
export const FILE_PLOT = { widthPx: WIDTH - 2 * MARGIN, heightPx: 400 };

/**
 * The text of a file with any chart.
 *
 * @param {object} drawn
 * @param {string} drawn.title
 * @param {string} drawn.unit the line below the title
 * @param {string} drawn.label for screen readers
 * @param {number} drawn.gutterPx
 * @param {number} drawn.endPx
 * @param {string} drawn.levelsSvg at the left, in the gutter
 * @param {string} drawn.plotSvg
 * @param {string} drawn.endSvg at the right
 * @param {readonly { sample: string, words: string }[]} drawn.legend
 * @param {readonly string[]} drawn.notes lines below the chart
 */
export function svgFile(drawn) {
  const { widthPx: width, heightPx } = FILE_PLOT;
  const plotWidth = width - drawn.gutterPx - drawn.endPx;
  const parts = [`<style>${STYLE}</style><rect width="100%" height="100%" fill="#ffffff"/>`];
  let y = MARGIN - 10;
  /** @param {string} text @param {typeof NOTE} form */
  const write = (text, { kind, stepPx, letterPx }) => {
    for (const line of wrapped(text, Math.floor(width / letterPx))) {
      y += stepPx;
      parts.push(`<text class="${kind}" x="${MARGIN}" y="${y}">${escaped(line)}</text>`);
    }
  };
  /** @param {number} x @param {number} widthPx @param {string} svg */
  const place = (x, widthPx, svg) =>
    parts.push(
      `<svg x="${x}" y="${y}" width="${widthPx}" height="${heightPx}" overflow="visible">${svg}</svg>`,
    );
  write(drawn.title, TITLE);
  write(drawn.unit, NOTE);
  y += MARGIN / 2;
  place(MARGIN, drawn.gutterPx, drawn.levelsSvg);
  place(MARGIN + drawn.gutterPx, plotWidth, drawn.plotSvg);
  place(WIDTH - MARGIN - drawn.endPx, drawn.endPx, drawn.endSvg);
  y += heightPx;
  for (const { sample, words } of drawn.legend) {
    y += NOTE.stepPx;
    parts.push(
      `<svg x="${MARGIN}" y="${y - 10}">${sample}<text class="note" x="32" y="10">${words}</text></svg>`,
    );
  }
  y += MARGIN / 2;
  for (const note of drawn.notes) write(note, NOTE);
  y += MARGIN;
  const file =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y}" viewBox="0 0 ${WIDTH} ${y}" ` +
    `role="img" aria-label="${escaped(drawn.label)}">\n${parts.join("\n")}\n</svg>\n`;
  // XML has neither half characters nor U+FFFE and U+FFFF.
  return file.toWellFormed().replace(/[\ufffe\uffff]/g, "\u{FFFD}");
}

/**
 * Lines of at most so many letters, a few of them; a longer text ends with an ellipsis.
 *
 * @param {string} text
 * @param {number} most letters in a line; wide ones, such as Chinese, count as two
 */
function wrapped(text, most) {
  const doubled = text.toWellFormed().replace(/[\u1100-\u{10ffff}]/gu, "$&\0");
  const line = new RegExp(`.{1,${most}}(?: |$)|.{1,${most}}`, "gsu");
  const lines = (doubled.match(line) ?? []).map((part) => part.replaceAll("\0", ""));
  if (lines.length <= MOST_WRAPPED) return lines;
  return [...lines.slice(0, MOST_WRAPPED - 1), `${lines[MOST_WRAPPED - 1]?.trimEnd()}…`];
}

/**
 * The drawn levels as CSV: for each line a column of its levels in force, beside them the other figures of the drawing. A row
 * stands for each instant at which a level begins, or ends without another one.
 *
 * @param {readonly { id: string, points: readonly import("./levels.js").Point[] }[]} lines `id` names the column;
 *   `id_low`, `id_high` and `id_break_reason` follow where a point of the line has them
 */
export function levelsCsv(lines) {
  const spanned = lines.map(({ points }) => {
    const spans = spansOf(points);
    return points.map((point, at) => ({
      ...point,
      .../** @type {import("./layout.js").Span} */ (spans[at]),
    }));
  });
  const instants = spanned.flatMap((points) =>
    points.flatMap(({ begin, until }) => [begin, until]),
  );
  const columns = lines.flatMap(({ id, points }, at) =>
    COLUMNS.filter(
      ({ name, read }) => name === "" || points.some((point) => read(point) != null),
    ).map(({ name, read }) => ({ name: id + name, read, points: spanned[at] ?? [] })),
  );
  const rows = [...new Set(instants)].toSorted().map((at) => [
    at,
    ...columns.map(({ read, points }) => {
      const point = points.findLast(({ begin }) => begin <= at);
      return point === undefined || point.until < at ? "" : cellOf(String(read(point) ?? ""));
    }),
  ]);
  return [["instant_utc", ...columns.map(({ name }) => name)], ...rows]
    .map((cells) => `${cells.join(",")}\r\n`)
    .join("");
}

/** @type {readonly { name: string, read: (point: import("./levels.js").Point) => string | number | null | undefined }[]} */
const COLUMNS = [
  { name: "", read: textOf },
  { name: "_low", read: ({ low }) => low },
  { name: "_high", read: ({ high }) => high },
  { name: "_break_reason", read: ({ breakReason }) => breakReason || null },
];

/** Spreadsheets would take some texts for formulas: a ' stands before them. @param {string} text */
function cellOf(text) {
  const safe = text.replace(/^(?=\s*[=+\-@＝＋－＠]|[\t\r])/, "'");
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
