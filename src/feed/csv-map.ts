/** The map of `--map`: how CSV that others write says what our quotes and closes say. map-file.ts reads it. */
import type { TableShape } from "./table-shape.ts";
import type { WrittenForm } from "./written-forms.ts";

/** Names of ours are columns of quotes or closes; theirs stand in the header of a file. */
export interface CsvMap {
  /** The file of the map, for messages. */
  readonly name: string;
  readonly delimiter: string;
  /** As TextDecoder names it. */
  readonly encoding: string;
  /** How numbers are written; null: as ours. */
  readonly number: WrittenForm | null;
  /** How dates are written; null: as ours. */
  readonly date: WrittenForm | null;
  /** Theirs by ours. */
  readonly columns: ReadonlyMap<string, string>;
  /** The text of every cell of a column, as our own files have it. */
  readonly constants: ReadonlyMap<string, string>;
  /** Ours by theirs. */
  readonly ids: ReadonlyMap<string, string>;
  /** Of a table with a column for each contract, their column of the time, by ours. */
  readonly wide: ReadonlyMap<string, string>;
}

/** The form that the map gives a column; null: none. */
export function formOf(
  { number, date, constants }: CsvMap,
  { level }: TableShape,
  column: string,
): WrittenForm | null {
  if (constants.has(column)) return null;
  if (level?.numbers.includes(column)) return number;
  return level?.dates.includes(column) ? date : null;
}

/** A cell as our own files would have it; undefined: it is not in the form that the map gives. */
export function ourCell(
  map: CsvMap,
  shape: TableShape,
  column: string,
  cell: string,
): string | undefined {
  if (cell === "" || map.constants.has(column)) return cell;
  if (column === "id") return map.ids.get(cell) ?? cell;
  const form = formOf(map, shape, column);
  return form === null ? cell : form.ours(cell);
}
