/** Reads JSON (an array of objects, also within others) and NDJSON (an object per line) as a stream. */
import { MAX_ROW_CHARACTERS } from "../lib/limits.ts";
import { repeatedMembers } from "../lib/json.ts";
import { lineReader, ROW_TOO_LONG, type TextReader } from "./text-reader.ts";

/** A number with its digits as written: floating point would change them. */
class NumberText {
  readonly digits: string;
  constructor(digits: string) {
    this.digits = digits;
  }
  /** Lets messages show a whole array or object. */
  toJSON(): number {
    return Number(this.digits);
  }
}

/** A row: an object, or an array for a map. `cellText` reads the values; JSON.stringify shows them in messages. */
export type JsonRow = Readonly<Record<string, unknown>> | readonly unknown[];

/** Receives an item, its position, and the fields that stand in it more than once. */
type TakeRow = (item: JsonRow, position: number, repeated: readonly string[]) => void;

/** Receives a fault; position null means the whole text. */
type TakeFault = (finding: string, position: number | null) => void;

/** How the rows of JSON are found. */
interface JsonForm {
  /** The path of the array of rows; null: it is the text itself. */
  readonly path: string | null;
  /** Whether a row can be an array. */
  readonly hasArrays: boolean;
  /** What the operator can do if the array stands elsewhere, at this path; null: unknown. */
  readonly remedy: (path: string | null) => string;
}

const OBJECT = "expected an array of objects, found an object; give the array within it alone";
const SPACE = /^[ \t\n\r]*$/;
/** The longest text around the rows. */
const MAX_AROUND_CHARACTERS = 16_000_000;

/**
 * Reads an array of objects; positions are indices from 0. Stops at the first fault. Holds the text of at
 * most one item, and the text around the rows.
 */
export function jsonReader(take: TakeRow, fault: TakeFault, form: JsonForm): TextReader {
  const { path, hasArrays, remedy } = form;
  const findRows = arrayFinder(path);
  let place: "before" | "within" | "after" = "before";
  /** The text around the rows, if they are within others. */
  let around = "";
  /** How many arrays and objects are open within the item. */
  let depth = 0;
  let isQuoted = false;
  let isEscaped = false;
  /** The part of the item in earlier chunks. */
  let item = "";
  let index = 0;

  /** The index of the comma or bracket after the item; the chunk's length if the item goes on. */
  const endOfItem = (chunk: string, from: number): number => {
    for (let at = from; at < chunk.length; at += 1) {
      const character = chunk[at];
      if (isEscaped) isEscaped = false;
      else if (character === '"') isQuoted = !isQuoted;
      else if (isQuoted) isEscaped = character === "\\";
      else if (character === "{" || character === "[") depth += 1;
      else if (depth <= 0 && (character === "," || character === "]")) return at;
      else if (character === "}" || character === "]") depth -= 1;
    }
    return chunk.length;
  };

  const stop = (finding: string, position: number | null = null): false => {
    fault(finding, position);
    return false;
  };

  const addAround = (text: string): boolean => {
    around += text;
    if (around.length <= MAX_AROUND_CHARACTERS) return true;
    return stop(
      `more than ${MAX_AROUND_CHARACTERS} characters around the rows, expected at most that`,
    );
  };

  return {
    read(chunk) {
      let from = 0;
      if (place === "before" && path !== null) {
        from = findRows(chunk)?.at ?? -1;
        if (from < 0) return addAround(chunk);
        place = "within";
        around += chunk.slice(0, from);
      } else if (place === "before") {
        const start = /[^ \t\n\r]/.exec(chunk);
        if (start === null) return true;
        if (start[0] === "{") return stop(`${OBJECT}${remedy(findRows(chunk)?.path ?? null)}`);
        if (start[0] !== "[")
          return stop(
            `${start[0] === "<" ? "looks like a web page, " : ""}expected an array of objects`,
          );
        place = "within";
        from = start.index + 1;
      }
      while (place === "within") {
        const end = endOfItem(chunk, from);
        item += chunk.slice(from, end);
        if (item.length > MAX_ROW_CHARACTERS) return stop(ROW_TOO_LONG, index);
        if (end === chunk.length) return true;
        if (chunk[end] === "]") place = "after";
        const isNone = place === "after" && index === 0 && SPACE.test(item);
        if (!isNone && !takeText(item, index, take, fault, hasArrays)) return false;
        item = "";
        index += 1;
        from = end + 1;
      }
      if (path !== null) return addAround(chunk.slice(from === 0 ? 0 : from - 1));
      return SPACE.test(chunk.slice(from)) || stop("not JSON: text after the array");
    },
    end() {
      if (place === "within" || (place === "before" && path === null)) {
        fault("not JSON: ends before the array is closed", null);
        return;
      }
      if (path === null) return;
      const whole = parseExactly(around);
      if (whole instanceof Error) fault(whole.message, null);
      else if (place === "before") {
        const there = arrayFinder(null)(around)?.path ?? null;
        fault(`no array at ${JSON.stringify(path)}${there === null ? "" : remedy(there)}`, null);
      } else
        for (const name of repeatedMembers(around))
          fault(`the member ${JSON.stringify(name)} appears twice`, null);
    },
  };
}

