/** Reads a table from bytes without a map: finds encoding, format, delimiter and header. For proposals of maps. */
import { keepDigits } from "../lib/json.ts";
import { isValue } from "./cell-forms.ts";
import { csvReader, SEPARATOR_LINE } from "./csv-reader.ts";
import { decoderOf, eastAsianReadings, encodingOf } from "./encodings.ts";
import { leavesOf } from "./json-reader.ts";
import type { MapDraft } from "./map.ts";

/** The most characters and rows that a proposal looks at. */
const SAMPLE_CHARACTERS = 16_000_000;
const SAMPLE_ROWS = 2_000;
/** The most columns of JSON: each row may have names of its own, and each row gets a cell for each name. */
const SAMPLE_COLUMNS = 1_000;

/** A table as it came. */
export interface Sample {
  /** The names of the columns; a number is a place. */
  readonly header: readonly (string | number)[];
  readonly rows: readonly (readonly string[])[];
  /** The members of the map that lead to these rows. */
  readonly map: MapDraft;
  /** Of CSV, the text of each row's first line. */
  readonly lines: readonly string[];
}

/** The table in the bytes; null: they are none. */
export function readSample(bytes: Uint8Array): Sample | null {
  const encoding = likelyEncoding(bytes);
  const text = decoderOf(encoding).decode(bytes).slice(0, SAMPLE_CHARACTERS);
  const sample = jsonSample(text) ?? csvSample(text);
  if (sample === null || encoding === "utf-8") return sample;
  return { ...sample, map: { encoding, ...sample.map } };
}

/** The encoding that a text most likely has. */
function likelyEncoding(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  const start = bytes.subarray(0, 1_000);
  const zeros = start.filter((byte, at) => byte === 0 && at % 2 === 1).length;
  if (zeros > start.length / 4) return "utf-16le";
  if (start.filter((byte) => byte === 0).length > start.length / 4) return "utf-16be";
  try {
    decoderOf("utf-8").decode(bytes);
    return "utf-8";
  } catch {
    const at = bytes.findIndex((byte) => byte >= 0x80);
    const begin = bytes.lastIndexOf(LINE_FEED, at) + 1;
    const end = bytes.indexOf(LINE_FEED, at + 500);
    const [reading] = eastAsianReadings(bytes.subarray(begin, end < 0 ? at + 1_000 : end));
    return encodingOf(reading?.encoding ?? "windows-1252") as string;
  }
}

const LINE_FEED = 10;

/** The rows of JSON or NDJSON: the array with the most of them; null: the text is something else. */
function jsonSample(text: string): Sample | null {
  const [first] = /\S/.exec(text) ?? [];
  if (first !== "[" && first !== "{") return null;
  const lines = text.split("\n").slice(0, SAMPLE_ROWS);
  const value = parseJson(text);
  const path = value === undefined ? "" : pathOfRows(value);
  const rows =
    value === undefined
      ? lines.flatMap((line) => parseJson(line) ?? [])
      : path.split("\0").reduce(memberOf, value);
  if (!Array.isArray(rows)) return null;
  const leaves = rows.slice(0, SAMPLE_ROWS).map((row) => new Map(leavesOf(row)));
  const names = [...new Set(leaves.flatMap((row) => [...row.keys()]))].slice(0, SAMPLE_COLUMNS);
  const isPlaces = Array.isArray(rows[0]);
  return {
    header: names.map((name) => (isPlaces ? Number(name) + 1 : name)),
    rows: leaves.map((row) => names.map((name) => row.get(name) ?? "")),
    map: path === "" ? {} : { rows: path.replaceAll("\0", ".") },
    lines: [],
  };
}

const memberOf = (value: unknown, name: string): unknown =>
  name === "" ? value : (value as Record<string, unknown>)[name];

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, keepDigits);
  } catch {
    return undefined;
  }
}

/** The members up to the longest array of objects or arrays, between NULs; empty: it is the value, or there is none. */
function pathOfRows(value: unknown): string {
  let longest = { path: "", length: Array.isArray(value) && isRows(value) ? value.length : 0 };
  const visit = (each: unknown, path: string, depth: number): void => {
    if (typeof each !== "object" || each === null || depth > 6) return;
    if (isRows(each) && each.length > longest.length) longest = { path, length: each.length };
    // A row can have arrays of its own.
    if (isRows(each) && each.length > 2) return;
    for (const [name, inner] of Object.entries(each))
      visit(inner, path === "" ? name : `${path}\0${name}`, depth + 1);
  };
  visit(value, "", 0);
  return longest.path;
}

/** Whether a value is an array of objects, or of arrays. */
function isRows(value: unknown): value is unknown[] {
  if (!Array.isArray(value) || value.length === 0) return false;
  const isArray = Array.isArray(value[0]);
  return value.every(
    (row) => typeof row === "object" && row !== null && Array.isArray(row) === isArray,
  );
}

/** The rows of CSV with its likeliest delimiter; null: no lines have columns. */
function csvSample(text: string): Sample | null {
  const lines = text.split("\n").map((line) => line.replace(/\r$/, ""));
  const [, separator] = SEPARATOR_LINE.exec(lines[0] ?? "") ?? [];
  const found = [",", ";", "\t", "|"]
    .map((delimiter) => ({ delimiter, ...shapeOf(lines, delimiter) }))
    .filter(({ delimiter }) => separator === undefined || delimiter === separator)
    .reduce((one, other) => (other.score > one.score ? other : one), {
      delimiter: ",",
      score: 0,
      at: 0,
    });
  if (found.score === 0) return null;
  const { delimiter, at } = found;
  const records: (readonly string[])[] = [];
  const raw: string[] = [];
  const reader = csvReader(
    (record, line) => {
      records.push(record);
      raw.push(lines[line - 1] ?? "");
      return records.length <= SAMPLE_ROWS;
    },
    () => {},
    { delimiter, skip: { first: at, numbers: new Set(), starts: [] }, remedy: () => "" },
  );
  if (reader.read(`${lines.join("\n")}\n`)) reader.end();
  const [head = [], ...others] = records;
  const hasHeader = !head.some(isValue);
  const skip = at - (separator === undefined ? 0 : 1) > 0 ? { skip: at } : {};
  return {
    header: hasHeader ? head : head.map((_, index) => index + 1),
    rows: hasHeader ? others : records,
    map: {
      ...(delimiter === "," ? {} : { delimiter }),
      ...(hasHeader ? {} : { header: false }),
      ...skip,
    },
    lines: hasHeader ? raw.slice(1) : raw,
  };
}

/** How many lines have the usual number of cells with a delimiter, and which is the first of them. */
function shapeOf(lines: readonly string[], delimiter: string): { score: number; at: number } {
  const counts = lines
    .slice(0, SAMPLE_ROWS)
    .map((line) => line.replaceAll(/"[^"]*"/g, "").split(delimiter).length - 1);
  const byCount = Map.groupBy(
    counts.filter((count) => count > 0),
    (count) => count,
  );
  const [usual, all] = [...byCount].reduce(
    (one, other) => (other[1].length > one[1].length ? other : one),
    [0, [] as number[]],
  );
  return { score: all.length, at: Math.max(0, counts.indexOf(usual)) };
}
