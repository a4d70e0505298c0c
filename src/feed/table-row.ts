/** The rows of tables, of whatever format, and the names of their columns. */
import type { Complaints } from "./complaints.ts";
import type { Field } from "./fields.ts";
import { basesOf, formOf, ourCell, type FeedMap } from "./map.ts";
import type { InputSource } from "./source.ts";
import type { TableShape } from "./table-shape.ts";
import { levelSlip } from "./slips.ts";

/** Which rows are not wanted. */
export interface RowFilter {
  /** Whether rows of this id are left out, whatever their other cells hold. `came`: the id as it came. */
  leavesOut(id: string, came?: string): boolean;
  /** The contract with this id, or almost this name, for messages; undefined: none is known. */
  contractOf(name: string): string | undefined;
  /** `holdInvalid`: no message names a cell that cannot be read, because the run leaves the row out. */
  readonly rules: { readonly holdInvalid: boolean };
}

/** How messages name a row: `quotes.csv:17`, `quotes.json[2]`. */
export type Where = (position: number) => string;

/** A row of text cells. A null or missing cell reads as `""`; messages show it as `null`. */
export class TableRow {
  /** The row's line (CSV, NDJSON; from 1) or index (JSON; from 0) in its source. */
  readonly position: number;
  readonly #rows: TableRows;
  /** As they came, in the order of the table's columns; undefined: the header lacks the column. */
  readonly #cells: readonly (string | null | undefined)[];
  /** The names of the columns in messages. */
  readonly #names: readonly string[];
  /** Whether nobody has found a fault in this row so far. */
  isFaultless: boolean;

  constructor(
    rows: TableRows,
    cells: readonly (string | null | undefined)[],
    position: number,
    isFaultless = true,
    names = rows.shape.columns,
  ) {
    this.position = position;
    this.#rows = rows;
    this.#cells = cells;
    this.#names = names;
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

  /** The row's id as it came, and the name of its column in messages. */
  get givenId(): readonly [column: string, id: string] {
    return [this.#name("id"), this.#cell("id") ?? ""];
  }

  text(column: string): string {
    return this.#ours(column) ?? this.#cell(column) ?? "";
  }

  /**
   * The value of a cell. If the field cannot parse it, the row gets a complaint and the value is
   * undefined in spite of its type: drop rows that are not faultless.
   */
  read<T>(column: string, field: Field<T>): T {
    const text = this.#ours(column);
    const value = text === undefined ? undefined : field.parse(text);
    if (value === undefined) {
      const { map, shape } = this.#rows;
      const form = map === null ? null : formOf(map, shape, column);
      const slip =
        text !== undefined
          ? slipIn(text, field)
          : column === shape.level?.column
            ? levelSlip(this.#cell(column) ?? "")
            : "";
      const expected = `${field.expected}${form === null ? "" : `, ${form.words}`}${slip}`;
      // Slips of one kind differ in the figures that they name.
      this.refuse(column, expected, expected.replace(/\d/g, ""));
    }
    return value as Exclude<typeof value, undefined>;
  }

  /** Like `read`, but null if the cell is empty. */
  optional<T>(column: string, field: Field<T>): T | null {
    return this.text(column) === "" ? null : this.read(column, field);
  }

  /** The bases that the marks of a cell tell, by the map. */
  markedBases(column: string): readonly string[] {
    const { map } = this.#rows;
    return map === null ? [] : basesOf(map, this.#cell(column) ?? "");
  }

  /** Whether the map gives the column the same text in every row. */
  isConstant(column: string): boolean {
    return this.#rows.map?.constants.has(column) ?? false;
  }

  /** Complains of a cell. `kind` is what many such complaints have in common. */
  refuse(column: string, expected: string, kind = expected): void {
    this.isFaultless = false;
    const { complaints, filter, map, refusedConstants } = this.#rows;
    const constant = map?.constants.get(column);
    if (map !== null && constant !== undefined) {
      // It is the same in every row, so no row can be left out for it, and one complaint is enough.
      if (!refusedConstants.has(column))
        complaints.cell(map.name, `constants.${column}`, constant, expected, kind);
      refusedConstants.add(column);
    } else if (!filter?.rules.holdInvalid) {
      complaints.cell(this.where, this.#name(column), this.#cell(column), expected, kind);
    }
  }

  /** A cell as our own files would have it; undefined: it is not in the form that the map gives. */
  #ours(column: string): string | undefined {
    const { map, shape } = this.#rows;
    const cell = this.#cell(column) ?? "";
    return map === null ? cell : ourCell(map, shape, column, cell);
  }

  /** Whether the header has the column. */
  has(column: string): boolean {
    return this.#cells[this.#rows.shape.columns.indexOf(column)] !== undefined;
  }

  #cell(column: string): string | null {
    const cell = this.#cells[this.#rows.shape.columns.indexOf(column)];
    return cell === undefined ? "" : cell;
  }

  #name(column: string): string {
    return this.#names[this.#rows.shape.columns.indexOf(column)] ?? column;
  }
}

/** A guess at a text that the field cannot parse, for the message; empty: none. */
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
  readonly map: FeedMap | null;
  /** The constants of the map that a complaint is about. */
  readonly refusedConstants: Set<string>;
  /** Throws InputError if there are too many. */
  readonly countRow: () => void;
  readonly take: (row: TableRow) => void;
  /** Whether a complaint says that the table is wide: then no row of it can be read. */
  isWide: boolean;
}
