/** How the JSON of stored files and of answers is written. */

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
