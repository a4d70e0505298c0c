/** The tables that `publish` reads: their columns, and names that are almost those. */
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

export const QUOTES: TableShape = {
  columns: [
    "id",
    "spot_usd",
    "session_utc",
    "basis",
    "as_of",
    "source",
    "source_url",
    "break",
    "low_usd",
    "high_usd",
    "inputs",
    "rationale",
  ],
  required: ["id", "spot_usd"],
  level: {
    column: "spot_usd",
    rows: "a row for each id and session, with id, spot_usd, session_utc",
    time: "session_utc",
    numbers: ["spot_usd", "low_usd", "high_usd", "inputs"],
    dates: ["as_of"],
  },
};

export const CLOSES: TableShape = {
  columns: ["id", "date", "close_usd", "break", "low_usd", "high_usd"],
  required: ["id", "date", "close_usd"],
  level: {
    column: "close_usd",
    rows: "a row for each id and date, with id, date, close_usd",
    time: "date",
    numbers: ["close_usd", "low_usd", "high_usd"],
    dates: ["date"],
  },
};

/** The column of this name, or of this name in another case or spacing. */
export function columnLike(name: string, { columns }: TableShape): string | undefined {
  if (columns.includes(name)) return name;
  const plain = plainName(name);
  let names = plainColumns.get(columns);
  if (names === undefined) {
    names = new Map(columns.map((column) => [plainName(column), column]));
    plainColumns.set(columns, names);
  }
  return plain === "" ? undefined : names.get(plain);
}

/** The columns of each table by their plain names: a header can have half a million names to compare. */
const plainColumns = new WeakMap<readonly string[], Map<string, string>>();

/** A longer text is no name. */
const MAX_NAME_CHARACTERS = 200;

/** A name without blanks, hyphens, case and width, in which sources are not constant. Empty: the text is none. */
export const plainName = (name: string): string =>
  name.length > MAX_NAME_CHARACTERS
    ? ""
    : name
        .normalize("NFKC")
        .toLowerCase()
        .replace(/[\s_-]+/g, "");

/** The name that is the same without blanks and case; undefined: none is, or more than one. */
export function nearestOf(name: string, names: Iterable<string>): string | undefined {
  const plain = plainName(name);
  if (plain === "") return undefined;
  const near = [...names].filter((other) => plainName(other) === plain);
  return near.length === 1 ? near[0] : undefined;
}

const INDEX = "an index? Write the table without it (pandas: index=False)";

/** The finding of a column, or of a field of an object, that the table does not have. */
export function unknownName(
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
