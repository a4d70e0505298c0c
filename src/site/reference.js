/** The reference in the browser: requests that can be changed and run, with the key of the masthead. */
import { ROOT, send, storedKey } from "./api.js";
import { markPlace } from "./contents.js";
import { equipCode, foldLong } from "./copy.js";
import { withKey } from "./key.js";
import { counted, escaped } from "./text.js";

/** Of a longer answer the rest is not shown. */
const SHOWN_CHARACTERS = 20_000;
/** What the service says where there is no limit of calls. */
const NO_LIMIT = "2147483647";

/**
 * The address of a path below the service's root, as programs can quote it. Null: it is not below, or holds a key.
 *
 * @param {string} path
 */
function urlOf(path) {
  const below = path.trim().replace(/^\/+/, "").replaceAll("'", "%27").replaceAll("\\", "%5C");
  const url = URL.canParse(below, ROOT) ? new URL(below, ROOT).href : "";
  return url.startsWith(ROOT.href) && !/cbk_/i.test(url) ? url : null;
}

/** @param {HTMLElement} box */
function makeRunnable(box) {
  const { path = "", counts = "", file } = box.dataset;
  const form = document.createElement("form");
  form.innerHTML =
    `<input aria-label="Path and query" autocomplete="off" spellcheck="false" value="${escaped(path)}">` +
    `<button>Run</button><output>${counts}</output>`;
  const [field, run, said] = /** @type {[HTMLInputElement, HTMLButtonElement, Element]} */ ([
    ...form.children,
  ]);
  const answerBox = /** @type {Element} */ (box.querySelector(".answer"));
  answerBox.before(form);
  const showUrl = () => {
    const url = urlOf(field.value);
    for (const place of box.querySelectorAll("[data-url]")) place.textContent = url ?? "…";
  };
  field.addEventListener("input", showUrl);
  showUrl();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const url = urlOf(field.value);
    said.textContent = url === null ? "Expected a path of this service, without a key" : "Running…";
    answerBox.replaceChildren();
    if (url === null) return;
    run.disabled = true;
    try {
      const response = await ("keyed" in box.dataset ? send(url, storedKey()) : fetch(url));
      answerBox.innerHTML =
        file !== undefined && response.ok
          ? `<p><a href="${URL.createObjectURL(await response.blob())}" download="${file}">Save ${file}</a></p>`
          : `<pre tabindex="0"><code>${escaped(await textOf(response))}</code></pre>`;
      foldLong(answerBox);
      said.textContent = statusOf(response);
    } catch {
      said.textContent = "Could not reach the service";
    } finally {
      run.disabled = false;
    }
  });
}

/** @param {Response} response */
function statusOf({ status, url, headers }) {
  const left = headers.get("x-ratelimit-remaining");
  if (!url.includes("/api/") || left === null) return String(status);
  return `${status}, ${left === NO_LIMIT ? "no limit of calls" : `${counted(Number(left), "call")} left`}`;
}

/** @param {Response} response */
async function textOf(response) {
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json");
  const readable = isJson ? JSON.stringify(JSON.parse(text), null, 2) : text;
  const more = readable.length - SHOWN_CHARACTERS;
  const end = more > 0 ? `\n… ${counted(more, "character")} more` : "";
  return readable.slice(0, SHOWN_CHARACTERS) + end;
}

for (const box of document.querySelectorAll("main .request")) {
  makeRunnable(/** @type {HTMLElement} */ (box));
}
equipCode();
markPlace(/** @type {HTMLElement} */ (document.querySelector(".contents")));
await withKey(() => {});
