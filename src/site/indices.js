/** The page of the indices in the browser: all of them, and one with its series and contributions. */
import { askDecimals, askJson, endProblem, tellProblem } from "./api.js";
import { explainMoment, momentProblem, momentQuery, offerDays, tellAsOf } from "./as-of.js";
import { sessionLine } from "./board.js";
import { showChart } from "./chart-panel.js";
import {
  closesOfSeries,
  contributionsTable,
  indexFigures,
  partsOfSeries,
  seriesEvents,
  seriesPartsTable,
  totalsHtml,
} from "./contributions.js";
import { contractLink } from "./html.js";
import { indicesTable } from "./indices-table.js";
import { withKey } from "./key.js";
import { changesOfSeries, lineOfIndex } from "./levels.js";
import { indexName } from "./overview.js";
import { sessionNote } from "./save.js";
import { offerSettlements } from "./settlements.js";
import { makeSortable } from "./table.js";
import { counted, escaped, foreign, grouped } from "./text.js";

/** @typedef {import("./contributions.js").OneIndex & { publication: string | null }} OneIndex */

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** How many contributions are shown unless all are asked for. */
const LARGEST = 20;
const more = /** @type {HTMLButtonElement} */ (byId("more"));
const trouble = byId("trouble");

/** Why a contract is not in the rolling base. */
const WHY = {
  no_base_level: "no level a year before the session",
  break: "a break since a year before the session",
};

/** @type {readonly import("./indices-table.js").ListedIndex[]} */
let indices = [];
/** The records of the board, by id. @type {ReadonlyMap<string, import("./board.js").BoardRow>} */
let records = new Map();
/** The answers so far, by id: choosing an index again costs nothing. @type {Map<string, OneIndex>} */
const known = new Map();
/** The session of the table. */
let session = "";
/** The id of the index that is shown or asked for, and of the one that is shown. */
let chosen = "";
let drawn = "";
/** Whether all contributions are shown, not only the largest. */
let isWhole = false;
/** @type {import("./key.js").Caller} */
let caller;

/** The id of the index that the address names; null: it names none. */
function idInAddress() {
  const id = location.hash.slice(1);
  return indices.some((index) => index.id === id) ? id : null;
}

/** @param {string} id of the list */
const nameOfIndex = (id) => indexName(indices.find((index) => index.id === id) ?? { id, name: id });

/** @param {string} id */
const nameOf = (id) => contractLink(id, records.get(id)?.name);

/**
 * Shows an index: from its answer, if it came before. If it does not come, the one that was shown stays.
 *
 * @param {string} id
 */
async function choose(id) {
  mark(id);
  endProblem(byId("one-problem"));
  if (!known.has(id)) {
    byId("one").ariaBusy = "true";
    const { body, publication, problem } = await askDecimals(
      withAsOf(`indices/${encodeURIComponent(id)}`),
    );
    if (problem === null) known.set(id, { ...body, publication });
    else if (id === chosen) keepDrawn(problem);
  }
  const body = known.get(id);
  if (id === chosen && body !== undefined) show(body);
}

/**
 * Says that the chosen index did not come, and goes back to the one that is shown, if there is one.
 *
 * @param {import("./api.js").Problem} problem
 */
function keepDrawn(problem) {
  const id = chosen;
  const detail = `Could not load ${nameOfIndex(id)}. ${problem.detail}`;
  byId("one").ariaBusy = "false";
  tellProblem(byId("one-problem"), { ...problem, detail }, () => {
    history.replaceState(null, "", `#${id}`);
    void choose(id);
  });
  byId("one-body").hidden = byId("parts").hidden = drawn === "";
  if (drawn === "") return;
  history.replaceState(null, "", `#${drawn}`);
  mark(drawn);
}

/** Marks an index as the one that is shown or asked for. @param {string} id */
function mark(id) {
  chosen = id;
  for (const link of byId("all").querySelectorAll("a")) {
    link.ariaCurrent = link.hash === `#${id}` ? "true" : null;
  }
  const name = nameOfIndex(id);
  byId("one-title").innerHTML = foreign(name);
  byId("one").dataset["id"] = id;
  document.title = `${name} · Indices · chipboard`;
}

/** @param {OneIndex} body */
function show(body) {
  drawn = chosen;
  byId("one").ariaBusy = "false";
  const problem = byId("one-problem");
  problem.hidden = body.session_utc === session;
  problem.textContent =
    "A newer session came meanwhile. Load the page again to see it in the table.";
  byId("one-body").hidden = byId("parts").hidden = false;
  showSeries(body);
  byId("figures").innerHTML = indexFigures(body);
  byId("totals").innerHTML = totalsHtml(body.series);
  const settled = /** @type {HTMLDetailsElement} */ (byId("settlements"));
  offerSettlements(settled, "index", chosen, momentQuery(), true);
  showContributions(body);
  byId("excluded").hidden = body.excluded.length === 0;
  byId("excluded-count").textContent =
    `${counted(body.excluded.length, "contract")} not in the rolling base`;
  byId("excluded-list").innerHTML = body.excluded
    .map(({ id, reason }) => `<li data-id="${escaped(id)}">${nameOf(id)}: ${WHY[reason]}</li>`)
    .join("");
}

