/** The basket page in the browser: picks contracts, prices them, and shows the request. */
import { ask, askDecimals, ROOT } from "./api.js";
import { sessionLine } from "./board.js";
import { chart } from "./chart.js";
import { addCursor } from "./cursor.js";
import { startOf } from "./history.js";
import { levelHtml, partsTable } from "./basket-table.js";
import { contractLink, contributionsTable, indexFigures } from "./contributions.js";
import { addCopyButtons } from "./copy.js";
import { withKey } from "./key.js";
import { makePicker } from "./picker.js";
import { basketQuery, isSendable, programsHtml, readBasket } from "./requests.js";
import { costsOf, recentCloses } from "./recent-closes.js";
import { makeSortable } from "./table.js";
import { counted, escaped, figureHtml, foreign } from "./text.js";

/** @typedef {import("./board.js").Board} Board */
/** @typedef {import("./board.js").BoardRow} BoardRow */
/** @typedef {import("./api.js").Problem} Problem */

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));

const form = /** @type {HTMLFormElement} */ (byId("basket"));
const find = /** @type {HTMLInputElement} */ (byId("find"));
const findError = byId("find-error");
const findCount = byId("find-count");
const box = byId("parts");
const told = byId("told");
const result = byId("result");
const programs = byId("programs");

const ORIGIN = ROOT.href.replace(/\/$/, "");
/** How many choices the picker shows. */
const MAX_FOUND = 50;
/** More than a year has. */
const DAYS = 367;

/** @type {ReadonlyMap<string, BoardRow>} */
let board = new Map();
/** The session of the board. */
let session = "";
/** @type {{ weighting: import("./requests.js").Weighting, parts: Map<string, string> }} */
let basket = { weighting: "quantities", parts: new Map() };

/** @param {string} query */
function showPrograms(query) {
  programs.innerHTML = programsHtml(ORIGIN, query);
  addCopyButtons(programs);
}
showPrograms(programs.dataset["query"] ?? "");

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
  told.textContent = "Each pricing costs one call, by quantity two.";
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
  takeBack(id);
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
  void price();
});

/** The query whose price is asked for; empty: none. */
let asked = "";

async function price() {
  told.classList.remove("error");
  findError.textContent = "";
  for (const id of basket.parts.keys()) takeBack(id);
  if (basket.parts.size === 0) {
    findError.textContent = "Add a contract first.";
    find.focus();
    return;
  }
  if (basket.weighting !== "equal") {
    for (const [id, amount] of basket.parts) {
      if (!isSendable(amount)) sayAt(id, true, "Expected a decimal with a point, such as 1.5.");
    }
    if (focusFault()) return;
  }
  const query = basketQuery(basket);
  // A second press must not cost a second call.
  if (query === asked) return;
  asked = query;
  told.textContent = "Asking for the price.";
  const { body, problem } = await askDecimals(`index?${query}`);
  if (query === asked) asked = "";
  // The basket may have changed meanwhile: then the answer is not the price of what is shown.
  if (query !== basketQuery(basket)) return;
  if (problem !== null) {
    refuse(problem);
    return;
  }
  const isNewer = body.session_utc !== session;
  told.textContent =
    (body.level === null
      ? "Priced, without a level: a contract has no comparable base."
      : `Priced: level ${body.level}.`) +
    (isNewer
      ? " A newer session came meanwhile: load the page again to see its levels above."
      : "");
  byId("figures").innerHTML = indexFigures(body);
  const contributions = byId("contributions");
  contributions.innerHTML = contributionsTable(body.contributions, (id) =>
    contractLink(id, board.get(id)?.name),
  );
  const order = byId("order");
  order.textContent = "";
  makeSortable(/** @type {HTMLTableElement} */ (contributions.firstElementChild), (words) => {
    order.textContent = words;
  });
  result.hidden = false;
  byId("year").hidden = true;
  if (basket.weighting === "quantities") await showYear(query, body.session_utc.slice(0, 10));
}

