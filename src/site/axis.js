/** The axes of charts: days, and which levels and dates have a label. */

const DAY_MS = 86_400_000;
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
/** About as many spaces are between the levels of an axis. */
const LEVEL_SPACES = 4;
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
 * The levels of an axis: multiples of 1, 2 or 5 times a power of ten, from the last at or below `low` to
 * the first at or above `high`. Their text is exact, and all have equally many decimals.
 *
 * @param {number} low
 * @param {number} high at least `low`
 * @returns {{ text: string, level: number }[]}
 */
export function levelTicks(low, high) {
  const margin = low < high ? 0 : Math.abs(low) / 10 || 1;
  const [from, to] = [low - margin, high + margin];
  const rough = (to - from) / LEVEL_SPACES;
  let exponent = Math.floor(Math.log10(rough));
  const excess = rough / 10 ** exponent;
  let step = 1;
  if (excess >= Math.sqrt(50)) exponent += 1;
  else if (excess >= Math.sqrt(10)) step = 5;
  else if (excess >= Math.sqrt(2)) step = 2;
  /** @param {number} count */
  const tick = (count) => {
    const text = scaledText(count * step, exponent);
    return { text, level: Number(text) };
  };
  let first = Math.floor(from / (step * 10 ** exponent));
  let last = Math.ceil(to / (step * 10 ** exponent));
  // The divisions above are rounded: a level that is itself a multiple may be missed by one.
  while (tick(first).level > from) first -= 1;
  while (tick(first + 1).level <= from) first += 1;
  while (tick(last).level < to) last += 1;
  while (tick(last - 1).level >= to) last -= 1;
  return Array.from({ length: last - first + 1 }, (_, at) => tick(first + at));
}

/**
 * The decimal `whole` × 10^`exponent`, without rounding.
 *
 * @param {number} whole a whole number
 * @param {number} exponent
 */
function scaledText(whole, exponent) {
  const digits = String(Math.abs(whole));
  const sign = whole < 0 ? "-" : "";
  if (exponent >= 0) return whole === 0 ? "0" : sign + digits + "0".repeat(exponent);
  const padded = digits.padStart(1 - exponent, "0");
  return `${sign}${padded.slice(0, exponent)}.${padded.slice(exponent)}`;
}

/**
 * The labels of a date axis: first days of months, of every month or of every third, sixth, twelfth, …,
 * so that at most 13 stand on a wide axis, and at most 5 on a narrow one. Fewer than two: the first and
 * the last day instead. January has its year beside it, and so has
 * the first label; on a long axis the year stands alone.
 *
 * @param {number} from a day since 1970
 * @param {number} to the last day
 * @returns {{ text: string, day: number, isWideOnly: boolean }[]}
 */
export function dateTicks(from, to) {
  const starts = monthStarts(from, to);
  if (starts.length < 2) {
    return [...new Set([from, to])].map((day) => ({ text: dayText(day), day, isWideOnly: false }));
  }
  const step = stepFor(starts, MOST_LABELS);
  const narrow = stepFor(starts, MOST_LABELS_NARROW);
  return starts
    .filter(({ month }) => month % step === 0)
    .map(({ day, month }, at) => ({
      text: monthText(month, step, at),
      day,
      isWideOnly: month % narrow !== 0,
    }));
}

/**
 * `1 Jun 2026`.
 *
 * @param {number} day days since 1970-01-01
 */
export function dayText(day) {
  const [year = "", month, date] = dateText(day).split("-");
  return `${Number(date)} ${MONTHS[Number(month) - 1]} ${year}`;
}

/**
 * @param {number} month months since 1970
 * @param {number} step
 * @param {number} at the place of the label on the axis
 */
function monthText(month, step, at) {
  const year = 1970 + Math.floor(month / 12);
  const ofYear = month - (year - 1970) * 12;
  if (step >= 6 && ofYear === 0) return String(year);
  const hasYear = ofYear === 0 || (at === 0 && ofYear + step < 12);
  return hasYear ? `${MONTHS[ofYear]} ${year}` : `${MONTHS[ofYear]}`;
}

/**
 * The shortest step with at most `most` labels.
 *
 * @param {readonly { month: number }[]} starts
 * @param {number} most
 */
const stepFor = (starts, most) =>
  MONTH_STEPS.find((step) => starts.filter(({ month }) => month % step === 0).length <= most) ??
  1200;

/**
 * The first days of months from one day to another, with the months since 1970.
 *
 * @param {number} from
 * @param {number} to
 */
function monthStarts(from, to) {
  const first = new Date(from * DAY_MS);
  let month = (first.getUTCFullYear() - 1970) * 12 + first.getUTCMonth();
  const starts = [];
  for (let day = from; day <= to; month += 1) {
    day = Date.UTC(1970, month, 1) / DAY_MS;
    if (day >= from && day <= to) starts.push({ day, month });
  }
  return starts;
}
