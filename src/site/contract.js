/** The page of a contract in the browser: the caller's own tier, with the chart of the closes. */
import { ask, askJson } from "./api.js";
import { showChart } from "./chart-panel.js";
import { equipCode } from "./copy.js";
import { closesOf } from "./history.js";
import { withKey } from "./key.js";
import { escaped } from "./text.js";
import { closesTable, detailsHtml, levelHtml, othersHtml } from "./record.js";

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const id = location.pathname.slice(location.pathname.lastIndexOf("/") + 1);
const others = byId("others");

equipCode();

await withKey(async ({ tier, offer }) => {
  const [{ body, problem }, history, board] = await Promise.all([
    askJson(`prices/${id}`),
    ask(`history.csv?ids=${id}`),
    askJson(`prices?segment=${others.dataset["segment"]}`),
  ]);
  if (problem !== null) {
    const shown = problem.status === 404 ? "" : " The page shows what everybody sees.";
    const message = `<p class="error" role="alert">${escaped(problem.detail)}${shown}</p>`;
    return byId("level").insertAdjacentHTML("beforebegin", message);
  }
  byId("level").innerHTML = levelHtml(body, offer);
  byId("details").innerHTML = detailsHtml(body);
  byId("attribution").textContent = body.attribution;
  if (board.problem === null) {
    const { memory, semiconductor } = board.body;
    others.innerHTML = othersHtml([...memory, ...semiconductor], id);
  }
  // An answer may break off.
  const csv = (await history.response?.text().catch(() => null)) ?? "";
  const points = closesOf(csv, body.corrections);
  const last = points.at(-1);
  const place = /** @type {HTMLElement} */ (document.querySelector("#history .locked"));
  if (last === undefined) {
    place.textContent = history.problem?.detail ?? "Your tier's history has no close of it.";
    return;
  }
  place.className = place.innerHTML = "";
  byId("newest").innerHTML = closesTable(points);
  showChart(place, {
    points,
    titleOf: () => `${body.name}: daily closes`,
    unit: body.unit,
    to: body.basis === "discontinued" ? last.date : body.session_utc.slice(0, 10),
    depthDays: offer.depthDays,
    decimals: Infinity,
    fileName: `chipboard-${body.session_utc.slice(0, 13)}Z-${tier}-${body.id}`,
    csv,
    notes: [
      `${body.ticker}, ${body.id}. Session ${body.session_utc.slice(0, 16).replace("T", " ")} UTC, chipboard.`,
      body.attribution,
    ],
  });
});
