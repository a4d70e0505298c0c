/** Collects the faults of the input and formats their messages. */
import { counted, cut } from "../lib/text.ts";
import { InputError, type ConflictError, type RefusedError } from "../lib/errors.ts";
import { startWithoutSecrets } from "../lib/secrets.ts";

const SHOWN_CHARACTERS = 120;
const SUBJECT_CHARACTERS = 240;
const LINE_CHARACTERS = 1_000;
/** The most kinds kept, and lines shown. Others are only counted, so that no feed can fill the memory. */
const LINES_KEPT = 10_000;
/** The complaints of one kind in one column of a file that are shown one by one; more are one finding. */
const ALIKE_MAX = 20;

/** One complaint, and how many came before it. */
interface Complaint {
  readonly number: number;
  readonly where: string;
  /** The place, with the column and the value of a cell. */
  readonly subject: string;
  readonly line: string;
}

/** All faults of the input, collected so that one error reports them together. */
export class Complaints {
  /** The first of each kind in a column of a file, and how many rows all of the kind are about. */
  readonly #kinds = new Map<string, { first: Complaint[]; rows: number }>();
  /** How many complaints are of no kind that is kept. */
  #others = 0;
  #count = 0;
  /** The inputs that are not there yet. */
  readonly #awaited: string[] = [];
  #retryAfterMs = 0;

  /** How many complaints there are. */
  get count(): number {
    return this.#count;
  }

  /**
   * `quotes.csv:17 spot_usd "-3": expected a number above 0`. Complaints of one `kind` in a column become
   * one finding if they are many. `rows`: how many rows this one is about.
   */
  cell(
    where: string,
    column: string,
    value: string | null,
    expected: string,
    kind = expected,
    rows = 1,
  ): void {
    const subject = (): string => `${where} ${column} ${value === null ? "null" : quoted(value)}`;
    this.#add(where, subject, `expected ${expected}`, `${column} ${kind}`, rows);
  }

  /** A finding about a whole row or file: `quotes.csv:9: 3 fields, expected 4`. */
  at(where: string, finding: string, kind = finding): void {
    this.#add(where, () => where, finding, kind, 1);
  }

  /** A source that cannot be read; `failure` names it and the cause. */
  unreadable({ message, waitFor, retryAfterMs }: InputError): void {
    this.#add(message, () => "", message, message, 1);
    if (waitFor !== null) this.#awaited.push(waitFor);
    this.#retryAfterMs = Math.max(this.#retryAfterMs, retryAfterMs);
  }

  /** Whether nothing is wrong but that inputs are not there yet. */
  get isEarly(): boolean {
    return this.#count > 0 && this.#awaited.length === this.#count;
  }

  /** Throws a Failure with all complaints, sorted by line within each file, if there are any. */
  raise(
    Failure: typeof InputError | typeof ConflictError | typeof RefusedError = InputError,
  ): void {
    if (this.#count === 0) return;
    throw new Failure(
      `${counted(this.#found().length + this.#others, "error")} in the input; nothing was written`,
      this.lines(),
      // To wait does not help against faults of the inputs that are there.
      this.isEarly
        ? { waitFor: escapeControls(this.#awaited.join("; ")), retryAfterMs: this.#retryAfterMs }
        : {},
    );
  }

  /** All complaints, sorted by line within each file. */
  lines(): string[] {
    const found = this.#found();
    const more = found.length + this.#others - Math.min(found.length, LINES_KEPT);
    return [...inOrder(found).slice(0, LINES_KEPT), ...(more === 0 ? [] : [`and ${more} more`])];
  }

  #found(): Complaint[] {
    return [...this.#kinds.values()].flatMap(shownOf).sort((a, b) => a.number - b.number);
  }

  /** Shortens the line and escapes line breaks and terminal control characters, if it may be shown. */
  #add(where: string, subjectOf: () => string, text: string, words: string, rows: number): void {
    const number = this.#count;
    this.#count += 1;
    const name = `${where.replace(PLACE, "")}\n${words}`;
    const kind = this.#kinds.get(name) ?? { first: [], rows: 0 };
    kind.rows += rows;
    if (this.#kinds.size === LINES_KEPT && !this.#kinds.has(name)) {
      this.#others += 1;
      return;
    }
    this.#kinds.set(name, kind);
    if (kind.first.length <= ALIKE_MAX) {
      const subject = subjectOf();
      const line = cut(
        escapeControls(subject === "" ? text : `${subject}: ${text}`),
        LINE_CHARACTERS,
      );
      kind.first.push({
        number,
        where,
        subject: cut(escapeControls(subject), SUBJECT_CHARACTERS),
        line,
      });
    }
  }
}

/** The findings of one kind that are shown: each, or one for all, with the places of the first three. */
function shownOf({ first, rows }: { first: Complaint[]; rows: number }): Complaint[] {
  const [finding, second, third] = first;
  if (first.length <= ALIKE_MAX || finding === undefined) return first;
  const such = `; ${rows} rows have such an error, the next are ${second?.subject} and ${third?.subject}`;
  return [{ ...finding, line: cut(finding.line, LINE_CHARACTERS - such.length) + such }];
}

/** The end of a row's place: its number. */
const PLACE = /[:[](\d+)\]?$/;

/** The lines grouped by file, in the order of each file's first complaint, and sorted by row. */
function inOrder(findings: readonly Complaint[]): string[] {
  const byFile = Map.groupBy(findings, ({ where }) => where.replace(PLACE, ""));
  const rowOf = ({ where }: Complaint): number => Number(PLACE.exec(where)?.[1] ?? 0);
  const sorted = [...byFile.values()].flatMap((file) => file.sort((a, b) => rowOf(a) - rowOf(b)));
  return sorted.map(({ line }) => line);
}

/** The value in quotation marks, shortened, without secrets, with control characters escaped. */
export function quoted(value: string): string {
  return escapeControls(JSON.stringify(startWithoutSecrets(value, SHOWN_CHARACTERS + 1)));
}

/** As many of the names, quoted, as `length` characters show. */
export function quotedList(names: readonly string[], length: number): string {
  // A name takes four characters at least. A header can have half a million.
  return cut(
    names
      .slice(0, length / 4 + 1)
      .map(quoted)
      .join(", "),
    length,
  );
}

/** Replaces control, direction and invisible characters by their numbers. */
const escapeControls = (text: string): string =>
  text.replace(
    /[\u0000-\u001f\u007f-\u00a0\u061c\u2007\u200b-\u200f\u2028-\u202f\u2060-\u2069\ufeff]|\p{Surrogate}/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
