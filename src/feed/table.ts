/** Reads tables from CSV, JSON or NDJSON. In every format, columns are found by name, or as a map says. */
import { MAX_INPUT_ROWS } from "../lib/limits.ts";
import { InputError } from "../lib/errors.ts";
import { counted } from "../lib/text.ts";
import {
  isWide,
  memberAt,
  nameOf,
  ourNames,
  rowLayout,
  wideLayouts,
  type Layout,
} from "./columns.ts";
import { quoted, quotedList, type Complaints } from "./complaints.ts";
import { csvReader } from "./csv-reader.ts";
import { cellText, jsonReader, leavesOf, ndjsonReader, type JsonRow } from "./json-reader.ts";
import { ourCell, type FeedMap, type TheirColumn } from "./map.ts";
import type { Format, InputSource } from "./source.ts";
import { TableRow, type RowFilter, type TableRows, type Where } from "./table-row.ts";
import { columnLike, nearestOf, unknownName, type TableShape } from "./table-shape.ts";
import { readText, sniff } from "./text-reader.ts";

/**
 * Reads all rows of a source, and calls `take` for each, in their order. Adds a complaint for each row
 * that does not have the table's shape, and for a source that cannot be read. If such a row has an id,
 * `take` gets it: the row is not faultless, and nothing but its id counts.
 */
export async function readTable(
  source: InputSource,
  shape: TableShape,
  complaints: Complaints,
  take: (row: TableRow) => void,
  filter: RowFilter | null = null,
  map: FeedMap | null = null,
): Promise<void> {
  const before = complaints.count;
  try {
    const text = readText(source, complaints, map?.encoding);
    const { format, chunks } = await formatOf(source, text, map);
    if (format === null) {
      if (complaints.count === before) complaints.at(source.name, "the file is empty");
      return;
    }
    const where: Where =
      format === "json"
        ? (position) => `${source.name}[${position}]`
        : (position) => `${source.name}:${position}`;
    // The header of CSV is no row; a line of NDJSON that is none costs as much as one.
    let count = format === "csv" && map?.header !== false ? -1 : 0;
    const countRow = (): void => {
      if ((count += 1) <= MAX_INPUT_ROWS) return;
      const finding = `more than ${MAX_INPUT_ROWS} rows, expected at most that; split it`;
      throw new InputError(`${source.name}: ${finding}`);
    };
    const fault = (finding: string, position: number | null): void => {
      complaints.at(position === null ? source.name : where(position), finding);
      countRow();
    };
    const rows: TableRows = {
      source,
      shape,
      complaints,
      where,
      filter,
      map,
      refusedConstants: new Set(),
      countRow,
      take,
      isWide: false,
    };
    const objects = objectTaker(rows);
    const reader =
      format === "csv"
        ? csvReader(recordTaker(rows), fault, {
            delimiter: map?.delimiter ?? null,
            ...(map !== null && { skip: map.skip }),
            remedy: (delimiter) => delimiterRemedy(delimiter, rows),
          })
        : format === "json"
          ? jsonReader(objects.take, fault, {
              path: map?.rows ?? null,
              hasArrays: map !== null,
              remedy: (path) => rowsRemedy(path, rows),
            })
          : ndjsonReader(objects.take, fault, map !== null);
    let countSoFar = before;
    for await (const chunk of chunks) {
      if (!reader.read(chunk)) return;
      countSoFar = complaints.count;
    }
    // After a complaint about the text what came last is no whole row.
    if (complaints.count === countSoFar) {
      reader.end();
      objects.end();
    }
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    complaints.unreadable(error);
  }
}

/** The way on for a file with this delimiter. */
function delimiterRemedy(delimiter: string, { shape, map }: TableRows): string {
  const member = `"delimiter": ${JSON.stringify(delimiter)}`;
  if (map !== null) return `; write ${member} in ${map.name}`;
  const save = "; in a region with decimal points Excel writes commas";
  return `${delimiter === ";" ? save : ""}${shape.level === undefined ? "" : `; --map reads it, with ${member}`}`;
}

