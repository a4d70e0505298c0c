/** Reads CSV (RFC 4180): turns text into records of cells. */
import {
  lineReader,
  MAX_ROW_CHARACTERS,
  ROW_TOO_LONG,
  SAVE_AS,
  type TextReader,
} from "./text-reader.ts";

/** Receives a record with the number of its first line, from 1. Returns false to stop the reading. */
type TakeRecord = (record: readonly string[], line: number) => boolean;
type TakeFault = (finding: string, line: number) => void;

/** The records of a file that the program made itself. Throws Error if it is not CSV. */
export function csvRecords(text: string): (readonly string[])[] {
  const records: (readonly string[])[] = [];
  const reader = csvReader(
    (record) => records.push(record) > 0,
    (finding, line) => {
      throw new Error(`Line ${line}: ${finding}`);
    },
  );
  if (reader.read(text)) reader.end();
  return records;
}

/**
 * Passes each record, including the header, to `take`. Skips empty lines, and lines above the header that
 * begin with `#`: below it they may be names. Stops at the first fault, because the rest cannot be trusted.
 */
export function csvReader(take: TakeRecord, fault: TakeFault): TextReader {
  /** The lines so far of a record with a quoted cell that is not closed; null: there is none. */
  let open: string | null = null;
  let nextLine = 1;
  /** The first line of the record. */
  let begin = 1;
  let isBegun = false;

  const stop = (finding: string): false => {
    fault(finding, begin);
    return false;
  };

  /**
   * Only a line that a line feed ends can have a carriage return before it: at the end of the input it
   * is part of the cell.
   */
  const readLine = (line: string, isEnded: boolean): boolean => {
    if (open === null) begin = nextLine;
    nextLine += 1;
    const text = open === null ? line : `${open}\n${line}`;
    if (!isBegun && line.startsWith("#")) return true;
    if (!isBegun && line.trim() !== "") {
      isBegun = true;
      const other = otherForm(line);
      if (other !== null) return stop(other);
    }
    if (text.length >= MAX_ROW_CHARACTERS) return stop(ROW_TOO_LONG);
    const hasMarks = line.includes('"');
    // Its last line has an odd number of marks. So a record of many lines is read once, when it is whole.
    if (open !== null && !(hasMarks && line.split('"').length % 2 === 0)) {
      open = text;
      return true;
    }
    const record = isEnded && text.endsWith("\r") ? text.slice(0, -1) : text;
    if (record === "") return true;
    const cells = hasMarks ? cellsOf(record) : record.split(",");
    if (typeof cells === "string") return stop(cells);
    open = cells === null ? text : null;
    return cells === null || take(cells, begin);
  };

  const lines = lineReader(readLine);
  return {
    read: lines.read,
    end(): void {
      if (!lines.end() || (open === null && isBegun)) return;
      const cells = open === null ? "no header, expected one below the comments" : cellsOf(open);
      stop(typeof cells === "string" ? cells : "a quoted field is not closed");
    },
  };
}

/** A quoted cell, closed or up to the end of the text, or a cell without quotation marks. */
const CELL = /"([^"]*(?:""[^"]*)*)("|$)|[^",]*/y;

/** The cells of a record; null: the last one is not closed; a string: the fault. */
function cellsOf(record: string): readonly string[] | string | null {
  const cells: string[] = [];
  for (let at = 0; ; at += 1) {
    CELL.lastIndex = at;
    const [whole, quoted, close] = CELL.exec(record) as RegExpExecArray;
    if (close === "") return null;
    cells.push(quoted?.replaceAll('""', '"') ?? whole);
    at = CELL.lastIndex;
    if (at === record.length) return cells;
    if (record[at] === ",") continue;
    const finding =
      quoted === undefined
        ? "a quotation mark inside an unquoted field"
        : "text after the closing quotation mark of a field";
    return `not valid CSV (RFC 4180): ${finding}`;
  }
}

/** The fault of a first line that is not a header with commas; null: it may be one. */
function otherForm(line: string): string | null {
  const [first = "", ...more] = line.split(",");
  const expected = "expected a header of columns separated by commas";
  if (/^\s*</.test(first)) return `looks like a web page, ${expected}`;
  if (/^\s*[[{]/.test(first)) return `looks like JSON, ${expected}`;
  if (/\r[^\r]/.test(line))
    return `lines that end with a carriage return alone, expected a line feed; ${SAVE_AS}`;
  if (more.length > 0) return null;
  if (first.includes(";"))
    return `columns separated by semicolons, ${expected}; in a region with decimal points Excel writes commas`;
  return first.includes("\t") ? `columns separated by tabs, ${expected}` : null;
}
