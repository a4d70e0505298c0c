/**
 * Proposes a map for a file of levels from the file alone: the columns of ours, their ids, and the forms of numbers and
 * dates. A proposal is shown with the rows that it reads, because only a person knows the market.
 */
import type { Contract } from "../market/contract.ts";
import { parseDate, parseSession } from "../market/session.ts";
import {
  affixesOf,
  bodyOf,
  countIn,
  formsFor,
  isNumber,
  isValue,
  MOST,
  NUMBER_FORMS,
} from "./cell-forms.ts";
import { idField } from "./fields.ts";
import type { GivenKind } from "./given-levels.ts";
import { MAP_MEMBERS, type MapDraft } from "./map.ts";
import { readSample, type Sample } from "./sample-table.ts";
import { CLOSES, columnLike, plainName, QUOTES } from "./table-shape.ts";
import { currencyIn, dateForm } from "./written-forms.ts";

export interface Proposal {
  readonly kind: GivenKind;
  readonly map: MapDraft;
  /** The decisions that are left to a person. */
  readonly questions: readonly string[];
}

/** More records that are no rows are no remarks, but another table. */
const REMARKS_MAX = 20;
/** Proposes a map for the bytes of a file called `stem`; null: they are no table. `as`: the kind of its levels; null: unknown. */
export function proposeMap(
  bytes: Uint8Array,
  catalog: readonly Contract[],
  stem: string,
  as: GivenKind | null,
): Proposal | null {
  const sample = readSample(bytes);
  if (sample === null || sample.rows.length === 0) return null;
  const { kind, map, questions } = columnsOf(sample, catalog, stem, as);
  return { kind, map: inOrder({ ...sample.map, ...map }), questions };
}

/** The members in the order of the documents. */
const inOrder = (map: MapDraft): MapDraft =>
  Object.fromEntries(MAP_MEMBERS.flatMap((name) => (name in map ? [[name, map[name]]] : [])));

interface Column {
  readonly at: number;
  readonly name: string | number;
  /** The cells of the rows with levels that are not empty. */
  readonly cells: readonly string[];
  readonly isNumeric: boolean;
}

/** The column of the time. */
interface TimeColumn {
  readonly at: number;
  /** The forms of its dates; none: it has sessions. */
  readonly forms: readonly string[];
  /** Whether a row has a time, so that it is no remark. */
  readonly isTimed: (row: readonly string[]) => boolean;
}

/** Whether a column has our name for a time. */
const isOurTime = (name: string | number | undefined): boolean =>
  typeof name === "string" &&
  /^(?:date|session_utc|as_of)$/.test(columnLike(name, CLOSES) ?? columnLike(name, QUOTES) ?? "");

/** The column with the most times; of several, the one with our name, or the first. */
function timeColumn({ header, rows }: Sample): TimeColumn | undefined {
  const found = header.map((_, at) => {
    const cells = rows.map((row) => (row[at] ?? "").trim()).filter((cell) => cell !== "");
    const sessions = countIn(
      cells,
      (cell) => parseDate(cell) === null && parseSession(cell) !== null,
    );
    const { forms, count } = formsFor(cells);
    const form = sessions > count || forms.length === 0 ? null : dateForm(forms, "first");
    const parses = (cell: string): boolean =>
      form === null
        ? parseSession(cell) !== null
        : form.ours(cell) !== undefined || /^\W*\d.*\d{2}/.test(cell);
    const isTimed = (row: readonly string[]): boolean =>
      row.length === header.length && parses((row[at] ?? "").trim());
    return { at, forms: form === null ? [] : forms, count: Math.max(sessions, count), isTimed };
  });
  return found
    .filter(({ count }) => count > 0)
    .toSorted(
      (a, b) =>
        b.count - a.count || Number(isOurTime(header[b.at])) - Number(isOurTime(header[a.at])),
    )[0];
}