/** An array or object of a text, and where it stands. */
interface Level {
  readonly isArray: boolean;
  /** The members up to it. */
  readonly path: string;
  /** The members from it to the array that is looked for; null: that is elsewhere. */
  readonly rest: string | null;
  index: number;
}

/** Rows are not deeper: each level takes memory. */
const MAX_LEVELS = 1_000;

/** A longer name is of no member on a path. */
const MAX_NAME_CHARACTERS = 200;

/**
 * Reads chunks of JSON up to the array at `path`, or with null up to the first array of objects or arrays. Returns the
 * index behind its bracket, and its path; null: it is not there so far.
 */
function arrayFinder(path: string | null) {
  const levels: Level[] = [];
  /** The name or string that is open, in JSON; null: none is. */
  let open: string | null = null;
  let isEscaped = false;
  let name = "";
  /** How many arrays and objects are open within the deepest of `levels`. */
  let beyond = 0;
  const stepTo = (level: Level | undefined): Omit<Level, "isArray" | "index"> => {
    if (level === undefined) return { path: "", rest: path };
    const step = level.isArray ? String(level.index) : nameIn(name);
    const { rest } = level;
    const isOnWay = rest !== null && (rest === step || rest.startsWith(`${step}.`));
    return {
      path:
        level.path.length > MAX_NAME_CHARACTERS
          ? level.path
          : `${level.path}${level.path && "."}${step}`,
      rest: isOnWay ? rest.slice(step.length + 1) : null,
    };
  };
  return (chunk: string): { at: number; path: string } | null => {
    for (let at = 0; at < chunk.length; at += 1) {
      const character = chunk[at] as string;
      const level = levels.at(-1);
      if (open !== null) {
        if (character === '"' && !isEscaped) [name, open] = [open, null];
        else if (open.length <= MAX_NAME_CHARACTERS) open += character;
        isEscaped = character === "\\" && !isEscaped;
      } else if (character === '"') open = "";
      else if (character === "," && level !== undefined) level.index += 1;
      else if (character === "}" || character === "]") {
        if (beyond > 0) beyond -= 1;
        else levels.pop();
      } else if ((character === "{" || character === "[") && levels.length === MAX_LEVELS)
        beyond += 1;
      else if (character === "{" || character === "[") {
        const step = stepTo(level);
        const isArray = character === "[";
        const isFound =
          path === null ? /^\s*[[{]/.test(chunk.slice(at + 1, at + 100)) : step.rest === "";
        if (isArray && isFound && levels.length > 0) return { at: at + 1, path: step.path };
        levels.push({ ...step, isArray, index: 0 });
      }
    }
    return null;
  };
}

/** The name that stands in quotation marks; empty if it is too long for one. */
function nameIn(quoted: string): string {
  if (quoted.length > MAX_NAME_CHARACTERS) return "";
  if (!quoted.includes("\\")) return quoted;
  const value = parseExactly(`"${quoted}"`);
  return typeof value === "string" ? value : "";
}

/** Reads an object per line; positions are line numbers from 1, empty lines included. */
export function ndjsonReader(take: TakeRow, fault: TakeFault, hasArrays: boolean): TextReader {
  let line = 0;
  return lineReader((text, isEnded) => {
    line += 1;
    if (text.length > MAX_ROW_CHARACTERS) {
      fault(ROW_TOO_LONG, line);
      return isEnded;
    }
    if (text.trim() !== "") takeText(text, line, take, fault, hasArrays);
    return true;
  });
}

/** Parses the text and passes its object to `take`. Returns false if the text is not JSON. */
function takeText(
  text: string,
  position: number,
  take: TakeRow,
  fault: TakeFault,
  hasArrays: boolean,
): boolean {
  const value = parseExactly(text);
  if (value instanceof Error) {
    fault(value.message, position);
    return false;
  }
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if ((isObject && !(value instanceof NumberText)) || (hasArrays && Array.isArray(value))) {
    take(value as JsonRow, position, repeatedMembers(text));
  } else {
    fault("expected an object", position);
  }
  return true;
}

/** The value, or an Error with the reason why the text is not JSON. */
function parseExactly(text: string): unknown {
  try {
    return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
      typeof value === "number" ? new NumberText(context?.source ?? String(value)) : value,
    );
  } catch (error) {
    if (error instanceof SyntaxError) {
      const bare = text.replace(/"(?:[^"\\]+|\\.)*"?/gs, "");
      const [word] = /\b(?:NaN|Infinity)\b/.exec(bare) ?? [];
      const reason = word === undefined ? reasonOf(error) : `the value ${word}, expected a number`;
      return new Error(`not JSON: ${reason}`);
    }
    // Parsing recurses with each nested value and can exceed the stack.
    if (error instanceof RangeError) return new Error("nests too deep, expected objects of text");
    throw error;
  }
}

