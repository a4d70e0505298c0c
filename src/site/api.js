/** Requests to the service. The key is kept until the tab closes, and is sent in a header field only. */
import { withDecimals } from "./text.js";

const STORED_AS = "chipboard-key";

/** The service's root: this module lies in its folder `assets`. */
export const ROOT = new URL("../", import.meta.url);

/** The key in use, or null. */
export const storedKey = () => sessionStorage.getItem(STORED_AS);

/**
 * Keeps the key until the tab closes; null forgets it.
 *
 * @param {string | null} key
 */
export function storeKey(key) {
  if (key === null) sessionStorage.removeItem(STORED_AS);
  else sessionStorage.setItem(STORED_AS, key);
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

/**
 * The answer of an address below `/api/public/v1/`, with the stored key. A service that cannot be
 * reached is a problem with the code `unreachable`.
 *
 * @param {string} path for example `prices`
 * @param {string | null} [key]
 * @returns {Promise<{ response: Response, problem: null } | { response: null, problem: Problem }>}
 */
export async function ask(path, key = storedKey()) {
  const headers = new Headers(key === null ? {} : { "x-api-key": key });
  let response;
  try {
    response = await fetch(new URL(`api/public/v1/${path}`, ROOT), { headers });
  } catch {
    return { response: null, problem: UNREACHABLE };
  }
  const left = response.headers.get("x-ratelimit-remaining");
  if (left !== null) tellLeft(Number(left));
  if (response.ok) return { response, problem: null };
  const problem = await response.json().catch(() => UNREACHABLE);
  return { response: null, problem };
}

/** @type {Problem} */
const UNREACHABLE = {
  code: "unreachable",
  title: "No answer",
  detail: "The service did not answer.",
  status: 0,
};

/**
 * The JSON of an address with the snapshot that it is from, or the problem.
 *
 * @param {string} path
 * @returns {Promise<{ body: any, snapshot: string | null, problem: null } | { body: null, snapshot: null, problem: Problem }>}
 */
export async function askJson(path) {
  const { response, problem } = await ask(path);
  if (response === null) return { body: null, snapshot: null, problem };
  const snapshot = response.headers.get("x-snapshot");
  try {
    return { body: await response.json(), snapshot, problem: null };
  } catch {
    return { body: null, snapshot: null, problem: UNREACHABLE };
  }
}

/**
 * The same with each number as its decimal text, so that every digit of it is kept.
 *
 * @param {string} path
 * @returns {Promise<{ body: any, problem: null } | { body: null, problem: Problem }>}
 */
export async function askDecimals(path) {
  const { response, problem } = await ask(path);
  return response === null
    ? { body: null, problem }
    : { body: withDecimals(await response.text()), problem: null };
}
