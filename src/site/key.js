/** The key field in the masthead of every page. */
import { ask, storeKey, storedKey } from "./api.js";
import { grouped } from "./text.js";

/**
 * What `/usage` says of the caller.
 *
 * @typedef {{ account: string | null, tier: "free" | "starter" | "pro", limit: number | null, used: number, remaining: number | null }} Usage
 */

const form = /** @type {HTMLFormElement} */ (document.getElementById("key"));
const field = /** @type {HTMLInputElement} */ (document.getElementById("key-field"));
const forget = /** @type {HTMLButtonElement} */ (document.getElementById("key-forget"));
const message = /** @type {HTMLElement} */ (document.getElementById("key-message"));
const use = /** @type {HTMLButtonElement} */ (form.querySelector("button[type=submit]"));

/**
 * Shows the key field. Calls `show` with the caller's tier and usage whenever a stored or given key is
 * good. A page without a good key stays as it was sent; forgetting the key loads it again.
 *
 * @param {(usage: Usage) => void | Promise<void>} show
 */
export async function withKey(show) {
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void take(field.value.trim(), show);
  });
  forget.addEventListener("click", () => {
    storeKey(null);
    location.reload();
  });
  const stored = storedKey();
  if (stored !== null) await take(stored, show);
}

/**
 * @param {string} key
 * @param {(usage: Usage) => void | Promise<void>} show
 */
async function take(key, show) {
  if (!/^[\x21-\x7e]+$/.test(key)) {
    say("Expected a key as it was given to you: cbk_ and 49 letters and digits.", true);
    return;
  }
  const { response, problem } = await ask("usage", key);
  if (response === null) {
    storeKey(null);
    say(problem.detail, true);
    return;
  }
  const usage = /** @type {Usage} */ (await response.json());
  storeKey(key);
  field.value = "";
  field.hidden = use.hidden = true;
  /** @type {HTMLElement} */ (form.querySelector("label")).hidden = true;
  forget.hidden = false;
  const calls =
    usage.remaining === null
      ? "no limit of calls"
      : `${grouped(String(usage.remaining), 0)} calls left`;
  say(`Tier ${usage.tier}, ${calls}`, false);
  await show(usage);
}

/**
 * @param {string} text
 * @param {boolean} isError
 */
function say(text, isError) {
  message.textContent = text;
  message.classList.toggle("error", isError);
  field.setAttribute("aria-invalid", String(isError));
  if (isError) field.focus();
}
