/** What is wrong with the input, in the words of its messages. */
import { counted } from "../lib/text.ts";
import { InputError } from "../lib/errors.ts";

const SHOWN_CHARACTERS = 80;
const LINE_CHARACTERS = 1_000;
/** Nobody reads more. The rest is counted, so that no feed can fill the memory. */
const LINES_KEPT = 10_000;

/** Everything wrong with the input, collected so that it is reported in one go. */
export class Complaints {
  readonly #findings: { readonly where: string; readonly line: string }[] = [];
  #count = 0;

  /** How many there are: compare it with an earlier count to see whether a row was faultless. */
  get count(): number {
    return this.#count;
  }

  /** `quotes.csv:17 spot_usd "-3": expected a number above 0`. */
  cell(where: string, column: string, value: string | null, expected: string): void {
    const shown = value === null ? "null" : quoted(value);
    this.#add(where, `${where} ${column} ${shown}: expected ${expected}`);
  }

  /** A finding about a whole row or file: `quotes.csv:9: 3 fields, expected 4`. */
  at(where: string, finding: string): void {
    this.#add(where, `${where}: ${finding}`);
  }

  /** A source that cannot be read; `failure` says which and why. */
  unreadable(failure: InputError): void {
    this.#add(failure.message, failure.message);
  }

  /** Throws InputError with the complaints, those of a file by its lines, if there is any. */
  raise(): void {
    if (this.#count === 0) return;
    const errors = counted(this.#count, "error");
    const more = this.#count - this.#findings.length;
    throw new InputError(`${errors} in the input; nothing was written`, [
      ...inOrder(this.#findings),
      ...(more === 0 ? [] : [`and ${more} more`]),
    ]);
  }

  /** Keeps the line short, and escapes what would break it or what a terminal would obey. */
  #add(where: string, line: string): void {
    this.#count += 1;
    if (this.#findings.length === LINES_KEPT) return;
    this.#findings.push({ where, line: cut(escaped(line), LINE_CHARACTERS) });
  }
}

/** The lines, file by file as these were first complained of, and by the rows in a file. */
function inOrder(findings: readonly { readonly where: string; readonly line: string }[]): string[] {
  const files = new Map<string, number>();
  const placed = findings.map(({ where, line }) => {
    const [, file = where, row = 0] = /^(.*)[:[](\d+)\]?$/s.exec(where) ?? [];
    if (!files.has(file)) files.set(file, files.size);
    return { file: files.get(file) as number, row: Number(row), line };
  });
  return placed.sort((a, b) => a.file - b.file || a.row - b.row).map(({ line }) => line);
}

/** The value as it was found, cut where it is long, control characters escaped. */
export function quoted(value: string): string {
  return escaped(JSON.stringify(cut(value, SHOWN_CHARACTERS + 1)));
}

/** At most `length` UTF-16 units; what is longer ends with an ellipsis, and not in half a character. */
const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, "")}…` : text;

/** Controls, marks of direction and what cannot be seen, by their numbers. */
const escaped = (text: string): string =>
  text.replace(
    /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|\p{Surrogate}/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
