/** JSON (an array of objects) and NDJSON (an object a line). */
import { quoted } from "./complaints.ts";
import type { TableInput } from "./table.ts";

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

/** Reads an array of objects, whole; rows have their index as position, from 0. */
export async function readJson(input: TableInput): Promise<void> {
  const { source, complaints } = input;
  let text = "";
  for await (const chunk of input.chunks) text += chunk;
  const value = parseExactly(text);
  if (value instanceof Error) {
    complaints.at(source, value.message);
  } else if (!Array.isArray(value)) {
    complaints.at(source, "expected an array of objects");
  } else {
    value.forEach((item: unknown, index) => takeObject(input, item, index));
  }
}

/** Reads an object a line as it comes; rows have their line as position, from 1. Empty ones count. */
export async function readNdjson(input: TableInput): Promise<void> {
  let line = 0;
  let rest = "";
  const takeLine = (text: string): void => {
    line += 1;
    if (text.trim() === "") return;
    const value = parseExactly(text);
    if (value instanceof Error) {
      input.complaints.at(input.where(line), value.message);
    } else {
      takeObject(input, value, line);
    }
  };
  for await (const chunk of input.chunks) {
    const pieces = (rest + chunk).split("\n");
    rest = pieces.pop() as string;
    pieces.forEach(takeLine);
  }
  if (rest !== "") takeLine(rest);
}

/** The value, or an Error that says why there is none. */
function parseExactly(text: string): unknown {
  try {
    return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
      typeof value === "number" ? new NumberText(context?.source ?? String(value)) : value,
    );
  } catch (error) {
    if (error instanceof SyntaxError) return new Error(`not JSON: ${error.message}`);
    // Reading goes as deep as the values nest, and the stack ends somewhere.
    if (error instanceof RangeError) return new Error("nests too deep, expected objects of text");
    throw error;
  }
}

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
  for (const name of Object.keys(fields)) {
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