/** V8's reason, unless it quotes the text: that text may be secret. */
const reasonOf = ({ message }: SyntaxError): string =>
  message.endsWith("is not valid JSON")
    ? "an unexpected character"
    : message.replace(/ \(line .*$/, "");

/** The text of a cell that is not null; null for arrays and objects, which cannot be cells. */
export function cellText(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  return value instanceof NumberText ? plainDigits(value.digits) : null;
}

/** Turns `1e-05` into `0.00001`, exactly: JSON writers use exponents for small numbers. */
function plainDigits(digits: string): string {
  const parts = /^(-?)(\d+)(?:\.(\d+))?[eE]([+-]?\d{1,3})$/.exec(digits);
  if (parts === null) return digits;
  const [, sign, whole = "", fraction = "", exponent] = parts;
  const point = whole.length + Number(exponent);
  const all = (whole + fraction).padStart(
    whole.length + fraction.length - Math.min(0, point - 1),
    "0",
  );
  const at = Math.max(point, 1);
  const padded = all.padEnd(at, "0");
  // An expression for the zeros at an end begins anew at each zero of the text.
  let end = padded.length;
  while (end > at && padded[end - 1] === "0") end -= 1;
  const decimals = padded.slice(at, end);
  return `${sign}${padded.slice(0, at).replace(/^0+(?=\d)/, "")}${decimals === "" ? "" : `.${decimals}`}`;
}

/** Members within more than these, and of longer paths, are no columns. */
const MAX_DEPTH = 8;

/** The texts in an item, each with its path. */
export function leavesOf(
  item: unknown,
  path = "",
  depth = 0,
): (readonly [path: string, text: string | null])[] {
  const text = item === null ? null : cellText(item);
  if (item === null || text !== null) return [[path, text]];
  if (typeof item !== "object" || depth > MAX_DEPTH) return [];
  return Object.entries(item).flatMap(([name, value]) => {
    const isLong = path.length + name.length >= MAX_NAME_CHARACTERS;
    return isLong ? [] : leavesOf(value, `${path}${path && "."}${name}`, depth + 1);
  });
}