/** The way on for an object that has an array at this path; null: the path is not known. */
function rowsRemedy(path: string | null, { source, shape, map }: TableRows): string {
  if (shape.level === undefined) return "";
  const member = `"rows": ${path === null || source.isAnswer ? "the path of the array" : quoted(path)}`;
  return map === null
    ? `, or read it by --map, with ${member}`
    : `, or write ${member} in ${map.name}`;
}

async function formatOf(
  source: InputSource,
  text: AsyncGenerator<string>,
  map: FeedMap | null,
): Promise<{ format: Format | null; chunks: AsyncIterable<string> }> {
  const { first, chunks } = await sniff(text);
  // An empty file is not CSV, which has a header, nor JSON: only its name can say that it has no rows.
  if (first === null && source.format !== "ndjson") return { format: null, chunks };
  // The path of rows leads into one text of JSON, whatever the file is called.
  if (map !== null && map.rows !== null && (first === "{" || first === "["))
    return { format: "json", chunks };
  if (source.format !== null) return { format: source.format, chunks };
  return { format: first === "[" ? "json" : first === "{" ? "ndjson" : "csv", chunks };
}

/** Takes the header of CSV first, then the rows. Returns false if the header does not fit the table. */
function recordTaker(rows: TableRows): (record: readonly string[], line: number) => boolean {
  const { source, shape, complaints, where, filter, map, countRow } = rows;
  const wide = wideTime(rows);
  let layouts: readonly Layout[] | null = null;
  let header: readonly string[] = [];
  /** The first line, if it is no header. It may be a title: the header may be a few lines below. */
  let titleLine: number | null = null;
  /** Empty rows since the last one that is not: a file may end with them. */
  const empty: number[] = [];
  return (record, line) => {
    countRow();
    if (layouts !== null && record.every((cell) => cell.trim() === "")) {
      if (!filter?.leavesOut("")) empty.push(line);
      return true;
    }
    for (const row of empty) complaints.at(where(row), "an empty row above others, expected none");
    empty.length = 0;
    if (layouts === null && map?.header === false) {
      // Columns are named by their places alone.
      header = record.map(() => "");
      layouts = rowLayout(header, rows, line);
      if (layouts === null) return false;
    } else if (layouts === null && wide !== undefined) {
      layouts = wideLayouts(record, rows, wide, line);
      header = record;
      return layouts !== null;
    } else if (layouts === null) {
      const names = ourNames(record, rows);
      const titles = names.map((name, at) => name ?? (record[at] as string));
      if (titleLine === null && isWide(rows, titles, line)) return false;
      const known = names.filter((name) => name !== null && columnLike(name, shape)).length;
      if (titleLine !== null) {
        const finding = `looks like the header, expected in line ${titleLine}: delete the lines above it${skipRemedy(line, rows)}`;
        if (known > 1) complaints.at(where(line), finding);
        return known < 2 && line < titleLine + 10;
      }
      if (known === 0) {
        const seen = source.isAnswer ? "" : ` in ${quotedList(record, 300)}`;
        const expected = shape.columns.map((name) => nameOf(map?.columns.get(name) ?? name));
        complaints.at(
          where(line),
          `no known column${seen}, expected a header of ${expected.join(", ")}${proposal(rows)}`,
        );
        titleLine = line;
        return true;
      }
      if (isRow(record, rows)) {
        const finding = `looks like a row, expected a header; write "header": false in ${map?.name}`;
        complaints.at(where(line), finding);
        return false;
      }
      layouts = rowLayout(record, rows, line);
      header = record;
      return layouts !== null;
    }
    if (record.length !== header.length) {
      const finding = `${counted(record.length, "field")}, expected ${header.length} as in the ${map?.header === false ? "first row" : "header"}`;
      complaints.at(where(line), finding);
      return true;
    }
    // Files that are put together may have each file's header, and a byte order mark before it.
    const isHeader = record.every((cell, at) => cell.replace(/^\ufeff/, "") === header[at]);
    for (const layout of layouts ?? []) {
      if (!takeCells(rows, layout, record, line, true, isHeader)) continue;
      complaints.at(where(line), "the header again, expected once: delete this line");
      return true;
    }
    return true;
  };
}

