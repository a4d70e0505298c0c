/** A cursor on a chart. */
import { layout } from "./chart.js";

/** @typedef {import("./chart.js").Point} Point */

/**
 * Adds a vertical line that pointer and arrow keys move from point to point. It begins at the last.
 *
 * @template {Point} P
 * @param {HTMLElement} box a positioned element that holds nothing but the chart
 * @param {readonly P[]} points those of the chart
 * @param {import("./chart.js").ChartOptions} options those of the chart
 * @param {(point: P) => void} say called with the point under the cursor
 */
export function addCursor(box, points, options, say) {
  const { points: places, gutterPx, topPx, bottomPx, heightPx } = layout(points, options);
  const cursor = document.createElement("div");
  cursor.className = "cursor";
  cursor.tabIndex = 0;
  cursor.role = "slider";
  cursor.ariaLabel = "Date on the chart";
  cursor.ariaValueMin = "1";
  cursor.ariaValueMax = String(points.length);
  cursor.style.left = `${gutterPx}px`;
  let at = 0;
  moveTo(points.length - 1);
  box.append(cursor);

  /** @param {number} index */
  function moveTo(index) {
    at = Math.max(0, Math.min(points.length - 1, index));
    const [point, place] = [points[at], places[at]];
    if (point === undefined || place === undefined) return;
    cursor.ariaValueNow = String(at + 1);
    cursor.ariaValueText = point.date;
    cursor.innerHTML =
      `<svg height="${heightPx}"><line x1="${place.x}%" x2="${place.x}%" y1="${topPx}" y2="${bottomPx}"/>` +
      `<circle cx="${place.x}%" cy="${place.y}" r="4"/></svg>`;
    say(point);
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
