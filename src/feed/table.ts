/** Reads tables from CSV, JSON or NDJSON. In every format, columns are found by name. */
import { counted } from "../lib/text.ts";
import { InputError } from "../lib/errors.ts";
import { quoted, type Complaints } from "./complaints.ts";
import { csvReader } from "./csv.ts";
import type { Field } from "./fields.ts";
import { cellText, jsonReader, ndjsonReader, type Fields } from "./json.ts";
import type { Format, Source } from "./source.ts";
import { MAX_INPUT_ROWS, readText, sniffed } from "./text.ts";

/** The columns that a table may have, and those that it must have. */
export interface TableShape {
  readonly columns: readonly string[];
  readonly required: readonly string[];
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
export class Row {
  /** The row's line (CSV, NDJSON; from 1) or index (JSON; from 0) in its source. */
  readonly position: number;
  readonly #rows: Rows;
  /** In the order of the table's columns. */
  readonly #cells: readonly (string | null)[];
  /** Whether nobody has found a fault in this row so far. */
  isFaultless: boolean;

  constructor(rows: Rows, cells: readonly (string | null)[], position: number, isFaultless = true) {
    this.position = position;
    this.#rows = rows;
    this.#cells = cells;
    this.isFaultless = isFaultless;
  }

  /** For messages: `quotes.csv:17`. */
  get where(): string {
    return this.#rows.where(this.position);
  }

  /** The text of the cell. */
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
    if (value === undefined)
      this.refuse(column, field.expected + (field.wayOn?.(text) || slipIn(text)));
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

/** A hint at a common mistake in a number; empty: none found. */
function slipIn(text: string): string {
  if (/^\d+,\d+$/.test(text)) return "; no commas, decimals after a point";
  if (/^[\d.]+e[+-]?\d+$/i.test(text)) return "; plain digits, no exponent";
  if (/\s/.test(text) && /^[\d.]+$/.test(text.replace(/\s/g, ""))) return "; no spaces";
  return "";
}

/**
 * Reads all rows of a source. Calls `begin` once, before the first row. Adds a complaint for each row
 * that does not have the table's shape, and for a source that cannot be read. Of such a row it passes on
 * what it can, if the row has an id: it is not faultless, and nothing but its id counts.
 */
export async function readTable(
  source: Source,
  shape: TableShape,
  complaints: Complaints,
  begin: (where: Where) => (row: Row) => void,
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
    const rows: Rows = { shape, complaints, where, filter, countRow, take: begin(where) };
    const objectReader = format === "json" ? jsonReader : ndjsonReader;
    const reader =
      format === "csv"
        ? csvReader(recordTaker(rows), fault)
        : objectReader((fields, position) => takeFields(rows, fields, position), fault);
    for await (const chunk of chunks) {
      if (!reader.read(chunk)) return;
    }
    reader.end();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    complaints.unreadable(error);
  }
}

async function formatOf(
  source: Source,
  text: AsyncGenerator<string>,
): Promise<{ format: Format | null; chunks: AsyncIterable<string> }> {
  const { first, chunks } = await sniffed(text);
  // An empty file is not CSV, which has a header, nor JSON: only its name can say that it has no rows.
  if (first === null && source.format !== "ndjson") return { format: null, chunks };
  if (source.format !== null) return { format: source.format, chunks };
  return { format: first === "[" ? "json" : first === "{" ? "ndjson" : "csv", chunks };
}

/** Where the rows of a source go. */
interface Rows {
  readonly shape: TableShape;
  readonly complaints: Complaints;
  readonly where: Where;
  readonly filter: RowFilter | null;
  /** Throws InputError if there are too many. */
  readonly countRow: () => void;
  readonly take: (row: Row) => void;
}

/** Takes the header first, then the rows. Returns false if the header does not fit the table. */
function recordTaker(rows: Rows): (record: readonly string[], line: number) => boolean {
  const { complaints, where, filter, countRow, take } = rows;
  let positions: readonly number[] | null = null;
  let width = 0;
  return (record, line) => {
    countRow();
    if (positions === null) {
      positions = headerPositions(record, rows, line);
      width = record.length;
      return positions !== null;
    }
    if (record.length === width) {
      const cells = positions.map((at) => (at < 0 ? "" : (record[at] as string)));
      if (!filter?.leavesOut(cells[rows.shape.columns.indexOf("id")] as string))
        take(new Row(rows, cells, line));
    } else {
      complaints.at(
        where(line),
        `${counted(record.length, "field")}, expected ${width} as in the header`,
      );
    }
    return true;
  };
}

/**
 * The index of each of the table's columns in the file; −1: the file lacks it. Returns null, after
 * complaints, if the header does not fit the table.
 */
function headerPositions(
  header: readonly string[],
  { shape, complaints, where }: Rows,
  line: number,
): readonly number[] | null {
  const before = complaints.count;
  const found = (finding: string): void => complaints.at(where(line), finding);
  const expected = `expected ${shape.columns.join(", ")}`;
  if (!header.some((name) => shape.columns.includes(name))) {
    found(`no known column, ${expected}`);
    return null;
  }
  header.forEach((name, at) => {
    if (!shape.columns.includes(name)) found(`unknown column ${quoted(name)}, ${expected}`);
    else if (header.indexOf(name) !== at) found(`column ${quoted(name)} appears twice`);
  });
  for (const name of shape.required) {
    if (!header.includes(name)) found(`the header lacks the column ${quoted(name)}`);
  }
  return complaints.count > before ? null : shape.columns.map((name) => header.indexOf(name));
}

function takeFields(rows: Rows, fields: Fields, position: number): void {
  const { shape, complaints, where, filter, countRow, take } = rows;
  countRow();
  if (Object.hasOwn(fields, "id") && filter?.leavesOut(cellText(fields["id"]) ?? "")) return;
  let isFaultless = true;
  const fault = (name: string, tell: () => void): void => {
    isFaultless = false;
    // A row without an id is nobody's, so it cannot be held.
    if (!filter?.rules.holdInvalid || name === "id" || !shape.columns.includes(name)) tell();
  };
  const found = (finding: string): void => complaints.at(where(position), finding);
  const expected = `expected ${shape.columns.join(", ")}`;
  const names = Object.keys(fields);
  // An object without known fields may be secret, so no name or value of it is shown.
  if (names.length > 0 && !names.some((name) => shape.columns.includes(name))) {
    found(`no known field, ${expected}`);
    return;
  }
  for (const name of names) {
    if (!shape.columns.includes(name))
      fault(name, () => found(`unknown field ${quoted(name)}, ${expected}`));
  }
  for (const name of shape.required) {
    if (!Object.hasOwn(fields, name))
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
  if (isFaultless || cells[shape.columns.indexOf("id")] !== null)
    take(new Row(rows, cells, position, isFaultless));
}
