/**
 * Requests to the service. The key is kept until the tab closes, or on the device if the reader wishes; it is sent in
 * a header field only.
 */
import { readableText, withDecimals } from "./text.js";

const STORED_AS = "chipboard-key";

/** The service's root: this module lies in its folder `assets`. */
export const ROOT = new URL("../", import.meta.url);

/** Whether the page is a file of a site of files, which has no API. */
export const IS_FILE = document.querySelector("meta[name=next-session]") !== null;

/** Where a key outlives the tab; null: the origin has other services, which could read it. */
export const DEVICE = ROOT.pathname === "/" ? localStorage : null;

/** The key in use, or null. */
export const storedKey = () =>
  sessionStorage.getItem(STORED_AS) ?? DEVICE?.getItem(STORED_AS) ?? null;

/**
 * Keeps the key until the tab closes, or on the device.
 *
 * @param {string} key
 * @param {boolean} isForDevice
 */
export function storeKey(key, isForDevice) {
  forgetKey();
  (isForDevice ? DEVICE : sessionStorage)?.setItem(STORED_AS, key);
}

/** Forgets the keys of the tab and of the device. */
export function forgetKey() {
  sessionStorage.removeItem(STORED_AS);
  DEVICE?.removeItem(STORED_AS);
}

/** @type {(left: number) => void} */
let tellLeft = () => {};

/**
 * Has every answer's number of calls left told to `listener`. An answer from the browser's cache tells an
 * older, larger number.
 *
 * @param {(left: number) => void} listener
 */
export function onCallsLeft(listener) {
  tellLeft = listener;
}

/**
 * A problem document of the service (RFC 9457). `errors` names each fault of the query.
 *
 * @typedef {{ code: string, title: string, detail: string, status: number, errors?: ParameterFault[] }} Problem
 */

/** @typedef {{ parameter: string, value: string, detail: string }} ParameterFault */

/** After this time a service that has not answered counts as unreachable. */
const PATIENCE_MS = 60_000;

/**
 * The answer of an address, whatever its status. Rejects if the service cannot be reached.
 *
 * @param {string | URL} url
 * @param {string | null} key
 * @param {AbortSignal | null} [signal] ends the wait
 */
export async function send(url, key, signal = null) {
  const headers = key === null ? {} : { "x-api-key": key };
  const response = await fetch(url, { headers, signal });
  const left = response.headers.get("x-ratelimit-remaining");
  if (left !== null) tellLeft(Number(left));
  return response;
}

/**
 * The answer of an address below `/api/public/v1/`, with the stored key. A service that cannot be
 * reached is a problem with the code `unreachable`.
 *
 * @param {string} path for example `prices`
 * @param {string | null} [key]
 * @returns {Promise<{ response: Response, problem: null } | { response: null, problem: Problem }>}
 */
export async function ask(path, key = storedKey()) {
  const url = new URL(`api/public/v1/${path}`, ROOT);
  const response = await send(url, key, AbortSignal.timeout(PATIENCE_MS)).catch(() => null);
  if (response === null) return { response: null, problem: UNREACHABLE };
  if (response.ok) return { response, problem: null };
  const problem = await response.json().catch(() => null);
  // Something else may have answered in the service's place.
  return { response: null, problem: problem?.detail ? problem : UNREACHABLE };
}

/** @type {Problem} */
const UNREACHABLE = {
  code: "unreachable",
  title: "No answer",
  detail: "Could not reach the service.",
  status: 0,
};

/** An answer that ended before its end. @type {Problem} */
export const BROKEN_OFF = {
  code: "broken_off",
  title: "Half an answer",
  detail: "The answer of the service broke off.",
  status: 0,
};

/**
 * Whether the same request may succeed later, without any change.
 *
 * @param {Problem} problem
 */
const mayPass = ({ status }) => status === 0 || status >= 500;

/**
 * Says at a place of the page what failed. Where asking again may help, a button there does it.
 *
 * @param {HTMLElement} place
 * @param {Problem} problem
 * @param {() => void} retry
 */
export function tellProblem(place, problem, retry) {
  tellDetail(place, problem);
  place.hidden = false;
  if (!mayPass(problem)) return;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Retry";
  button.addEventListener("click", () => {
    endProblem(place);
    retry();
  });
  place.append(" ", button);
}

/**
 * Says what failed, with the way to the plans where another plan may be the way on.
 *
 * @param {HTMLElement} place
 * @param {Pick<Problem, "detail" | "status">} problem
 */
export function tellDetail(place, { detail, status }) {
  place.textContent = readableText(detail);
  if (OF_PLANS.includes(status)) place.append(" ", plansLink());
}

/** Another plan may be the way on from these. */
const OF_PLANS = [401, 403, 429];

export function plansLink() {
  const link = document.createElement("a");
  link.href = new URL("plans", ROOT).href;
  link.textContent = "See the plans";
  return link;
}

/** @param {HTMLElement} place */
export function endProblem(place) {
  place.replaceChildren();
  place.hidden = true;
}

/**
 * The JSON of an address with the snapshot and the publication that it is from, or the problem.
 *
 * @param {string} path
 * @param {string | null} [key]
 * @param {(text: string) => any} [parse] throws SyntaxError
 * @returns {Promise<{ body: any, snapshot: string | null, publication: string | null, problem: null }
 *   | { body: null, snapshot: null, publication: null, problem: Problem }>}
 */
export async function askJson(path, key = storedKey(), parse = JSON.parse) {
  const { response, problem } = await ask(path, key);
  if (response === null) return { body: null, snapshot: null, publication: null, problem };
  try {
    const body = parse(await response.text());
    const { headers } = response;
    const snapshot = headers.get("x-snapshot");
    return { body, snapshot, publication: headers.get("x-publication"), problem: null };
  } catch {
    return { body: null, snapshot: null, publication: null, problem: UNREACHABLE };
  }
}

/** The same with each number as its decimal text, so that every digit of it is kept. @param {string} path */
export const askDecimals = (path) => askJson(path, storedKey(), withDecimals);
