/** The page of a contract in the browser: the caller's own tier, the chart with its cursor, downloads. */
import { askJson } from "./api.js";
import { chartFile } from "./chart-file.js";
import { chart } from "./chart.js";
import { addCursor } from "./cursor.js";
import { closesFrom, closesOf, historyCsv, rangesWithin, startOf } from "./history.js";
import { withKey } from "./key.js";
import { recordHtml } from "./record.js";
import { escaped, figureHtml, foreign } from "./text.js";

/** @typedef {import("./record.js").ContractBody} ContractBody */
/** @typedef {import("./history.js").Range} Range */
/** @typedef {import("./key.js").Caller} Caller */

const page = /** @type {HTMLElement} */ (document.getElementById("content"));
const id = location.pathname.slice(location.pathname.lastIndexOf("/") + 1);

await withKey(async (caller) => {
  const { body, problem } = await askJson(`prices/${id}`);
  if (problem !== null) {
    const message = document.createElement("p");
    message.className = "error";
    message.setAttribute("role", "alert");
    message.textContent = problem.detail;
    page.querySelector("h1")?.after(message);
    return;
  }
  show(body, caller);
});

/**
 * @param {ContractBody} body
 * @param {Caller} caller
 */
function show(body, caller) {
  page.innerHTML = recordHtml(body, caller.offer.delaySessions);
  document.title = `${body.name} · chipboard`;
  if (body.history.length > 0) showHistory(body, caller);
}

/**
 * @param {ContractBody} body
 * @param {Caller} caller
 */
function showHistory(body, { tier, offer }) {
  const ranges = rangesWithin(offer.depthDays);
  const section = /** @type {HTMLElement} */ (page.querySelector("#history"));
  section.insertAdjacentHTML(
    "beforeend",
    `<div class="tools"><div class="ranges" role="group" aria-label="Range">${ranges
      .map((range) => `<button type="button" data-range="${range}">${range}</button>`)
      .join("")}</div>` +
      `<button type="button" id="save-csv">Save CSV</button>` +
      `<button type="button" id="save-svg">Save SVG</button></div>` +
      `<output id="readout" aria-live="polite"></output><div class="charted"></div>`,
  );
  const box = /** @type {HTMLElement} */ (section.querySelector(".charted"));
  const readout = /** @type {HTMLElement} */ (section.querySelector("#readout"));
  const closes = closesOf(body);
  const to = body.session_utc.slice(0, 10);
  let shown = choose(ranges.includes("1 y") ? "1 y" : "90 d");

  for (const button of section.querySelectorAll("button[data-range]")) {
    button.addEventListener("click", () => {
      shown = choose(/** @type {Range} */ (button.getAttribute("data-range")));
    });
  }
  const name = `chipboard-${body.session_utc.slice(0, 13)}Z-${tier}-${body.id}`;
  section.querySelector("#save-csv")?.addEventListener("click", () => {
    save(historyCsv(body), "text/csv;charset=utf-8", `${name}.csv`);
  });
  section.querySelector("#save-svg")?.addEventListener("click", () => {
    const text = chartFile(shown.points, shown.options, [body.attribution]);
    save(text, "image/svg+xml", `${name}-${shown.range.replace(" ", "")}.svg`);
  });

  /** @param {Range} range */
  function choose(range) {
    const from = startOf(range, to);
    const points = closesFrom(closes, from);
    const options = {
      title: `${body.name} (${body.ticker}, ${body.id}), closes of ${range}`,
      unit: body.unit,
      breaks: body.breaks
        .map(({ session_utc }) => session_utc.slice(0, 10))
        .filter((date) => date >= from),
      ...(points.length < closes.length && { from }),
      to,
    };
    for (const button of section.querySelectorAll("button[data-range]")) {
      button.setAttribute("aria-pressed", String(button.getAttribute("data-range") === range));
    }
    box.innerHTML = chart(points, options);
    addCursor(box, points, options, read);
    return { range, points, options };
  }

  /** @param {import("./history.js").Close} close */
  function read({ date, close, isCorrected, breakReason }) {
    readout.innerHTML =
      `<time>${escaped(date)}</time> <b>${figureHtml(close)}</b> ${foreign(body.unit)}` +
      (isCorrected ? " · corrected" : "") +
      (breakReason === null ? "" : ` · first close after a break: ${foreign(breakReason)}`);
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
