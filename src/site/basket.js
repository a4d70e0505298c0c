/** The basket page in the browser: picks contracts, prices them, and shows the request. */
import { ask, askDecimals, ROOT } from "./api.js";
import { closesIn, costsOf } from "./basket-costs.js";
import { faulty, focusFault, levelHtml, partsTable, sayAt, takeBack } from "./basket-table.js";
import { sessionLine } from "./board.js";
import { copyLink, showChart } from "./chart-panel.js";
import { contractLink, contributionsTable, findingOf, indexFigures } from "./contributions.js";
import { addCopyButtons } from "./copy.js";
import { withKey } from "./key.js";
import { changeOf, rounded } from "./decimal.js";
import { makePicker } from "./picker.js";
import { basketQuery, isSendable, programs, readBasket } from "./requests.js";
import { makeSortable } from "./table.js";
import { counted, foreign, signedText } from "./text.js";

/** @typedef {import("./board.js").Board} Board */
/** @typedef {import("./board.js").BoardRow} BoardRow */
/** @typedef {import("./api.js").Problem} Problem */
/** @typedef {import("./key.js").Caller} Caller */

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));

const form = /** @type {HTMLFormElement} */ (byId("basket"));
const find = /** @type {HTMLInputElement} */ (byId("find"));
const findError = byId("find-error");
const findCount = byId("find-count");
const box = byId("parts");
const told = byId("told");
const result = byId("result");
const shownPrograms = byId("programs");

const ORIGIN = ROOT.href.replace(/\/$/, "");
/** How many choices the picker shows. */
const MAX_FOUND = 50;
/** What pricing costs. */
const CALLS =
  "Each pricing costs one call, by quantity two, and so does opening a link to a basket.";

/** @type {ReadonlyMap<string, BoardRow>} */
let board = new Map();
/** The session of the board. */
let session = "";
/** @type {Caller} */
let caller;
/** @type {{ weighting: import("./requests.js").Weighting, parts: Map<string, string> }} */
let basket = { weighting: "quantities", parts: new Map() };

/** @param {string} query */
function showPrograms(query) {
  const texts = Object.values(programs(ORIGIN, query));
  for (const [at, code] of shownPrograms.querySelectorAll("code").entries()) {
    code.textContent = texts[at] ?? "";
  }
}
showPrograms(shownPrograms.dataset["query"] ?? "");
addCopyButtons(shownPrograms);

/** Takes the basket that the address names. Whether it names one. */
function readAddress() {
  const named = readBasket(location.hash.slice(1));
  if (named === null) return false;
  basket = { weighting: named.weighting, parts: new Map(named.parts) };
  const radio = form.querySelector(`[value=${named.weighting}]`);
  /** @type {HTMLInputElement} */ (radio).checked = true;
  changed(true);
  if (named.leftOut > 0) {
    findError.textContent = `${counted(named.leftOut, "item")} of the address left out: expected each contract once, by its id.`;
  }
  return true;
}

function keepInAddress() {
  const query = basketQuery(basket);
  history.replaceState(null, "", query === "" ? location.pathname : `#${query}`);
}

/**
 * Shows the basket after a change; figures of another basket go.
 *
 * @param {boolean} [isOther] whether rows are others than before
 */
function changed(isOther = false) {
  keepInAddress();
  findError.textContent = "";
  told.textContent = CALLS;
  told.classList.remove("error");
  result.hidden = true;
  if (isOther) box.innerHTML = partsTable(basket, board);
  byId("request").hidden = basket.parts.size === 0;
  showPrograms(basketQuery(basket));
}

/**
 * The contracts on the board that the basket does not have yet and that hold each word.
 *
 * @param {string} wanted
 */
