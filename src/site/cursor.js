/** A cursor on a chart. */
import { dateWords } from "./axis.js";
import { layout } from "./layout.js";
import { roundedText } from "./text.js";

/** @typedef {import("./layout.js").Point} Point */

/**
 * Adds a vertical line that pointer, finger and arrow keys move from point to point, with a text beside
 * it. It begins at the last point.
 *
 * @param {HTMLElement} box a positioned element that holds nothing but the chart
 * @param {readonly Point[]} points those of the chart
 * @param {import("./layout.js").ChartOptions} options those of the chart
 * @param {(point: Point, before: Point | undefined) => string} tipHtml the text beside the cursor, of the
 *   point under it and the one before
 */
export function addCursor(box, points, options, tipHtml) {
  const { points: places, gutterPx, endPx, topPx, bottomPx, heightPx } = layout(points, options);
  const cursor = document.createElement("div");
  cursor.className = "cursor";
  cursor.tabIndex = 0;
  cursor.role = "slider";
  cursor.ariaLabel = "Date on the chart";
  cursor.ariaValueMin = "1";
  cursor.ariaValueMax = String(points.length);
  cursor.style.left = `${gutterPx}px`;
  cursor.style.right = `${endPx}px`;
  let at = 0;
  moveTo(points.length - 1);
  box.append(cursor);

  /** @param {number} index */
  function moveTo(index) {
    at = Math.max(0, Math.min(points.length - 1, index));
    const [point, place] = [points[at], places[at]];
    if (point === undefined || place === undefined) return;
    cursor.ariaValueNow = String(at + 1);
    const figure = roundedText(point.text ?? point.close, options.decimals);
    cursor.ariaValueText = `${dateWords(point.date)}: ${figure} ${options.unit}`;
    cursor.innerHTML =
      `<svg height="${heightPx}"><line x1="${place.x}%" x2="${place.x}%" y1="${topPx}" y2="${bottomPx}"/>` +
      `<circle cx="${place.x}%" cy="${place.y}" r="4"/></svg>` +
      `<div class="tip" aria-hidden="true">${tipHtml(point, points[at - 1])}</div>`;
    // On the side with more room.
    const tip = /** @type {HTMLElement} */ (cursor.lastElementChild);
    if (place.x < 50) tip.style.left = `calc(${place.x}% + 12px)`;
    else tip.style.right = `calc(${100 - place.x}% + 12px)`;
  }

  /** @param {PointerEvent} event */
  function follow({ clientX }) {
    const { left, width } = cursor.getBoundingClientRect();
    const x = ((clientX - left) / width) * 100;
    const distances = places.map((place) => Math.abs(place.x - x));
    const nearest = distances.lastIndexOf(Math.min(...distances));
    if (nearest !== at) moveTo(nearest);
  }

  const page = Math.ceil(points.length / 10);
  /** @type {Readonly<Record<string, () => number>>} */
  const KEYS = {
    ArrowLeft: () => at - 1,
    ArrowDown: () => at - 1,
    ArrowRight: () => at + 1,
    ArrowUp: () => at + 1,
    PageDown: () => at - page,
    PageUp: () => at + page,
    Home: () => 0,
    End: () => points.length - 1,
  };
  cursor.addEventListener("pointerdown", follow);
  cursor.addEventListener("pointermove", follow);
  cursor.addEventListener("keydown", (event) => {
    const next = KEYS[event.key];
    if (next === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    moveTo(next());
  });
}
