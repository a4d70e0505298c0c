/** A chart with its controls: title, ranges, cursor, and buttons that save it. Pages call `showChart`. */
import { fromAddress, keepInAddress } from "./address.js";
import { dateWords } from "./axis.js";
import { chartFile } from "./chart-file.js";
import { chartHtml } from "./chart.js";
import { addCursor } from "./cursor.js";
import { ALL, closesFrom, rangesWithin, startOf } from "./history.js";
import { changeHtml, escaped, foreign, roundedText } from "./text.js";

/** @typedef {import("./chart.js").Point} Point */

/**
 * @typedef {object} Panel
 * @property {readonly Point[]} points All closes there are, at least one, ascending by date.
 * @property {string} title Plain text: a finding in words, or what the line is.
 * @property {string} unit
 * @property {number} [base] A level with a line of its own, such as 100 of an index.
 * @property {string} to The last date of the axis.
 * @property {number} depthDays Of the caller's tier; longer ranges are not offered.
 * @property {number} decimals Of figures; `Infinity`: as given.
 * @property {number} [heightPx]
 * @property {string} fileName Of what is saved, without extension.
 * @property {string} csv The text of the CSV.
 * @property {readonly string[]} notes Lines below the saved chart, such as the credit line.
 * @property {boolean} [isBare] Whether there are neither ranges nor buttons: all points are shown.
 */

/**
 * Puts a chart with its controls into a box. The range is kept in the address: `?range=1y`.
 *
 * @param {HTMLElement} box
 * @param {Panel} panel
 */
export function showChart(box, panel) {
  const { points, to, isBare = false } = panel;
  const ranges = isBare ? [ALL] : rangesWithin(points, to, panel.depthDays);
  /** @param {string} id */
  const find = (id) => ranges.find((range) => range.id === id);
  draw(find(fromAddress("range")) ?? find("1y") ?? ALL);

  /** @param {import("./history.js").Range} range */
  function draw({ id }) {
    const from = startOf(id, to, points);
    const within = closesFrom(points, from);
    const options = {
      ...panel,
      widthPx: box.clientWidth,
      ...(within.length < points.length && { from }),
    };
    box.innerHTML = chartHtml(within, options, isBare ? "" : toolsHtml(ranges, id));
    const charted = /** @type {HTMLElement} */ (box.querySelector(".charted"));
    addCursor(charted, within, options, (point, before) => tipHtml(point, before, panel));
    for (const range of ranges) {
      box.querySelector(`[data-range="${range.id}"]`)?.addEventListener("click", () => {
        draw(range);
        keepInAddress({ range: range.id });
        // The button that was pressed is another one now.
        /** @type {HTMLElement} */ (box.querySelector(`[data-range="${range.id}"]`)).focus();
      });
    }
    /** @type {Record<string, (button: HTMLElement) => void>} */
    const actions = {
      csv: () => save(panel.csv, "text/csv;charset=utf-8", `${panel.fileName}.csv`),
      svg: () => {
        const text = chartFile(within, options, panel.notes);
        save(text, "image/svg+xml", `${panel.fileName}-${id}.svg`);
      },
      link: (button) => {
        keepInAddress({ range: id });
        void copyLink(button);
      },
    };
    for (const [name, act] of Object.entries(actions)) {
      const button = /** @type {HTMLElement | null} */ (box.querySelector(`[data-save=${name}]`));
      button?.addEventListener("click", () => act(button));
    }
  }
}

/** @param {readonly import("./history.js").Range[]} ranges @param {string} shown */
const toolsHtml = (ranges, shown) =>
  `<div class="tools chart-tools"><div class="ranges" role="group" aria-label="Range">${ranges
    .map(
      ({ id, label, title = "" }) =>
        `<button type="button" data-range="${id}" aria-pressed="${id === shown}" title="${title}">${label}</button>`,
    )
    .join("")}</div>` +
  `<button type="button" data-save="csv">CSV</button><button type="button" data-save="svg">SVG</button>` +
  `<button type="button" data-save="link" aria-live="polite">Copy link</button></div>`;

/**
 * What stands beside the cursor: date, close, change against the close before, and what the close is.
 *
 * @param {Point} point
 * @param {Point | undefined} before
 * @param {Panel} panel
 */
function tipHtml({ date, close, text, ...point }, before, { unit, decimals }) {
  const change = Number(((close / (before?.close ?? close) - 1) * 100).toFixed(2));
  const reason = point.breakReason ? `: ${foreign(point.breakReason)}` : "";
  const basis = point.isCarried ? "Carried from the close before" : "New close";
  return (
    `<time datetime="${escaped(date)}">${dateWords(date)}</time>` +
    `<span><b>${roundedText(text ?? close, decimals)}</b> ${foreign(unit)}</span>` +
    (before && !point.isBreak
      ? `<span>${changeHtml(change)} % since ${dateWords(before.date)}</span>`
      : "") +
    `<span>${point.isBreak ? `First close after a break${reason}` : basis}` +
    `${point.isCorrected ? ", corrected" : ""}</span>`
  );
}

/** Copies the page's address; says what became of it. @param {HTMLElement} button */
export async function copyLink(button) {
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Copy it from the address bar";
  }
}

/**
 * Gives the browser a file to save.
 *
 * @param {string} text
 * @param {string} type
 * @param {string} name
 */
function save(text, type, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
