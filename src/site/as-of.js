/**
 * The moment as of which a page is shown, kept in its address: `?as_of=2026-11-21`, or an instant. The page has a form
 * `known` with a date field, and `as-known` for the words.
 */
import { fromAddress, keepInAddress } from "./address.js";
import { dateWords } from "./axis.js";

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const form = byId("known");
const field = /** @type {HTMLInputElement} */ (byId("as-of"));
const now = byId("now");

const MOMENT = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{3})?Z)?$/;

/** Shows the page as of another moment. @type {() => void} */
let reload = () => {};
field.addEventListener("change", () => {
  if (field.validity.valid) choose(field.value);
});
now.addEventListener("click", () => choose(""));

/** @param {string} moment */
function choose(moment) {
  keepInAddress({ as_of: moment });
  reload();
}

/** The moment that the address names; empty: now. */
export const asOf = () => MOMENT.exec(fromAddress("as_of"))?.[0] ?? "";

/**
 * Lets a caller with history choose the day.
 *
 * @param {import("./key.js").Caller} caller
 * @param {() => void} show shows the page as the address has it
 */
export function offerDays({ offer }, show) {
  reload = show;
  form.hidden = offer.depthDays === 0;
  field.max = new Date().toISOString().slice(0, 10);
  field.value = asOf().slice(0, 10);
  now.hidden = asOf() === "";
}

/**
 * Says as of when the page is.
 *
 * @param {string | null} publication the number of the publication that it shows
 */
export function tellAsOf(publication) {
  const [day = "", time] = asOf().split("T");
  const named = publication === null ? "" : ` (publication ${publication})`;
  const until =
    time === undefined
      ? `the end of ${dateWords(day)}`
      : `${dateWords(day)}, ${time.slice(0, 5)} UTC`;
  byId("as-known").textContent =
    day === ""
      ? ""
      : `As published by ${until}${named}. Later prices and corrections are left out.`;
}
