/**
 * Levels in force, the same in Node and in the browser: which one at an instant, until when it is in force, and what a
 * chart of a range has. Changes are the figures of the API; none is calculated from drawn points.
 */
import { DAY_MS, dayAt, dayText } from "./axis.js";
import { changeBetween, quotient } from "./decimal.js";
import { roundedText, signedText } from "./text.js";

/**
 * A level, or a close of an index.
 *
 * @typedef {object} Level
 * @property {string} date `YYYY-MM-DD`, the date of the level.
 * @property {number} close Of at most 15 significant digits.
 * @property {string} [text] The close as a decimal, if its digits count.
 * @property {string} [session] Its session, ISO 8601; left out: 12:00 UTC of its date.
 * @property {number} [low] The lowest price behind it; with `high` only.
 * @property {number} [high]
 * @property {boolean} [isBreak] Not comparable with the level before: no line is drawn between them.
 * @property {string | null} [breakReason] The words of the mark; levels before it are muted.
 * @property {boolean} [isCorrected] Shown as an open circle.
 *
 * A level on a chart: a horizontal line from one instant to another.
 *
 * @typedef {Level & { at?: string, until?: string }} Point `at`: ISO 8601; left out: its session. `until`: left out:
 *   the next point, or its own place
 *
 * @typedef {object} Line A contract, an index or a cost with its levels.
 * @property {readonly Level[]} levels Those that a chart has, ascending by session.
 * @property {readonly Level[]} [known] All that are known, if they are more: a range begins with one of them.
 * @property {number} carryDays How many days a level is in force at most.
 * @property {string} to The instant up to which the last level may be in force, ISO 8601.
 *
 * @typedef {{ points: readonly Point[], from: string, to: string }} Drawn What a chart of a range has, and its ends.
 *
 * The changes of a contract or an index in percent, as the API gives them, by range. Null: there is none. A range that
 * is left out has no figure.
 *
 * @typedef {Readonly<Record<string, string | number | null>>} Changes
 */

/** The ranges of charts, as they stand in an address; "ytd" is the year to date. */
export const CHART_RANGES = ["30d", "90d", "6m", "ytd", "1y", "5y"];

/** A comparison has at most so many lines. */
export const MOST_LINES = 4;

/** The ranges over which the API gives changes, in words. @type {Readonly<Record<string, string>>} */
export const RANGE_WORDS = {
  "24h": "24 hours",
  "7d": "7 days",
  "30d": "30 days",
  "90d": "90 days",
  "1y": "1 year",
};

/** The session of a level, ISO 8601. @param {{ date: string, session?: string | undefined }} level */
export const sessionOf = ({ session, date }) => session ?? `${date}T12:00:00.000Z`;

/** A level to the digit. @param {Pick<Level, "text" | "close">} level */
export const textOf = ({ text, close }) => text ?? String(close);

/** @param {number} days since 1970, with a fraction */
const instant = (days) => new Date(Math.round(days * DAY_MS)).toISOString();

/**
 * The instant with which a range begins: so many days before its end at the same hour, or the same date of an earlier
 * month (29 February: the 28th). The year to date begins with the year.
 *
 * @param {string} range
 * @param {string} to ISO 8601
 */
export function startOf(range, to) {
  const count = Number.parseInt(range, 10);
  const day = to.slice(0, 10);
  if (range === "ytd") return `${day.slice(0, 4)}-01-01T00:00:00.000Z`;
  if (range.endsWith("h")) return instant(dayAt(to) - count / 24);
  if (range.endsWith("d")) return instant(dayAt(to) - count);
  return monthsBefore(day, range.endsWith("y") ? count * 12 : count) + to.slice(10);
}

/** @param {string} date @param {number} months */
function monthsBefore(date, months) {
  const [year = 0, month = 0, day = 0] = date.split("-").map(Number);
  const last = new Date(Date.UTC(year, month - months, 0));
  last.setUTCDate(Math.min(day, last.getUTCDate()));
  return last.toISOString().slice(0, 10);
}

/**
 * The level in force at an instant: the last one until then, within its carry limit.
 *
 * @param {Line} line
 * @param {string} at ISO 8601
 */
export function levelAt({ levels, known = levels, carryDays }, at) {
  const level = known.findLast((each) => sessionOf(each) <= at);
  return level && dayAt(at) - dayAt(sessionOf(level)) <= carryDays ? level : undefined;
}

/**
 * The level in force at an instant, if it compares with the last one: no break lies between them. The API's references
 * follow the same rule.
 *
 * @param {Line} line
 * @param {string} at ISO 8601
 */
export function referenceAt(line, at) {
  const then = levelAt(line, at);
  if (then === undefined) return undefined;
  const later = line.levels.filter((level) => sessionOf(level) > sessionOf(then));
  return later.some(({ isBreak }) => isBreak) ? undefined : then;
}

