/** Reads tables from CSV, JSON or NDJSON. In every format, columns are found by name. */
import { InputError } from "../lib/errors.ts";
import { quoted, type Complaints } from "./complaints.ts";
import { csvReader } from "./csv-reader.ts";
import type { CsvMap } from "./csv-map.ts";
import { recordTaker } from "./csv-table.ts";
import { cellText, jsonReader, ndjsonReader, type Fields } from "./json-reader.ts";
import type { Format, InputSource } from "./source.ts";
import { isWide, TableRow } from "./table-row.ts";
import type { RowFilter, TableRows, Where } from "./table-row.ts";
import { columnLike, unknown, type TableShape } from "./table-shape.ts";
import { MAX_INPUT_ROWS, readText, sniffed } from "./text-reader.ts";

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
  map: CsvMap | null = null,
): Promise<void> {
  const before = complaints.count;
  try {
    const { format, chunks } = await formatOf(source, readText(source, complaints, map?.encoding));
    if (format === null) {
      if (complaints.count === before) complaints.at(source.name, "the file is empty");
      return;
    }
    if (map !== null && format !== "csv") {
      const finding = `${format === "json" ? "JSON" : "NDJSON"}, expected CSV: ${map.name} maps nothing else`;
      complaints.at(source.name, `${finding}; publish it without --map`);
      return;
    }
    const where: Where =
      format === "json"
        ? (position) => `${source.name}[${position}]`
        : (position) => `${source.name}:${position}`;
    // The header of CSV is no row; a line of NDJSON that is none costs as much as one.
    let count = format === "csv" ? -1 : 0;
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
    const objectReader = format === "json" ? jsonReader : ndjsonReader;
    const reader =
      format === "csv"
        ? csvReader(recordTaker(rows), fault, {
            delimiter: map?.delimiter ?? ",",
            remedy: (delimiter) => delimiterRemedy(delimiter, rows),
          })
        : objectReader((...object) => takeFields(rows, ...object), fault);
    let countSoFar = before;
    for await (const chunk of chunks) {
      if (!reader.read(chunk)) return;
      countSoFar = complaints.count;
    }
    // After a complaint about the text what came last is no whole row.
    if (complaints.count === countSoFar) reader.end();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    complaints.unreadable(error);
  }
}

/** What to do about a file with this delimiter. */
function delimiterRemedy(delimiter: string, { shape, map }: TableRows): string {
  const member = `"delimiter": ${JSON.stringify(delimiter)}`;
  if (map !== null) return `; write ${member} in ${map.name}`;
  const save = "; in a region with decimal points Excel writes commas";
  return `${delimiter === ";" ? save : ""}${shape.level === undefined ? "" : `; --map reads it, with ${member}`}`;
}

async function formatOf(
  source: InputSource,
  text: AsyncGenerator<string>,
): Promise<{ format: Format | null; chunks: AsyncIterable<string> }> {
  const { first, chunks } = await sniffed(text);
  // An empty file is not CSV, which has a header, nor JSON: only its name can say that it has no rows.
  if (first === null && source.format !== "ndjson") return { format: null, chunks };
  if (source.format !== null) return { format: source.format, chunks };
  return { format: first === "[" ? "json" : first === "{" ? "ndjson" : "csv", chunks };
}

function takeFields(
  rows: TableRows,
  fields: Fields,
  position: number,
  repeated: readonly string[],
): void {
  const { shape, complaints, where, filter, countRow, take } = rows;
  countRow();
  if (rows.isWide) return;
  const hasId = Object.hasOwn(fields, "id") && !repeated.includes("id");
  if (hasId && filter?.leavesOut(cellText(fields["id"]) ?? "")) return;
  let isFaultless = true;
  const fault = (name: string, tell: () => void): void => {
    isFaultless = false;
    // A row without an id is nobody's, so it cannot be held.
    if (!filter?.rules.holdInvalid || name === "id") tell();
  };
  const found = (finding: string): void => complaints.at(where(position), finding);
  const expected = `expected ${shape.columns.join(", ")}`;
  const names = Object.keys(fields);
  if (isWide(rows, names, position)) return;
  // An object without known fields may be secret, so no name or value of it is shown.
  if (names.length > 0 && !names.some((name) => columnLike(name, shape) !== undefined)) {
    const isAround = Object.values(fields).some(Array.isArray);
    found(`no known field, ${expected}${isAround ? "; give the array within it alone" : ""}`);
    return;
  }
  for (const name of names) {
    if (shape.columns.includes(name)) continue;
    // What a field of another spelling holds is not read, and not missed.
    if (columnLike(name, shape) !== undefined) isFaultless = false;
    found(unknown("field", name, -1, shape));
  }
  for (const name of repeated) {
    fault(name, () => found(`the field ${quoted(name)} appears twice`));
  }
  for (const name of shape.required) {
    if (!Object.hasOwn(fields, name) && !names.some((other) => columnLike(other, shape) === name))
      fault(name, () => found(`the field ${quoted(name)} is missing`));
  }
  const cells = shape.columns.map((name) => {
    const value = Object.hasOwn(fields, name) ? fields[name] : null;
    if (value === null) return null;
    const cell = cellText(value);
    if (cell !== null) return cell;
    const json = JSON.stringify(value);
    fault(name, () => complaints.cell(where(position), name, json, "text or a number"));
    return null;
  });
  if (isFaultless || (hasId && cells[shape.columns.indexOf("id")] !== null))
    take(new TableRow(rows, cells, position, isFaultless));
}
