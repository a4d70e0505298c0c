/** A contract's history: which closes are after a break or corrected, a part of it, and its CSV. */
import { dateText, dayOf } from "./axis.js";

/** @typedef {import("./chart.js").Point} Point */
/** @typedef {import("./record.js").ContractBody} ContractBody */

/** The parts of a history that a page offers. */
export const RANGES = /** @type {const} */ (["90 d", "1 y", "5 y"]);
/** @typedef {typeof RANGES[number]} Range */
const RANGE_DAYS = { "90 d": 90, "1 y": 365, "5 y": 5 * 365 };

/**
 * The ranges within a depth of history, and the shortest in any case.
 *
 * @param {number} depthDays
 */
export const rangesWithin = (depthDays) =>
  RANGES.filter((range) => range === RANGES[0] || RANGE_DAYS[range] <= depthDays);

/** @typedef {Point & { breakReason: string | null }} Close `breakReason`: of the break before it */

/**
 * The closes with their marks. The answer dates closes by `as_of`, and breaks and corrections by
 * session. How many days the first is behind the second is taken from the level in force.
 *
 * @param {ContractBody} body
 * @returns {Close[]}
 */
export function closesOf({ history, breaks, corrections, session_utc, age_days, as_of }) {
  const day = dayOf(session_utc.slice(0, 10)) + Number(session_utc.slice(11, 13)) / 24;
  const lagDays = age_days === undefined ? 0 : Math.floor(day - age_days) - dayOf(as_of);
  const dated = history.map(({ date, close_usd }) => ({
    date,
    close: close_usd,
    day: dayOf(date),
  }));
  /**
   * The closes that the level of a session may be: those dated from the lag before its day up to its
   * day; if there are none, the last one before.
   *
   * @param {string} session
   */
  const candidates = (session) => {
    const day = dayOf(session.slice(0, 10));
    const end = dated.findLastIndex((close) => close.day <= day) + 1;
    const near = dated.slice(0, end).filter((close) => close.day >= day - lagDays);
    return near.length > 0 ? near : dated.slice(Math.max(0, end - 1), end);
  };
  const reasons = new Map(breaks.map((item) => [candidates(item.session_utc)[0], item.reason]));
  const corrected = new Set(
    corrections.map((item) =>
      candidates(item.session_utc).findLast(({ close }) => close === item.new_usd),
    ),
  );
  return dated.map((item) => {
    const { date, close } = item;
    const breakReason = reasons.get(item) ?? null;
    return {
      date,
      close,
      breakReason,
      isBreak: breakReason !== null,
      isCorrected: corrected.has(item),
    };
  });
}

/**
 * The first day of a range that ends with a day: 90 days, or from the day after the same one of an
 * earlier year (29 February: after the 28th).
 *
 * @param {Range} range
 * @param {string} to `YYYY-MM-DD`
 */
export function startOf(range, to) {
  if (range === "90 d") return dateText(dayOf(to) - 89);
  const year = Number(to.slice(0, 4)) - Number(range.slice(0, 1));
  const isLeapDay = to.endsWith("-02-29");
  return dateText(dayOf(`${year}-${isLeapDay ? "02-28" : to.slice(5)}`) + 1);
}

/**
 * The closes from a day on. The last close, which is the level in force, is always among them.
 *
 * @template {Point} P
 * @param {readonly P[]} closes
 * @param {string} from `YYYY-MM-DD`
 */
export const closesFrom = (closes, from) =>
  closes.filter(({ date }, at) => date >= from || at === closes.length - 1);

/**
 * The history as CSV (RFC 4180), with the names and rules of `/history.csv`: `break_reason` stands on
 * the first close after a break, and text that a spreadsheet would take for a formula gets a `'`.
 *
 * @param {ContractBody} body
 */
export function historyCsv(body) {
  const rows = closesOf(body).map(({ date, close, breakReason }) =>
    [body.id, date, String(close), csvText(breakReason ?? "")].join(","),
  );
  return ["contract_id,date,close_usd,break_reason", ...rows, ""].join("\r\n");
}

/** @param {string} text */
function csvText(text) {
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