/** @param {OneIndex} body */
function showSeries({ series, session_utc, attribution, publication }) {
  const { base } = series;
  const box = byId("series");
  box.textContent = "The series has no close yet.";
  if (base === null) return;
  const events = seriesEvents(series);
  byId("events").innerHTML = events.map((words) => `<li>${foreign(words)}</li>`).join("");
  const name = nameOfIndex(chosen);
  const closes = closesOfSeries(series);
  showChart(box, {
    line: lineOfIndex(closes),
    name,
    changes: changesOfSeries(series, closes),
    unit: `points, ${base.date} = ${base.level}`,
    base: Number(base.level),
    depthDays: caller.offer.depthDays,
    decimals: 2,
    heightPx: matchMedia("(min-width: 1280px)").matches ? 460 : 300,
    fileName: `chipboard-${session_utc.slice(0, 13)}Z-${caller.tier}-index-${chosen}`,
    column: chosen,
    ...(publication !== null && { publication }),
    notes: [sessionNote(session_utc, publication), ...events, attribution],
  });
}

/** @param {OneIndex} body */
function showContributions(body) {
  // An older publication has contributions to the rolling base alone.
  if (body.series.changes === undefined) {
    showLargest(body.contributions, ({ contribution }) => contribution, contributionsTable);
  } else showLargest(partsOfSeries(body, records), ({ year }) => year, seriesPartsTable);
}

/**
 * Shows the largest items, or all, in the order of their sizes.
 *
 * @template Item
 * @param {readonly Item[]} items
 * @param {(item: Item) => string | null} sizeOf
 * @param {(items: readonly Item[], name: (id: string) => string) => string} tableOf HTML
 */
function showLargest(items, sizeOf, tableOf) {
  const sized = items.map((item) => ({ item, size: Number(sizeOf(item) ?? 0) }));
  const largest = sized.toSorted((a, b) => Math.abs(b.size) - Math.abs(a.size));
  const listed = largest.slice(0, isWhole ? Infinity : LARGEST).toSorted((a, b) => b.size - a.size);
  const all = sized.length;
  const count =
    listed.length < all ? `The ${LARGEST} largest of ${counted(all, "contribution")}` : "";
  const box = byId("contributions");
  const order = byId("order");
  box.innerHTML = tableOf(
    listed.map(({ item }) => item),
    nameOf,
  );
  order.textContent = count;
  more.hidden = all <= LARGEST;
  more.textContent = isWhole
    ? `Show the ${LARGEST} largest`
    : `Show all ${grouped(String(all), 0)}`;
  box.querySelector("th:nth-child(2)")?.setAttribute("aria-sort", "descending");
  makeSortable(/** @type {HTMLTableElement} */ (box.firstElementChild), (words) => {
    order.textContent = [count, words].filter(Boolean).join(", ");
  });
}

more.addEventListener("click", () => {
  const body = known.get(chosen);
  if (body === undefined) return;
  isWhole = !isWhole;
  showContributions(body);
});

// Not "hashchange": browsers omit it if the range in the address also differs.
addEventListener("popstate", () => {
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

/** The path as of the moment that the address names. @param {string} path */
const withAsOf = (path) => (momentQuery() === "" ? path : `${path}?${momentQuery()}`);

/** How often the service was asked for the page: of two answers the later question counts. */
let rounds = 0;
await withKey(begin);

/**
 * Asks for all indices, and shows the one that the address names.
 *
 * @param {import("./key.js").Caller} one
 * @returns {Promise<import("./api.js").Problem | null>}
 */
async function begin(one) {
  caller = one;
  if (!caller.offer.index) return null;
  rounds += 1;
  const round = rounds;
  known.clear();
  offerDays(caller, () => void again());
  const fault = momentProblem();
  if (fault !== null) {
    byId("market").hidden = true;
    return fault;
  }
  const [listed, board, spark] = await Promise.all([
    askDecimals(withAsOf("indices")),
    askJson(withAsOf("prices")),
    askJson(withAsOf("sparklines")),
  ]);
  if (round !== rounds) return null;
  const problem = listed.problem ?? board.problem ?? spark.problem;
  if (problem !== null) {
    // No figure of another time stands below the problem.
    byId("market").hidden ||= momentQuery() !== "";
    return explainMoment(problem);
  }
  const { body } = board;
  indices = listed.body.indices;
  session = listed.body.session_utc;
  records = new Map([...body.memory, ...body.semiconductor].map((row) => [row.id, row]));
  byId("session").innerHTML = momentQuery() === "" ? sessionLine(body) : "";
  tellAsOf(board.publication);
  byId("attribution").textContent = body.attribution;
  byId("license").textContent = body.license;
  byId("access").hidden = true;
  byId("market").hidden = false;
  /** @type {readonly import("./overview.js").Line[]} */
  const lines = spark.snapshot === listed.snapshot ? (spark.body.indices ?? []) : [];
  byId("all").innerHTML = indicesTable(
    indices,
    true,
    new Map(lines.map((line) => [line.id, line])),
  );
  const [first] = indices;
  const id = idInAddress() ?? first?.id;
  if (id === undefined) return null;
  // No other text of an address stays in it: it may be a key.
  if (location.hash !== "" && idInAddress() === null) history.replaceState(null, "", `#${id}`);
  // The drawing is as of another moment.
  drawn = "";
  await choose(id);
  return null;
}

/** Shows the page as of another moment, or the problem. */
async function again() {
  endProblem(trouble);
  const problem = await begin(caller);
  if (problem !== null) tellProblem(trouble, problem, () => void again());
}
