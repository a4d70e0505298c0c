/** The page of a contract in the browser: the caller's own tier, with the chart of the closes. */
import { ask, BROKEN_OFF, endProblem, tellProblem } from "./api.js";
import { explainMoment, momentProblem, momentQuery, offerDays, tellAsOf } from "./as-of.js";
import { showChart } from "./chart-panel.js";
import { equipCode } from "./copy.js";
import { lineOfContract } from "./history.js";
import { withKey } from "./key.js";
import { changesOfContract } from "./levels.js";
import { closesTable, detailsHtml, levelHtml, othersHtml } from "./record.js";
import { sessionNote } from "./save.js";
import { offerSettlements } from "./settlements.js";
import { foreign } from "./text.js";

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const id = location.pathname.slice(location.pathname.lastIndexOf("/") + 1);
const trouble = byId("trouble");
/** The address that the page's figures come from, as its programs have it. */
const url = document.querySelector("[data-url]")?.textContent ?? "";

equipCode();

/** How often the service was asked: of two answers the later question counts. */
let rounds = 0;
await withKey(show);
// A link to the proof leads there when the parts above it have come.
const proof = /** @type {HTMLDetailsElement | null} */ (document.getElementById("proof"));
if (location.hash === "#proof" && proof !== null) {
  proof.open = true;
  proof.scrollIntoView();
}

/** @param {import("./key.js").Caller} caller */
async function show(caller) {
  rounds += 1;
  const round = rounds;
  const query = momentQuery();
  offerDays(caller, () => void show(caller));
  const fault = momentProblem();
  if (fault !== null) return showNothing(fault, caller);
  const [record, history, board] = await Promise.all([
    receive(`prices/${id}?${query}`, (response) => response.json()),
    receive(`history.csv?ids=${id}&${query}`, (response) => response.text()),
    receive(`prices?${query}`, (response) => response.json()),
  ]);
  if (round !== rounds) return;
  const problem = record.problem ?? history.problem;
  endProblem(trouble);
  const settled = /** @type {HTMLDetailsElement} */ (byId("settlements"));
  offerSettlements(settled, "contract", id, query, problem === null && caller.offer.depthDays > 0);
  if (problem !== null && query !== "") return showNothing(await explainMoment(problem), caller);
  if (problem !== null) tellProblem(trouble, problem, () => void show(caller));
  if (record.content !== null) {
    // A board of another session would tell another delay.
    const isSame = board.content?.session_utc === record.content.session_utc;
    const next = isSame && query === "" ? board.content.next_session_utc : null;
    showRecord(record.content, caller, next);
    tellPublication(record.publication);
  }
  if (board.content !== null) {
    const { memory, semiconductor } = board.content;
    const rows = [...memory, ...semiconductor];
    const own = rows.find((row) => row.id === id) ?? record.content;
    if (own !== null) byId("others").innerHTML = othersHtml(rows, id, own.segment);
  }
  if (record.content !== null) {
    for (const part of document.querySelectorAll(".awaits")) part.classList.remove("awaits");
  }
  if (record.content !== null && history.content !== null) {
    showHistory(record.content, history.content, history.publication, caller);
  }
}

/**
 * Says why the address cannot be shown. No figure of another time stands below it.
 *
 * @param {import("./api.js").Problem} problem
 * @param {import("./key.js").Caller} caller
 */
function showNothing(problem, caller) {
  for (const part of ["level", "details", "newest", "others", "chart"])
    byId(part).replaceChildren();
  for (const part of document.querySelectorAll(".awaits")) part.classList.remove("awaits");
  byId("as-known").textContent = "";
  byId("request").hidden = true;
  tellProblem(trouble, problem, () => void show(caller));
}

/**
 * An answer of the service with the publication that it is from. An answer may break off.
 *
 * @param {string} path
 * @param {(response: Response) => Promise<any>} read
 */
async function receive(path, read) {
  const { response, problem } = await ask(path.replace(/[?&]$/, ""));
  if (response === null) return { content: null, publication: null, problem };
  const content = await read(response).catch(() => null);
  const broken = content === null ? BROKEN_OFF : null;
  return { content, publication: response.headers.get("x-publication"), problem: broken };
}

/**
 * Says as of when the page is, and names the publication in the requests and in the proof.
 *
 * @param {string | null} publication
 */
function tellPublication(publication) {
  tellAsOf(publication);
  const exact = publication === null ? url : `${url}?publication=${publication}`;
  for (const place of document.querySelectorAll("[data-url]")) {
    place.textContent = momentQuery() === "" ? url : exact;
  }
  for (const place of document.querySelectorAll("[data-proof]")) place.textContent = exact;
  for (const place of document.querySelectorAll("[data-option]")) {
    place.textContent = '--key "$KEY" ';
  }
  byId("request").hidden = byId("proof").hidden = false;
}

/**
 * @param {import("./record.js").ContractBody} body
 * @param {import("./key.js").Caller} caller
 * @param {string | null} next when the next session is due
 */
function showRecord(body, { offer }, next) {
  /** @type {HTMLElement} */ (document.querySelector("h1")).innerHTML = foreign(body.name);
  byId("level").innerHTML = levelHtml(body, offer, next);
  byId("details").innerHTML = detailsHtml(body);
  byId("attribution").textContent = body.attribution;
}

/**
 * @param {import("./record.js").ContractBody} body
 * @param {string} csv
 * @param {string | null} publication
 * @param {import("./key.js").Caller} caller
 */
function showHistory(body, csv, publication, { tier, offer }) {
  const line = lineOfContract(body, csv);
  if (line.levels.length === 0) {
    byId("chart").textContent = "Your tier's history has no close of it.";
    byId("newest").replaceChildren();
    return;
  }
  byId("newest").innerHTML = closesTable(line.levels);
  showChart(byId("chart"), {
    line,
    name: body.name,
    changes: changesOfContract(body),
    unit: body.unit,
    depthDays: offer.depthDays,
    decimals: Infinity,
    heightPx: matchMedia("(min-width: 720px)").matches ? 380 : 300,
    fileName: `chipboard-${body.session_utc.slice(0, 13)}Z-${tier}-${body.id}`,
    column: body.id,
    capacityGb: body.capacity_gb,
    breaks: body.breaks,
    request: historyUrl(publication),
    ...(publication !== null && { publication }),
    notes: [
      `${body.ticker}, ${body.id}. Source: ${body.source}`,
      sessionNote(body.session_utc, publication),
      body.attribution,
    ],
  });
}

/** The request for the closes of the chart, to the byte. @param {string | null} publication */
function historyUrl(publication) {
  const query = `ids=${id}${publication === null ? "" : `&publication=${publication}`}`;
  return url.replace(/prices\/[^/]*$/, `history.csv?${query}`);
}