/**
 * The ranges within a depth of history that a line fills, but for a tenth; and all of it.
 *
 * @param {Line} line
 * @param {number} depthDays years as 365 days
 */
export function rangesWithin(line, depthDays) {
  const [first] = line.levels;
  const within = CHART_RANGES.filter((range) => {
    const from = startOf(range, line.to);
    const days = daysOf(range, line.to);
    if (first === undefined || days > depthDays + 2) return false;
    return levelAt(line, from) !== undefined || dayAt(sessionOf(first)) - dayAt(from) <= days / 10;
  });
  return [...within, "all"];
}

/** The days of a range. @param {string} range @param {string} to its end, ISO 8601 */
const daysOf = (range, to) => dayAt(to) - dayAt(startOf(range, to));

const LONGEST_FIRST = ["1y", "90d", "30d", "7d", "24h"];

/**
 * The range that a chart has at first: the wanted one; else the longest one with a change whose reference the depth of
 * history has; else all.
 *
 * @param {string} wanted
 * @param {readonly string[]} ranges those that are offered
 * @param {string} to their end, ISO 8601
 * @param {number} depthDays
 */
export function firstRange(wanted, ranges, to, depthDays) {
  const longest = LONGEST_FIRST.find((range) => daysOf(range, to) < depthDays) ?? "all";
  return [wanted, longest].find((range) => ranges.includes(range)) ?? "all";
}

/**
 * What a chart of a range has. It begins with the level that the range's change compares with; without one, with the
 * first level in the range. Each level holds until the next one, its carry limit or the end of the line. The last
 * level is always there.
 *
 * @param {Line} line
 * @param {string} range
 * @returns {Drawn} without points only if the line has no level
 */
export function drawnOf(line, range) {
  const [first] = line.levels;
  const from = range === "all" ? sessionOf(first ?? { date: line.to }) : startOf(range, line.to);
  return drawnFrom(line, from);
}

/**
 * The same from an instant on.
 *
 * @param {Line} line
 * @param {string} from ISO 8601
 * @returns {Drawn}
 */
export function drawnFrom(line, from) {
  const { levels, to } = line;
  const start = referenceAt(line, from);
  const later = levels.filter((level, at) => {
    const session = sessionOf(level);
    const isWithin = start === undefined ? session >= from : session > from;
    return isWithin || (start === undefined && at === levels.length - 1);
  });
  const points = [
    ...(start === undefined
      ? []
      : [sessionOf(start) === from ? { ...start, at: from } : begun(start, from)]),
    ...later.map((level) => ({ ...level, at: sessionOf(level) })),
  ];
  return { points: points.map((point, at) => held(point, points[at + 1], line)), from, to };
}

/**
 * An earlier level where a range begins. Its own break is not in the range.
 *
 * @param {Level} level
 * @param {string} at
 */
const begun = (level, at) => ({ ...level, at, isBreak: false, breakReason: null });

/**
 * A point with the end of its level.
 *
 * @param {Level & { at: string }} point
 * @param {{ at: string } | undefined} next
 * @param {Line} line
 * @returns {Point}
 */
function held(point, next, { carryDays, to }) {
  const limit = dayAt(sessionOf(point)) + carryDays;
  const end = next?.at ?? to;
  const until = limit < dayAt(end) ? instant(limit) : end;
  return { ...point, until: until < point.at ? point.at : until };
}

/**
 * The points that compare with the last one: those from the last break on that has a reason.
 *
 * @template {Level} P
 * @param {readonly P[]} points
 */
export const comparablePoints = (points) =>
  points.slice(points.findLastIndex(({ breakReason }, at) => at === 0 || breakReason));

/**
 * The title of a chart: `DDR5 16Gb, 1 year: +203.85 %`. A range for which the API has no change names the first and
 * the last level that compare.
 *
 * @param {string} name
 * @param {string} range
 * @param {Changes} changes
 * @param {readonly Point[]} points those that are drawn
 * @param {number} decimals of levels; `Infinity`: as given
 */
export function titleOf(name, range, changes, points, decimals) {
  if (range in changes) return `${name}, ${changeWords(range, changes)}`;
  const rest = comparablePoints(points);
  const said = [rest[0], rest.length > 1 ? rest.at(-1) : undefined].flatMap((point) =>
    point ? `${roundedText(textOf(point), decimals)} on ${dayText(point.date)}` : [],
  );
  return said.length === 0 ? name : `${name}: ${said.join(", ")}`;
}

/** `1 year: +203.85 %` with a space that does not break, or `1 year: n/a`. @param {string} range @param {Changes} changes */
export function changeWords(range, changes) {
  const change = changes[range];
  const figure = change == null ? "n/a" : `${signedText(String(change))}\u00A0%`;
  return `${RANGE_WORDS[range]}: ${figure}`;
}

/**
 * The changes of a contract: the changes of its record, which its references repeat.
 *
 * @param {Readonly<Record<string, any>>} record
 * @returns {Changes}
 */
