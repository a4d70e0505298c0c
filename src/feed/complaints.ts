/** Collects the faults of the input and formats their messages. */
import { counted, cut } from "../lib/text.ts";
import { InputError } from "../lib/errors.ts";

const SHOWN_CHARACTERS = 80;
const LINE_CHARACTERS = 1_000;
/** The most complaints kept. Further ones are only counted, so that no feed can fill the memory. */
const LINES_KEPT = 10_000;

/** All faults of the input, collected so that one error reports them together. */
export class Complaints {
  readonly #findings: { readonly where: string; readonly line: string }[] = [];
  #count = 0;
  /** The inputs that are not there yet. */
  readonly #awaited: string[] = [];

  /** How many complaints there are. If a row did not change the count, it has no fault. */
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

  /** A source that cannot be read; `failure` names it and the cause. */
  unreadable(failure: InputError): void {
    this.#add(failure.message, failure.message);
    if (failure.waitFor !== null) this.#awaited.push(failure.waitFor);
  }

  /** Throws InputError with all complaints, sorted by line within each file, if there are any. */
  raise(): void {
    if (this.#count === 0) return;
    const errors = counted(this.#count, "error");
    const more = this.#count - this.#findings.length;
    // To wait does not help against faults of the inputs that are there.
    const isEarly = this.#awaited.length === this.#count;
    throw new InputError(
      `${errors} in the input; nothing was written`,
      [...inOrder(this.#findings), ...(more === 0 ? [] : [`and ${more} more`])],
      isEarly ? { waitFor: escaped(this.#awaited.join("; ")) } : {},
    );
  }

  /** Shortens the line and escapes line breaks and terminal control characters. */
  #add(where: string, line: string): void {
    this.#count += 1;
    if (this.#findings.length === LINES_KEPT) return;
    this.#findings.push({ where, line: cut(escaped(line), LINE_CHARACTERS) });
  }
}

/** The lines grouped by file, in the order of each file's first complaint, and sorted by row. */
function inOrder(findings: readonly { readonly where: string; readonly line: string }[]): string[] {
  const files = new Map<string, number>();
  const placed = findings.map(({ where, line }) => {
    const [, file = where, row = 0] = /^(.*)[:[](\d+)\]?$/s.exec(where) ?? [];
    if (!files.has(file)) files.set(file, files.size);
    return { file: files.get(file) as number, row: Number(row), line };
  });
  return placed.sort((a, b) => a.file - b.file || a.row - b.row).map(({ line }) => line);
}

/** The value in quotation marks, shortened, with control characters escaped. */
export function quoted(value: string): string {
  return escaped(JSON.stringify(cut(value, SHOWN_CHARACTERS + 1)));
}

/** Replaces control, direction and invisible characters by their numbers. */
const escaped = (text: string): string =>
  text.replace(
    /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|\p{Surrogate}/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
