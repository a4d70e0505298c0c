/** A chart with its controls: title, ranges, cursor, and buttons that save it. Pages call `showChart`. */
import { fromAddress, keepInAddress } from "./address.js";
import { chartHtml } from "./chart.js";
import { addCursor, closeReader } from "./cursor.js";
import { layout } from "./layout.js";
import { drawnOf, firstRange, perGigabyte, rangesWithin, titleOf } from "./levels.js";
import { citation, keep, keepButtons } from "./save.js";

/**
 * @typedef {object} Files
 * @property {import("./levels.js").Line} line With at least one level.
 * @property {string} name What the title begins with.
 * @property {import("./levels.js").Changes} changes By range, as the API gives them.
 * @property {number} depthDays Of the caller's tier; longer ranges are not offered.
 * @property {string} fileName What names of saved files begin with; range and scale follow.
 * @property {string} column What the column of levels in the CSV is named.
 * @property {readonly string[]} notes Lines below the saved chart: source, session, credit line. A citation has them too.
 * @property {string} [range] The only range; there are no choices, and the files alone are offered.
 * @property {string} [publication] The number that a cited address has; without it the address is as it stands.
 * @property {number | null} [capacityGb] With it the chart also shows the price per gigabyte.
 * @property {readonly { session_utc: string, capacity_gb?: number | null }[]} [breaks] With the capacity before each.
 * @property {string} [request] The address that the levels came from.
 *
 * @typedef {Omit<import("./layout.js").ChartOptions, "title" | "from" | "to"> & Files} Panel
 */

/**
 * Puts a chart with its controls into a box. Range and scale are kept in the address: `?range=1y&per=gb`.
 *
 * @param {HTMLElement} box
 * @param {Panel} panel
 */
export function showChart(box, panel) {
  const { line, name, changes, capacityGb = null, request } = panel;
  const isBare = panel.range !== undefined;
  const ranges = rangesWithin(line, panel.depthDays);
  const wanted = firstRange(fromAddress("range"), ranges, line.to, panel.depthDays);
  draw(panel.range ?? wanted, fromAddress("per") === "gb");

  /** @param {string} range @param {boolean} isPerGb if there is a capacity @param {number} [widthPx] */
  function draw(range, isPerGb, widthPx = box.clientWidth) {
    fitPaper(box, (paperPx) => draw(range, isPerGb, paperPx));
    const divided =
      isPerGb && capacityGb !== null ? perGigabyte(line, capacityGb, panel.breaks) : null;
    const { points, from, to } = drawnOf(divided ?? line, range);
    const decimals = divided === null ? panel.decimals : 3;
    const options = {
      ...panel,
      title: titleOf(name, range, changes, points, decimals),
      from,
      to,
      widthPx,
      decimals,
      ...(divided && { unit: "USD per GB" }),
    };
    const drawn = layout(points, options);
    const scale = capacityGb === null ? "" : scaleButton(isPerGb);
    const tools = toolsHtml(rangeButtons(ranges, range) + scale, request !== undefined);
    box.innerHTML = chartHtml(drawn, isBare ? toolsHtml("", false, true) : tools);
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
      void keep(button, {
        csv: async () => (await files()).levelsCsv([{ id: panel.column, points }]),
        svg: async () => (await files()).chartFile(points, options, panel.notes),
        cite: () => citation(options.title, panel.notes, addressOf(range, panel.publication)),
        name: `${panel.fileName}-${range}${divided === null ? "" : "-per-gb"}`,
        requests: request === undefined ? [] : [request],
      });
    });
  }
}

/** How wide a sheet of paper is, about. */
const PAPER_PX = 680;

/** What draws a chart again, by its box. @type {Map<HTMLElement, (widthPx?: number) => void>} */
const drawings = new Map();
addEventListener("beforeprint", () => {
  for (const draw of drawings.values()) draw(PAPER_PX);
});
addEventListener("afterprint", () => {
  for (const draw of drawings.values()) draw();
});

/**
 * Has a chart drawn again for paper, whose width decides which labels have room, and for the screen after that.
 *
 * @param {HTMLElement} box
 * @param {(widthPx?: number) => void} draw without a width: as wide as the box
 */
export function fitPaper(box, draw) {
  for (const other of drawings.keys()) if (!other.isConnected) drawings.delete(other);
  drawings.set(box, draw);
}

/** Few readers save a chart. */
const files = async () => await import("./chart-file.js");

/**
 * The address that shows the chart again, as of the publication if one is given.
 *
 * @param {string} range
 * @param {string | undefined} publication
 */
function addressOf(range, publication) {
  const address = new URL(location.href);
  address.searchParams.set("range", range);
  if (publication !== undefined) {
    address.searchParams.delete("as_of");
    address.searchParams.set("publication", publication);
  }
  return address.href;
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
const scaleButton = (isPerGb) =>
  `<button type="button" data-per="gb" aria-pressed="${isPerGb}">USD per GB</button>`;

/** @param {string} choices HTML @param {boolean} hasRequest @param {boolean} [isFiles] whether only files are offered */
export const toolsHtml = (choices, hasRequest, isFiles = false) =>
  `<div class="tools chart-tools">${choices}<span class="apart"></span>${keepButtons(hasRequest, isFiles)}</div>`;
