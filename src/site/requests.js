/** A basket in an address, the same in Node and in the browser. */

/** @typedef {"equal" | "weights" | "quantities"} Weighting */

/**
 * @typedef {object} Basket
 * @property {Weighting} weighting
 * @property {ReadonlyMap<string, string>} parts the amount of each contract, by id, in order
 */

const ID = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
/**
 * An amount that may stand in an address, or nothing. The service says whether it is one; neither a key nor markup passes.
 *
 * @param {string} amount
 */
const sendable = (amount) => (/^[\d.]*$/.test(amount) ? amount : "");

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
  const amounts = [...parts.values()].map(sendable);
  return `${ids}&${weighting}=${amounts.join(",")}`;
}

/**
 * The basket that a query names. An id that cannot be one, or whose contract stands there already, is left out
 * and counted. Null: the query names no basket.
 *
 * @param {string} query
 * @param {ReadonlyMap<string, string>} [presentIds] the ids of renamed contracts, by each former id
 * @returns {(Basket & { leftOut: number }) | null}
 */
export function readBasket(query, presentIds = new Map()) {
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
  for (const [at, named] of ids.entries()) {
    const id = presentIds.get(named) ?? named;
    const amount = amounts[at] ?? "";
    if (ID.test(id) && !parts.has(id)) parts.set(id, sendable(amount));
  }
  return { weighting, parts, leftOut: ids.length - parts.size };
}

/**
 * The address that prices a basket, as programs can quote it.
 *
 * @param {string} origin the service's address without a slash at its end
 * @param {string} query made by `basketQuery`
 */
export const basketUrl = (origin, query) =>
  `${origin}/api/public/v1/index?${query}`.replaceAll("'", "%27");
