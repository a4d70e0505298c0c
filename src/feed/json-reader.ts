/** Reads JSON (an array of objects) and NDJSON (an object per line) as a stream. */
import { repeatedMembers } from "../lib/json.ts";
import { lineReader, MAX_ROW_CHARACTERS, ROW_TOO_LONG, type TextReader } from "./text-reader.ts";

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

/** The fields of an object. `cellText` reads the values; JSON.stringify shows them in messages. */
export type Fields = Readonly<Record<string, unknown>>;

/** Receives the fields of an object, its position, and the fields that stand in it more than once. */
type TakeFields = (fields: Fields, position: number, repeated: readonly string[]) => void;

/** Receives a fault; position null means the whole text. */
type TakeFault = (finding: string, position: number | null) => void;

const OBJECT = "expected an array of objects, found an object; give the array within it alone";
const SPACE = /^[ \t\n\r]*$/;

/**
 * Reads an array of objects; positions are indices from 0. Stops at the first fault. Holds the text of at
 * most one item.
 */
export function jsonReader(take: TakeFields, fault: TakeFault): TextReader {
  let place: "before" | "within" | "after" = "before";
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

  return {
    read(chunk) {
      let from = 0;
      if (place === "before") {
        const start = /[^ \t\n\r]/.exec(chunk);
        if (start === null) return true;
        if (start[0] === "{") return stop(OBJECT);
        if (start[0] !== "[") return stop("expected an array of objects");
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
        if (!isNone && !takeText(item, index, take, fault)) return false;
        item = "";
        index += 1;
        from = end + 1;
      }
      return SPACE.test(chunk.slice(from)) || stop("not JSON: text after the array");
    },
    end() {
      if (place !== "after") fault("not JSON: ends before the array is closed", null);
    },
  };
}

/** Reads an object per line; positions are line numbers from 1, empty lines included. */
export function ndjsonReader(take: TakeFields, fault: TakeFault): TextReader {
  let line = 0;
  return lineReader((text, isEnded) => {
    line += 1;
    if (text.length > MAX_ROW_CHARACTERS) {
      fault(ROW_TOO_LONG, line);
      return isEnded;
    }
    if (text.trim() !== "") takeText(text, line, take, fault);
    return true;
  });
}

/** Parses the text and passes its object to `take`. Returns false if the text is not JSON. */
function takeText(text: string, position: number, take: TakeFields, fault: TakeFault): boolean {
  const value = parseExactly(text);
  if (value instanceof Error) {
    fault(value.message, position);
    return false;
  }
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (isObject && !(value instanceof NumberText)) {
    take(value as Fields, position, repeatedMembers(text));
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
