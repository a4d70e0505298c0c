/** A chart with its controls: title, ranges, cursor, and buttons that save it. Pages call `showChart`. */
import { fromAddress, keepInAddress } from "./address.js";
import { chartFile } from "./chart-file.js";
import { chartHtml } from "./chart.js";
import { addCursor } from "./cursor.js";
import { closesFrom, rangesWithin, startOf } from "./history.js";
import { layout } from "./layout.js";

/**
 * @typedef {object} Files
 * @property {readonly import("./chart.js").Point[]} points All closes there are, at least one, ascending by date.
 * @property {(points: readonly import("./chart.js").Point[]) => string} titleOf The title of those that are drawn.
 * @property {string} to The last date of the axis.
 * @property {number} depthDays Of the caller's tier; longer ranges are not offered.
 * @property {string} fileName Of what is saved, without extension.
 * @property {string} csv The text of the CSV.
 * @property {readonly string[]} notes Lines below the saved chart, such as the credit line.
 * @property {boolean} [isBare] Whether there are neither ranges nor buttons: all points are shown.
 *
 * @typedef {Omit<import("./layout.js").ChartOptions, "title"> & Files} Panel
 */

/**
 * Puts a chart with its controls into a box. The range is kept in the address: `?range=1y`.
 *
 * @param {HTMLElement} box
 * @param {Panel} panel
 */
export function showChart(box, panel) {
  const { points, to, isBare = false } = panel;
  const ranges = isBare ? ["all"] : rangesWithin(points, to, panel.depthDays);
  draw([fromAddress("range"), "1y"].find((range) => ranges.includes(range)) ?? "all");

  /** @param {string} range */
  function draw(range) {
    const from = startOf(range, to, points);
    const within = closesFrom(points, from);
    const title = panel.titleOf(within);
    const options = { ...panel, title, from, widthPx: box.clientWidth };
    const drawn = layout(within, options);
    box.innerHTML = chartHtml(drawn, isBare ? "" : toolsHtml(ranges, range));
    addCursor(/** @type {HTMLElement} */ (box.querySelector(".charted")), drawn);
    box.querySelector(".chart-tools")?.addEventListener("click", ({ target }) => {
      const button = /** @type {HTMLElement} */ (target);
      const { range: other, save: what } = button.dataset;
      if (other !== undefined) {
        draw(other);
        keepInAddress({ range: other });
        // The button that was pressed is another one now.
        /** @type {HTMLElement} */ (box.querySelector(`[data-range="${other}"]`)).focus();
      }
      if (what === "csv") save(panel.csv, "text/csv;charset=utf-8", `${panel.fileName}.csv`);
      if (what === "svg") {
        const text = chartFile(within, options, panel.notes);
        save(text, "image/svg+xml", `${panel.fileName}-${range}.svg`);
      }
      if (what === "link") {
        keepInAddress({ range });
        void copyLink(button);
      }
    });
  }
}

/** @param {readonly string[]} ranges @param {string} shown */
function toolsHtml(ranges, shown) {
  const buttons = ranges.map((range) => {
    const label = range === "all" ? "All" : range === "ytd" ? "YTD" : range.replace(/\D/, " $&");
    return `<button type="button" data-range="${range}" aria-pressed="${range === shown}">${label}</button>`;
  });
  return (
    `<div class="tools chart-tools"><div class="ranges" role="group" aria-label="Range">${buttons.join("")}</div>` +
    `<button type="button" data-save="csv">CSV</button><button type="button" data-save="svg">SVG</button>` +
    `<button type="button" data-save="link" aria-live="polite">Copy link</button></div>`
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
