/** Which carried levels of the board are late. The same in Node and in the browser. */
import { dayAt } from "./axis.js";

/**
 * Whether a level is older than its cadence. Saturdays and Sundays do not count: most sources do not price then.
 *
 * @param {(id: string) => number} cadenceOf how many days lie between two prices of a contract
 * @param {string} session of the board, ISO 8601
 * @returns {import("./board.js").IsOverdue}
 */
export const overdueBy =
  (cadenceOf, session) =>
  ({ id, basis, age_days: days = 0 }) => {
    if (basis !== "carried" || days <= cadenceOf(id)) return false;
    const end = dayAt(session);
    const halves = Array.from({ length: days * 2 }, (_, at) => Math.floor(end - at / 2 - 0.25));
    return days - halves.filter(isWeekend).length / 2 > cadenceOf(id);
  };

/** @param {number} day since 1970; its first day was a Thursday */
const isWeekend = (day) => (day + 4) % 7 === 0 || (day + 4) % 7 === 6;
