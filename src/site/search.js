/** The search in the masthead of every page: over all contracts and indices, which are public. */
import { IS_FILE, ROOT, send } from "./api.js";
import { makePicker } from "./picker.js";
import { foreign } from "./text.js";

const field = /** @type {HTMLInputElement} */ (document.getElementById("search"));
const list = /** @type {HTMLElement} */ (document.getElementById("search-found"));
const none = /** @type {HTMLElement} */ (document.getElementById("search-none"));
const MOST = 12;

/**
 * @typedef {object} Choice
 * @property {string} id Its address below the root.
 * @property {string} html
 * @property {string} name In lower case.
 * @property {string} text Everything that a word may be of, in lower case.
 */

/** Null: not asked for yet. @type {Promise<void> | null} */
let loading = null;
/** @type {readonly Choice[]} */
let choices = [];

/** Asks for the names when the reader first comes here. It costs no call. */
async function load() {
  const path = IS_FILE ? "data/contracts.json" : "api/public/v1/contracts";
  const response = await send(new URL(path, ROOT), null).catch(() => null);
  const body = response?.ok ? await response.json().catch(() => null) : null;
  if (body === null) {
    loading = null;
    return;
  }
  choices = choicesOf(body);
  if (document.activeElement === field) field.dispatchEvent(new Event("input"));
}

/**
 * @typedef {Pick<import("zod").infer<typeof import("../public/answer-schemas.ts").contracts>, "contracts" | "segments">} Names
 * @param {Names} names
 * @returns {Choice[]}
 */
const choicesOf = ({ contracts, segments }) => [
  // Indices have no page among files.
  ...(IS_FILE ? [] : [{ id: "composite", name: "Composite" }, ...segments]).map(({ id, name }) =>
    choiceOf(`indices#${id}`, name, "index", [id]),
  ),
  ...contracts.map(({ id, name, ticker, segment, formerly, delisted_on: delisted }) =>
    choiceOf(
      `contracts/${encodeURIComponent(id)}${IS_FILE ? "/" : ""}`,
      name,
      delisted === null ? `${ticker} · ${segment}` : `${ticker} · delisted`,
      [id, segment, ...formerly],
    ),
  ),
];

/**
 * @param {string} id
 * @param {string} name
 * @param {string} more
 * @param {readonly string[]} words
 * @returns {Choice}
 */
const choiceOf = (id, name, more, words) => ({
  id,
  html: `${foreign(name)} <small>${foreign(more)}</small>`,
  name: name.toLowerCase(),
  text: [name, more, ...words].join(" ").toLowerCase(),
});

/**
 * What holds every word; first what begins with them.
 *
 * @param {string} wanted
 */
function find(wanted) {
  const query = wanted.toLowerCase();
  const words = query.split(/\s+/);
  const found =
    query === "" ? [] : choices.filter(({ text }) => words.every((word) => text.includes(word)));
  const isNone = query !== "" && choices.length > 0 && found.length === 0;
  none.textContent = isNone ? `Nothing matches \u{201C}${wanted}\u{201D}.` : "";
  const begin = found.filter(({ name }) => name.startsWith(query));
  return [...new Set([...begin, ...found])].slice(0, MOST);
}

field.addEventListener("focus", () => {
  loading ??= load();
});
field.addEventListener("input", () => {
  if (field.value === "") none.textContent = "";
});
field.addEventListener("blur", () => {
  none.textContent = "";
});
makePicker(field, list, find, (id) => location.assign(new URL(id, ROOT)));
addEventListener("keydown", (event) => {
  const { key, target, ctrlKey, altKey, metaKey } = event;
  if (key !== "/" || ctrlKey || altKey || metaKey) return;
  const isTyped = target instanceof Element && target.closest("input, select, textarea");
  if (isTyped) return;
  event.preventDefault();
  field.focus();
  field.select();
});
/** @type {HTMLElement} */ (field.parentElement).hidden = false;
