/**
 * The map of `--map`: JSON that says how others write our quotes and closes. It is applied while a file is read, before
 * all checks.
 */
import { MAX_ROW_CHARACTERS } from "../lib/limits.ts";
import { InputError, reasonOf } from "../lib/errors.ts";
import { repeatedMembers } from "../lib/json.ts";
import { BASES } from "../market/series.ts";
import { quoted, type Complaints } from "./complaints.ts";
import type { SkippedLines } from "./csv-reader.ts";
import { encodingOf } from "./encodings.ts";
import { idField } from "./fields.ts";
import { CLOSES, nearestOf, QUOTES, type TableShape } from "./table-shape.ts";
import type { InputSource } from "./source.ts";
import { readText } from "./text-reader.ts";
import {
  currencyIn,
  dateForm,
  numberForm,
  takeOffMarks,
  type DayOfMonth,
  type Marks,
  type WrittenForm,
} from "./written-forms.ts";

/** A column of theirs: its name in the header, or the path of a member; a number is its place, from 1. */
export type TheirColumn = string | number;

/** Names of ours are columns of quotes or closes; theirs stand in a file. */
export interface FeedMap {
  /** The file of the map, for messages. */
  readonly name: string;
  /** Null: a comma, if the file does not say another. */
  readonly delimiter: string | null;
  /** As TextDecoder names it. */
  readonly encoding: string;
  /** Whether CSV has a header. */
  readonly header: boolean;
  readonly skip: SkippedLines;
  /** Of JSON, the path of the array of rows; null: the text is that array. */
  readonly rows: string | null;
  /** How numbers are written; null: as ours. */
  readonly number: WrittenForm | null;
  /** How dates are written; null: as ours. */
  readonly date: WrittenForm | null;
  readonly marks: Marks;
  /** Theirs by ours. */
  readonly columns: ReadonlyMap<string, TheirColumn>;
  /** The text of every cell of a column, as our own files have it. */
  readonly constants: ReadonlyMap<string, string>;
  /** Ours by theirs. */
  readonly ids: ReadonlyMap<string, string>;
  /** Of a table with a column for each contract, their column of the time, by ours. */
  readonly wide: ReadonlyMap<string, TheirColumn>;
}

/** The form that the map gives a column; null: none. */
export function formOf(
  { number, date, constants }: FeedMap,
  { level }: TableShape,
  column: string,
): WrittenForm | null {
  if (constants.has(column)) return null;
  if (level?.numbers.includes(column)) return number;
  return level?.dates.includes(column) ? date : null;
}

/** A cell as our own files would have it; undefined: it is not in the form that the map gives. */
export function ourCell(
  map: FeedMap,
  shape: TableShape,
  column: string,
  cell: string,
): string | undefined {
  if (cell === "" || map.constants.has(column)) return cell;
  if (column === "id") return map.ids.get(cell) ?? unmarkedId(map, cell) ?? cell;
  const form = formOf(map, shape, column);
  if (form === null) return cell;
  const whole = form.ours(cell);
  if (whole !== undefined || map.marks.size === 0) return whole;
  const { text } = takeOffMarks(cell, map.marks);
  return text === "" ? text : form.ours(text);
}

/** The id that an id is without its marks; undefined: it has none, or is an id with them. */
function unmarkedId({ ids, marks }: FeedMap, cell: string): string | undefined {
  if (marks.size === 0 || idField.parse(cell) !== undefined) return undefined;
  const { text } = takeOffMarks(cell, marks);
  return ids.get(text) ?? idField.parse(text);
}

/** The bases that the marks of a cell tell. */
export function basesOf(map: FeedMap, cell: string): readonly string[] {
  return map.marks.size === 0 ? [] : takeOffMarks(cell, map.marks).bases;
}

const TABLES = [QUOTES, CLOSES];
const COLUMNS = [...new Set(TABLES.flatMap(({ columns }) => columns))];
const TIMES = TABLES.map(({ level }) => level?.time as string);

const OUR_COLUMN = `a column of quotes or closes: ${COLUMNS.join(", ")}`;
const TEXT = "text that is not empty";
const PLACE = `a column's name (a path in JSON), "" for the one without a name, or its place from 1`;
const PLACE_MAX = 20_000;
const DATES =
  "a year, a month and at most a day, such as DD.MM.YYYY, MMM D, YY or YYYY[M]MM, or a list of such forms";
const MARK =
  "text of at most 20 characters without digits, signs of numbers or currencies, separators and quotation marks";
