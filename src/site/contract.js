/** The page of a contract in the browser: the caller's own tier, with the chart of the closes. */
import { ask, askJson, storedKey } from "./api.js";
import { showChart } from "./chart-panel.js";
import { findingOf } from "./contributions.js";
import { equipCode } from "./copy.js";
import { closesOf } from "./history.js";
import { withKey } from "./key.js";
import { comparablePoints } from "./layout.js";
import { closesTable, detailsHtml, levelHtml, othersHtml } from "./record.js";

/** @typedef {import("./api.js").Problem} Problem */

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const id = location.pathname.slice(location.pathname.lastIndexOf("/") + 1);
const trouble = byId("trouble");

equipCode();

let isAsked = false;
await withKey(show);
// The service did not even say whose key it is.
if (!isAsked && storedKey() !== null) tellFailure(() => location.reload());

/** @param {import("./key.js").Caller} caller */
async function show(caller) {
  isAsked = true;
  const [record, history, board] = await Promise.all([
    askJson(`prices/${id}`),
    askHistory(),
    askJson("prices"),
  ]);
  const problem = record.problem ?? history.problem;
  const isAway = problem !== null && (problem.status === 0 || problem.status >= 500);
  trouble.replaceChildren();
  if (problem !== null) for (const place of document.querySelectorAll(".waiting")) place.remove();
  if (isAway) tellFailure(() => show(caller));
  else if (problem !== null) trouble.append(problem.detail);
  if (record.problem === null) showRecord(record.body, caller);
  if (board.problem === null) {
    const { memory, semiconductor } = board.body;
    const rows = [...memory, ...semiconductor];
    const own = rows.find((row) => row.id === id) ?? record.body;
    if (own !== null) byId("others").innerHTML = othersHtml(rows, id, own.segment);
  }
  if (record.problem === null && history.problem === null) {
    showHistory(record.body, history.csv, caller);
  }
}

/** The contract's closes as CSV. An answer may break off. */
async function askHistory() {
  const { response, problem } = await ask(`history.csv?ids=${id}`);
  if (response === null) return { csv: "", problem };
  const csv = await response.text().catch(() => null);
  if (csv !== null) return { csv, problem: null };
  return { csv: "", problem: { status: 0, detail: "The answer broke off." } };
}

/**
 * Says that the figures could not be loaded. What the page shows stays.
 *
 * @param {() => unknown} again
 */
function tellFailure(again) {
  const retry = document.createElement("button");
  retry.type = "button";
  retry.textContent = "Retry";
  retry.addEventListener("click", again);
  trouble.replaceChildren("Could not load. ", retry);
}

/**
 * @param {import("./record.js").ContractBody} body
 * @param {import("./key.js").Caller} caller
 */
function showRecord(body, { offer }) {
  byId("level").innerHTML = levelHtml(body, offer);
  byId("details").innerHTML = detailsHtml(body);
  byId("attribution").textContent = body.attribution;
}

/**
 * @param {import("./record.js").ContractBody} body
 * @param {string} csv
 * @param {import("./key.js").Caller} caller
 */
function showHistory(body, csv, { tier, offer }) {
  const points = closesOf(csv, body.corrections);
  const last = points.at(-1);
  if (last === undefined) {
    byId("chart").textContent = "Your tier's history has no close of it.";
    return;
  }
  byId("newest").innerHTML = closesTable(points);
  showChart(byId("chart"), {
    points,
    titleOf: (drawn) => findingOf(body.name, comparablePoints(drawn)),
    unit: body.unit,
    to: body.basis === "discontinued" ? last.date : body.session_utc.slice(0, 10),
    depthDays: offer.depthDays,
    decimals: Infinity,
    heightPx: matchMedia("(min-width: 720px)").matches ? 380 : 300,
    fileName: `chipboard-${body.session_utc.slice(0, 13)}Z-${tier}-${body.id}`,
    csv,
    notes: [
      `${body.ticker}, ${body.id}. Session ${body.session_utc.slice(0, 16).replace("T", " ")} UTC, chipboard.`,
      body.attribution,
    ],
  });
}
