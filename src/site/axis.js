/** The axes of charts: days, and which levels and dates have a label. */
import { decimalOf } from "./decimal.js";

export const DAY_MS = 86_400_000;
/** Months between labels, each a part of the next, so that a narrow axis has some of the wide one's. */
const MONTH_STEPS = [1, 3, 6, 12, 24, 120, 240, 1200];
const MOST_LABELS = 13;
const MOST_LABELS_NARROW = 5;

/**
 * Days since 1970-01-01.
 *
 * @param {string} date `YYYY-MM-DD`.
 */
export const dayOf = (date) => Date.parse(`${date}T00:00:00Z`) / DAY_MS;

/**
 * Days since 1970-01-01 with their fraction. A date alone is its 12:00 UTC, when it closes.
 *
 * @param {string} instant ISO 8601, or `YYYY-MM-DD`
 */
export const dayAt = (instant) =>
  Date.parse(instant.length === 10 ? `${instant}T12:00:00Z` : instant) / DAY_MS;

/**
 * `2026-11-21`.
 *
 * @param {number} day days since 1970-01-01
 */
export const dateText = (day) => new Date(day * DAY_MS).toISOString().slice(0, 10);

/**
 * `1 June 2026`.
 *
 * @param {string} date `YYYY-MM-DD`
 */
export const dateWords = (date) =>
  new Date(`${date}T00:00:00Z`).toLocaleDateString("en-GB", { dateStyle: "long", timeZone: "UTC" });

/**
 * `1 Jun 2026`.
 *
 * @param {string} date `YYYY-MM-DD`
 */
export const dayText = (date) => dateWords(date).replace(/([A-Z]..)[a-z]+/, "$1");

/**
 * The levels of an axis: multiples of 1, 2 or 5 times a power of ten, from the last at or below `low` to
 * the first at or above `high`. Their text is exact, and all have equally many decimals.
 *
 * @param {number} low
 * @param {number} high at least `low`
 * @param {number} [spaces] about as many are between the levels
 * @returns {{ text: string, level: number }[]}
 */
export function levelTicks(low, high, spaces = 4) {
  const margin = low < high ? 0 : Math.abs(low) / 10 || 1;
  const from = low - margin;
  const to = high + margin;
  const rough = (to - from) / spaces;
  let exponent = Math.floor(Math.log10(rough));
  const excess = rough / 10 ** exponent;
  let step = 1;
  if (excess >= Math.sqrt(50)) exponent += 1;
  else if (excess >= Math.sqrt(10)) step = 5;
  else if (excess >= Math.sqrt(2)) step = 2;
  const size = step * 10 ** exponent;
  // Divisions are rounded: a multiple may be missed by one.
  const first = Math.floor(from / size) - 1;
  const ticks = Array.from({ length: Math.ceil(to / size) - first + 2 }, (_, at) => {
    const whole = BigInt((first + at) * step) * 10n ** BigInt(Math.max(0, exponent));
    const text = decimalOf(whole, Math.max(0, -exponent));
    return { text, level: Number(text) };
  });
  const start = ticks.findLastIndex(({ level }) => level <= from);
  return ticks.slice(start, ticks.findIndex(({ level }) => level >= to) + 1);
}

/**
 * The labels of a date axis: first days of months, of every month or of every third, sixth, twelfth, …,
 * so that at most 13 stand on a wide axis, and at most 5 on a narrow one. Fewer than two: the first and
 * the last day instead. January has its year beside it. The first label also has it, unless January is
 * next. On a long axis the year stands alone.
 *
 * @param {number} from a day since 1970
 * @param {number} to the last day
 * @returns {{ text: string, day: number, isWideOnly: boolean }[]}
 */
export function dateTicks(from, to) {
  const first = monthOf(from - 1) + 1;
  const months = Array.from({ length: monthOf(to) - first + 1 }, (_, at) => first + at);
  if (months.length < 2) {
    return [...new Set([from, to])].map((day) => ({
      text: dayText(dateText(day)),
      day,
      isWideOnly: false,
    }));
  }
  /** The shortest step with at most so many labels. @param {number} most */
  const stepFor = (most) =>
    MONTH_STEPS.find((step) => months.filter((month) => month % step === 0).length <= most) ?? 1200;
  const step = stepFor(MOST_LABELS);
  const narrow = stepFor(MOST_LABELS_NARROW);
  const labelled = months.filter((month) => month % step === 0);
  return labelled.map((month, at) => {
    const day = Date.UTC(1970, month) / DAY_MS;
    const [, name = "", year = ""] = dayText(dateText(day)).split(" ");
    const isJanuary = month % 12 === 0;
    const hasYear = isJanuary || (at === 0 && (labelled[1] ?? 0) % 12 !== 0);
    const text = isJanuary && step >= 6 ? year : `${name} ${year}`;
    return { text: hasYear ? text : name, day, isWideOnly: month % narrow !== 0 };
  });
}

/** Months from January 1970 to a day's. @param {number} day days since 1970-01-01 */
function monthOf(day) {
  const date = new Date(day * DAY_MS);
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
}