const MARKS_MAX = 100;
const CURRENCY = 'text of at most 20 characters without digits and signs of numbers, such as "$"';
const SKIP =
  "a number of lines at the beginning, or a list of numbers of lines and of texts with which records below the header begin";

/** Complains that a member is not as expected. */
type Refuse = (member: string, value: unknown, expected: string) => void;

/** The map in a file; null: it cannot be read, or something in it is wrong, which is added to the complaints. */
export async function readMap(
  source: InputSource,
  complaints: Complaints,
): Promise<FeedMap | null> {
  const before = complaints.count;
  const text = await textOf(source, complaints);
  if (complaints.count > before) return null;
  let value: unknown;
  try {
    value = JSON.parse(withoutComments(text));
  } catch (cause) {
    complaints.at(source.name, `not JSON: ${reasonOf(cause)}`);
    return null;
  }
  for (const member of repeatedMembers(withoutComments(text)))
    complaints.at(source.name, `the member ${quoted(member)} appears twice`);
  const map = mapOf(value, source.name, (member, wrong, expected) => {
    const place = member === "" ? source.name : `${source.name} ${member}`;
    const excerpt = typeof wrong === "string" ? quoted(wrong) : excerptOf(wrong);
    complaints.at(`${place} ${excerpt}`, `expected ${expected}`);
  });
  return complaints.count > before ? null : map;
}

