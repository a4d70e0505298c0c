/** JSON (an array of objects) and NDJSON (an object a line). */
import { quoted } from "./complaints.ts";
import type { TableInput } from "./table.ts";
import { MAX_ROW_CHARACTERS, ROW_TOO_LONG } from "./text.ts";

/** A number keeps the digits it was written with: parsing them as floating point would guess. */
class NumberText {
  readonly digits: string;
  constructor(digits: string) {
    this.digits = digits;
  }
  /** For messages that show a whole array or object. */
  toJSON(): number {
    return Number(this.digits);
  }
}

/** Reads an array of objects as it comes; rows have their index as position, from 0. */
export async function readJson(input: TableInput): Promise<void> {
  const items = new ArrayItems(input);
  for await (const chunk of input.chunks) {
    if (!items.read(chunk)) return;
  }
  items.end();
}

const SPACE = /^[ \t\n\r]*$/;

/** Cuts the text of an array into its items and takes each; of the text no more than one is held. */
class ArrayItems {
  readonly #input: TableInput;
  #place: "before" | "within" | "after" = "before";
  /** Arrays and objects open within the item. */
  #depth = 0;
  #isQuoted = false;
  #isEscaped = false;
  /** The item so far, from chunks before. */
  #item = "";
  #index = 0;

  constructor(input: TableInput) {
    this.#input = input;
  }

  /** False where the text is no such array; it is complained of. */
  read(chunk: string): boolean {
    const { source, complaints } = this.#input;
    let from = 0;
    if (this.#place === "before") {
      const start = /[^ \t\n\r]/.exec(chunk);
      if (start === null) return true;
      if (start[0] !== "[") {
        complaints.at(source, "expected an array of objects");
        return false;
      }
      this.#place = "within";
      from = start.index + 1;
    }
    while (this.#place === "within") {
      const end = this.#endOfItem(chunk, from);
      this.#item += chunk.slice(from, end);
      if (this.#item.length > MAX_ROW_CHARACTERS) {
        complaints.at(this.#input.where(this.#index), ROW_TOO_LONG);
        return false;
      }
      if (end === chunk.length) return true;
      if (!this.#take(chunk[end] === "]")) return false;
      from = end + 1;
    }
    if (SPACE.test(chunk.slice(from))) return true;
    complaints.at(source, "not JSON: text after the array");
    return false;
  }

  end(): void {
    if (this.#place === "after") return;
    this.#input.complaints.at(this.#input.source, "not JSON: ends before the array is closed");
  }

  /** Where the comma or the bracket behind the item stands; the chunk's length where it goes on. */
  #endOfItem(chunk: string, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      const character = chunk[at];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (character === '"') this.#isQuoted = !this.#isQuoted;
      else if (this.#isQuoted) this.#isEscaped = character === "\\";
      else if (character === "{" || character === "[") this.#depth += 1;
      else if (this.#depth <= 0 && (character === "," || character === "]")) return at;
      else if (character === "}" || character === "]") this.#depth -= 1;
    }
    return chunk.length;
  }

  /** False where the item is no JSON: what follows could be anything. */
  #take(isLast: boolean): boolean {
    const [text, index] = [this.#item, this.#index];
    this.#item = "";
    this.#index += 1;
    if (isLast) this.#place = "after";
    if (isLast && index === 0 && SPACE.test(text)) return true;
    return takeText(this.#input, text, index);
  }
}

/** Reads an object a line as it comes; rows have their line as position, from 1. Empty ones count. */
export async function readNdjson(input: TableInput): Promise<void> {
  let line = 1;
  let rest = "";
  for await (const chunk of input.chunks) {
    const pieces = chunk.split("\n");
    pieces[0] = rest + (pieces[0] as string);
    rest = pieces.pop() as string;
    for (const text of pieces) takeLine(input, text, line++);
    // Not kept until it ends, if ever.
    if (rest.length > MAX_ROW_CHARACTERS) break;
  }
  takeLine(input, rest, line);
}

function takeLine(input: TableInput, text: string, line: number): void {
  if (text.length > MAX_ROW_CHARACTERS) input.complaints.at(input.where(line), ROW_TOO_LONG);
  else if (text.trim() !== "") takeText(input, text, line);
}

/** Takes the row that the text is. False where it is no JSON; it is complained of. */
function takeText(input: TableInput, text: string, position: number): boolean {
  const value = parseExactly(text);
  if (value instanceof Error) {
    input.complaints.at(input.where(position), value.message);
    return false;
  }
  takeObject(input, value, position);
  return true;
}

/** The value, or an Error that says why there is none. */
function parseExactly(text: string): unknown {
  try {
    return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
      typeof value === "number" ? new NumberText(context?.source ?? String(value)) : value,
    );
  } catch (error) {
    if (error instanceof SyntaxError) return new Error(`not JSON: ${reasonOf(error)}`);
    // Reading goes as deep as the values nest, and the stack ends somewhere.
    if (error instanceof RangeError) return new Error("nests too deep, expected objects of text");
    throw error;
  }
}

/** V8's reason, but for the ones that quote the text: it may be nothing that was meant to be shown. */
const reasonOf = ({ message }: SyntaxError): string =>
  message.endsWith("is not valid JSON")
    ? "an unexpected character"
    : message.replace(/ \(line .*$/, "");

function takeObject(input: TableInput, value: unknown, position: number): void {
  const { shape, complaints, where } = input;
  if (
    typeof value !== "object" ||
    value === null ||
    Array.isArray(value) ||
    value instanceof NumberText
  ) {
    complaints.at(where(position), "expected an object");
    return;
  }
  const before = complaints.count;
  const fields = value as Record<string, unknown>;
  const names = Object.keys(fields);
  if (names.length > 0 && !names.some((name) => shape.columns.includes(name))) {
    complaints.at(where(position), `no known field, expected ${shape.columns.join(", ")}`);
    return;
  }
  for (const name of names) {
    if (shape.columns.includes(name)) continue;
    complaints.at(
      where(position),
      `unknown field ${quoted(name)}, expected ${shape.columns.join(", ")}`,
    );
  }
  for (const name of shape.required) {
    if (!Object.hasOwn(fields, name))
      complaints.at(where(position), `the field ${quoted(name)} is missing`);
  }
  const cells = shape.columns.map((name) => {
    const cell = Object.hasOwn(fields, name) ? cellText(fields[name]) : "";
    if (cell !== null) return cell;
    complaints.cell(where(position), name, JSON.stringify(fields[name]), "text or a number");
    return "";
  });
  if (complaints.count === before) input.take(cells, position);
}

/** The text of a cell; null for arrays and objects, which are none. */
function cellText(value: unknown): string | null {
  if (value === null) return "";
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  return value instanceof NumberText ? plainDigits(value.digits) : null;
}

/** `1e-05` as `0.00001`: JSON writers use exponents for small numbers. Exact. */
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
  const decimals = padded.slice(at).replace(/0+$/, "");
  return `${sign}${padded.slice(0, at).replace(/^0+(?=\d)/, "")}${decimals === "" ? "" : `.${decimals}`}`;
}
