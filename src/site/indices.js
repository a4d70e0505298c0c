/** The page of the indices in the browser: all of them, and one with its series and contributions. */
import { askDecimals, askJson } from "./api.js";
import { sessionLine } from "./board.js";
import { chart } from "./chart.js";
import { contractLink, contributionsTable, indexFigures } from "./contributions.js";
import { addCursor } from "./cursor.js";
import { closesFrom, RANGES, rangesWithin, startOf } from "./history.js";
import { indicesTable } from "./indices-table.js";
import { withKey } from "./key.js";
import { makeSortable } from "./table.js";
import { escaped, figureHtml, foreign } from "./text.js";

/** @typedef {import("./indices-table.js").ListedIndex} ListedIndex */
/** @typedef {import("./history.js").Range} Range */

/**
 * The body of `/indices/{id}`.
 *
 * @typedef {import("./contributions.js").IndexBody & {
 *   session_utc: string,
 *   series: { base: { date: string | null, level: string }, history: { date: string, close: string }[] },
 * }} OneIndex
 */

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));

const ranges = byId("ranges");

/** Why a contract is not in the index. */
const WHY = new Map([
  ["no_base_level", "no level a year before the session"],
  ["break", "a break since a year before the session"],
]);

/** @type {readonly ListedIndex[]} */
let indices = [];
/** The names of contracts, by id. @type {ReadonlyMap<string, string>} */
let names = new Map();
/** The answers so far, by id: choosing an index again costs nothing. @type {Map<string, OneIndex>} */
const known = new Map();
/** The session of the table. */
let session = "";
/** The id of the index that is shown or asked for. */
let chosen = "";
/** @type {Range} */
let range = "1 y";

/** The id of the index that the address names; null: it names none. */
function idInAddress() {
  const id = location.hash.slice(1);
  return indices.some((index) => index.id === id) ? id : null;
}

/**
 * Shows an index: from its answer, if it came before.
 *
 * @param {string} id
 */
async function choose(id) {
  chosen = id;
  const name = indices.find((index) => index.id === id)?.name ?? id;
  for (const link of byId("all").querySelectorAll("a")) {
    link.toggleAttribute("aria-current", false);
    if (link.getAttribute("href") === `#${id}`) link.setAttribute("aria-current", "true");
  }
  byId("one-title").innerHTML = foreign(name);
  byId("one").dataset["id"] = id;
  document.title = `${name} · Indices · chipboard`;
  const body = known.get(id) ?? (await fetchIndex(id));
  if (id === chosen && body !== null) show(body);
}

/**
 * @param {string} id
 * @returns {Promise<OneIndex | null>} null: the problem is told
 */
async function fetchIndex(id) {
  byId("one-body").hidden = byId("parts").hidden = true;
  const { body, problem } = await askDecimals(`indices/${encodeURIComponent(id)}`);
  if (problem === null) {
    known.set(id, body);
    return body;
  }
  if (id === chosen) tellProblem(problem.detail);
  return null;
}

/** @param {string} text empty: there is none */
function tellProblem(text) {
  byId("one-problem").textContent = text;
  byId("one-problem").hidden = text === "";
}

/** @param {OneIndex} body */
function show(body) {
  tellProblem(
    body.session_utc === session
      ? ""
      : "A newer session came meanwhile. Load the page again to see it in the table, too.",
  );
  byId("one-body").hidden = byId("parts").hidden = false;
  byId("figures").innerHTML = indexFigures(body);
  showSeries(body);
  const nameOf = (/** @type {string} */ id) => contractLink(id, names.get(id));
  const largestFirst = body.contributions.toSorted(
    (a, b) => Number(b.contribution) - Number(a.contribution),
  );
  const box = byId("contributions");
  const order = byId("order");
  box.innerHTML = contributionsTable(largestFirst, nameOf);
  order.textContent = "";
  box.querySelector("th:nth-child(2)")?.setAttribute("aria-sort", "descending");
  makeSortable(/** @type {HTMLTableElement} */ (box.firstElementChild), (words) => {
    order.textContent = words;
  });
  byId("excluded").hidden = body.excluded.length === 0;
  byId("excluded-list").innerHTML = body.excluded
    .map(
      ({ id, reason }) =>
        `<li data-id="${escaped(id)}">${nameOf(id)}: ${escaped(WHY.get(reason) ?? reason)}</li>`,
    )
    .join("");
}

/** @param {OneIndex} body */
function showSeries({ series, session_utc }) {
  const box = byId("series");
  const readout = byId("readout");
  const all = series.history.map(({ date, close }) => ({
    date,
    close: Number(close),
    text: close,
  }));
  const to = session_utc.slice(0, 10);
  const from = startOf(range, to);
  const points = closesFrom(all, from);
  for (const button of ranges.querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(button.dataset["range"] === range));
  }
  if (points.length === 0) {
    readout.textContent = "No close of the series in this range.";
    box.innerHTML = "";
    return;
  }
  const options = {
    title: `Series of the index, closes of ${range}`,
    unit: `points, ${series.base.date} = ${series.base.level}`,
    base: Number(series.base.level),
    ...(points.length < all.length && { from }),
    to,
  };
  box.innerHTML = chart(points, options);
  addCursor(box, points, options, ({ date, text }) => {
    readout.innerHTML = `<time>${escaped(date)}</time> <b>${figureHtml(text, 4)}</b> points`;
  });
}

ranges.addEventListener("click", ({ target }) => {
  const wanted = /** @type {HTMLElement} */ (target).dataset["range"];
  const body = known.get(chosen);
  if (wanted === undefined || body === undefined) return;
  range = /** @type {Range} */ (wanted);
  showSeries(body);
});

addEventListener("hashchange", () => {
  const id = idInAddress();
  // Another fragment is a place on the page, such as the one that the skip link names.
  if (id === null) history.replaceState(null, "", `#${chosen}`);
  if (id === null || id === chosen) return;
  void choose(id);
  byId("one-title").focus();
});

// The same fragment again is no change of it: asks once more for an index that did not come.
byId("all").addEventListener("click", ({ target }) => {
  const href = /** @type {HTMLElement} */ (target).closest("a")?.getAttribute("href");
  const isMissing = !known.has(chosen) && !byId("one-problem").hidden;
  if (href === `#${chosen}` && isMissing) void choose(chosen);
});

await withKey(async ({ offer }) => {
  const refusal = byId("refusal");
  if (!offer.index) return;
  const [listed, board] = await Promise.all([askDecimals("indices"), askJson("prices")]);
  const problem = listed.problem ?? board.problem;
  if (problem !== null) {
    refusal.textContent = problem.detail;
    refusal.hidden = false;
    return;
  }
  const { body } = board;
  indices = listed.body.indices;
  session = listed.body.session_utc;
  names = new Map([...body.memory, ...body.semiconductor].map(({ id, name }) => [id, name]));
  byId("session").innerHTML = sessionLine(body);
  byId("attribution").textContent = `${body.attribution} ${body.license}`;
  byId("access").hidden = byId("example").hidden = true;
  byId("market").hidden = false;
  byId("all").innerHTML = indicesTable(indices, true);
  const offered = rangesWithin(offer.depthDays);
  if (!offered.includes(range)) range = RANGES[0];
  ranges.innerHTML = offered
    .map((name) => `<button type="button" data-range="${name}">${name}</button>`)
    .join("");
  const [first] = indices;
  const id = idInAddress() ?? first?.id;
  if (id !== undefined) await choose(id);
});
