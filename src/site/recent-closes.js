/** The last closes of every contract, out of `/history.csv`. */

/** @typedef {import("./chart.js").Point} Point */

const DAY_MS = 86_400_000;

/** What the file begins with; `break_reason` is its last column. */
const COLUMNS = "contract_id,date,close_usd,";

/**
 * The closes of the 90 days up to a date, by contract, dates ascending. It reads the file as it arrives
 * and keeps these days only: the file of five years has 16 MB.
 *
 * @param {ReadableStream<Uint8Array<ArrayBuffer>>} file
 * @param {string} to `2026-11-21`
 * @returns {Promise<Map<string, Point[]>>} empty if the file has other columns
 */
export async function recentCloses(file, to) {
  const after = new Date(Date.parse(to) - 90 * DAY_MS).toISOString().slice(0, 10);
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