/** The other columns, with their cells in the rows that have a level. */
function otherColumns({ header, rows }: Sample, time: TimeColumn | undefined): readonly Column[] {
  const timed =
    time === undefined
      ? rows.filter((row) => row.length === header.length)
      : rows.filter(time.isTimed);
  return header.flatMap((name, at) => {
    if (at === time?.at) return [];
    const cells = timed.map((row) => (row[at] ?? "").trim()).filter((cell) => cell !== "");
    return [{ at, name, cells, isNumeric: countIn(cells, isNumber) > 0 }];
  });
}

/** Names of the level among several numbers, the likeliest first. Another name is a guess that the rows show. */
const LEVEL_NAMES = [
  "usd",
  "close",
  "settle",
  "last",
  "average",
  "avg",
  "price",
  "value",
  "mid",
  "spot",
  "level",
];
const MEASURES = /open|high|low|change|chg|vol|pct|%|count|flag|weight|unit/i;

function columnsOf(
  sample: Sample,
  catalog: readonly Contract[],
  stem: string,
  as: GivenKind | null,
): Proposal {
  const questions: string[] = [];
  const time = timeColumn(sample);
  const hasDates = (time?.forms.length ?? 0) > 0;
  const kind = as ?? (hasDates ? "closes" : "quotes");
  const shape = kind === "quotes" ? QUOTES : CLOSES;
  const columns = otherColumns(sample, time);
  const numeric = columns.filter((column) => column.isNumeric);
  const ids = new Ids(catalog, questions);
  const id = idColumn(columns, timesOf(sample, time), ids);
  const isWide = time !== undefined && id === undefined && areContracts(numeric, ids);
  const [level] = numeric.toSorted((a, b) => rankOf(a.name) - rankOf(b.name));
  if (level === undefined) questions.push("no column has numbers: name the column of the levels");
  else if (!isWide && numeric.length > 1 && rankOf(level.name) === LEVEL_NAMES.length)
    questions.push(
      `${numeric.length} columns have numbers: does ${JSON.stringify(level.name)} have the levels?`,
    );
  const nameIn = (at: number): string | number => theirs(sample.header, at);
  const map: MapDraft = {
    ...numbersOf(isWide ? numeric : level === undefined ? [] : [level], questions),
    ...(time !== undefined && hasDates && datesOf(time.forms, questions)),
  };
  if (isWide) {
    const names = columns.filter(({ cells }) => cells.length > 0).map(({ name }) => String(name));
    map["ids"] = ids.mapOf(names);
    map["wide"] = { [shape.level?.time as string]: nameIn(time.at) };
  } else {
    const places = {
      ...(id !== undefined && { id: nameIn(id.at) }),
      ...(time !== undefined && { [timeOf(kind, hasDates)]: nameIn(time.at) }),
      ...(level !== undefined && { [shape.level?.column as string]: nameIn(level.at) }),
    };
    // Columns that have our names need no map.
    const isOurs = Object.entries(places).every(([ours, name]) => ours === name);
    const others = sample.header.some(
      (name) => typeof name !== "string" || !shape.columns.includes(name),
    );
    if (!isOurs || others) map["columns"] = places;
    if (id === undefined) map["constants"] = { id: ids.alone(level?.name, stem) };
    else map["ids"] = ids.mapOf([...new Set(id.cells)]);
  }
  const remarks = remarksIn(sample, time, level);
  if (remarks.length > 0) map["skip"] = withLines(sample.map["skip"], remarks);
  return { kind, map: withoutEmpty(map), questions };
}

/** The times of the rows, in the order of `Column.cells` where none is empty. */
const timesOf = ({ rows }: Sample, time: TimeColumn | undefined): readonly string[] =>
  time === undefined ? [] : rows.filter(time.isTimed).map((row) => row[time.at] ?? "");

/** Whether columns of numbers are contracts: most are in the catalog, or without one, no name is one of a measure. */
function areContracts(numeric: readonly Column[], ids: Ids): boolean {
  if (ids.isKnown) return numeric.some(({ name }) => ids.of(String(name)) !== undefined);
  const isContract = ({ name }: Column): boolean =>
    typeof name === "string" && rankOf(name) === LEVEL_NAMES.length;
  return numeric.length > 1 && numeric.every(isContract);
}