function found(wanted) {
  const words = wanted.toLowerCase().split(/\s+/);
  const rows = [...board.values()].filter((row) => {
    const { id, name, ticker, segment, unit } = row;
    const text = [id, name, ticker, segment, unit].join(" ").toLowerCase();
    return !basket.parts.has(id) && words.every((word) => text.includes(word));
  });
  const isCut = rows.length > MAX_FOUND;
  findCount.textContent = `${counted(rows.length, "contract")} found${isCut ? `, ${MAX_FOUND} shown` : ""}`;
  return rows.slice(0, MAX_FOUND).map((row) => ({
    id: row.id,
    html: `${foreign(row.name)} <small>${levelHtml(row)}</small>`,
  }));
}

/** @param {string} id */
function add(id) {
  findCount.textContent = "";
  basket.parts.set(id, "1");
  changed(true);
}

box.addEventListener("click", ({ target }) => {
  const id = /** @type {HTMLElement} */ (target).dataset["remove"];
  if (id === undefined) return;
  const at = [...basket.parts.keys()].indexOf(id);
  basket.parts.delete(id);
  changed(true);
  const next = box.querySelectorAll("button")[Math.min(at, basket.parts.size - 1)];
  (next ?? find).focus();
});

box.addEventListener("input", ({ target }) => {
  const field = /** @type {HTMLInputElement} */ (target);
  const id = field.dataset["id"] ?? "";
  basket.parts.set(id, field.value.trim());
  takeBack(box, id);
  changed();
});

for (const radio of form.querySelectorAll("[name=weighting]")) {
  radio.addEventListener("change", () => {
    const { value } = /** @type {HTMLInputElement} */ (radio);
    basket.weighting = /** @type {import("./requests.js").Weighting} */ (value);
    changed(true);
  });
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  findError.textContent = "";
  void price().then(() => focusFault(box));
});

byId("link").addEventListener("click", ({ target }) => {
  void copyLink(/** @type {HTMLElement} */ (target));
});

/** The query whose price is asked for; empty: none. */
let asked = "";

/** Prices the basket, and says what is wrong with it at its rows. */
async function price() {
  told.classList.remove("error");
  for (const id of basket.parts.keys()) takeBack(box, id);
  if (basket.parts.size === 0) {
    findError.textContent = "Add a contract first.";
    find.focus();
    return;
  }
  if (basket.weighting !== "equal") {
    for (const [id, amount] of basket.parts) {
      if (!isSendable(amount))
        sayAt(box, id, true, "Expected a decimal with a point, such as 1.5.");
    }
    if (faulty(box) !== null) return;
  }
  const query = basketQuery(basket);
  // A second press must not cost a second call.
  if (query === asked) return;
  asked = query;
  told.textContent = "Asking for the price.";
  const isByQuantity = basket.weighting === "quantities";
  reserve(isByQuantity);
  const { body, problem } = await askDecimals(`index?${query}`);
  if (query === asked) asked = "";
  // The basket may have changed meanwhile: then the answer is not the price of what is shown.
  if (query !== basketQuery(basket)) return;
  if (problem !== null) {
    refuse(problem);
    return;
  }
  const isNewer = body.session_utc !== session;
  const level = rounded(changeOf(body.level));
  told.textContent =
    (level === null
      ? "Priced, without a change against a year ago: a contract has no comparable level then."
      : `Priced: ${signedText(level)} % against a year ago.`) +
    (isNewer
      ? " A newer session came meanwhile: load the page again to see its levels above."
      : "");
  byId("figures").innerHTML = indexFigures(body);
  const contributions = byId("contributions");
  contributions.innerHTML = contributionsTable(body.contributions, (id) =>
    contractLink(id, board.get(id)?.name),
  );
  const order = byId("order");
  makeSortable(/** @type {HTMLTableElement} */ (contributions.firstElementChild), (words) => {
    order.textContent = words;
  });
  if (isByQuantity) await showCosts(query, body);
}

/**
 * Shows the place of a price before it is there.
 *
 * @param {boolean} isByQuantity
 */
