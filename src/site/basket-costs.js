/** Calculates from `/history.csv` the cost of a basket of quantities at each close. */
import { decimalOf, placesOf, rounded } from "./decimal.js";

/**
 * @typedef {object} Close
 * @property {string} date
 * @property {string} usd a decimal
 * @property {string} reason of the break before it; empty: there is none
 */

/**
 * The closes in a file of histories by contract, dates ascending.
 *
 * @param {string} csv
 * @returns {Map<string, Close[]>} empty if the file has other columns
 */
export function closesIn(csv) {
  /** @type {Map<string, Close[]>} */
  const closes = new Map();
  const head = csv.slice(0, csv.indexOf("\r\n"));
  if (!/^contract_id,date,close_usd,.*break_reason$/.test(head)) return closes;
  const between = head.split(",").length - 4;
  // Only a reason may have commas and line breaks, within its quotation marks.
  const row = new RegExp(
    `([^,]*),([^,]*),([^,]*),(?:[^,]*,){${between}}(?:"((?:[^"]|"")*)"|([^"\\r]*))\\r\\n`,
    "gy",
  );
  row.lastIndex = head.length + 2;
  for (const [, id = "", date = "", usd = "", quoted, plain = ""] of csv.matchAll(row)) {
    const known = closes.get(id) ?? [];
    if (known.length === 0) closes.set(id, known);
    known.push({ date, usd, reason: quoted?.replaceAll('""', '"') ?? plain });
  }
  return closes;
}

/** The places of a level and of a quantity; costs are rounded to the places of a level, as in the API. */
const USD_PLACES = 6;
const QUANTITY_PLACES = 9;

/**
 * What the parts cost together on each day on which all have a close; nothing is carried from another day.
 * Before its last break a part had another unit or quality: the line begins at the latest of these breaks.
 *
 * @param {ReadonlyMap<string, readonly Close[]>} closes of each part, dates ascending
 * @param {ReadonlyMap<string, string>} parts quantities, by id
 * @returns {import("./chart.js").Point[]} US dollars
 */
export function costsOf(closes, parts) {
  const given = [...parts].map(([id, quantity]) => {
    const all = closes.get(id) ?? [];
    const first = all.findLastIndex(({ reason }) => reason !== "");
    const comparable = all.slice(Math.max(0, first));
    return {
      quantity: placesOf(quantity, QUANTITY_PLACES),
      byDate: new Map(comparable.map((close) => [close.date, close])),
    };
  });
  return [...(given[0]?.byDate.keys() ?? [])].flatMap((date) => {
    const own = given.flatMap(({ byDate }) => byDate.get(date) ?? []);
    if (own.length < given.length) return [];
    const cost = own.reduce(
      (sum, { usd }, at) => sum + placesOf(usd, USD_PLACES) * (given[at]?.quantity ?? 0n),
      0n,
    );
    const exact = decimalOf(cost, USD_PLACES + QUANTITY_PLACES);
    const text = String(rounded(exact, USD_PLACES)).replace(/\.?0+$/, "");
    const breakReason = own.flatMap(({ reason }) => reason || []).join("; ");
    return [{ date, close: Number(text), text, breakReason, isBreak: breakReason !== "" }];
  });
}