/** The text of a map without the lines above it that begin with `#`. Other lines keep their numbers. */
export const withoutComments = (text: string): string =>
  text.replace(/^(?:#[^\n]*\n?|[ \t\r]*\n)+/, (lines) => lines.replace(/[^\n]/g, ""));

function excerptOf(value: unknown): string {
  try {
    return JSON.stringify(value).slice(0, 120);
  } catch (error) {
    // Unlike parsing, writing recurses with each nested value and can exceed the stack.
    if (error instanceof RangeError) return "(nests too deep)";
    throw error;
  }
}

async function textOf(source: InputSource, complaints: Complaints): Promise<string> {
  let text = "";
  try {
    for await (const chunk of readText(source, complaints)) {
      text += chunk;
      if (text.length <= MAX_ROW_CHARACTERS) continue;
      complaints.at(source.name, `more than ${MAX_ROW_CHARACTERS} characters, expected a map`);
      break;
    }
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    complaints.unreadable(error);
  }
  return text;
}

const isCharacter = (text: string): boolean =>
  text.length === 1 && /[^\p{L}\p{N}"\r\n]/u.test(text);

/** A text or a list of them; a list with a value that is none if it is something else. */
function textsIn(value: unknown): readonly unknown[] {
  const texts = Array.isArray(value) ? (value as unknown[]) : [value];
  return texts.length === 0 ? [undefined] : texts;
}

/** Whether a text may stand beside a number, and changes nothing of it. */
const isBesideNumber = (text: string): boolean =>
  text.length <= 20 && text === text.trim() && !/^$|[\d+\-−±%‰"\r\n]/.test(text);

const isCurrency = (value: unknown): boolean =>
  typeof value === "string" && isBesideNumber(value) && /[^.,]/.test(value);

/** A currency may not be taken off as a mark: the number means something else without it. */
export const isMark = (value: unknown): boolean =>
  typeof value === "string" &&
  isBesideNumber(value) &&
  !/[.,'’\s\p{Sc}]/u.test(value) &&
  currencyIn(value) === null;

/** The members of a map: what each holds, and whether a value is that. */
const MEMBERS = {
  delimiter: [
    'one character, such as ";" or "\\t", no letter, digit, quotation mark or line break',
    (value) => typeof value === "string" && isCharacter(value),
  ],
  encoding: [
    "an encoding that TextDecoder knows, such as utf-8, utf-16le, windows-1252, euc-kr or shift_jis",
    (value) => typeof value === "string" && encodingOf(value) !== null,
  ],
  header: ["true, or false if no line names the columns", (value) => typeof value === "boolean"],
  skip: [SKIP, (value) => skipOf(value) !== null],
  rows: [
    "the path of the array of rows in JSON, such as data.prices",
    (value) => typeof value === "string" && value !== "",
  ],
  decimal: ['"." or ","', (value) => value === "." || value === ","],
  thousands: [
    'one character, such as ".", ",", " " or "\'", no letter, digit or sign',
    (value) => typeof value === "string" && isCharacter(value) && !/[-+]/.test(value),
  ],
  currency: [CURRENCY, isCurrency],
  marks: [`${MARK}; a list of them, or an object {mark: basis or ""}`, isMarks],
  dates: [DATES, (value) => formsOf(value, "first") !== null],
  day: ['"first" or "last"', (value) => value === "first" || value === "last"],
  columns: ["an object {ours: theirs}", isObject],
  constants: ["an object {ours: value}", isObject],
  ids: ["an object {theirs: ours}", isObject],
  wide: [`an object {ours: theirs} with ${TIMES.join(" or ")}`, isObject],
} as const satisfies Record<string, readonly [string, (value: unknown) => boolean]>;

/** A map as its file has it. */
export type MapDraft = Record<string, unknown>;

/** The names of its members. */
export const MAP_MEMBERS: readonly string[] = Object.keys(MEMBERS);

type Member = keyof typeof MEMBERS;

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isMarks(value: unknown): boolean {
  const marks = isObject(value) ? Object.keys(value as object) : textsIn(value);
  const bases = isObject(value) ? Object.values(value as object) : [];
  return (
    marks.length > 0 &&
    marks.length <= MARKS_MAX &&
    marks.every(isMark) &&
    bases.every((basis) => basis === "" || basis === null || BASES.some((each) => each === basis))
  );
}

function marksOf(value: unknown): Marks {
  if (isObject(value))
    return new Map(
      Object.entries(value as Record<string, string | null>).map(([mark, basis]) => [
        mark,
        basis || null,
      ]),
    );
  return new Map((value === undefined ? [] : textsIn(value)).map((mark) => [mark as string, null]));
}

/** The lines to skip; null: the value names none. */
function skipOf(value: unknown): SkippedLines | null {
  const isLine = (each: unknown): each is number =>
    Number.isSafeInteger(each) && Number(each) > 0 && Number(each) <= MAX_ROW_CHARACTERS;
  if (value === undefined) return { first: 0, numbers: new Set(), starts: [] };
  if (value === 0 || isLine(value)) return { first: value, numbers: new Set(), starts: [] };
  if (!Array.isArray(value) || value.length > MARKS_MAX) return null;
  const starts = value.filter((each) => typeof each === "string" && each !== "") as string[];
  const numbers = value.filter(isLine);
  return starts.length + numbers.length === value.length
    ? { first: 0, numbers: new Set(numbers), starts }
    : null;
}

/** The map that a value is, or most of it if `refuse` was called. */
function mapOf(value: unknown, name: string, refuse: Refuse): FeedMap | null {
  if (!isObject(value)) {
    refuse("", value, `an object with ${MAP_MEMBERS.join(", ")}, or some of them`);
    return null;
  }
  const given = new Map<string, unknown>();
  for (const [member, content] of Object.entries(value as object)) {
    if (!Object.hasOwn(MEMBERS, member)) {
      const near = nearestOf(member, MAP_MEMBERS);
      refuse(member, content, near ?? `one of ${MAP_MEMBERS.join(", ")}`);
      continue;
    }
    const [expected, fits] = MEMBERS[member as Member];
    if (fits(content)) given.set(member, content);
    else refuse(member, content, expected);
  }
  const text = (member: Member): string | undefined => given.get(member) as string | undefined;
  const isGiven = (member: Member): boolean => Object.hasOwn(value as object, member);
  const texts = (member: Member, keys: readonly string[] | null, expected: string) =>
    textsOf(member, given.get(member) ?? {}, keys, expected, refuse);
  const columns = placesOf("columns", given.get("columns") ?? {}, COLUMNS, OUR_COLUMN, refuse);
  const constants = texts("constants", COLUMNS, OUR_COLUMN);
  const ids = texts("ids", null, "");
  const wide = placesOf("wide", given.get("wide") ?? {}, TIMES, TIMES.join(" or "), refuse);
  const header = given.get("header") !== false;
  requireOneEach(columns, constants, wide, refuse);
  if (!header) requirePlaces(columns, wide, refuse);
  for (const [theirs, ours] of ids)
    if (idField.parse(ours) === undefined) refuse(`ids.${theirs}`, ours, idField.expected);
  const marks = marksOf(given.get("marks"));
  const day = (given.get("day") as DayOfMonth | undefined) ?? null;
  const dates = given.get("dates") ?? OUR_DATES[day === null ? "days" : "months"];
  const date = formsOf(dates, day);
  if (date === null && !isGiven("day")) {
    const words = 'a form with a day, or "day": "first" or "last" beside it';
    refuse("dates", given.get("dates"), words);
  }
  const hasForm = isGiven("dates") || day !== null || marks.size > 0;
  return {
    name,
    delimiter: text("delimiter") ?? null,
    encoding: encodingOf(text("encoding") ?? "utf-8") as string,
    header,
    skip: skipOf(given.get("skip")) as SkippedLines,
    rows: text("rows") ?? null,
    number: numbersOf(text("decimal"), text("thousands"), text("currency"), marks, refuse),
    date: hasForm ? date : null,
    marks,
    columns,
    constants,
    ids,
    wide,
  };
}

/** The forms of dates without `dates`. */
const OUR_DATES = { days: ["YYYY-MM-DD"], months: ["YYYY-MM-DD", "YYYY-MM"] };

/** Refuses names of columns in a file without a header. */
function requirePlaces(
  columns: ReadonlyMap<string, TheirColumn>,
  wide: ReadonlyMap<string, TheirColumn>,
  refuse: Refuse,
): void {
  for (const [ours, theirs] of columns)
    if (typeof theirs === "string")
      refuse(`columns.${ours}`, theirs, "the column's place from 1, as the file has no header");
  for (const [ours, theirs] of wide)
    refuse(`wide.${ours}`, theirs, "a file with a header, which names the contracts");
}

/** An object of columns of theirs. `keys`: the names that it can have. */
function placesOf(
  member: string,
  value: object,
  keys: readonly string[],
  expected: string,
  refuse: Refuse,
): Map<string, TheirColumn> {
  const places = new Map<string, TheirColumn>();
  for (const [key, content] of Object.entries(value) as [string, unknown][]) {
    const path = `${member}.${key}`;
    const isPlace =
      Number.isInteger(content) && Number(content) > 0 && Number(content) <= PLACE_MAX;
    if (!keys.includes(key)) refuse(path, content, expected);
    else if (!isPlace && typeof content !== "string") refuse(path, content, PLACE);
    else places.set(key, content as TheirColumn);
  }
  return places;
}

/** An object of texts, numbers or booleans as texts. `keys`: the names that it can have; null: any. */
function textsOf(
  member: string,
  value: object,
  keys: readonly string[] | null,
  expected: string,
  refuse: Refuse,
): Map<string, string> {
  const texts = new Map<string, string>();
  for (const [key, content] of Object.entries(value)) {
    const path = `${member}.${key}`;
    const isText = typeof content === "string" || (member === "constants" && isScalar(content));
    if (keys !== null && !keys.includes(key)) refuse(path, content, expected);
    else if (!isText || content === "") refuse(path, content, TEXT);
    else texts.set(key, String(content));
  }
  return texts;
}

const isScalar = (value: unknown): boolean =>
  typeof value === "number" || typeof value === "boolean";

/** Refuses what gives a column of ours, or a column of theirs, twice within one table. */
function requireOneEach(
  columns: ReadonlyMap<string, TheirColumn>,
  constants: ReadonlyMap<string, string>,
  wide: ReadonlyMap<string, TheirColumn>,
  refuse: Refuse,
): void {
  for (const [ours, value] of constants) {
    const other = [columns, wide].find((map) => map.has(ours));
    if (other === undefined) continue;
    const place = other === columns ? "columns" : "wide";
    refuse(`constants.${ours}`, value, `a column that ${place} does not name`);
  }
  for (const [ours, theirs] of columns) {
    const isOfOne = (other: string): boolean =>
      TABLES.some((table) => table.columns.includes(ours) && table.columns.includes(other));
    const first = [...columns].find(([other, same]) => same === theirs && isOfOne(other))?.[0];
    if (first !== ours) refuse(`columns.${ours}`, theirs, `another column than columns.${first}`);
  }
}

/** The form of numbers; null: as ours. */
function numbersOf(
  decimal: string | undefined,
  thousands: string | undefined,
  currency: string | undefined,
  marks: Marks,
  refuse: Refuse,
): WrittenForm | null {
  const isAsOurs = decimal === undefined && thousands === undefined;
  if (isAsOurs && currency === undefined && marks.size === 0) return null;
  const point = decimal ?? ".";
  if (thousands === point)
    refuse("thousands", thousands, `another character than decimal, which is ${quoted(point)}`);
  return numberForm(point, thousands ?? "", currency ?? null);
}

/** The form of the dates; null: the value names none, or a form without a day while `day` is null. */
function formsOf(value: unknown, day: DayOfMonth | null): WrittenForm | null {
  const forms = textsIn(value);
  return forms.every((form) => typeof form === "string") ? dateForm(forms, day) : null;
}