export const changesOfRecord = (record) => ({
  "24h": record["chg_24h_pct"] ?? null,
  "7d": record["chg_7d_pct"] ?? null,
  "30d": record["chg_30d_pct"] ?? null,
  "90d": record["chg_90d_pct"] ?? null,
  "1y": record["chg_yoy_pct"] ?? null,
});

/**
 * The changes of a contract on its own page: one off the boards has none.
 *
 * @param {Readonly<Record<string, any>>} body of `/prices/{id}`
 * @returns {Changes}
 */
export const changesOfContract = (body) =>
  body["basis"] === "discontinued" ? {} : changesOfRecord(body);

/**
 * Closes with the levels that changes compare with: at 00:00 these need not be closes.
 *
 * @param {readonly Level[]} closes
 * @param {readonly { session_utc: string | null, usd: number | null }[]} references of `/prices/{id}`
 * @returns {Level[]} ascending
 */
export function withReferences(closes, references) {
  const others = references.flatMap(({ session_utc: session, usd }) =>
    session === null || usd === null || closes.some((close) => sessionOf(close) === session)
      ? []
      : [{ date: session.slice(0, 10), session, close: usd, text: String(usd) }],
  );
  const once = new Map(others.map((level) => [level.session, level]));
  return [...closes, ...once.values()].toSorted((a, b) => (sessionOf(a) < sessionOf(b) ? -1 : 1));
}

/**
 * The changes of the series in `/indices/{id}`. A publication of an older version has closes alone.
 *
 * @param {{ changes?: readonly { range: string, change_pct: string | null }[] | undefined }} series
 * @param {readonly Level[]} closes of the series
 * @returns {Changes}
 */
export const changesOfSeries = ({ changes }, closes) =>
  changes === undefined
    ? changesOfCloses(closes)
    : Object.fromEntries(changes.map(({ range, change_pct }) => [range, change_pct]));

/**
 * The change between two published closes of an index, as `changes` of `/indices/{id}` has it: lists of indices come
 * with closes alone. Null: a close is missing.
 *
 * @param {readonly Level[]} closes
 * @param {string} range
 */
export function changeOfCloses(closes, range) {
  const last = closes.at(-1);
  if (last === undefined) return null;
  const day = startOf(range, sessionOf(last)).slice(0, 10);
  const then = closes.find(({ date }) => date === day);
  if (then === undefined || then.close === 0) return null;
  return changeBetween(textOf(then), textOf(last));
}

/** The changes of an index over all ranges, out of its closes alone. @param {readonly Level[]} closes @returns {Changes} */
export const changesOfCloses = (closes) =>
  Object.fromEntries(
    Object.keys(RANGE_WORDS).map((range) => [range, changeOfCloses(closes, range)]),
  );

/** The longest range with a change; without one all of the line. @param {Changes} changes */
export const longestRange = (changes) =>
  LONGEST_FIRST.find((range) => changes[range] !== null) ?? "all";

/** The line of an index. It ends with its last close. @param {readonly Level[]} closes @returns {Line} */
export const lineOfIndex = (closes) => ({
  levels: closes,
  carryDays: Infinity,
  to: closes.length === 0 ? "" : sessionOf(/** @type {Level} */ (closes.at(-1))),
});

/**
 * The levels per gigabyte, rounded as the API rounds `usd_per_gb`. A level before a break has the capacity of then;
 * one without a capacity is left out.
 *
 * @param {Line} line
 * @param {number | null} capacityGb of now
 * @param {readonly { session_utc: string, capacity_gb?: number | null }[]} [breaks] ascending, each with the capacity
 *   before it
 * @returns {Line}
 */
export function perGigabyte(line, capacityGb, breaks = []) {
  /** @param {Level} level */
  const capacityOf = (level) => {
    const next = breaks.find(({ session_utc }) => session_utc > sessionOf(level));
    return next?.capacity_gb === undefined ? capacityGb : next.capacity_gb;
  };
  /** @param {readonly Level[]} levels */
  const divided = (levels) =>
    levels.flatMap((level) => {
      const capacity = capacityOf(level);
      if (capacity === null) return [];
      const { low, high, ...rest } = level;
      /** @param {string} usd */
      const perGb = (usd) => quotient(usd, String(capacity));
      const text = perGb(textOf(level));
      const range =
        low === undefined || high === undefined
          ? {}
          : { low: Number(perGb(String(low))), high: Number(perGb(String(high))) };
      return [{ ...rest, ...range, close: Number(text), text }];
    });
  return {
    ...line,
    levels: divided(line.levels),
    ...(line.known && { known: divided(line.known) }),
  };
}

/**
 * The last date up to which a contract off the boards had a level in force.
 *
 * @param {{ session_utc: string, delisted_on?: string | null }} body
 */
export const endOf = ({ session_utc: session, delisted_on: delisted }) =>
  delisted && `${delisted}T00:00:00.000Z` < session ? `${delisted}T00:00:00.000Z` : session;
