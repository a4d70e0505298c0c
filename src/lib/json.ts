/** How the JSON of stored files and of answers is written, and the members that JSON.parse would lose. */
import { cut } from "./text.ts";

declare global {
  /** ECMAScript's JSON.parse source text access, which TypeScript's library lacks. */
  interface JSON {
    rawJSON(text: string): RawNumber;
    isRawJSON(value: unknown): value is RawNumber;
  }
}

/** A number that is written with the digits that it was made of: floating point could change them. */
interface RawNumber {
  readonly rawJSON: string;
}

/** A value of type T whose numbers may have such digits. */
export type Written<T> = T extends number ? T | RawNumber : { [K in keyof T]: Written<T[K]> };

/** The number with these digits, to be written; null stays null. */
export function exactly(digits: string): number | RawNumber;
export function exactly(digits: string | null): number | RawNumber | null;
export function exactly(digits: string | null): number | RawNumber | null {
  if (digits === null) return null;
  const number = Number(digits);
  // Most have few digits, and a number is written much faster.
  return String(number) === digits ? number : JSON.rawJSON(digits);
}

/** For JSON.parse: a number becomes the digits that it is written with. */
export const keepDigits = (_key: string, value: unknown, context?: { source?: string }): unknown =>
  typeof value === "number" ? (context?.source ?? String(value)) : value;

/**
 * A file's text. An element of an array that is in no other array has a line of its own, so that people,
 * `grep` and `diff` can read stored files.
 */
export const jsonText = (value: object): string => `${written(value)}\n`;

function written(value: unknown): string {
  if (Array.isArray(value)) {
    const lines = value.map((element) => JSON.stringify(element));
    return lines.length === 0 ? "[]" : `[\n${lines.join(",\n")}\n]`;
  }
  if (typeof value !== "object" || value === null || JSON.isRawJSON(value)) {
    return JSON.stringify(value);
  }
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `"${name}":${written(member)}`).join(",")}}`;
}

/** An object or array around a place of a text. */
interface Around {
  /** The names of the members so far; null: it is an array. */
  readonly names: Set<string> | null;
  /** The names of the members that it is in: `pro.price`. */
  readonly path: string;
}

/** The most repeated members of a text that are shown, and how much of each. */
const REPEATED_MAX = 100;
const PATH_CHARACTERS = 1_000;

/**
 * The members that an object has more than once, each with the members around it: `spot_usd`, `pro.price`.
 * JSON.parse takes the last one without a word. The text must be valid JSON. At most the first 100, each shortened.
 */
export function repeatedMembers(text: string): string[] {
  const repeated = new Set<string>();
  const outer: Around[] = [];
  let around: Around = { names: null, path: "" };
  /** The path of the value that comes next. */
  let path = "";
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === "{" || character === "[") {
      outer.push(around);
      around = { names: character === "{" ? new Set() : null, path };
    } else if (character === "}" || character === "]") {
      around = outer.pop() as Around;
      path = around.path;
    } else if (character === '"') {
      const begin = at;
      at = endOfString(text, begin);
      let next = at + 1;
      while (text.charCodeAt(next) <= SPACE) next += 1;
      if (text[next] !== ":") continue;
      const quoted = text.slice(begin, at + 1);
      const name = quoted.includes("\\") ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
      path = cut(around.path === "" ? name : `${around.path}.${name}`, PATH_CHARACTERS);
      if (around.names?.has(name) && repeated.size < REPEATED_MAX) repeated.add(path);
      around.names?.add(name);
    }
  }
  return [...repeated];
}

const SPACE = 32;

/** Where the string ends that begins at `begin`: at a quotation mark behind an even number of backslashes. */
function endOfString(text: string, begin: number): number {
  for (let end = text.indexOf('"', begin + 1); ; end = text.indexOf('"', end + 1)) {
    let first = end;
    while (text[first - 1] === "\\") first -= 1;
    if ((end - first) % 2 === 0) return end;
  }
}