function reserve(isByQuantity) {
  result.hidden = false;
  byId("year").hidden = !isByQuantity;
  for (const id of ["figures", "contributions", "order", "costs", "year-problem"]) {
    byId(id).replaceChildren();
  }
}

/**
 * Shows what the basket cost at each close.
 *
 * @param {string} query that of the price
 * @param {import("./contributions.js").IndexBody & { session_utc: string, attribution: string }} body the price
 */
async function showCosts(query, { session_utc, attribution, level }) {
  const parts = new Map(basket.parts);
  const { response, problem } = await ask(`history.csv?ids=${[...parts.keys()].join()}`);
  // An answer may break off.
  const csv = (await response?.text().catch(() => "")) ?? "";
  // Another basket is shown by now.
  if (query !== basketQuery(basket)) return;
  const points = costsOf(closesIn(csv), parts);
  if (points.length === 0) {
    byId("year-problem").textContent =
      problem?.detail ?? "On no day all contracts have a close that compares with today’s.";
    return;
  }
  const rows = points.map(({ date, text }) => `${date},${text}\r\n`);
  showChart(byId("costs"), {
    points,
    title: findingOf("The basket", level),
    unit: "USD",
    to: session_utc.slice(0, 10),
    depthDays: caller.offer.depthDays,
    decimals: Infinity,
    fileName: `chipboard-${session_utc.slice(0, 13)}Z-${caller.tier}-basket`,
    csv: `date,cost_usd\r\n${rows.join("")}`,
    notes: [attribution, `What ${query} cost together at each close.`],
  });
}

/** The service shortens long values in its errors. */
const SHOWN_CHARACTERS = 60;

/**
 * Shows an error: each fault at the field that it names, all others beside the button.
 *
 * @param {Problem} problem
 */
function refuse({ detail, errors = [] }) {
  result.hidden = true;
  const others = errors.filter(({ parameter, value, detail: why }) => {
    const shown = (/** @type {string} */ text) =>
      text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
    const named = [...basket.parts].filter(
      ([id, amount]) => shown(parameter === "ids" ? id : amount) === value,
    );
    for (const [id] of named) {
      sayAt(box, id, parameter !== "ids", `${value === "" ? "Empty" : value}: ${why}. `);
    }
    if (named.length === 0 && parameter === "ids") findError.textContent = `${why}.`;
    return named.length === 0 && parameter !== "ids";
  });
  const isElsewhere = errors.length > 0 && others.length === 0;
  told.textContent = isElsewhere ? "Not priced: see above. Errors cost no call." : detail;
  told.classList.add("error");
}

/** Takes and prices the basket that the address names. Whether it names one. */
function open() {
  const isNamed = readAddress();
  const { parts, weighting } = basket;
  const isWhole = weighting === "equal" || [...parts.values()].every((amount) => amount !== "");
  if (isNamed && parts.size > 0 && isWhole) void price();
  return isNamed;
}

await withKey(async (known) => {
  caller = known;
  const { tier, offer } = caller;
  byId("tier").textContent = tier;
  byId("upgrade").hidden = offer.baskets;
  byId("access").hidden = true;
  if (!offer.baskets) return;
  const { response, problem } = await ask("prices");
  if (response === null) {
    byId("refusal").textContent = problem.detail;
    byId("refusal").hidden = false;
    return;
  }
  const body = /** @type {Board} */ (await response.json());
  board = new Map([...body.memory, ...body.semiconductor].map((row) => [row.id, row]));
  session = body.session_utc;
  byId("session").innerHTML = sessionLine(body);
  byId("attribution").textContent = body.attribution;
  byId("license").textContent = body.license;
  byId("example").hidden = true;
  byId("tool").hidden = false;
  if (!open()) changed(true);
  // Not "hashchange": browsers leave that out where the range in the address differs, too.
  addEventListener("popstate", () => {
    // Another fragment is a place on the page, such as the one that the skip link names.
    if (!open()) keepInAddress();
  });
  makePicker(find, byId("found"), found, add);
});
