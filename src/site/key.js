/** The key field in the masthead of every page. */
import {
  askJson,
  DEVICE,
  endProblem,
  forgetKey,
  IS_FILE,
  onCallsLeft,
  plansLink,
  storedKey,
  storeKey,
  tellProblem,
} from "./api.js";
import { counted, readableText } from "./text.js";

/**
 * What `/usage` says of the caller.
 *
 * @typedef {{ account: string | null, tier: string, limit: number | null, used: number, remaining: number | null }} Usage
 *
 * What the caller's tier offers beyond the free one; `depthDays` of history. The page is made with it.
 *
 * @typedef {{ title: string, delaySessions: number, depthDays: number, index: boolean, baskets: boolean }} Offer
 * @typedef {Usage & { offer: Offer }} Caller
 *
 * Shows the page as the caller sees it. If a problem leaves a part out, it returns the problem.
 *
 * @typedef {(caller: Caller) => Shown | Promise<Shown>} Show
 * @typedef {void | import("./api.js").Problem | null} Shown
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

/** Above the page: why it lacks what a key brings. */
const trouble = document.createElement("p");
trouble.id = "trouble";
trouble.className = "error";
trouble.role = "alert";
trouble.hidden = true;
document.getElementById("content")?.prepend(trouble);

/**
 * Shows the key field; pages that are files have none. Calls `show` with the caller's usage and offer whenever a stored
 * or given key is good. A page without a good key stays as it was sent; forgetting the key loads it again.
 *
 * @param {Show} show
 */
export async function withKey(show) {
  if (IS_FILE) return;
  form.hidden = opener.hidden = false;
  kept.hidden = DEVICE === null;
  opener.addEventListener("click", () => {
    const isOpen = opener.ariaExpanded !== "true";
    opener.ariaExpanded = String(isOpen);
    if (isOpen) field.focus();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void useGiven(show);
  });
  // A page that needs a key names the field.
  document.addEventListener("click", (event) => {
    const link = /** @type {Element} */ (event.target).closest('a[href="#key-field"]');
    if (link === null) return;
    event.preventDefault();
    opener.ariaExpanded = "true";
    field.focus();
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

/** @param {Show} show */
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
 * @param {Show} show
 * @param {boolean} isGiven by the field, not stored
 */
async function use(key, show, isGiven) {
  attempts += 1;
  const attempt = attempts;
  form.ariaBusy = "true";
  endProblem(trouble);
  say("Checking the key…", false);
  try {
    const { body: usage, problem } = await askJson("usage", key);
    if (attempt !== attempts) return;
    if (problem !== null) {
      refuse(problem, isGiven);
      // A given key is still in its field, with the button beside it.
      if (!isGiven && storedKey() === key) {
        tellProblem(trouble, problem, () => void use(key, show, false));
      }
      return;
    }
    if (isGiven) storeKey(key, keep.checked);
    shownKey = key;
    field.value = "";
    markKeyed(true);
    const offers = /** @type {Record<string, Offer>} */ (
      JSON.parse(form.dataset["offers"] ?? "{}")
    );
    const caller = { ...usage, offer: /** @type {Offer} */ (offers[usage.tier]) };
    tellUsage(caller);
    // The field that had the focus is gone.
    if (isGiven) document.getElementById("content")?.focus({ preventScroll: true });
    await showFor(caller, show);
  } finally {
    if (attempt === attempts) form.ariaBusy = "false";
  }
}

/**
 * Shows the page. If a part failed, the reader can retry.
 *
 * @param {Caller} caller
 * @param {Show} show
 */
async function showFor(caller, show) {
  const problem = await show(caller);
  if (problem) tellProblem(trouble, problem, () => void showFor(caller, show));
}

/** What helps a reader whose key the service refuses, by code. @type {Readonly<Record<string, string>>} */
const WAYS_ON = {
  invalid_key: "It may have expired, or been revoked or replaced.",
  trial_lapsed: "Choose a plan to go on.",
};

/**
 * @param {import("./api.js").Problem} problem
 * @param {boolean} isGiven
 */
function refuse({ code, status, detail }, isGiven) {
  const isRefused = status === 401 || status === 403;
  if (isRefused) forgetKey();
  markKeyed(storedKey() !== null);
  const isKept = storedKey() !== null;
  // The field is seen where the form folds away.
  if (!isKept) opener.ariaExpanded = "true";
  say(isKept ? "The key is kept." : readableText(detail), !isKept);
  if (isRefused) {
    message.append(` ${WAYS_ON[code] ?? ""} `, plansLink());
  }
  if (isGiven) field.select();
}

/**
 * Style sheets show the field or the way to forget the key, and reserve the place of what a key brings.
 *
 * @param {boolean} isKeyed
 */
const markKeyed = (isKeyed) => document.documentElement.classList.toggle("keyed", isKeyed);

/** @param {Caller} caller */
function tellUsage({ offer, remaining }) {
  const { title } = offer;
  if (remaining === null) return say(`${title} · unlimited calls`, false);
  let least = remaining;
  const tell = (/** @type {number} */ left) => {
    least = Math.min(least, left);
    say(`${title} · ${counted(least, "call")} left`, false);
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