/** Our column for their times: dates are no sessions. */
const timeOf = (kind: GivenKind, hasDates: boolean): string =>
  kind === "closes" ? "date" : hasDates ? "as_of" : "session_utc";

/** The column as the map names it: by its name if no other column has it, or by its place. */
function theirs(header: Sample["header"], at: number): string | number {
  const name = header[at] ?? at + 1;
  return typeof name === "number" || header.indexOf(name) === header.lastIndexOf(name)
    ? name
    : at + 1;
}

/** Less: more likely the name of the level. The last but a half: the name of a measure. */
function rankOf(name: string | number): number {
  const plain = plainName(String(name));
  const rank = LEVEL_NAMES.findIndex((word) => plain.includes(word));
  return rank < 0 ? LEVEL_NAMES.length : MEASURES.test(plain) ? LEVEL_NAMES.length - 0.5 : rank;
}

/** The column of names: that with the most contracts of the catalog, or with one row for each name and time. */
function idColumn(
  columns: readonly Column[],
  times: readonly string[],
  ids: Ids,
): Column | undefined {
  const texts = columns.filter(({ cells }) => cells.length > 0);
  if (ids.isKnown) {
    const hits = ({ cells }: Column): number =>
      cells.filter((cell) => ids.of(cell) !== undefined).length;
    const [best] = texts.toSorted((a, b) => hits(b) - hits(a));
    if (best !== undefined && hits(best) > 0) return best;
  }
  // Of a file with one row for each time, no column tells contracts apart.
  if (times.length > 0 && new Set(times).size === times.length) return undefined;
  return texts.find(({ cells, isNumeric }) => {
    if (isNumeric || cells.every(isValue)) return false;
    const names = new Set(cells);
    const pairs = new Set(cells.map((cell, at) => `${cell}\n${times[at] ?? ""}`));
    return names.size > 1 && cells.length >= times.length && pairs.size >= MOST * cells.length;
  });
}

/** The contracts of a catalog by their ids, names and tickers; without one, ids made of names. */
class Ids {
  readonly #byName = new Map<string, string>();

  readonly #questions: string[];

  constructor(catalog: readonly Contract[], questions: string[]) {
    this.#questions = questions;
    for (const { id, name, ticker, formerly } of catalog)
      for (const each of [name, ticker, ...formerly, id]) this.#byName.set(plainName(each), id);
  }

  get isKnown(): boolean {
    return this.#byName.size > 0;
  }

  of(name: string): string | undefined {
    const last = name.slice(name.lastIndexOf(".") + 1);
    return this.#byName.get(plainName(name)) ?? this.#byName.get(plainName(last));
  }

  /** Theirs by ours, without those that are the same. */
  mapOf(names: readonly string[]): Record<string, string> {
    const entries = names.map((name) => [name, this.of(name) ?? idFrom(name)] as const);
    const unknown = names.filter((name) => this.of(name) === undefined);
    if (this.isKnown && unknown.length > 0)
      this.#questions.push(
        `the catalog has no contract for ${unknown
          .slice(0, 5)
          .map((name) => JSON.stringify(name))
          .join(
            ", ",
          )}${unknown.length > 5 ? ` and ${unknown.length - 5} more` : ""}: map them in ids, or publish with --ignore-unknown`,
      );
    const isWanted = ([name, id]: readonly [string, string]): boolean =>
      name !== id && id !== "" && (!this.isKnown || this.of(name) !== undefined);
    if (!this.isKnown && entries.some(isWanted))
      this.#questions.push(
        "ids are made of the names: give --catalog, or write the ids of your catalog",
      );
    return Object.fromEntries(entries.filter(isWanted));
  }

  /** The id of a file with one contract. */
  alone(name: string | number | undefined, stem: string): string {
    const [only, ...more] = new Set(this.#byName.values());
    const found = this.of(String(name)) ?? this.of(stem) ?? (more.length === 0 ? only : undefined);
    if (found !== undefined) return found;
    this.#questions.push("the file names no contract: write its id in constants");
    const isPlain = typeof name !== "string" || rankOf(name) < LEVEL_NAMES.length;
    return idFrom(isPlain ? stem : name) || idFrom(stem) || "unknown";
  }
}

