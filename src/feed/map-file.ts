/** Reads the file of `--map`: JSON that says how others write quotes and closes. */
import { InputError, reasonOf } from "../lib/errors.ts";
import { repeatedMembers } from "../lib/json.ts";
import { quoted, type Complaints } from "./complaints.ts";
import type { CsvMap } from "./csv-map.ts";
import { idField } from "./fields.ts";
import { CLOSES, QUOTES } from "./levels.ts";
import type { InputSource } from "./source.ts";
import { MAX_ROW_CHARACTERS, readText } from "./text-reader.ts";
import { dateForm, numberForm, type WrittenForm } from "./written-forms.ts";

const TABLES = [QUOTES, CLOSES];
const COLUMNS = [...new Set(TABLES.flatMap(({ columns }) => columns))];
const TIMES = TABLES.map(({ level }) => level?.time as string);

const OUR_COLUMN = `a column of quotes or closes: ${COLUMNS.join(", ")}`;
const TEXT = "text that is not empty";
const DATES = "YYYY, MM and DD once each, such as DD.MM.YYYY, or a list of such forms";

/** Complains that a member is not as expected. */
type Refuse = (member: string, value: unknown, expected: string) => void;

/** The map in a file; null: it cannot be read, or something in it is wrong, which is added to the complaints. */
export async function readMap(source: InputSource, complaints: Complaints): Promise<CsvMap | null> {
  const before = complaints.count;
  const text = await textOf(source, complaints);
  if (complaints.count > before) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    complaints.at(source.name, `not JSON: ${reasonOf(cause)}`);
    return null;
  }
  for (const member of repeatedMembers(text))
    complaints.at(source.name, `the member ${quoted(member)} appears twice`);
  const map = mapOf(value, source.name, (member, wrong, expected) => {
    const place = member === "" ? source.name : `${source.name} ${member}`;
    const excerpt = typeof wrong === "string" ? quoted(wrong) : excerptOf(wrong);
    complaints.at(`${place} ${excerpt}`, `expected ${expected}`);
  });
  return complaints.count > before ? null : map;
}

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
  decimal: ['"." or ","', (value) => value === "." || value === ","],
  thousands: [
    'one character, such as ".", ",", " " or "\'", no letter, digit or sign',
    (value) => typeof value === "string" && isCharacter(value) && !/[-+]/.test(value),
  ],
  dates: [DATES, (value) => formsOf(value) !== null],
  columns: ["an object {ours: theirs}", isObject],
  constants: ["an object {ours: value}", isObject],
  ids: ["an object {theirs: ours}", isObject],
  wide: [`an object {ours: theirs} with ${TIMES.join(" or ")}`, isObject],
} as const satisfies Record<string, readonly [string, (value: unknown) => boolean]>;

type Member = keyof typeof MEMBERS;

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The map that a value is, or most of it if `refuse` was called. */
function mapOf(value: unknown, name: string, refuse: Refuse): CsvMap | null {
  const names = Object.keys(MEMBERS);
  if (!isObject(value)) {
    refuse("", value, `an object with ${names.join(", ")}, or some of them`);
    return null;
  }
  const given = new Map<string, unknown>();
  for (const [member, content] of Object.entries(value as object)) {
    if (!Object.hasOwn(MEMBERS, member)) {
      refuse(member, content, `one of ${names.join(", ")}`);
      continue;
    }
    const [expected, fits] = MEMBERS[member as Member];
    if (fits(content)) given.set(member, content);
    else refuse(member, content, expected);
  }
  const text = (member: Member): string | undefined => given.get(member) as string | undefined;
  const texts = (member: Member, keys: readonly string[] | null, expected: string) =>
    textsOf(member, given.get(member) ?? {}, keys, expected, refuse);
  const columns = texts("columns", COLUMNS, OUR_COLUMN);
  const constants = texts("constants", COLUMNS, OUR_COLUMN);
  const ids = texts("ids", null, "");
  const wide = texts("wide", TIMES, TIMES.join(" or "));
  requireOneEach(columns, constants, wide, refuse);
  for (const [theirs, ours] of ids)
    if (idField.parse(ours) === undefined) refuse(`ids.${theirs}`, ours, idField.expected);
  // One that was refused is not compared with the others.
  const delimiter = text("delimiter") ?? (Object.hasOwn(value as object, "delimiter") ? "" : ",");
  const encoding = encodingOf(text("encoding") ?? "utf-8") as string;
  const number = numbersOf(text("decimal"), text("thousands"), delimiter, refuse);
  return {
    name,
    delimiter,
    encoding,
    number,
    date: formsOf(given.get("dates") ?? null),
    columns,
    constants,
    ids,
    wide,
  };
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
  columns: ReadonlyMap<string, string>,
  constants: ReadonlyMap<string, string>,
  wide: ReadonlyMap<string, string>,
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
  delimiter: string,
  refuse: Refuse,
): WrittenForm | null {
  if (decimal === undefined && thousands === undefined) return null;
  const point = decimal ?? ".";
  if (thousands === point)
    refuse("thousands", thousands, `another character than decimal, which is ${quoted(point)}`);
  if (decimal !== undefined && decimal === delimiter)
    refuse("decimal", decimal, `another character than delimiter, which is ${quoted(delimiter)}`);
  return numberForm(point, thousands ?? "");
}

/** The form of the dates; null: the value names none. */
function formsOf(value: unknown): WrittenForm | null {
  const forms = Array.isArray(value) ? (value as unknown[]) : [value];
  const isForms = forms.length > 0 && forms.every((form) => typeof form === "string");
  return isForms ? dateForm(forms) : null;
}

/** The name that TextDecoder gives an encoding; null: it does not know it. */
function encodingOf(label: string): string | null {
  try {
    // Everybody in Korea calls it so, but no standard does.
    return new TextDecoder(/^cp949$/i.test(label) ? "euc-kr" : label).encoding;
  } catch {
    return null;
  }
}
