/** A chart with its controls: title, ranges, cursor, and buttons that save it. Pages call `showChart`. */
import { fromAddress, keepInAddress } from "./address.js";
import { chartFile } from "./chart-file.js";
import { chartHtml } from "./chart.js";
import { addCursor, closeReader } from "./cursor.js";
import { closesFrom, perGigabyte, rangesWithin, startOf } from "./history.js";
import { layout } from "./layout.js";
import { keep, keepButtons } from "./save.js";

/**
 * @typedef {object} Files
 * @property {readonly import("./chart.js").Point[]} points All closes there are, at least one, ascending by date.
 * @property {(points: readonly import("./chart.js").Point[]) => string} titleOf The title of those that are drawn.
 * @property {string} to The last date of the axis.
 * @property {number} depthDays Of the caller's tier; longer ranges are not offered.
 * @property {number} [nearDays] How many days a close is in force, where a range begins.
 * @property {string} fileName Name of saved files, without extension.
 * @property {string} csv The text of the CSV.
 * @property {readonly string[]} notes Lines below the saved chart, such as the credit line.
 * @property {boolean} [isBare] Whether there are neither ranges nor buttons: all points are shown.
 * @property {number | null} [capacityGb] With it the chart also shows the price per gigabyte.
 * @property {string} [request] The address that the CSV came from.
 *
 * @typedef {Omit<import("./layout.js").ChartOptions, "title"> & Files} Panel
 */

/**
 * Puts a chart with its controls into a box. Range and scale are kept in the address: `?range=1y&per=gb`.
 *
 * @param {HTMLElement} box
 * @param {Panel} panel
 */
export function showChart(box, panel) {
  const { points, to, nearDays, isBare = false, capacityGb = null, request } = panel;
  const ranges = isBare ? ["all"] : rangesWithin(points, to, panel.depthDays, nearDays);
  const wanted = [fromAddress("range"), "1y"].find((range) => ranges.includes(range)) ?? "all";
  draw(wanted, fromAddress("per") === "gb");

  /** @param {string} range @param {boolean} isPerGb if there is a capacity */
  function draw(range, isPerGb) {
    const from = startOf(range, to, points, nearDays);
    const within = closesFrom(points, from);
    const isDivided = isPerGb && capacityGb !== null;
    const drawnPoints = isDivided ? perGigabyte(within, capacityGb) : within;
    const options = {
      ...panel,
      title: panel.titleOf(within),
      from,
      widthPx: box.clientWidth,
      ...(isDivided && { unit: "USD per GB", decimals: 3 }),
    };
    const drawn = layout(drawnPoints, options);
    const scale = capacityGb === null ? "" : scaleButton(isPerGb);
    const tools = toolsHtml(rangeButtons(ranges, range) + scale, request !== undefined);
    box.innerHTML = chartHtml(drawn, isBare ? "" : tools);
    const charted = /** @type {HTMLElement} */ (box.querySelector(".charted"));
    addCursor(charted, drawn, closeReader(drawn));
    box.querySelector(".chart-tools")?.addEventListener("click", ({ target }) => {
      const button = /** @type {HTMLElement} */ (target);
      const { range: other, save: what } = button.dataset;
      if (other !== undefined) {
        draw(other, isPerGb);
        keepInAddress({ range: other });
        // The button that was pressed is another one now.
        /** @type {HTMLElement} */ (box.querySelector(`[data-range="${other}"]`)).focus();
      }
      if (button.dataset["per"] !== undefined) {
        draw(range, !isPerGb);
        keepInAddress({ per: isPerGb ? "" : "gb" });
        /** @type {HTMLElement} */ (box.querySelector("[data-per]")).focus();
      }
      if (what === "link") keepInAddress({ range });
      keep(button, {
        csv: panel.csv,
        svg: () => chartFile(drawnPoints, options, panel.notes),
        name: panel.fileName,
        picture: `${panel.fileName}-${range}${isDivided ? "-per-gb" : ""}`,
        requests: request === undefined ? [] : [request],
      });
    });
  }
}

/** @param {readonly string[]} ranges @param {string} chosen */
export function rangeButtons(ranges, chosen) {
  const buttons = ranges.map((range) => {
    const label = range === "all" ? "All" : range === "ytd" ? "YTD" : range.replace(/\D/, " $&");
    return `<button type="button" data-range="${range}" aria-pressed="${range === chosen}">${label}</button>`;
  });
  return `<div class="ranges" role="group" aria-label="Range">${buttons.join("")}</div>`;
}

/** @param {boolean} isPerGb */
export const scaleButton = (isPerGb) =>
  `<button type="button" data-per="gb" aria-pressed="${isPerGb}">USD per GB</button>`;

/** @param {string} choices HTML @param {boolean} hasRequest */
export const toolsHtml = (choices, hasRequest) =>
  `<div class="tools chart-tools">${choices}<span class="apart"></span>${keepButtons(hasRequest)}</div>`;