const idFrom = (name: string): string => {
  const slug = name
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, 100)
    .replaceAll(/^-|-$/g, "");
  return idField.parse(slug) ?? "";
};

function numbersOf(columns: readonly Column[], questions: string[]): MapDraft {
  const cells = columns.flatMap((column) => column.cells.filter(isNumber));
  const affixes = cells.flatMap(affixesOf);
  const [currency, ...others] = new Set(affixes.flatMap((text) => currencyIn(text) ?? []));
  if (others.length > 0) questions.push(`several currencies: ${[currency, ...others].join(", ")}`);
  const marks = new Set(affixes.filter((text) => currencyIn(text) === null));
  const readings = NUMBER_FORMS.flatMap((form) => {
    const numbers = cells.map((cell) => form.form.ours(bodyOf(cell)));
    return numbers.every((number) => number !== undefined) ? [{ form, text: numbers.join() }] : [];
  });
  const [first] = readings;
  // A point is read as ours unless a cell shows that it is another.
  if (first?.form.decimal === "," || first?.form.thousands === ",")
    if (readings.some(({ text }) => text !== first.text))
      questions.push(
        `is ${JSON.stringify(cells.find((cell) => /[.,]/.test(bodyOf(cell))))} with thousands or with decimals? The rows show the form that the map names`,
      );
  if (marks.size > 0)
    questions.push(
      `does a mark stand for a basis? Write it in marks: ${JSON.stringify(Object.fromEntries([...marks].map((mark) => [mark, "estimated"])))}`,
    );
  const { decimal = ".", thousands = "" } = first?.form ?? {};
  return {
    ...(decimal === "." ? {} : { decimal }),
    ...(thousands === "" ? {} : { thousands }),
    ...(currency === undefined ? {} : { currency }),
    ...(marks.size === 0 ? {} : { marks: [...marks] }),
  };
}

function datesOf(forms: readonly string[], questions: string[]): MapDraft {
  if (forms.length > 1)
    questions.push(`dates are ${forms.join(" or ")}: leave the right form in dates`);
  const hasDay = forms.every((form) => dateForm([form]) !== null);
  if (!hasDay) questions.push('months have no day: "day" is first or last');
  if (forms.join() === "YYYY-MM-DD") return {};
  return {
    dates: forms.length === 1 ? forms[0] : forms,
    ...(hasDay ? {} : { day: "last" }),
  };
}

/** How the records begin that have no time, or no level: units, footnotes. */
function remarksIn(
  { header, rows, lines }: Sample,
  time: TimeColumn | undefined,
  level: Column | undefined,
): string[] {
  if (lines.length === 0 || (time === undefined && level === undefined)) return [];
  const isRow = (row: readonly string[]): boolean =>
    time !== undefined
      ? time.isTimed(row)
      : row.length === header.length && /\d/.test(row[level?.at ?? 0] ?? "");
  const isBlank = (row: readonly string[]): boolean => row.every((cell) => cell.trim() === "");
  const kept = lines.filter((_, at) => isRow(rows[at] ?? []));
  const starts = new Set<string>();
  for (const [at, row] of rows.entries()) {
    const line = lines[at] ?? "";
    if (isRow(row) || isBlank(row) || [...starts].some((start) => line.startsWith(start))) continue;
    const [cell = ""] = /^(?:"[^"]*"|[^,;\t|]*)/.exec(line) ?? [];
    const start = cell !== "" && !kept.some((other) => other.startsWith(cell)) ? cell : line;
    starts.add(start.slice(0, 60));
    if (starts.size > REMARKS_MAX) return [];
  }
  return [...starts];
}

/** Both kinds of lines that are not the table. */
const withLines = (first: unknown, starts: readonly string[]): unknown[] => [
  ...Array.from({ length: Number(first ?? 0) }, (_, at) => at + 1),
  ...starts,
];

const withoutEmpty = (map: MapDraft): MapDraft =>
  Object.fromEntries(
    Object.entries(map).filter(
      ([, value]) => typeof value !== "object" || value === null || Object.keys(value).length > 0,
    ),
  );
