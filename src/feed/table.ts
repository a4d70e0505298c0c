/** Reads tables from CSV, JSON or NDJSON. In every format, columns are found by name. */
import { counted, cut } from "../lib/text.ts";
import { InputError } from "../lib/errors.ts";
import { quoted, type Complaints } from "./complaints.ts";
import { csvReader } from "./csv-reader.ts";
import type { Field } from "./fields.ts";
import { cellText, jsonReader, ndjsonReader, type Fields } from "./json-reader.ts";
import type { Format, InputSource } from "./source.ts";
import { MAX_INPUT_ROWS, readText, sniffed } from "./text-reader.ts";
import { wideness } from "./wide.ts";

/** The columns that a table may have, and those that it must have. */
export interface TableShape {
  readonly columns: readonly string[];
  readonly required: readonly string[];
  /** The column of the level, and the rows that are expected, in words; only of tables with levels. */
  readonly level?: { readonly column: string; readonly rows: string };
}

/** Which rows are not wanted. */
export interface RowFilter {
  /** Whether rows of this id are left out, whatever their other cells hold. */
  leavesOut(id: string): boolean;
  /** `holdInvalid`: nobody complains of cells that cannot be read, as who takes the row leaves it out. */
  readonly rules: { readonly holdInvalid: boolean };
}

/** How messages name a row: `quotes.csv:17`, `quotes.json[2]`. */
export type Where = (position: number) => string;

/** A row of text cells. A null or missing cell reads as `""`; messages show it as `null`. */
export class TableRow {
  /** The row's line (CSV, NDJSON; from 1) or index (JSON; from 0) in its source. */
  readonly position: number;
  readonly #rows: TableRows;
  /** In the order of the table's columns. */
  readonly #cells: readonly (string | null)[];
  /** Whether nobody has found a fault in this row so far. */
  isFaultless: boolean;

  constructor(
    rows: TableRows,
    cells: readonly (string | null)[],
    position: number,
    isFaultless = true,
  ) {
    this.position = position;
    this.#rows = rows;
    this.#cells = cells;
    this.isFaultless = isFaultless;
  }

  /** How messages name the rows of this row's table. */
  get whereOf(): Where {
    return this.#rows.where;
  }

  /** For messages: `quotes.csv:17`. */
  get where(): string {
    return this.whereOf(this.position);
  }

  text(column: string): string {
    return this.#cell(column) ?? "";
  }

  /**
   * The value of a cell. If the field cannot parse it, the row gets a complaint and the value is
   * undefined in spite of its type: drop rows that are not faultless.
   */
  read<T>(column: string, field: Field<T>): T {
    const text = this.text(column);
    const value = field.parse(text);
    if (value === undefined) {
      const expected = field.expected + slipIn(text, field);
      // Slips of one kind differ in the figures that they name.
      this.refuse(column, expected, expected.replace(/\d/g, ""));
    }
    return value as Exclude<typeof value, undefined>;
  }

  /** Like `read`, but null if the cell is empty. */
  optional<T>(column: string, field: Field<T>): T | null {
    return this.text(column) === "" ? null : this.read(column, field);
  }

  /** Complains of a cell. `kind` is what many such complaints have in common. */
  refuse(column: string, expected: string, kind = expected): void {
    this.isFaultless = false;
    if (this.#rows.filter?.rules.holdInvalid) return;
    this.#rows.complaints.cell(this.where, column, this.#cell(column), expected, kind);
  }

  #cell(column: string): string | null {
    return this.#cells[this.#rows.shape.columns.indexOf(column)] ?? null;
  }
}

