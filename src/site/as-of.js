/**
 * The moment as of which a page is shown, kept in its address: `?as_of=2026-11-21`, or an instant, or
 * `?publication=12`. The page has a form `known` with a date field, and `as-known` for the words.
 */
import { fromAddress, keepInAddress } from "./address.js";
import { askJson } from "./api.js";
import { dateWords, dayText } from "./axis.js";

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const form = byId("known");
const field = /** @type {HTMLInputElement} */ (byId("as-of"));
const now = byId("now");
const words = byId("as-known");

const MOMENT = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{3})?Z)?$/;

/** Shows the page as of another moment. @type {() => void} */
let reload = () => {};
// While somebody types 2026, the year is 2, 20 and 202.
field.min = "2000-01-01";
field.addEventListener("change", () => {
  const { valid, rangeUnderflow } = field.validity;
  if (valid) choose(field.value);
  if (!rangeUnderflow || field.value < "1000") return;
  words.textContent = beforeAll(field.min);
  now.hidden = false;
});
now.addEventListener("click", () => choose(""));

/** @param {string} moment */
function choose(moment) {
  keepInAddress({ as_of: moment, publication: "" });
  reload();
}

/** The moment that the address names; empty: it names none. */
const asOf = () => MOMENT.exec(fromAddress("as_of"))?.[0] ?? "";

/**
 * The parameter of requests for what the address names: `as_of=2026-11-21`; empty: now. A text that is no moment, which
 * may be a key, is not sent.
 */
export function momentQuery() {
  const number = fromAddress("publication");
  if (/^\d{1,9}$/.test(number)) return `publication=${number}`;
  return asOf() === "" ? "" : `as_of=${asOf()}`;
}

/**
 * Why the address names no moment although it asks for one, as a problem; null: it names one, or asks for none.
 *
 * @returns {import("./api.js").Problem | null}
 */
export function momentProblem() {
  const isAsked = fromAddress("as_of") !== "" || fromAddress("publication") !== "";
  if (!isAsked || momentQuery() !== "") return null;
  const detail =
    "The address names no moment: expected as_of=YYYY-MM-DD, an instant in UTC, or publication=NUMBER.";
  return { code: "invalid_parameter", title: "No moment", detail, status: 400 };
}

/** The day of the first publication; empty: unknown. @type {Promise<string> | undefined} */
let firstDay;

async function askFirstDay() {
  const { body } = await askJson("publications?after=0&limit=1");
  return /** @type {string} */ (body?.publications[0]?.at.slice(0, 10) ?? "");
}

/** @param {string} day of the first publication */
const beforeAll = (day) => `Nothing was published before ${dayText(day)}.`;

/**
 * Lets a caller with history choose a day since the first publication.
 *
 * @param {import("./key.js").Caller} caller
 * @param {() => void} show shows the page as the address has it
 */
export function offerDays({ offer }, show) {
  reload = show;
  form.hidden = offer.depthDays === 0;
  field.max = new Date().toISOString().slice(0, 10);
  field.value = asOf().slice(0, 10);
  now.hidden = momentQuery() === "" && momentProblem() === null;
  if (!form.hidden) void limitDays();
}

/** Says since when there is something to choose. It costs no call. */
async function limitDays() {
  firstDay ??= askFirstDay();
  const day = await firstDay;
  if (day === "") return;
  field.min = day;
  byId("known-since").textContent = `Publications since ${dateWords(day)}`;
}

/**
 * A problem in words for a reader who asked for a moment before the first publication; others as they are.
 *
 * @param {import("./api.js").Problem} problem
 * @returns {Promise<import("./api.js").Problem>}
 */
export async function explainMoment(problem) {
  const day = problem.code === "not_published" && (await firstDay);
  return day ? { ...problem, detail: `Nothing was known then. ${beforeAll(day)}` } : problem;
}

/**
 * Says as of when the page is.
 *
 * @param {string | null} publication the number of the publication that it shows
 */
export function tellAsOf(publication) {
  if (momentQuery().startsWith("publication")) {
    words.textContent = `As of publication ${publication}. Later prices and corrections are left out.`;
    return;
  }
  const [day = "", time] = asOf().split("T");
  const named = publication === null ? "" : ` (publication ${publication})`;
  const until =
    time === undefined
      ? `the end of ${dateWords(day)}`
      : `${dateWords(day)}, ${time.slice(0, 5)} UTC`;
  words.textContent =
    day === ""
      ? ""
      : `As published by ${until}${named}. Later prices and corrections are left out.`;
}
