/** The basket page in the browser: picks contracts, prices them, and shows the request. */
import { ask, askDecimals, askJson, ROOT, tellDetail, tellProblem } from "./api.js";
import { costsOf } from "./basket-costs.js";
import { focusFault, levelHtml, partsTable, sayAt, takeBack } from "./basket-table.js";
import { sessionLine } from "./board.js";
import { showChart } from "./chart-panel.js";
import { basketFigures, changesOfBasket, contributionsTable } from "./contributions.js";
import { equipCode } from "./copy.js";
import { closesById } from "./history.js";
import { contractLink } from "./html.js";
import { withKey } from "./key.js";
import { changeWords, sessionOf, startOf } from "./levels.js";
import { daysOnPage } from "./page-days.js";
import { choicesWith, makePicker } from "./picker.js";
import { basketQuery, basketUrl, readBasket } from "./requests.js";
import { copyLink, sessionNote } from "./save.js";
import { makeSortable } from "./table.js";
import { counted, foreign } from "./text.js";

/** @typedef {import("./board.js").BoardRow} BoardRow */

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));

const form = /** @type {HTMLFormElement} */ (byId("basket"));
const find = /** @type {HTMLInputElement} */ (byId("find"));
const findError = byId("find-error");
const findCount = byId("find-count");
const box = byId("parts");
const status = byId("status");
const result = byId("result");

const carryDaysOf = daysOnPage("carry");
const ORIGIN = ROOT.href.replace(/\/$/, "");
const CALLS = "Pricing uses 1 call, 2 with quantities.";

/** @type {ReadonlyMap<string, BoardRow>} */
let board = new Map();
/** The present id of each renamed contract, by its former ids. @type {ReadonlyMap<string, string>} */
let presentIds = new Map();
/** The session of the board. */
let session = "";
/** @type {import("./key.js").Caller} */
let caller;
/** @type {{ weighting: import("./requests.js").Weighting, parts: Map<string, string> }} */
let basket = { weighting: "quantities", parts: new Map() };

/** @param {string} query */
function showPrograms(query) {
  const url = basketUrl(ORIGIN, query);
  for (const place of byId("programs").querySelectorAll("[data-url]")) place.textContent = url;
}
showPrograms(byId("programs").dataset["query"] ?? "");
equipCode();

