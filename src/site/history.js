/** A contract's history: its closes with their marks, and the parts of it that a chart offers. */
import { dateText, dayOf } from "./axis.js";
import { quotient } from "./decimal.js";

/** @typedef {import("./chart.js").Point} Point */

/** As they stand in an address; "ytd" is the year to date. */
const RANGES = ["30d", "90d", "6m", "ytd", "1y", "5y"];

/**
 * The ranges within a depth of history that the closes fill, but for a tenth; and all of it.
 *
 * @param {readonly Point[]} points
 * @param {string} to the last date of the axis
 * @param {number} depthDays years as 365 days
 * @param {number} [nearDays] as of `startOf`
 */
export function rangesWithin(points, to, depthDays, nearDays = NEAR_DAYS) {
  const within = RANGES.filter((range) => {
    const from = dayOf(startOf(range, to, points, nearDays));
    const days = dayOf(to) - from;
    // Five years have one or two days more, and a line may begin with an earlier close.
    return days < depthDays + 3 + nearDays && dayOf(points[0]?.date ?? to) - from <= days / 10;
  });
  return [...within, "all"];
}

/** The day whose close a session's levels are, `YYYY-MM-DD`: at 00:00 the day before. @param {string} session ISO 8601 */
export const closeDateOf = (session) =>
  new Date(Date.parse(session) - 43_200_000).toISOString().slice(0, 10);

/** A close of so many days ago counts for a day without one: a weekend. */
export const NEAR_DAYS = 3;

/**
 * The first day of a range that ends with a day: so many days before, or the same day of an earlier month (29
 * February: the 28th), so that the line has the change that tables call by the same name. It begins with the close in
 * force then, if there is one. The year to date begins with the last close of the year before, or on 1 January if there
 * is none.
 *
 * @param {string} range
 * @param {string} to `YYYY-MM-DD`
 * @param {readonly Point[]} [points]
 * @param {number} [nearDays] how many days a close is in force
 */
export function startOf(range, to, points = [], nearDays = NEAR_DAYS) {
  const newYear = `${to.slice(0, 4)}-01-01`;
  const count = Number.parseInt(range, 10);
  if (range === "all") return points[0]?.date ?? to;
  if (range === "ytd") return points.findLast(({ date }) => date < newYear)?.date ?? newYear;
  const day = range.endsWith("d")
    ? dayOf(to) - count
    : monthsBefore(to, range.endsWith("y") ? count * 12 : count);
  const near = points.findLast(({ date }) => dayOf(date) <= day);
  return near === undefined || dayOf(near.date) < day - nearDays ? dateText(day) : near.date;
}

/** @param {string} to @param {number} months @returns {number} a day since 1970 */
function monthsBefore(to, months) {
  const [year = 0, month = 0, day = 0] = to.split("-").map(Number);
  const lastOfMonth = new Date(Date.UTC(year, month - months, 0));
  lastOfMonth.setUTCDate(Math.min(day, lastOfMonth.getUTCDate()));
  return dayOf(lastOfMonth.toISOString().slice(0, 10));
}

/**
 * The closes from a day on. The last close, which is the level in force, is always among them.
 *
 * @param {readonly Point[]} closes
 * @param {string} from `YYYY-MM-DD`
 */
export const closesFrom = (closes, from) =>
  closes.filter(({ date }, at) => date >= from || at === closes.length - 1);

/**
 * The closes per gigabyte, rounded as the API rounds `usd_per_gb`.
 *
 * @param {readonly Point[]} points
 * @param {number} capacityGb
 * @returns {Point[]}
 */
export const perGigabyte = (points, capacityGb) =>
  points.map(({ low, high, ...point }) => {
    const text = quotient(point.text ?? String(point.close), String(capacityGb));
    const range =
      low === undefined || high === undefined
        ? {}
        : { low: low / capacityGb, high: high / capacityGb };
    return { ...point, ...range, close: Number(text), text };
  });

/**
 * The closes of one contract out of `/history.csv`.
 *
 * @param {string} csv
 * @param {readonly { session_utc: string }[]} corrections
 * @returns {Point[]}
 */
export function closesOf(csv, corrections) {
  const corrected = new Set(corrections.map(({ session_utc }) => session_utc));
  return rowsOf(csv).map(({ cell }) => {
    const low = cell("low_usd");
    const high = cell("high_usd");
    const breakReason = reasonIn(cell);
    return {
      date: cell("date"),
      close: Number(cell("close_usd")),
      text: cell("close_usd"),
      ...(low !== "" && { low: Number(low), high: Number(high) }),
      breakReason,
      isBreak: breakReason !== null,
      isCorrected: corrected.has(cell("session_utc")),
    };
  });
}

/**
 * A close to the digit, with the session that it is of; indices have no session.
 *
 * @typedef {Point & { text: string, session: string }} DatedClose
 */

/**
 * The closes of each contract out of `/history.csv`, or of each index out of `/indices.csv`.
 *
 * @param {string} csv
 * @returns {Map<string, DatedClose[]>} by id, which stands in the first column
 */
export function closesById(csv) {
  const lines = new Map();
  for (const { id, cell } of rowsOf(csv)) {
    const text = cell("close_usd") || cell("close");
    const breakReason = reasonIn(cell);
    const point = {
      date: cell("date"),
      close: Number(text),
      text,
      session: cell("session_utc"),
      breakReason,
      isBreak: breakReason !== null,
    };
    const points = lines.get(id);
    if (points === undefined) lines.set(id, [point]);
    else points.push(point);
  }
  return lines;
}

/**
 * Why a close does not compare with the one before; null: it does. Spreadsheets would take some texts for formulas: a
 * ' stands before them.
 *
 * @param {(name: string) => string} cell
 */
const reasonIn = (cell) => cell("break_reason").replace(/^'(?=[=+\-@\t\r])/, "") || null;

/** The rows below the head, with a way to read a cell by the name of its column. @param {string} csv */
function rowsOf(csv) {
  const [names = [], ...rows] = cellsOf(csv);
  return rows.map((cells) => ({
    id: cells[0] ?? "",
    cell: (/** @type {string} */ name) => cells[names.indexOf(name)] ?? "",
  }));
}

/** The cells of CSV (RFC 4180) whose lines all end with CR LF. @param {string} csv */
function cellsOf(csv) {
  /** @type {string[][]} */
  const rows = [];
  let row = [];
  for (const [, cell = "", end] of csv.matchAll(/("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n)/g)) {
    row.push(cell.replace(/^"|"$/g, "").replaceAll('""', '"'));
    if (end === ",") continue;
    rows.push(row);
    row = [];
  }
  return rows;
}
