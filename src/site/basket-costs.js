/** Calculates the cost of a basket of quantities on each day, from the closes of its parts. */
import { DAY_MS, dateText, dayOf } from "./axis.js";
import { decimalOf, placesOf, rounded } from "./decimal.js";
import { comparablePoints, sessionOf } from "./levels.js";

/** The places of a level and of a quantity; costs are rounded to the places of a level, as in the API. */
const USD_PLACES = 6;
const QUANTITY_PLACES = 9;

/**
 * The cost of all parts on each day on which a level of each is in force: its last one, within its carry
 * limit. A day ends with its session of 12:00; the last day ends with `session`. Before its last break a part had
 * another unit or quality: the line begins at the latest of these breaks.
 *
 * @param {ReadonlyMap<string, readonly import("./levels.js").Level[]>} closes of each part, dates ascending
 * @param {ReadonlyMap<string, string>} parts quantities, by id
 * @param {(id: string) => number} carryDaysOf how many days a level of the contract is in force
 * @param {string} session the last one, ISO 8601
 * @returns {import("./levels.js").Level[]} US dollars
 */
export function costsOf(closes, parts, carryDaysOf, session) {
  const given = [...parts].map(([id, quantity]) => ({
    quantity: placesOf(quantity, QUANTITY_PLACES),
    limitMs: carryDaysOf(id) * DAY_MS,
    closes: comparablePoints(closes.get(id) ?? []).map((close) => ({
      ...close,
      sessionMs: Date.parse(sessionOf(close)),
    })),
    /** How many of them are not after the end of the day. */
    passed: 0,
  }));
  const firsts = given.map(({ closes: [first] }) => (first ? dayOf(first.date) : Infinity));
  const last = dayOf(session.slice(0, 10));
  /** @type {import("./levels.js").Level[]} */
  const points = [];
  for (let day = Math.max(...firsts); day <= last; day += 1) {
    const date = dateText(day);
    const endMs = Math.min((day + 0.5) * DAY_MS, Date.parse(session));
    for (const part of given) {
      while ((part.closes[part.passed]?.sessionMs ?? Infinity) <= endMs) part.passed += 1;
    }
    const own = given.flatMap(({ closes: all, passed, limitMs }) => {
      const close = all[passed - 1];
      return close !== undefined && endMs - close.sessionMs <= limitMs ? [close] : [];
    });
    if (own.length < given.length) continue;
    const cost = own.reduce(
      (sum, { text, close }, at) =>
        sum + placesOf(text ?? String(close), USD_PLACES) * (given[at]?.quantity ?? 0n),
      0n,
    );
    const exact = decimalOf(cost, USD_PLACES + QUANTITY_PLACES);
    const text = String(rounded(exact, USD_PLACES)).replace(/\.?0+$/, "");
    const breakReason = own
      .flatMap((close) => (close.sessionMs > (day - 0.5) * DAY_MS && close.breakReason) || [])
      .join("; ");
    const at = new Date(endMs).toISOString();
    points.push({
      date,
      session: at,
      close: Number(text),
      text,
      breakReason,
      isBreak: breakReason !== "",
    });
  }
  return points;
}
