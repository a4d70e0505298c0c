/** A chart as a file: an SVG that opens alone, with title, credit line and a style of its own. */
import { chartLabel, unitLine } from "./chart.js";
import { layout } from "./layout.js";
import { endSvg, legendOf, levelsSvg, plotSvg } from "./plot.js";
import { escaped } from "./text.js";

const WIDTH = 960;
const MARGIN = 24;
const PLOT_HEIGHT = 400;
const TITLE_LINE = 28;
const NOTE_LINE = 17;
/** Of a letter, on average. */
const TITLE_LETTER = 11.5;
const NOTE_LETTER = 6.5;
const MOST_LINES = 4;

/** Light colours of style.css, and the marks as in chart.css: a file is printed or put into a document. */
const STYLE = `
text { font: 13px system-ui, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif; fill: #595e66; font-variant-numeric: tabular-nums; }
.title { font: 600 20px Charter, Cambria, Georgia, "Liberation Serif", serif; fill: #16191d; }
.note { font-size: 12px; }
line { stroke: #d8d8d2; shape-rendering: crispEdges; }
.base { stroke: #595e66; }
line.break { stroke: #7c4a00; stroke-dasharray: 3 3; }
text.break { fill: #7c4a00; font-weight: 600; }
.curve, .past, .gap { fill: none; stroke: #0b4f8a; stroke-width: 1.5; stroke-linejoin: round; stroke-linecap: round; }
.past { stroke: #595e66; opacity: 0.6; }
.gap { stroke-dasharray: 1 4; }
.band { fill: #e7eef5; }
.dot, circle.end, circle.extreme { fill: #0b4f8a; }
text.extreme, text.break { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; }
text.end { font-weight: 600; fill: #16191d; }
.corrected { fill: #ffffff; stroke: #0b4f8a; stroke-width: 2; }
`;

/**
 * The text of the file.
 *
 * @param {readonly import("./chart.js").Point[]} points at least one
 * @param {import("./chart.js").ChartOptions} options its title stands above the chart
 * @param {readonly string[]} notes lines below the chart, such as the credit line
 */
export function chartFile(points, options, notes) {
  const width = WIDTH - 2 * MARGIN;
  const title = wrapped(options.title, width / TITLE_LETTER);
  const under = wrapped(unitLine(points, options), width / NOTE_LETTER);
  const below = notes.flatMap((note) => wrapped(note, width / NOTE_LETTER));
  const unitTop = MARGIN + title.length * TITLE_LINE;
  const top = unitTop + under.length * NOTE_LINE + NOTE_LINE;
  const drawn = layout(points, { ...options, heightPx: PLOT_HEIGHT, widthPx: width });
  const legend = legendOf(drawn);
  const legendTop = top + PLOT_HEIGHT + MARGIN / 2;
  const noteTop = legendTop + (legend.length + 1) * NOTE_LINE;
  const height = noteTop + below.length * NOTE_LINE + MARGIN / 2;
  const plotWidth = width - drawn.gutterPx - drawn.endPx;
  /** @param {readonly string[]} lines @param {string} kind @param {number} from @param {number} step */
  const texts = (lines, kind, from, step) =>
    lines.map(
      (line, at) =>
        `<text class="${kind}" x="${MARGIN}" y="${from + at * step}">${xmlText(line)}</text>`,
    );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" ` +
      `viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${xmlText(chartLabel(points, options))}">`,
    `<style>${STYLE}</style><rect width="100%" height="100%" fill="#ffffff"/>`,
    ...texts(title, "title", MARGIN + 16, TITLE_LINE),
    ...texts(under, "note", unitTop + 8, NOTE_LINE),
    `<svg x="${MARGIN}" y="${top}" width="${drawn.gutterPx}" height="${PLOT_HEIGHT}">${levelsSvg(drawn)}</svg>`,
    `<svg x="${MARGIN + drawn.gutterPx}" y="${top}" width="${plotWidth}" height="${PLOT_HEIGHT}" ` +
      `overflow="visible">${xmlCharacters(plotSvg(drawn, plotWidth))}</svg>`,
    `<svg x="${WIDTH - MARGIN - drawn.endPx}" y="${top}" width="${drawn.endPx}" height="${PLOT_HEIGHT}">${endSvg(drawn)}</svg>`,
    ...legend.map(({ sample, words }, at) => {
      const y = legendTop + at * NOTE_LINE;
      return `<svg x="${MARGIN}" y="${y}">${sample}<text class="note" x="32" y="10">${words}</text></svg>`;
    }),
    ...texts(below, "note", noteTop, NOTE_LINE),
    "</svg>\n",
  ].join("\n");
}

/**
 * Lines of at most so many letters, a few of them; a longer text ends with an ellipsis.
 *
 * @param {string} text
 * @param {number} most letters in a line; wide ones, such as Chinese, count as two
 */
function wrapped(text, most) {
  const lines = [""];
  let length = 0;
  for (const word of text.split(/(?<= )/)) {
    const letters = [...word];
    const size = widthOf(letters);
    if (length > 0 && length + size > most) {
      lines.push("");
      length = 0;
    }
    for (const letter of letters) {
      if (length >= most) {
        lines.push("");
        length = 0;
      }
      lines[lines.length - 1] += letter;
      length += widthOf([letter]);
    }
  }
  if (lines.length <= MOST_LINES) return lines;
  return [...lines.slice(0, MOST_LINES - 1), `${lines[MOST_LINES - 1]?.trimEnd()}…`];
}

/** @param {readonly string[]} letters */
const widthOf = (letters) =>
  letters.reduce(
    (sum, letter) => sum + (/** @type {number} */ (letter.codePointAt(0)) < 0x1100 ? 1 : 2),
    0,
  );

/** @param {string} text */
const xmlText = (text) => escaped(xmlCharacters(text));

/** XML has neither half characters nor U+FFFE and U+FFFF. @param {string} text */
const xmlCharacters = (text) => text.toWellFormed().replace(/[\ufffe\uffff]/g, "\u{FFFD}");