/** What a text seems to be that the field cannot parse; empty: nothing known. */
function slipIn<T>(text: string, field: Field<T>): string {
  const fits = (other: string): boolean => field.parse(other) !== undefined;
  return fits(text.trim()) ? "; no spaces" : (field.remedy?.(text, fits) ?? "");
}

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
): Promise<void> {
  const before = complaints.count;
  try {
    const { format, chunks } = await formatOf(source, readText(source, complaints));
    if (format === null) {
      if (complaints.count === before) complaints.at(source.name, "the file is empty");
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
      countRow,
      take,
      isWide: false,
    };
    const objectReader = format === "json" ? jsonReader : ndjsonReader;
    const reader =
      format === "csv"
        ? csvReader(recordTaker(rows), fault)
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

/** Where the rows of a source go. */
interface TableRows {
  readonly source: InputSource;
  readonly shape: TableShape;
  readonly complaints: Complaints;
  readonly where: Where;
  readonly filter: RowFilter | null;
  /** Throws InputError if there are too many. */
  readonly countRow: () => void;
  readonly take: (row: TableRow) => void;
  /** Whether a complaint says that the table is wide: then no row of it can be read. */
  isWide: boolean;
}

/** Takes the header first, then the rows. Returns false if the header does not fit the table. */
function recordTaker(rows: TableRows): (record: readonly string[], line: number) => boolean {
  const { source, shape, complaints, where, filter, countRow, take } = rows;
  let positions: readonly number[] | null = null;
  let header: readonly string[] = [];
  /** The first line, if it is no header. It may be a title: the header may be a few lines below. */
  let titleLine: number | null = null;
  /** Empty rows since the last one that is not: a file may end with them. */
  const empty: number[] = [];
  return (record, line) => {
    countRow();
    if (positions !== null && record.every((cell) => cell.trim() === "")) {
      if (!filter?.leavesOut("")) empty.push(line);
      return true;
    }
    for (const row of empty) complaints.at(where(row), "an empty row above others, expected none");
    empty.length = 0;
    if (positions === null) {
      if (titleLine === null && isWide(rows, record, line)) return false;
      const known = record.filter((name) => columnLike(name, shape) !== undefined).length;
      if (titleLine !== null) {
        const finding = `looks like the header, expected in line ${titleLine}: delete what is above it`;
        if (known > 1) complaints.at(where(line), finding);
        return known < 2 && line < titleLine + 10;
      }
      if (known === 0) {
        const names = source.isAnswer ? "" : ` in ${cut(record.map(quoted).join(", "), 300)}`;
        const expected = `expected a header of ${shape.columns.join(", ")}`;
        complaints.at(where(line), `no known column${names}, ${expected}`);
        titleLine = line;
        return true;
      }
      positions = headerPositions(record, rows, line);
      header = record;
      return positions !== null;
    }
    if (record.length !== header.length) {
      const finding = `${counted(record.length, "field")}, expected ${header.length} as in the header`;
      complaints.at(where(line), finding);
      return true;
    }
    const cells = positions.map((at) => (at < 0 ? "" : (record[at] as string)));
    if (filter?.leavesOut(cells[rows.shape.columns.indexOf("id")] as string)) return true;
    // Files that are put together may have each file's header, and a byte order mark before it.
    if (record.every((cell, at) => cell.replace(/^\ufeff/, "") === header[at]))
      complaints.at(where(line), "the header again, expected once: delete this line");
    else take(new TableRow(rows, cells, line));
    return true;
  };
}

/** Whether the table has a column for each date or contract. Tells it once. */
function isWide(rows: TableRows, names: readonly string[], position: number): boolean {
  const { source, shape, complaints, where } = rows;
  const { level } = shape;
  const isKnown = (name: string): boolean => columnLike(name, shape) !== undefined;
  if (level === undefined || names.some((name) => columnLike(name, shape) === level.column))
    return false;
  const finding = wideness(names, isKnown, source.isAnswer ?? false);
  if (finding === null) return false;
  complaints.at(where(position), `${finding}, expected ${level.rows}`);
  return (rows.isWide = true);
}

/** The column of this name, or of this name in another case or spacing. */
function columnLike(name: string, { columns }: TableShape): string | undefined {
  if (columns.includes(name)) return name;
  const plain = name.trim().toLowerCase().replace(/\s/g, "_");
  return columns.find((column) => column === plain);
}

/**
 * The index of each of the table's columns in the file; −1: the file lacks it. Complains of what does not fit;
 * returns null if no row can be read by it: a required column is missing, or one is misspelled or there twice.
 */
function headerPositions(
  header: readonly string[],
  { shape, complaints, where }: TableRows,
  line: number,
): readonly number[] | null {
  const found = (finding: string): void => complaints.at(where(line), finding);
  header.forEach((name, at) => {
    if (!shape.columns.includes(name)) {
      if (name !== "" || header[at - 1] !== "") found(unknown("column", name, at, shape));
    } else if (header.indexOf(name) !== at) found(`column ${quoted(name)} appears twice`);
  });
  for (const name of shape.required) {
    if (!header.some((other) => columnLike(other, shape) === name))
      found(`the header lacks the column ${quoted(name)}`);
  }
  const known = header.map((name) => columnLike(name, shape)).filter((name) => name !== undefined);
  const fits =
    known.every((name, at) => header.includes(name) && known.indexOf(name) === at) &&
    shape.required.every((name) => known.includes(name));
  return fits ? shape.columns.map((name) => header.indexOf(name)) : null;
}

const INDEX = "an index? Write the table without it (pandas: index=False)";

/** The finding of a column, or of a field of an object, that the table does not have. */
function unknown(noun: "column" | "field", name: string, at: number, shape: TableShape): string {
  const expected = `expected ${columnLike(name, shape) ?? shape.columns.join(", ")}`;
  const isIndex = at === 0 && /^(?:|index|Unnamed: 0)$/.test(name);
  const remedy = name === "" ? "a comma too many, or a column without a name" : expected;
  return `unknown ${noun} ${quoted(name)}, ${isIndex ? INDEX : remedy}`;
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
    const shown = JSON.stringify(value);
    fault(name, () => complaints.cell(where(position), name, shown, "text or a number"));
    return null;
  });
  if (isFaultless || (hasId && cells[shape.columns.indexOf("id")] !== null))
    take(new TableRow(rows, cells, position, isFaultless));
}
