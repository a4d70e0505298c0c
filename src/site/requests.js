/**
 * A basket in an address, and the programs that price it, the same in Node and in the browser. Addresses
 * and programs hold no key: programs take it from the variable KEY of the environment.
 */
import { escaped } from "./text.js";

/** @typedef {"equal" | "weights" | "quantities"} Weighting */

/**
 * @typedef {object} Basket
 * @property {Weighting} weighting
 * @property {ReadonlyMap<string, string>} parts the amount of each contract, by id, in order
 */

const ID = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
/** What an amount consists of; the service says whether it is one. Neither a key nor markup passes. */
const AMOUNT = /^[\d.]*$/;

/**
 * Whether an amount may stand in an address.
 *
 * @param {string} amount
 */
export const isSendable = (amount) => AMOUNT.test(amount);

/**
 * The query of `/index` for a basket, which is also its fragment of the page. Amounts that are not
 * sendable are empty in it.
 *
 * @param {Basket} basket
 */
export function basketQuery({ weighting, parts }) {
  if (parts.size === 0) return "";
  const ids = `ids=${[...parts.keys()].join(",")}`;
  if (weighting === "equal") return ids;
  const amounts = [...parts.values()].map((amount) => (isSendable(amount) ? amount : ""));
  return `${ids}&${weighting}=${amounts.join(",")}`;
}

/**
 * The basket that a query names. An id that cannot be one, or stands there again, is left out and
 * counted. Null: the query names no basket.
 *
 * @param {string} query
 * @returns {(Basket & { leftOut: number }) | null}
 */
export function readBasket(query) {
  const parameters = new URLSearchParams(query);
  const ids = parameters.get("ids")?.split(",");
  if (ids === undefined) return null;
  /** @type {Weighting} */
  const weighting = parameters.has("weights")
    ? "weights"
    : parameters.has("quantities")
      ? "quantities"
      : "equal";
  const amounts = parameters.get(weighting)?.split(",") ?? ids.map(() => "1");
  const parts = new Map();
  for (const [at, id] of ids.entries()) {
    const amount = amounts[at] ?? "";
    if (ID.test(id) && !parts.has(id)) parts.set(id, isSendable(amount) ? amount : "");
  }
  return { weighting, parts, leftOut: ids.length - parts.size };
}

const FIGURES = ["level", "chg_24h_pct", "chg_30d_pct"];
const COSTS = ["cost_usd", "cost_24h_usd", "cost_30d_usd", "cost_base_usd"];
const OF_EACH = ["id", "weight_pct", "contribution", "contribution_24h_pct"];

/**
 * Programs that ask for a basket: curl prints the answer, the others print its figures.
 *
 * @param {string} origin the service's address without a slash at its end
 * @param {string} query made by `basketQuery`
 */
export function programs(origin, query) {
  const url = `${origin}/api/public/v1/index?${query}`.replaceAll("'", "%27");
  const fields = query.includes("&quantities=") ? [...FIGURES, ...COSTS] : FIGURES;
  const names = `["${fields.join('", "')}"]`;
  return {
    curl: `curl -sS --fail-with-body -H "x-api-key: $KEY" '${url}'`,
    Python: `import json, os, urllib.request
from decimal import Decimal

url = "${url}"
request = urllib.request.Request(url, headers={"x-api-key": os.environ["KEY"]})
with urllib.request.urlopen(request) as answer:
    basket = json.load(answer, parse_float=Decimal)
for name in ${names}:
    print(name, basket[name])
for part in basket["contributions"]:
    print(${OF_EACH.map((name) => `part["${name}"]`).join(", ")})`,
    JavaScript: `const url = "${url}";
const answer = await fetch(url, { headers: { "x-api-key": process.env.KEY } });
if (!answer.ok) throw new Error((await answer.json()).detail);
const basket = await answer.json();
for (const name of ${names}) {
  console.log(name, basket[name]);
}
for (const part of basket.contributions) {
  console.log(${OF_EACH.map((name) => `part.${name}`).join(", ")});
}`,
  };
}

/** How each program is started, by its language. */
const STARTED = {
  curl: "prints the answer itself.",
  Python: "needs Python 3 and no package.",
  JavaScript: "runs in Node 20 or newer, saved as basket.mjs.",
};

/**
 * The programs below a bar with their languages, the first of which is chosen.
 *
 * @param {string} origin
 * @param {string} query
 */
export function programsHtml(origin, query) {
  const all = Object.entries(programs(origin, query));
  const bar = all.map(
    ([language], at) =>
      `<label><input type="radio" name="language" value="${language}"${at === 0 ? " checked" : ""}> ${language}</label>`,
  );
  const blocks = all.map(
    ([language, text]) =>
      `<div class="code" data-language="${language}"><p class="note">` +
      `${language} ${STARTED[/** @type {keyof typeof STARTED} */ (language)]}</p>` +
      `<pre tabindex="0"><code>${escaped(text)}</code></pre></div>`,
  );
  return `<div class="programs" role="group" aria-label="Language">\n${[...bar, ...blocks].join("\n")}\n</div>`;
}
