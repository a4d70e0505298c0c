/** CSV with a header (RFC 4180), read as a stream. */
import { CsvError, parse, type Parser } from "csv-parse";
import type { Complaints } from "./complaints.ts";
import { quoted } from "./complaints.ts";
import type { TableInput, TableShape } from "./table.ts";
import { MAX_ROW_CHARACTERS, ROW_TOO_LONG } from "./text.ts";

/**
 * A stretch of text that is read without the parser holds no more, so no row in it can be too long:
 * the parser counts bytes, and a character has at most three of them here.
 */
const MAX_PLAIN_CHARACTERS = 300_000;

/**
 * Reads the rows of a CSV file as it comes; rows have the line they begin on as position.
 *
 * Up to the first quotation mark, RFC 4180 comes down to lines and commas, and so most feeds are read
 * in a quarter of the parser's time. From the row with that mark on, the parser reads.
 */
export async function readCsv(input: TableInput): Promise<void> {
  const rows = new RowTaker(input);
  const plain = new PlainText(rows);
  let quoted: QuotedText | null = null;
  for await (const chunk of input.chunks) {
    if (rows.isRefused) return;
    if (quoted !== null) {
      if (!(await quoted.read(chunk))) return;
    } else if (!plain.read(chunk)) {
      const text = plain.rest + chunk;
      // The parser would complain of the quotation marks in it, and not of what it is.
      if (!rows.hasHeader && rows.refuses(text.trimStart().split("\n", 1)[0] as string, plain.line))
        return;
      quoted = new QuotedText(rows, input, plain.line);
      if (!(await quoted.read(text))) return;
    }
  }
  if (quoted === null) plain.end();
  else await quoted.end();
}

/** Takes the records of a file, the header first, and hands on the rows of cells. */
class RowTaker {
  /** The header is not one of this table; nothing more is taken. */
  isRefused = false;
  readonly #input: TableInput;
  #positions: readonly number[] | null = null;
  #width = 0;

  constructor(input: TableInput) {
    this.#input = input;
  }

  get hasHeader(): boolean {
    return this.#positions !== null;
  }

  /** Whether the first line is no header with commas at all; it is complained of. */
  refuses(firstLine: string, line: number): boolean {
    const other = otherForm(firstLine.split(","));
    if (other === null) return false;
    const { complaints, where } = this.#input;
    complaints.at(where(line), other);
    return true;
  }

  take(record: readonly string[], line: number): void {
    const { shape, complaints, where, take } = this.#input;
    if (this.#positions !== null) {
      if (record.length === this.#width) {
        take(inOrder(record, this.#positions), line);
      } else {
        const expected = `expected ${this.#width} as in the header`;
        complaints.at(where(line), `${record.length} fields, ${expected}`);
      }
    } else if (!this.isRefused) {
      this.#positions = headerPositions(record, shape, where(line), complaints);
      this.#width = record.length;
      this.isRefused = this.#positions === null;
    }
  }
}

/** Text without quotation marks, in chunks. */
class PlainText {
  /** The line of the record that comes next, and what is known of it so far. */
  line = 1;
  rest = "";
  readonly #rows: RowTaker;

  constructor(rows: RowTaker) {
    this.#rows = rows;
  }

  /** Reads the records that end in this chunk; false, and nothing is read, where it is not plain. */
  read(chunk: string): boolean {
    if (chunk.includes('"') || this.rest.length + chunk.length > MAX_PLAIN_CHARACTERS) return false;
    const lines = (this.rest + chunk).split("\n");
    this.rest = lines.pop() as string;
    for (const text of lines) {
      this.#take(text.endsWith("\r") ? text.slice(0, -1) : text);
      this.line += 1;
    }
    return true;
  }

  end(): void {
    this.#take(this.rest);
  }

  #take(text: string): void {
    if (text !== "") this.#rows.take(text.split(","), this.line);
  }
}

/** Text in chunks from a record on that starts at a line of the file; whatever RFC 4180 allows. */
class QuotedText {
  readonly #input: TableInput;
  readonly #rows: RowTaker;
  readonly #parser: Parser;
  readonly #finished: Promise<void>;
  #returnsInCells = 0;
  /** Of the row being read. The parser's count within it takes the CR and LF of a cell for two. */
  #rowLine: number;

