/** The columns of tables, and their names. */
import { quoted } from "./complaints.ts";

/** The columns that a table may have, and those that it must have. */
export interface TableShape {
  readonly columns: readonly string[];
  readonly required: readonly string[];
  /** Only of tables with levels. */
  readonly level?: LevelColumns;
}

/** Of a table with levels: its column of the level, and what a map can say of its columns. */
interface LevelColumns {
  readonly column: string;
  /** The rows that are expected, in words. */
  readonly rows: string;
  /** The column of the time, which a wide table also has. */
  readonly time: string;
  /** The columns of numbers, and of dates. */
  readonly numbers: readonly string[];
  readonly dates: readonly string[];
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
