/** The last closes of contracts, out of `/history.csv`, and what a basket of them cost. */

/** @typedef {import("./chart.js").Point} Point */

const DAY_MS = 86_400_000;

/** What the file begins with; `break_reason` is its last column. */
const COLUMNS = "contract_id,date,close_usd,";

/**
 * The closes of some days up to a date, by contract, dates ascending. It reads the file as it arrives and
 * keeps these days only: the file of five years has 16 MB.
 *
 * @param {ReadableStream<Uint8Array<ArrayBuffer>>} file
 * @param {string} to `2026-11-21`
 * @param {number} [days]
 * @returns {Promise<Map<string, Point[]>>} empty if the file has other columns
 */
export async function recentCloses(file, to, days = 90) {
  const after = new Date(Date.parse(to) - days * DAY_MS).toISOString().slice(0, 10);
  /** @type {Map<string, Point[]>} */
  const closes = new Map();
  const reader = file.pipeThrough(new TextDecoderStream()).getReader();
  let isHead = true;
  let rest = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    rest += read.value;
    let start = 0;
    for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n", end + 1)) {
      const row = rest.slice(start, end);
      // A reason may have line breaks, within its quotation marks.
      if (row.includes('"') && row.split('"').length % 2 === 0) continue;
      start = end + 1;
      if (isHead && !row.startsWith(COLUMNS)) return closes;
      if (!isHead) keep(row, after, closes);
      isHead = false;
    }
    rest = rest.slice(start);
  }
  return closes;
}

/**
 * @param {string} row
 * @param {string} after
 * @param {Map<string, Point[]>} closes
 */
function keep(row, after, closes) {
  const [id = "", date = "", close = ""] = row.split(",", 3);
  if (date <= after) return;
  const known = closes.get(id) ?? [];
  if (known.length === 0) closes.set(id, known);
  known.push({ date, close: Number(close), isBreak: !row.endsWith(",\r") });
}

/**
 * What the parts cost together on each day on which all have a close; nothing is carried from another day.
 * Before its last break a part had another unit or quality: it has no cost then. The line has a gap where a
 * part lacks a close that another one has.
 *
 * @param {ReadonlyMap<string, readonly Point[]>} closes of each part, dates ascending
 * @param {ReadonlyMap<string, string>} parts quantities, by id
 * @returns {{ points: Point[], breaks: string[] }} US dollars; and the dates of the last breaks
 */
export function costsOf(closes, parts) {
  const breaks = [];
  const given = [];
  for (const [id, quantity] of parts) {
    const all = closes.get(id) ?? [];
    const first = all.findLastIndex(({ isBreak }) => isBreak);
    if (first >= 0) breaks.push(all[first]?.date ?? "");
    const comparable = all.slice(Math.max(0, first));
    given.push(new Map(comparable.map(({ date, close }) => [date, close * Number(quantity)])));
  }
  /** @type {Point[]} */
  const points = [];
  let isBreak = false;
  for (const date of [...new Set(given.flatMap((of) => [...of.keys()]))].sort()) {
    const costs = given.flatMap((of) => of.get(date) ?? []);
    const isWhole = costs.length === given.length;
    const close = Number(costs.reduce((sum, cost) => sum + cost, 0).toPrecision(12));
    if (isWhole) points.push({ date, close, isBreak });
    isBreak = !isWhole;
  }
  return { points, breaks };
}
