/** Reads CSV (RFC 4180) as a stream: turns text into records of cells. */
import { MAX_ROW_CHARACTERS, ROW_TOO_LONG } from "./text.ts";

/**
 * Passes each record, including the header, to `take` with the number of its first line, until `take`
 * returns false. Skips empty lines. Stops at the first fault, because the rest cannot be trusted.
 */
export async function readCsv(
  chunks: AsyncIterable<string>,
  take: (record: readonly string[], line: number) => boolean,
  fault: (finding: string, line: number) => void,
): Promise<void> {
  const records = new Records();
  let isBegun = false;
  /** Returns false to stop reading. */
  const read = (line: string, isEnded = true): boolean => {
    if (!isBegun && line.trim() !== "") {
      isBegun = true;
      const other = otherForm(line);
      if (other !== null) {
        fault(other, records.next);
        return false;
      }
    }
    const found = records.add(line, isEnded);
    if (found === null) return true;
    if (typeof found !== "string") return take(found, records.begin);
    fault(found, records.begin);
    return false;
  };
  let rest = "";
  for await (const chunk of chunks) {
    const lines = chunk.split("\n");
    lines[0] = rest + (lines[0] as string);
    rest = lines.pop() as string;
    if (!lines.every((line) => read(line))) return;
    // The line may never end, so it is not kept.
    if (rest.length > MAX_ROW_CHARACTERS) break;
  }
  if (rest !== "" && !read(rest, false)) return;
  if (records.isOpen) fault("a quoted field is not closed", records.begin);
}

/** Joins lines into records. */
class Records {
  /** The number of the next line, from 1. */
  next = 1;
  /** The number of the record's first line. */
  begin = 1;
  #cells: string[] = [];
  #length = 0;
  /** The quoted cell that the last line left open, or null. */
  #open: string | null = null;

  get isOpen(): boolean {
    return this.#open !== null;
  }

  /**
   * The record that ends with this line; null: it goes on; a string: the fault. Only a line that a line
   * feed ends can have a carriage return before it: at the end of the input it is part of the cell.
   */
  add(line: string, isEnded: boolean): readonly string[] | string | null {
    if (this.#open === null) {
      this.begin = this.next;
      this.#cells = [];
      this.#length = 0;
    }
    this.next += 1;
    this.#length += line.length + 1;
    if (this.#length > MAX_ROW_CHARACTERS) return ROW_TOO_LONG;
    const end = isEnded && line.endsWith("\r") ? line.length - 1 : line.length;
    if (this.#open !== null || line.includes('"')) return this.#addQuoted(line, end);
    return end === 0 ? null : line.slice(0, end).split(",");
  }

  #addQuoted(line: string, end: number): readonly string[] | string | null {
    let at = 0;
    for (;;) {
      if (this.#open === null && line[at] === '"') {
        this.#open = "";
        at += 1;
      }
      if (this.#open === null) {
        const comma = line.indexOf(",", at);
        const cell = line.slice(at, comma < 0 ? end : comma);
        if (cell.includes('"')) {
          return "not valid CSV (RFC 4180): a quotation mark inside an unquoted field";
        }
        this.#cells.push(cell);
        at += cell.length;
      } else {
        const mark = line.indexOf('"', at);
        if (mark < 0) {
          this.#open += `${line.slice(at)}\n`;
          return null;
        }
        this.#open += line.slice(at, mark);
        at = mark + 1;
        if (line[at] === '"') {
          this.#open += '"';
          at += 1;
          continue;
        }
        this.#cells.push(this.#open);
        this.#open = null;
      }
      if (at >= end) return this.#cells;
      if (line[at] !== ",") {
        return "not valid CSV (RFC 4180): text after the closing quotation mark of a field";
      }
      at += 1;
    }
  }
}

/** The fault of a first line that is not a header with commas; null: it may be one. */
function otherForm(line: string): string | null {
  const [first = "", ...more] = line.split(",");
  const expected = "expected a header of columns separated by commas";
  if (/^\s*</.test(first)) return `looks like a web page, ${expected}`;
  if (/^\s*[[{]/.test(first)) return `looks like JSON, ${expected}`;
  if (more.length > 0) return null;
  if (first.includes(";")) return `columns separated by semicolons, ${expected}`;
  return first.includes("\t") ? `columns separated by tabs, ${expected}` : null;
}
