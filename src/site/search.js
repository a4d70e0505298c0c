/**
 * The search in the masthead of every page: over all contracts and indices, pages, endpoints, and the sections of the
 * documents. All of it is public.
 */
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
 * @property {string} text All words by which it is found, in lower case.
 * @property {string} joined The same without signs in words: `DDR-5` is found by `ddr5`, and the other way round.
 */

/** Null: not asked for yet. @type {Promise<void> | null} */
let loading = null;
/** @type {readonly Choice[]} */
let choices = [];

/** Asks for the names when the reader first comes here. It costs no call. */
async function load() {
  const path = IS_FILE ? "data/contracts.json" : "api/public/v1/contracts";
  const [response, index] = await Promise.all([
    send(new URL(path, ROOT), null).catch(() => null),
    // A site of files has few of the documents.
    IS_FILE ? [] : loadIndex().catch(() => null),
  ]);
  const body = response?.ok ? await response.json().catch(() => null) : null;
  // What came is found; the next visit of the field asks again.
  if (body === null || index === null) loading = null;
  choices = [
    ...(body === null ? [] : choicesOf(body)),
    ...(index ?? []).map(([id = "", name = "", kind = "", words = ""]) =>
      choiceOf(id, name, kind, [words]),
    ),
  ];
  if (document.activeElement === field) field.dispatchEvent(new Event("input"));
}

const loadIndex = async () => (await import("./documents/search-index.js")).default;

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
function choiceOf(id, name, more, words) {
  const text = [name, more, ...words].join(" ").toLowerCase();
  return {
    id,
    html: `${foreign(name)} <small>${foreign(more)}</small>`,
    name: name.toLowerCase(),
    text,
    joined: text.split(/\s+/).map(joinedOf).join(" "),
  };
}

/** @param {string} text in lower case */
const joinedOf = (text) => text.replace(/[^\p{L}\p{N}]+/gu, "");

/**
 * The choices that hold every word. Names that begin with the words come first, then names with the words in them. If
 * no choice holds them all, words may differ by one letter more, less or other.
 *
 * @param {string} wanted
 */
function find(wanted) {
  const query = wanted.toLowerCase();
  const words = query.split(/\s+/).filter((word) => joinedOf(word) !== "");
  if (words.length === 0) return [];
  /** @param {(choice: Choice, word: string) => boolean} holds */
  const allWith = (holds) => choices.filter((each) => words.every((word) => holds(each, word)));
  /** @type {(choice: Choice, word: string) => boolean} */
  const hasWord = ({ text, joined }, word) =>
    text.includes(word) || joined.includes(joinedOf(word));
  let found = allWith(hasWord);
  if (found.length === 0) {
    found = allWith(
      (choice, word) =>
        hasWord(choice, word) ||
        choice.text.split(/[^\p{L}\p{N}]+/u).some((other) => isNear(joinedOf(word), other)),
    );
  }
  // Without the typed words: they may be a key in the wrong field.
  none.textContent = choices.length > 0 && found.length === 0 ? "Nothing matches." : "";
  const begin = found.filter(({ name }) => name.startsWith(query));
  const named = found.filter(({ name }) => words.every((word) => name.includes(word)));
  return [...new Set([...begin, ...named, ...found])].slice(0, MOST);
}

const SHORTEST_NEAR = 4;

/**
 * Whether a word differs from the beginning of another by at most one letter.
 *
 * @param {string} word
 * @param {string} other
 */
function isNear(word, other) {
  if (word.length < SHORTEST_NEAR || other.length < word.length - 1) return false;
  let at = 0;
  while (at < word.length && word[at] === other[at]) at += 1;
  const [rest, others] = [word.slice(at), other.slice(at)];
  return (
    others.startsWith(rest.slice(1)) ||
    others.slice(1).startsWith(rest.slice(1)) ||
    others.slice(1).startsWith(rest)
  );
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

// The further pages fold away when the reader goes on elsewhere.
const further = /** @type {HTMLDetailsElement | null} */ (document.querySelector(".further"));
for (const kind of ["click", "focusin"]) {
  addEventListener(kind, ({ target }) => {
    if (further?.open && !further.contains(/** @type {Node} */ (target))) further.open = false;
  });
}

// The foot of each sheet on paper, which style.css places.
addEventListener("beforeprint", () => {
  const session = document.querySelector("main .session time")?.textContent;
  const foot = [session && `Prices of ${session}`, location.href].filter(Boolean).join(" · ");
  document.documentElement.style.setProperty("--sheet-foot", JSON.stringify(foot));
});
