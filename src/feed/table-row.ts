/** The rows of tables, of whatever format, and the names of their columns. */
import { quoted, type Complaints } from "./complaints.ts";
import type { Field } from "./fields.ts";
import type { InputSource } from "./source.ts";
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

/** Where the rows of a source go. */
export interface TableRows {
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

/** Whether the table has a column for each date or contract. Tells it once. */
export function isWide(rows: TableRows, names: readonly string[], position: number): boolean {
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
export function columnLike(name: string, { columns }: TableShape): string | undefined {
  if (columns.includes(name)) return name;
  const plain = name.trim().toLowerCase().replace(/\s/g, "_");
  return columns.find((column) => column === plain);
}

const INDEX = "an index? Write the table without it (pandas: index=False)";

/** The finding of a column, or of a field of an object, that the table does not have. */
export function unknown(
  noun: "column" | "field",
  name: string,
  at: number,
  shape: TableShape,
): string {
  const expected = `expected ${columnLike(name, shape) ?? shape.columns.join(", ")}`;
  const isIndex = at === 0 && /^(?:|index|Unnamed: 0)$/.test(name);
  const remedy = name === "" ? "a comma too many, or a column without a name" : expected;
  return `unknown ${noun} ${quoted(name)}, ${isIndex ? INDEX : remedy}`;
}
