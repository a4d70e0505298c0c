/** Levels and closes out of the CSV files of the API. */

import { endOf, sessionOf, withReferences } from "./levels.js";

/** @typedef {import("./levels.js").Level} Level */

/**
 * The closes of one contract out of `/history.csv`.
 *
 * @param {string} csv
 * @param {readonly { session_utc: string }[]} corrections
 * @returns {Level[]}
 */
export function closesOf(csv, corrections) {
  const corrected = new Set(corrections.map(({ session_utc }) => session_utc));
  return rowsOf(csv).map(({ cell }) => {
    const low = cell("low_usd");
    const high = cell("high_usd");
    const close = levelOf(cell, cell("date"), cell("close_usd"));
    return {
      ...close,
      ...(low !== "" && { low: Number(low), high: Number(high) }),
      isCorrected: corrected.has(close.session),
    };
  });
}

/**
 * A level to the digit, with its session; closes of indices are of 12:00 UTC.
 *
 * @param {(name: string) => string} cell
 * @param {string} date
 * @param {string} text
 */
function levelOf(cell, date, text) {
  const session = cell("session_utc");
  const breakReason = reasonIn(cell);
  const isBreak = breakReason !== null;
  const level = { date, close: Number(text), text, breakReason, isBreak };
  return { ...level, session: session === "" ? sessionOf(level) : session };
}

/** The rows by the id in the first column. @param {string} csv @param {(cell: (name: string) => string) => Level} read */
const readById = (csv, read) =>
  new Map(
    [...Map.groupBy(rowsOf(csv), ({ id }) => id)].map(([id, rows]) => [
      id,
      rows.map(({ cell }) => read(cell)),
    ]),
  );

/** The closes of each contract out of `/history.csv`, or of each index out of `/indices.csv`, by id. @param {string} csv */
export const closesById = (csv) =>
  readById(csv, (cell) => levelOf(cell, cell("date"), cell("close_usd") || cell("close")));

/** The levels of each contract out of `/levels.csv`, both sessions of a day, by id. @param {string} csv */
export const levelsById = (csv) =>
  readById(csv, (cell) => levelOf(cell, cell("as_of"), cell("spot_usd")));

/**
 * The closes among levels: of each date the last one. Breaks of those that are left out stand at the next.
 *
 * @param {readonly Level[]} levels
 * @returns {Level[]}
 */
export function closesAmong(levels) {
  /** @type {string | null} */
  let reason = null;
  return levels.flatMap((level, at) => {
    reason = level.breakReason ?? reason;
    if (levels[at + 1]?.date === level.date) return [];
    const close = { ...level, breakReason: reason, isBreak: reason !== null };
    reason = null;
    return [close];
  });
}

/**
 * The line of a contract's own page.
 *
 * @param {{ session_utc: string, delisted_on?: string | null, max_carry_days: number,
 *   corrections: readonly { session_utc: string }[],
 *   references?: readonly { session_utc: string | null, usd: number | null }[] }} body of `/prices/{id}`; an older
 *   publication has no references
 * @param {string} csv its `/history.csv`
 * @returns {import("./levels.js").Line}
 */
export function lineOfContract(body, csv) {
  const levels = closesOf(csv, body.corrections);
  const known = withReferences(levels, body.references ?? []);
  return { levels, known, carryDays: body.max_carry_days, to: endOf(body) };
}

/**
 * The line of a contract beside others, out of `/levels.csv`: it has the same closes and the same references.
 *
 * @param {readonly Level[]} levels
 * @param {number} carryDays
 * @param {string} to when it ends, ISO 8601
 * @returns {import("./levels.js").Line}
 */
export const lineOfLevels = (levels, carryDays, to) => ({
  levels: closesAmong(levels),
  known: levels,
  carryDays,
  to,
});

/**
 * Why a close does not compare with the one before; null: it does. Spreadsheets would take some texts for formulas: a
 * ' stands before them.
 *
 * @param {(name: string) => string} cell
 */
const reasonIn = (cell) =>
  cell("break_reason").replace(/^'(?=\s*[=+\-@＝＋－＠]|[\t\r])/, "") || null;

/** The rows below the head, with a way to read a cell by the name of its column. @param {string} csv */
export function rowsOf(csv) {
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