/** Takes the row that a layout makes of a record. Returns true if it would be one, but the record `isNone`. */
function takeCells(
  rows: TableRows,
  { cells, names, level }: Layout,
  record: readonly (string | null)[],
  position: number,
  isFaultless: boolean,
  isNone = false,
): boolean {
  const { shape, filter, map, countRow, take } = rows;
  if (level !== null) {
    const cell = record[level] ?? "";
    const column = shape.level?.column as string;
    if (cell.trim() === "" || (map !== null && ourCell(map, shape, column, cell) === ""))
      return false;
    countRow();
  }
  const own = cells.map((at) => (typeof at === "number" ? record[at] : at));
  const id = own[shape.columns.indexOf("id")] ?? "";
  if (filter?.leavesOut(map === null ? id : (ourCell(map, shape, "id", id) as string), id))
    return false;
  if (isNone) return true;
  take(new TableRow(rows, own, position, isFaultless, names));
  return false;
}

/** The column of the time, with theirs, if the map says that the table has a column for each contract. */
const wideTime = ({ map, shape }: TableRows): readonly [string, TheirColumn] | undefined =>
  [...(map?.wide ?? [])].find(([time]) => shape.columns.includes(time));

/** The way on for a file of levels that has no names of ours and no map. */
const proposal = ({ shape, map }: TableRows): string =>
  map === null && shape.level !== undefined ? "; chipboard map --try proposes a map" : "";

/** The lines above a header, for a map. */
function skipRemedy(line: number, { shape, map }: TableRows): string {
  const member = `"skip": ${line - 1}`;
  if (map !== null) return `, or write ${member} in ${map.name}`;
  return shape.level === undefined ? "" : `, or read it by --map, with ${member}`;
}

/** Whether a number or a date stands where a map that names columns by their places has a header. */
function isRow(record: readonly string[], { map, shape }: TableRows): boolean {
  const isValue = (column: string, at: number): boolean => {
    const { numbers = [], dates = [] } = shape.level ?? {};
    if (!numbers.includes(column) && !dates.includes(column)) return false;
    return /\d/.test(ourCell(map as FeedMap, shape, column, record[at - 1] ?? "") ?? "");
  };
  return [...(map?.columns ?? [])].some(
    ([column, theirs]) => typeof theirs === "number" && isValue(column, theirs),
  );
}