/** Takes the basket that the address names. Whether it names one. */
function readAddress() {
  const named = readBasket(location.hash.slice(1), presentIds);
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
  status.textContent = CALLS;
  status.classList.remove("error");
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
  const choices = [...board.values()].flatMap((row) => {
    const { id, name, ticker, segment, unit } = row;
    return basket.parts.has(id) ? [] : [{ row, text: [id, name, ticker, segment, unit].join(" ") }];
  });
  return choicesWith(wanted, choices, "contract", findCount).map(({ row }) => ({
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

/** Prices the basket, and shows its problems at its rows. */
async function price() {
  for (const id of basket.parts.keys()) takeBack(box, id);
  const query = basketQuery(basket);
  if (query === "") {
    findError.textContent = "Add a contract first.";
    find.focus();
    return;
  }
  // A second press must not cost a second call.
  if (query === asked) return;
  asked = query;
  status.textContent = "Asking for the price.";
  status.classList.remove("error");
  const isByQuantity = basket.weighting === "quantities";
  // The place of the price, before it is there.
  result.hidden = false;
  byId("year").hidden = !isByQuantity;
  for (const place of result.querySelectorAll(
    "#figures, #contributions, #order, #costs, #year-problem",
  )) {
    place.replaceChildren();
  }
  const { body, problem } = await askDecimals(`index?${query}`);
  if (query === asked) asked = "";
  // If the basket has changed meanwhile, the answer is not the price of the shown one.
  if (query !== basketQuery(basket)) return;
  if (problem !== null) {
    refuse(problem);
    return;
  }
  const [id = ""] = basket.parts.keys();
  const only = basket.parts.size === 1 && body.session_utc === session ? board.get(id) : undefined;
  const changes = changesOfBasket(body, only);
  status.textContent =
    (changes["1y"] === null
      ? "Priced, without a change against a year ago: a contract has no comparable level then."
      : `Priced. ${changeWords("1y", changes)}.`) +
    (body.session_utc !== session
      ? " A newer session came meanwhile: load the page again to see its levels above."
      : "");
  byId("figures").innerHTML = basketFigures(body, changes);
  const contributions = byId("contributions");
  contributions.innerHTML = contributionsTable(body.contributions, (id) =>
    contractLink(id, board.get(id)?.name),
  );
  const order = byId("order");
  makeSortable(/** @type {HTMLTableElement} */ (contributions.firstElementChild), (words) => {
    order.textContent = words;
  });
  if (isByQuantity) await showCosts(query, body, changes);
}

/**
 * Shows what the basket cost on each day.
 *
 * @param {string} query as asked for the price
 * @param {import("./contributions.js").Priced} body the price
 * @param {import("./levels.js").Changes} changes
 */
async function showCosts(query, body, changes) {
  const { session_utc, attribution } = body;
  const parts = new Map(basket.parts);
  const { response, problem } = await ask(`history.csv?ids=${[...parts.keys()].join()}`);
  // An answer may break off.
  const csv = (await response?.text().catch(() => "")) ?? "";
  // Another basket is shown by now.
  if (query !== basketQuery(basket)) return;
  const points = costsOf(closesById(csv), parts, carryDaysOf, session_utc);
  if (points.length === 0) {
    const place = byId("year-problem");
    place.textContent = "On no day all contracts have a level that compares with today’s.";
    if (problem !== null) tellProblem(place, problem, () => void showCosts(query, body, changes));
    return;
  }
  showChart(byId("costs"), {
    line: {
      levels: points,
      known: [...points, ...costsBefore(body)].toSorted((a, b) =>
        sessionOf(a) < sessionOf(b) ? -1 : 1,
      ),
      carryDays: 1,
      to: session_utc,
    },
    name: "Cost of the basket",
    changes,
    unit: "USD",
    depthDays: caller.offer.depthDays,
    decimals: Infinity,
    fileName: `chipboard-${session_utc.slice(0, 13)}Z-${caller.tier}-basket`,
    column: "cost_usd",
    notes: [
      sessionNote(session_utc, null),
      attribution,
      `What ${query} cost together on each day, at the levels then in force.`,
    ],
  });
}

/**
 * The costs that the changes of a price compare with.
 *
 * @param {import("./contributions.js").Priced} body
 * @returns {import("./levels.js").Level[]}
 */
const costsBefore = ({ session_utc, base, cost_30d_usd, cost_base_usd }) =>
  /** @type {const} */ ([
    [startOf("30d", session_utc), cost_30d_usd],
    [base.session_utc, cost_base_usd],
  ]).flatMap(([session, text]) =>
    text == null ? [] : [{ date: session.slice(0, 10), session, close: Number(text), text }],
  );

/**
 * Shows an error: each fault at the field that it names, all others above the table.
 *
 * @param {import("./api.js").Problem} problem
 */
function refuse({ detail, status: code, errors = [] }) {
  result.hidden = true;
  for (const { parameter, value, detail: why } of errors) {
    const isOfAmount = parameter !== "ids";
    const named = [...basket.parts].filter(([id, amount]) => value === (isOfAmount ? amount : id));
    for (const [id] of named) sayAt(box, id, isOfAmount, `${value || "Empty"}: ${why}. `);
    if (named.length === 0) findError.append(`${why}. `);
  }
  if (errors.length > 0) status.textContent = "Not priced: see above. Errors use no call.";
  else tellDetail(status, { detail, status: code });
  status.classList.add("error");
}

/** Takes and prices the basket that the address names. Whether it names one. */
function open() {
  const isNamed = readAddress();
  if (isNamed && basket.parts.size > 0 && form.reportValidity()) void price();
  return isNamed;
}

await withKey(async (known) => {
  caller = known;
  const { offer } = caller;
  byId("tier").textContent = offer.title;
  byId("upgrade").hidden = offer.baskets;
  byId("access").hidden = true;
  if (!offer.baskets) return null;
  const [{ body, problem }, { body: catalog }] = await Promise.all([
    askJson("prices"),
    askJson("contracts"),
  ]);
  if (problem !== null) return problem;
  board = new Map([...body.memory, ...body.semiconductor].map((row) => [row.id, row]));
  // Without them a link to former ids is still priced, but not shown with levels.
  presentIds = new Map(
    (catalog?.contracts ?? []).flatMap(
      (/** @type {{ id: string, formerly: string[] }} */ { id, formerly }) =>
        formerly.map((old) => [old, id]),
    ),
  );
  session = body.session_utc;
  byId("session").innerHTML = sessionLine(body);
  byId("attribution").textContent = body.attribution;
  byId("license").textContent = body.license;
  byId("tool").hidden = false;
  if (!open()) changed(true);
  // Not "hashchange": browsers omit it if the range in the address also differs.
  addEventListener("popstate", () => {
    // Another fragment is a place on the page, such as the one that the skip link names.
    if (!open()) keepInAddress();
  });
  makePicker(find, byId("found"), found, add);
  return null;
});
const named = byId("tool").hidden ? readBasket(location.hash.slice(1)) : null;
if (named !== null && named.parts.size > 0) {
  showPrograms(basketQuery(named));
  // A reader who cannot price a link still sees its contracts.
  const { body } = await askJson("contracts");
  /** @type {readonly { id: string, name: string }[]} */
  const contracts = body?.contracts ?? [];
  const names = new Map(contracts.map(({ id, name }) => [id, name]));
  const parts = [...named.parts].map(
    ([id, amount]) => `${foreign(amount)} × ${contractLink(id, names.get(id))}`,
  );
  const by = { quantities: "", weights: ", by weight", equal: ", in equal parts" }[named.weighting];
  byId("held").innerHTML = `This link holds ${parts.join(", ")}${by}.`;
}