  constructor(rows: RowTaker, input: TableInput, line: number) {
    this.#input = input;
    this.#rows = rows;
    this.#rowLine = line;
    this.#parser = parse({
      record_delimiter: ["\r\n", "\n"],
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: MAX_ROW_CHARACTERS,
      on_record: (record: string[], context) => {
        this.#returnsInCells += occurrences(record, "\r");
        const newlines = occurrences(record, "\n");
        // A CR by itself counts only within quotes: a header full of them would stand before line 1.
        rows.take(record, Math.max(1, context.lines - this.#returnsInCells - newlines));
        this.#rowLine = context.lines - this.#returnsInCells + 1;
        return null;
      },
    });
    // The parser's own count, in its positions and messages, goes on from the lines before.
    Object.assign(this.#parser.info, { lines: line });
    this.#finished = new Promise<void>((resolve, reject) => {
      this.#parser.once("end", resolve).once("close", resolve).once("error", reject);
    });
    this.#finished.catch(() => undefined);
    this.#parser.resume();
  }

  /** False where the text is no CSV; it is complained of. */
  async read(chunk: string): Promise<boolean> {
    if (this.#parser.destroyed) return this.#outcome(this.#finished);
    if (this.#parser.write(chunk)) return true;
    const drained = new Promise<void>((resolve) => this.#parser.once("drain", resolve));
    return this.#outcome(Promise.race([drained, this.#finished]));
  }

  async end(): Promise<void> {
    if (!this.#parser.destroyed) this.#parser.end();
    await this.#outcome(this.#finished);
  }

  async #outcome(step: Promise<void>): Promise<boolean> {
    try {
      await step;
      return true;
    } catch (cause) {
      if (!(cause instanceof CsvError)) throw cause;
      if (!this.#rows.isRefused) {
        this.#input.complaints.at(this.#input.where(this.#rowLine), explanation(cause));
      }
      return false;
    }
  }
}

/** The cells in the order of the table's columns, `""` for those that the file lacks. */
function inOrder(record: readonly string[], positions: readonly number[]): string[] {
  return positions.map((position) => (position < 0 ? "" : (record[position] as string)));
}

/**
 * Where the table's columns stand in the file, −1 for those it lacks. Null, with complaints, where
 * the header is not one of this table.
 */
function headerPositions(
  header: readonly string[],
  shape: TableShape,
  where: string,
  complaints: Complaints,
): readonly number[] | null {
  const before = complaints.count;
  const other = otherForm(header);
  if (other !== null) {
    complaints.at(where, other);
    return null;
  }
  if (!header.some((name) => shape.columns.includes(name))) {
    complaints.at(where, `no known column, expected ${shape.columns.join(", ")}`);
    return null;
  }
  header.forEach((name, at) => {
    if (!shape.columns.includes(name)) {
      complaints.at(where, `unknown column ${quoted(name)}, expected ${shape.columns.join(", ")}`);
    } else if (header.indexOf(name) !== at) {
      complaints.at(where, `column ${quoted(name)} stands twice`);
    }
  });
  for (const name of shape.required) {
    if (!header.includes(name)) complaints.at(where, `the header lacks the column ${quoted(name)}`);
  }
  if (complaints.count > before) return null;
  return shape.columns.map((name) => header.indexOf(name));
}

/** What to say of a first line that is no header with commas; null where it may be one. */
function otherForm([first = "", ...more]: readonly string[]): string | null {
  const expected = "expected a header of columns with commas between them";
  if (/^\s*</.test(first)) return `looks like a web page, ${expected}`;
  if (/^\s*[[{]/.test(first)) return `looks like JSON, ${expected}`;
  if (more.length > 0) return null;
  if (first.includes(";")) return `columns with semicolons between them, ${expected}`;
  return first.includes("\t") ? `columns with tabs between them, ${expected}` : null;
}

/**
 * How often a character stands in the cells. The parser counts lines at a record's end, so quoted
 * line breaks lie before it; and within quotes it counts CR and LF as a line each.
 */
function occurrences(record: readonly string[], character: "\r" | "\n"): number {
  let count = 0;
  for (const cell of record) {
    if (cell.includes(character)) count += cell.split(character).length - 1;
  }
  return count;
}

function explanation(error: CsvError): string {
  switch (error.code) {
    case "CSV_QUOTE_NOT_CLOSED":
      return "a quoted field is not closed";
    case "CSV_MAX_RECORD_SIZE":
      return ROW_TOO_LONG;
    // In words of our own: the parser's quote the whole field.
    case "INVALID_OPENING_QUOTE":
      return "not CSV as RFC 4180 has it: a quotation mark within a field that none begins";
    case "CSV_INVALID_CLOSING_QUOTE":
      return "not CSV as RFC 4180 has it: text after the closing quotation mark of a field";
    default:
      return `not CSV as RFC 4180 has it (${error.code})`;
  }
}
