/** A cursor on a chart. */
import { dateWords } from "./axis.js";
import { closeText } from "./layout.js";
import { foreign } from "./text.js";

/** @typedef {import("./layout.js").Layout} Layout */
/** @typedef {import("./layout.js").Place} Place */

/** Between the line and the text. */
const APART_PX = 12;

/** @typedef {import("./layout.js").Reading} Reading */

/**
 * What the cursor needs of a chart.
 *
 * @typedef {Pick<Layout, "gutterPx" | "endPx" | "topPx" | "bottomPx" | "heightPx">
 *   & { points: readonly { x: number }[], breaks: readonly unknown[] }} Frame
 */

/**
 * Adds a vertical line that pointer, finger and arrow keys move from point to point, with a text beside
 * it. It begins at the last point.
 *
 * @param {HTMLElement} box a positioned element that holds nothing but the chart
 * @param {Frame} drawn the chart
 * @param {(at: number) => Reading} read
 */
export function addCursor(box, drawn, read) {
  const { points, gutterPx, endPx, topPx, bottomPx, heightPx } = drawn;
  const cursor = document.createElement("div");
  const slider = document.createElement("input");
  const mark = document.createElement("div");
  cursor.className = "cursor";
  cursor.style.left = `${gutterPx}px`;
  cursor.style.right = `${endPx}px`;
  slider.type = "range";
  slider.ariaLabel = "Date on the chart";
  slider.max = String(points.length - 1);
  slider.value = slider.max;
  cursor.append(slider, mark);
  box.append(cursor);
  show();

  function show() {
    const at = slider.valueAsNumber;
    const x = points[at]?.x ?? 0;
    const { words, html, dots } = read(at);
    slider.ariaValueText = words;
    mark.innerHTML =
      `<svg height="${heightPx}"><line x1="${x}%" x2="${x}%" y1="${topPx}" y2="${bottomPx}"/>` +
      `${dots.map(({ y, name }) => `<circle class="${name}" cx="${x}%" cy="${y}" r="4"/>`).join("")}</svg>` +
      `<div class="tip" aria-hidden="true">${html}</div>`;
    const tip = /** @type {HTMLElement} */ (mark.lastElementChild);
    // Below the words of breaks; on the side with more room, but never beyond the chart.
    tip.style.top = `${drawn.breaks.length === 0 ? 4 : topPx}px`;
    const middle = (x / 100) * cursor.clientWidth;
    const wanted = x < 50 ? middle + APART_PX : middle - APART_PX - tip.offsetWidth;
    const most = cursor.clientWidth + endPx - tip.offsetWidth;
    tip.style.left = `${Math.max(-gutterPx, Math.min(wanted, most))}px`;
  }

  /** @param {PointerEvent} event */
  function follow({ clientX }) {
    const { left, width } = cursor.getBoundingClientRect();
    const distances = points.map(({ x }) => Math.abs(x - ((clientX - left) / width) * 100));
    slider.valueAsNumber = distances.lastIndexOf(Math.min(...distances));
    show();
  }

  slider.addEventListener("input", show);
  // The text stands at pixels of the box's width.
  new ResizeObserver(show).observe(cursor);
  cursor.addEventListener("pointermove", follow);
  cursor.addEventListener("pointerdown", (event) => {
    follow(event);
    slider.focus({ preventScroll: true });
  });
  // It would take the focus away again.
  cursor.addEventListener("mousedown", (event) => event.preventDefault());
}

/**
 * Reads the closes of a chart.
 *
 * @param {Layout} drawn
 * @returns {(at: number) => Reading}
 */
export const closeReader = (drawn) => (at) => {
  const point = /** @type {Place} */ (drawn.points[at]);
  return {
    words: `${dateWords(point.date)}: ${closeText(point, drawn.decimals)} ${drawn.unit}`,
    html: tipHtml(point, drawn),
    dots: [{ y: point.y, name: "" }],
  };
};

/**
 * The text beside the cursor: date, level, and a break or a correction.
 *
 * @param {Place} point
 * @param {Layout} drawn
 */
function tipHtml(point, { unit, decimals }) {
  const reason = point.breakReason ? `: ${foreign(point.breakReason)}` : "";
  const marks = [
    point.isBreak && `First close after a break${reason}`,
    point.isCorrected && "Correction",
  ].filter(Boolean);
  return (
    `<time datetime="${point.date}">${dateWords(point.date)}</time>` +
    `<span><b>${closeText(point, decimals)}</b> ${foreign(unit)}</span>` +
    marks.map((text) => `<span>${text}</span>`).join("")
  );
}