/** Takes the items of JSON and NDJSON. */
function objectTaker(rows: TableRows) {
  const { shape, complaints, where, filter, map, countRow, source } = rows;
  const wide = wideTime(rows);
  /** Columns that the map names and no item has had. */
  const missing = new Map<string, TheirColumn>();
  for (const [column, theirs] of map?.columns ?? [])
    if (shape.columns.includes(column)) missing.set(column, theirs);
  let items = 0;

  const take = (item: JsonRow, position: number, repeated: readonly string[]): void => {
    countRow();
    items += 1;
    if (rows.isWide) return;
    const found = (finding: string): void => complaints.at(where(position), finding);
    if (wide !== undefined) {
      const leaves = leavesOf(item);
      const layouts = wideLayouts(
        leaves.map(([path]) => path),
        rows,
        wide,
        position,
      );
      for (const name of repeated) found(`the field ${quoted(name)} appears twice`);
      const cells = leaves.map(([, value]) => value);
      for (const layout of layouts ?? [])
        takeCells(rows, layout, cells, position, repeated.length === 0);
      return;
    }
    const theirsOf = (column: string): TheirColumn => map?.columns.get(column) ?? column;
    const valueOf = (column: string): unknown => {
      const theirs = map?.columns.get(column);
      if (theirs === undefined)
        return Object.hasOwn(item, column) ? (item as Record<string, unknown>)[column] : undefined;
      const value = memberAt(item, theirs);
      if (value !== undefined) missing.delete(column);
      return value;
    };
    const isRepeated = (column: string): boolean =>
      repeated.some((name) => name === theirsOf(column));
    const id = map?.constants.get("id") ?? valueOf("id");
    const hasId = id !== undefined && !isRepeated("id");
    const idText = cellText(id) ?? "";
    if (
      hasId &&
      filter?.leavesOut(
        map === null ? idText : (ourCell(map, shape, "id", idText) as string),
        idText,
      )
    )
      return;
    let isFaultless = true;
    const fault = (column: string, tell: () => void): void => {
      isFaultless = false;
      // A row without an id is nobody's, so it cannot be held.
      if (!filter?.rules.holdInvalid || column === "id") tell();
    };
    const names = Array.isArray(item) ? [] : Object.keys(item);
    const ours = new Map([...(map?.columns ?? [])].map(([column, theirs]) => [theirs, column]));
    const titles = names.map((name) => ours.get(name) ?? name);
    if (isWide(rows, titles, position)) return;
    const values = new Map<string, unknown>(
      shape.columns.map((name) => [name, map?.constants.get(name) ?? valueOf(name)]),
    );
    // An object without known fields may be secret, so no name or value of it is shown.
    const isKnown = titles.some((name) => columnLike(name, shape) !== undefined);
    if (
      names.length > 0 &&
      !isKnown &&
      shape.columns.every((name) => map?.constants.has(name) || values.get(name) === undefined)
    ) {
      const [around] = Object.entries(item).filter(([, value]) => Array.isArray(value));
      const wayOn =
        around === undefined
          ? ""
          : `; give the array within it alone${rowsRemedy(around[0], rows)}`;
      const expected = shape.columns.map((name) => nameOf(theirsOf(name))).join(", ");
      found(`no known field, expected ${expected}${wayOn || proposal(rows)}`);
      return;
    }
    for (const name of titles) {
      if (shape.columns.includes(name)) {
        if (!map?.constants.has(name)) continue;
        fault(name, () =>
          found(`a field for ${name} beside its constant in ${map.name}, expected one of them`),
        );
        continue;
      }
      const like = columnLike(name, shape);
      if (like === undefined ? map?.columns.size : map?.columns.has(like)) continue;
      // A misspelled field is not read, and the message about it is enough.
      if (like !== undefined) isFaultless = false;
      found(unknownName("field", name, -1, shape));
    }
    for (const name of repeated)
      fault(ours.get(name) ?? name, () => found(`the field ${quoted(name)} appears twice`));
    for (const name of shape.required) {
      if (
        values.get(name) !== undefined ||
        titles.some((other) => columnLike(other, shape) === name)
      )
        continue;
      const theirs = map?.columns.get(name);
      const field =
        theirs === undefined
          ? quoted(name)
          : `${typeof theirs === "number" ? nameOf(theirs) : quoted(theirs)}, which ${map?.name} names for ${name},`;
      const near =
        typeof theirs === "string" &&
        nearestOf(
          theirs,
          leavesOf(item).map(([path]) => path),
        );
      const hint = near ? `; write ${quoted(near)}` : "";
      fault(name, () => found(`the field ${field} is missing${hint}`));
    }
    const cells = shape.columns.map((name) => {
      const value = values.get(name) ?? null;
      if (value === null) return null;
      const cell = cellText(value);
      if (cell !== null) return cell;
      const json = JSON.stringify(value);
      fault(name, () =>
        complaints.cell(where(position), nameOf(theirsOf(name)), json, "text or a number"),
      );
      return null;
    });
    if (isFaultless || (hasId && cells[shape.columns.indexOf("id")] !== null))
      rows.take(
        new TableRow(
          rows,
          cells,
          position,
          isFaultless,
          shape.columns.map((name) => nameOf(theirsOf(name))),
        ),
      );
  };

  /** Complains of columns of the map that no item has: each may be misspelled. */
  const end = (): void => {
    if (items === 0 || wide !== undefined || rows.isWide) return;
    for (const [column, theirs] of missing) {
      if (shape.required.includes(column)) continue;
      const name = typeof theirs === "number" ? nameOf(theirs) : `the field ${quoted(theirs)}`;
      complaints.at(source.name, `no row has ${name}, which ${map?.name} names for ${column}`);
    }
  };
  return { take, end };
}
