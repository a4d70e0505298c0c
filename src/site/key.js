/** The key field in the masthead of every page. */
import { askJson, DEVICE, forgetKey, onCallsLeft, storedKey, storeKey } from "./api.js";
import { counted } from "./text.js";

/**
 * What `/usage` says of the caller.
 *
 * @typedef {{ account: string | null, tier: string, limit: number | null, used: number, remaining: number | null }} Usage
 *
 * What the caller's tier offers beyond the free one; `depthDays` of history. The page is made with it.
 *
 * @typedef {{ delaySessions: number, depthDays: number, index: boolean, baskets: boolean }} Offer
 * @typedef {Usage & { offer: Offer }} Caller
 */

const form = /** @type {HTMLFormElement} */ (document.getElementById("key"));
const field = /** @type {HTMLInputElement} */ (document.getElementById("key-field"));
const kept = /** @type {HTMLElement} */ (document.getElementById("key-kept"));
const keep = /** @type {HTMLInputElement} */ (document.getElementById("key-keep"));
const forget = /** @type {HTMLButtonElement} */ (document.getElementById("key-forget"));
const opener = /** @type {HTMLButtonElement} */ (document.getElementById("key-open"));
const message = /** @type {HTMLElement} */ (document.getElementById("key-message"));

/** Whose figures the page shows; null: what everybody sees. @type {string | null} */
let shownKey = null;
/** Of several keys given in a row the last one counts. */
let attempts = 0;

/**
 * Shows the key field. Calls `show` with what is known of the caller whenever a stored or given key is
 * good. A page without a good key stays as it was sent; forgetting the key loads it again.
 *
 * @param {(caller: Caller) => void | Promise<void>} show
 */
export async function withKey(show) {
  form.hidden = opener.hidden = false;
  kept.hidden = DEVICE === null;
  opener.addEventListener("click", () => {
    opener.ariaExpanded = String(opener.ariaExpanded !== "true");
  });
  showPlace();
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void useGiven(show);
  });
  forget.addEventListener("click", ({ detail: clicks }) => {
    // A double click on the button that stood in its place.
    if (clicks > 1) return;
    forgetKey();
    location.reload();
  });
  // A page that the browser kept for its back button may show the figures of a key forgotten since.
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted && storedKey() !== shownKey) location.reload();
  });
  const stored = storedKey();
  if (stored !== null) await use(stored, show, false);
}

/** Brings the name of this page into sight where the names scroll. */
function showPlace() {
  const here = /** @type {HTMLElement | null} */ (
    document.querySelector(".masthead [aria-current]")
  );
  if (here?.parentElement)
    here.parentElement.scrollLeft = here.offsetLeft - here.parentElement.offsetLeft - 32;
}

const CHARACTERS = 53;

/**
 * The key in a text that was pasted, perhaps broken by blanks, or with other words around it.
 *
 * @param {string} text
 * @returns {{ key: string, fault: null } | { key: null, fault: string }}
 */
function keyIn(text) {
  const joined = text.replace(/\s+/g, "");
  const whole = /cbk_[0-9A-Za-z]{49}(?![0-9A-Za-z])/.exec(text)?.[0];
  const key = whole ?? /cbk_[0-9A-Za-z]*/.exec(joined)?.[0];
  if (joined === "") return { key: null, fault: "Expected a key." };
  if (key === undefined) return { key: null, fault: `A key begins with cbk_; this does not.` };
  if (key.length === CHARACTERS) return { key, fault: null };
  return { key: null, fault: `A key has ${CHARACTERS} characters; this has ${key.length}.` };
}

/** @param {(caller: Caller) => void | Promise<void>} show */
async function useGiven(show) {
  const { key, fault } = keyIn(field.value);
  if (key !== null) return use(key, show, true);
  attempts += 1;
  say(fault, true);
  field.select();
}

/**
 * Shows the page with a key. A key that the service refuses is forgotten; one that it could not check is
 * not. The form is busy until the page is shown.
 *
 * @param {string} key
 * @param {(caller: Caller) => void | Promise<void>} show
 * @param {boolean} isGiven by the field, not stored
 */
async function use(key, show, isGiven) {
  attempts += 1;
  const attempt = attempts;
  form.ariaBusy = "true";
  say("Checking the key…", false);
  try {
    const { body: usage, problem } = await askJson("usage", key);
    if (attempt !== attempts) return;
    if (problem !== null) return refuse(problem, isGiven);
    if (isGiven) storeKey(key, keep.checked);
    shownKey = key;
    field.value = "";
    markKeyed(true);
    tellUsage(usage);
    // The field that had the focus is gone.
    if (isGiven) document.getElementById("content")?.focus({ preventScroll: true });
    const offers = /** @type {Record<string, Offer>} */ (
      JSON.parse(form.dataset["offers"] ?? "{}")
    );
    await show({ ...usage, offer: /** @type {Offer} */ (offers[usage.tier]) });
  } finally {
    if (attempt === attempts) form.ariaBusy = "false";
  }
}

/**
 * @param {import("./api.js").Problem} problem
 * @param {boolean} isGiven
 */
function refuse({ status, detail }, isGiven) {
  if (status === 401 || status === 403) forgetKey();
  markKeyed(storedKey() !== null);
  // The field is seen where the form folds away.
  opener.ariaExpanded = "true";
  say(detail + (storedKey() === null ? "" : " The key is kept; load the page again."), true);
  if (isGiven) field.select();
}

/**
 * Style sheets show the field or the way to forget the key, and reserve the place of what a key brings.
 *
 * @param {boolean} isKeyed
 */
const markKeyed = (isKeyed) => document.documentElement.classList.toggle("keyed", isKeyed);

/** @param {Usage} usage */
function tellUsage({ tier, remaining }) {
  if (remaining === null) return say(`Tier ${tier}, no limit of calls`, false);
  let least = remaining;
  const tell = (/** @type {number} */ left) => {
    least = Math.min(least, left);
    say(`Tier ${tier}, ${counted(least, "call")} left`, false);
  };
  tell(remaining);
  onCallsLeft(tell);
}

/**
 * @param {string} text
 * @param {boolean} isError
 */
function say(text, isError) {
  message.textContent = text;
  message.classList.toggle("error", isError);
  field.setAttribute("aria-invalid", String(isError));
}
