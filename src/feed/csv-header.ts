/** Finds the columns of a table in the header of CSV, by their names or by those that a map gives. */
import { counted } from "../lib/text.ts";
import { quoted, quotedList } from "./complaints.ts";
import type { CsvMap } from "./csv-map.ts";
import type { TableRows } from "./table-row.ts";
import { columnLike, unknown } from "./table-shape.ts";

/** The most columns of a wide table: each takes memory. */
const WIDE_COLUMNS_MAX = 20_000;

/** How a record becomes a row. */
export interface Layout {
  /** For each column of the table, the index of its cell in the record, or its text; undefined: it has none. */
  readonly cells: readonly (number | string | undefined)[];
  /** What messages call each of them. */
  readonly names: readonly string[];
  /** The index of the cell without which the record has no such row; null: it always has it. */
  readonly level: number | null;
}

/**
 * The table's column that each column of the header is; its own name if no column is like it; null: the map names
 * columns, and this is none of them.
 */
export function ourNames(
  header: readonly string[],
  { shape, map }: TableRows,
): readonly (string | null)[] {
  const ours = new Map<string, string>();
  for (const name of shape.columns) {
    const theirs = map?.columns.get(name);
    if (theirs !== undefined) ours.set(theirs, name);
  }
  return header.map((theirs) => {
    const name = ours.get(theirs);
    if (name !== undefined) return name;
    const like = columnLike(theirs, shape);
    const isLeftOut = like === undefined ? map?.columns.size : map?.columns.has(like);
    return isLeftOut ? null : theirs;
  });
}

/**
 * How a record becomes a row. Complains of what does not fit; returns null if no row can be read by it: a required
 * column is missing, or one is misspelled or there twice.
 */
export function rowLayout(
  header: readonly string[],
  rows: TableRows,
  line: number,
): readonly [Layout] | null {
  const { shape, complaints, where, map } = rows;
  const found = (finding: string): void => complaints.at(where(line), finding);
  const names = ourNames(header, rows);
  const seen = new Set<string>();
  names.forEach((name, at) => {
    if (name === null) return;
    if (!shape.columns.includes(name)) {
      if (name !== "" || header[at - 1] !== "") found(unknown("column", name, at, shape));
    } else if (seen.has(name)) {
      found(`column ${quoted(header[at] as string)} appears twice`);
    }
    seen.add(name);
  });
  const known = names
    .map((name) => (name === null ? undefined : columnLike(name, shape)))
    .filter((name) => name !== undefined);
  let isMapped = true;
  for (const column of shape.columns) {
    const theirs = map?.columns.get(column);
    if (known.includes(column)) {
      if (!map?.constants.has(column)) continue;
      found(`a column for ${column} beside its constant in ${map.name}, expected one of them`);
    } else if (theirs !== undefined) found(`no column ${missing(theirs, column, header, rows)}`);
    else {
      if (shape.required.includes(column) && !map?.constants.has(column))
        found(`the header lacks the column ${quoted(column)}`);
      continue;
    }
    isMapped = false;
  }
  const isGiven = (name: string): boolean => known.includes(name) || !!map?.constants.has(name);
  const fits =
    isMapped &&
    known.every((name, at) => names.includes(name) && known.indexOf(name) === at) &&
    shape.required.every(isGiven);
  if (!fits) return null;
  const indexes = shape.columns.map((name) => names.indexOf(name));
  return [
    {
      cells: shape.columns.map((name, column) => {
        const at = indexes[column] as number;
        return at < 0 ? map?.constants.get(name) : at;
      }),
      names: shape.columns.map((name, column) => header[indexes[column] as number] ?? name),
      level: null,
    },
  ];
}

/** How a record of a wide table becomes rows, one for each contract. Complains and returns null if it cannot. */
export function wideLayouts(
  header: readonly string[],
  rows: TableRows,
  [time, theirs]: readonly [ours: string, theirs: string],
  line: number,
): readonly Layout[] | null {
  const { shape, complaints, where } = rows;
  const { constants } = rows.map as CsvMap;
  const timeAt = header.indexOf(theirs);
  const first = new Map(header.map((name, at) => [name, at] as const).toReversed());
  const repeated = header.find((name, at) => name !== "" && first.get(name) !== at);
  const finding =
    timeAt < 0
      ? `no column ${missing(theirs, time, header, rows)}`
      : header.length > WIDE_COLUMNS_MAX
        ? `${counted(header.length, "column")}, expected at most ${WIDE_COLUMNS_MAX}; split it`
        : repeated === undefined
          ? null
          : `column ${quoted(repeated)} appears twice`;
  if (finding !== null) {
    complaints.at(where(line), finding);
    return null;
  }
  return header.flatMap((id, at) => {
    if (at === timeAt) return [];
    const place = (column: string): number | string => {
      if (column === "id") return id;
      if (column === time) return timeAt;
      return column === shape.level?.column ? at : (constants.get(column) ?? "");
    };
    const cells = shape.columns.map(place);
    const names = shape.columns.map((column, index) => {
      const cell = cells[index];
      return typeof cell === "number" ? (header[cell] as string) : column;
    });
    return [{ cells, names, level: at }];
  });
}

/** `"Price", which map.json names for spot_usd; the header has "Code", "Level"`. */
function missing(
  theirs: string,
  ours: string,
  header: readonly string[],
  { map }: TableRows,
): string {
  const there = quotedList(header, 300);
  return `${quoted(theirs)}, which ${map?.name} names for ${ours}; the header has ${there}`;
}
