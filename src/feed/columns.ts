/** Finds the columns of a table in the header of CSV or the members of an object: by their names, or as a map says. */
import { counted } from "../lib/text.ts";
import { quoted, quotedList } from "./complaints.ts";
import type { FeedMap, TheirColumn } from "./map.ts";
import type { TableRows } from "./table-row.ts";
import { columnLike, nearestOf, unknownName } from "./table-shape.ts";
import { isTime } from "./slips.ts";

/** The most columns of a wide table: each takes memory. */
const WIDE_COLUMNS_MAX = 20_000;

/** How a record becomes a row. */
export interface Layout {
  /** For each column of the table, the index of its cell in the record, or its text; undefined: it has none. */
  readonly cells: readonly (number | string | undefined)[];
  /** The name of each of them in messages. */
  readonly names: readonly string[];
  /** The index of the cell without which the record has no such row; null: it always has it. */
  readonly level: number | null;
}

/** The name of a column of theirs in messages. */
export const nameOf = (theirs: TheirColumn): string =>
  typeof theirs === "number" ? `column ${theirs}` : theirs || "(a column without a name)";

/** The indices of the columns in a header that the map means by one of its own. */
function placesOf(theirs: TheirColumn, header: readonly string[]): readonly number[] {
  if (typeof theirs === "number") return theirs <= header.length ? [theirs - 1] : [];
  return header.flatMap((name, at) => (name === theirs || (theirs + name).trim() === "" ? at : []));
}

/**
 * The table's column that each column of the header is; its own name if no column is like it; null: the map names
 * columns, and this is none of them.
 */
export function ourNames(
  header: readonly string[],
  { shape, map }: TableRows,
): readonly (string | null)[] {
  const ours = new Map<number, string>();
  for (const name of shape.columns) {
    const theirs = map?.columns.get(name);
    if (theirs === undefined) continue;
    for (const at of placesOf(theirs, header)) ours.set(at, name);
  }
  return header.map((theirs, at) => {
    const name = ours.get(at);
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
  const repeated = new Set<string>();
  names.forEach((name, at) => {
    if (name === null) return;
    if (!shape.columns.includes(name)) {
      if (name !== "" || header[at - 1] !== "") found(unknownName("column", name, at, shape));
    } else if (seen.has(name) && !repeated.has(name)) {
      // Told once, however many there are: each look at all names takes long.
      found(repeatedName(name, header[at] as string, header, rows));
      repeated.add(name);
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
    } else if (theirs !== undefined) found(missing(theirs, column, header, rows));
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
      names: shape.columns.map((name, column) => {
        const at = indexes[column] as number;
        return header[at] === "" ? nameOf(at + 1) : (header[at] ?? name);
      }),
      level: null,
    },
  ];
}

/** How a record of a wide table becomes rows, one for each contract. Complains and returns null if it cannot. */
export function wideLayouts(
  header: readonly string[],
  rows: TableRows,
  [time, theirs]: readonly [ours: string, theirs: TheirColumn],
  line: number,
): readonly Layout[] | null {
  const { shape, complaints, where } = rows;
  const { constants } = rows.map as FeedMap;
  const [timeAt, ...more] = placesOf(theirs, header);
  const first = new Map(header.map((name, at) => [name, at] as const).toReversed());
  const repeated = header.find((name, at) => name !== "" && first.get(name) !== at);
  const finding =
    timeAt === undefined || more.length > 0
      ? missing(theirs, time, header, rows)
      : header.length > WIDE_COLUMNS_MAX
        ? `${counted(header.length, "column")}, expected at most ${WIDE_COLUMNS_MAX}; split it`
        : repeated === undefined
          ? null
          : `column ${quoted(repeated)} appears twice`;
  if (finding !== null || timeAt === undefined) {
    complaints.at(where(line), finding ?? "");
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
      return typeof cell === "number" ? header[cell] || nameOf(cell + 1) : column;
    });
    return [{ cells, names, level: at }];
  });
}

/** The finding of a column of theirs that is not there, or not alone. */
function missing(
  theirs: TheirColumn,
  ours: string,
  header: readonly string[],
  rows: TableRows,
): string {
  const named = `which ${rows.map?.name} names for ${ours}`;
  if (typeof theirs === "number")
    return `no column ${theirs}, ${named}; the header has ${counted(header.length, "column")}`;
  if (placesOf(theirs, header).length > 1) return repeatedName(ours, theirs, header, rows);
  const near = nearestOf(theirs, header);
  const hint =
    near === undefined ? `the header has ${quotedList(header, 300)}` : `write ${quoted(near)}`;
  return `no column ${quoted(theirs)}, ${named}; ${hint}`;
}

/** The finding of two columns of one name. */
function repeatedName(
  ours: string,
  theirs: string,
  header: readonly string[],
  { map }: TableRows,
): string {
  if (theirs !== "") return `column ${quoted(theirs)} appears twice`;
  const places = placesOf("", header).map((at) => at + 1);
  return `${places.length} columns have no name; write the place of ${ours} in ${map?.name}: one of ${places.slice(0, 9).join(", ")}`;
}

/** A row of a file without a header also names one contract, beside its level. */
const startsWithDigit = (name: string): boolean => /^\W*\d/.test(name);

/**
 * Whether the table has a column for each date or contract. Tells it once, with the way on. The columns may have any
 * other names.
 */
export function isWide(rows: TableRows, names: readonly string[], position: number): boolean {
  const { source, shape, complaints, where, filter, map } = rows;
  const { level } = shape;
  if (level === undefined) return false;
  const likes = names.map((name) => columnLike(name, shape));
  const others = names.filter((name, at) => name.trim() !== "" && likes[at] === undefined);
  const contracts = others.filter((name) => filter?.contractOf(map?.ids.get(name) ?? name));
  const isTable = shape.required.every((column) => likes.includes(column));
  const isHeader = !others.some((name) => startsWithDigit(name) && !isTime(name));
  let kind: string | null = null;
  if (contracts.length > 1 || (contracts.length === 1 && isHeader && !isTable))
    kind = `contracts as columns (${quotedList(contracts, 100)})`;
  else if (!likes.includes(level.column)) {
    const times = others.filter(isTime);
    const hasKnown = likes.some((like) => like !== undefined);
    const shown = source.isAnswer === true && !hasKnown ? "" : ` (${quotedList(times, 100)})`;
    if (times.length > (hasKnown ? 0 : 1)) kind = `dates as columns${shown}`;
  }
  if (kind === null) return false;
  complaints.at(where(position), `a wide table, with ${kind}, expected ${level.rows}; ${BY_MAP}`);
  return (rows.isWide = true);
}

const BY_MAP =
  '--map reads closes with contracts as columns, with "wide": {"date": "the column of dates"}';

/** A member of an object by a path such as `values.average`; undefined: there is none. A whole name goes before a path. */
export function memberAt(value: unknown, path: TheirColumn): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  const name = typeof path === "number" ? String(path - 1) : path;
  if (typeof path === "number" && !Array.isArray(value)) return undefined;
  if (Object.hasOwn(value, name)) return (value as Record<string, unknown>)[name];
  for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
    const inner = Object.getOwnPropertyDescriptor(value, name.slice(0, dot))?.value as unknown;
    const found = inner === undefined ? undefined : memberAt(inner, name.slice(dot + 1));
    if (found !== undefined) return found;
  }
  return undefined;
}