/**
 * Shows what the basket cost on each day of the year.
 *
 * @param {string} query that of the price
 * @param {string} to the day of the price
 */
async function showYear(query, to) {
  const parts = new Map(basket.parts);
  const from = startOf("1 y", to);
  const { response, problem } = await ask(
    `history.csv?ids=${[...parts.keys()].join()}&from=${from}`,
  );
  const read = response?.body ? recentCloses(response.body, to, DAYS) : null;
  // An answer may break off.
  const closes = (await read?.catch(() => null)) ?? new Map();
  // Another basket is shown by now.
  if (query !== basketQuery(basket)) return;
  const { points, breaks } = costsOf(closes, parts);
  const box = /** @type {HTMLElement} */ (byId("year").querySelector(".charted"));
  const readout = byId("readout");
  byId("year").hidden = false;
  box.innerHTML = "";
  readout.textContent = problem?.detail ?? "On no day of the year all contracts have a close.";
  if (points.length === 0) return;
  readout.textContent = "";
  const options = { title: "Cost of the basket at each close", unit: "USD", breaks, from, to };
  box.innerHTML = chart(points, options);
  addCursor(box, points, options, ({ date, close }) => {
    readout.innerHTML = `<time>${escaped(date)}</time> <b>${figureHtml(close)}</b> USD`;
  });
}

/** The service shortens long values in its errors. */
const SHOWN_CHARACTERS = 60;

/**
 * Shows a refusal: each error at the field that it names, all others beside the button.
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
      sayAt(id, parameter !== "ids", `${value === "" ? "Empty" : value}: ${why}. `);
    }
    if (named.length === 0 && parameter === "ids") findError.textContent = `${why}.`;
    return named.length === 0 && parameter !== "ids";
  });
  const isElsewhere = errors.length > 0 && others.length === 0;
  told.textContent = isElsewhere ? "Not priced: see above. Refusals cost no call." : detail;
  told.classList.add("error");
  focusFault();
}

/**
 * Says what is wrong with a contract, or with its amount, at its row.
 *
 * @param {string} id
 * @param {boolean} isOfAmount
 * @param {string} why
 */
function sayAt(id, isOfAmount, why) {
  const row = rowOf(id);
  if (isOfAmount) row?.querySelector("input")?.setAttribute("aria-invalid", "true");
  row?.querySelector(".error")?.append(why);
}

/** @param {string} id */
function takeBack(id) {
  const row = rowOf(id);
  row?.querySelector("input")?.removeAttribute("aria-invalid");
  row?.querySelector(".error")?.replaceChildren();
}

/** @param {string} id */
const rowOf = (id) => box.querySelector(`tr[data-id="${id}"]`);

/** Goes to the first contract with a fault. Whether there is one. */
function focusFault() {
  const row = box.querySelector("tr:has(.error:not(:empty))");
  (row?.querySelector("input") ?? row?.querySelector("button"))?.focus();
  return row !== null;
}

await withKey(async ({ tier, offer }) => {
  const refusal = byId("refusal");
  const needed = byId("needed").textContent;
  refusal.hidden = offer.baskets;
  refusal.textContent = `Your key is of the tier ${tier}. Baskets need ${needed}.`;
  if (!offer.baskets) return;
  const { response, problem } = await ask("prices");
  if (response === null) {
    refusal.textContent = problem.detail;
    refusal.hidden = false;
    return;
  }
  const body = /** @type {Board} */ (await response.json());
  board = new Map([...body.memory, ...body.semiconductor].map((row) => [row.id, row]));
  session = body.session_utc;
  byId("session").innerHTML = sessionLine(body);
  byId("attribution").textContent = `${body.attribution} ${body.license}`;
  byId("access").hidden = byId("example").hidden = true;
  byId("tool").hidden = false;
  if (!readAddress()) changed(true);
  addEventListener("hashchange", () => {
    // Another fragment is a place on the page, such as the one that the skip link names.
    if (!readAddress()) keepInAddress();
  });
  makePicker(find, byId("found"), found, add);
});
