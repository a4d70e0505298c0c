/** Everything wrong with the input, collected so that it is reported in one go. */
import { InputError } from "../errors.ts";

const SHOWN_CHARACTERS = 80;

export class Complaints {
  readonly #lines: string[] = [];

  get count(): number {
    return this.#lines.length;
  }

  /** `quotes.csv:17 spot_usd "-3": expected a number above 0`. */
  cell(where: string, column: string, value: string, expected: string): void {
    this.#lines.push(`${where} ${column} ${quoted(value)}: expected ${expected}`);
  }

  /** A finding about a whole row or file: `quotes.csv:9: 3 fields, expected 4`. */
  at(where: string, finding: string): void {
    this.#lines.push(`${where}: ${finding}`);
  }

  /** A source that cannot be read; `failure` says which and why. */
  unreadable(failure: InputError): void {
    this.#lines.push(failure.message);
  }

  /** Throws InputError with every complaint, if there is any. */
  raise(): void {
    if (this.#lines.length === 0) return;
    const errors = this.#lines.length === 1 ? "1 error" : `${this.#lines.length} errors`;
    throw new InputError(`${errors} in the input; nothing was written`, this.#lines);
  }
}

/** The value as it was found, cut where it is long, control characters escaped. */
export function quoted(value: string): string {
  const shown = value.length > SHOWN_CHARACTERS ? `${value.slice(0, SHOWN_CHARACTERS)}…` : value;
  return JSON.stringify(shown).replace(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
