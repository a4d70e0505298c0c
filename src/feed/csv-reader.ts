/** Reads CSV (RFC 4180, also with another delimiter than a comma): turns text into records of cells. */
import { MAX_ROW_CHARACTERS } from "../lib/limits.ts";
import { lineReader, ROW_TOO_LONG, SAVE_AS, type TextReader } from "./text-reader.ts";

/** Receives a record with the number of its first line, from 1. Returns false to stop the reading. */
type TakeRecord = (record: readonly string[], line: number) => boolean;
type TakeFault = (finding: string, line: number) => void;

/** Lines that are not the table. */
export interface SkippedLines {
  /** How many at the beginning. */
  readonly first: number;
  /** Others, by their numbers from 1. */
  readonly numbers: ReadonlySet<number>;
  /** How records below the header begin that are no rows. */
  readonly starts: readonly string[];
}

interface CsvForm {
  /** One character; null: a comma, if no line `sep=` says another. */
  readonly delimiter: string | null;
  readonly skip?: SkippedLines;
  /** What the operator can do if the file has another delimiter; begins with "; ". */
  readonly remedy: (delimiter: string) => string;
}

const WITH_COMMAS: CsvForm = { delimiter: ",", remedy: () => "" };
const NO_LINES: SkippedLines = { first: 0, numbers: new Set(), starts: [] };

/** The first line by which Excel opens a file with this delimiter. */
export const SEPARATOR_LINE = /^"?sep=([^"\r])"?\r?$/i;

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
 * Passes each record, including the header, to `take`. Skips empty lines, Excel's `sep=;`, and lines above the header
 * that begin with `#`: below it they may be names. Stops at the first fault, because the rest cannot be trusted.
 */
export function csvReader(
  take: TakeRecord,
  fault: TakeFault,
  form: CsvForm = WITH_COMMAS,
): TextReader {
  const { skip = NO_LINES } = form;
  let delimiter = form.delimiter ?? ",";
  let cell = cellOf(delimiter);
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
    const number = nextLine;
    nextLine += 1;
    if (open === null) {
      begin = number;
      const [, separator] = (number === 1 && SEPARATOR_LINE.exec(line)) || [];
      if (separator !== undefined) {
        if (form.delimiter !== null && form.delimiter !== separator)
          return stop(otherSeparator(separator, form));
        [delimiter, cell] = [separator, cellOf(separator)];
        return true;
      }
      if (number <= skip.first || skip.numbers.has(number)) return true;
    }
    const text = open === null ? line : `${open}\n${line}`;
    const isFirst = !isBegun && open === null;
    if (isFirst && line.startsWith("#")) return true;
    if (isFirst && line.trim() !== "") {
      const other = otherForm(line, delimiter, form);
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
    const cells = hasMarks ? cellsOf(record, cell, delimiter) : record.split(delimiter);
    open = cells === null ? text : null;
    if (cells === null) return true;
    if (isBegun && skip.starts.some((start) => record.startsWith(start))) return true;
    if (typeof cells === "string") return stop(cells);
    isBegun ||= record.trim() !== "";
    return take(cells, begin);
  };

  const lines = lineReader(readLine);
  return {
    read: lines.read,
    end(): void {
      if (!lines.end() || (open === null && isBegun)) return;
      const cells =
        open === null
          ? "no header, expected one below the comments"
          : cellsOf(open, cell, delimiter);
      stop(typeof cells === "string" ? cells : "a quoted field is not closed");
    },
  };
}

/** A quoted cell, closed or up to the end of the text, or a cell without quotation marks. */
const cellOf = (delimiter: string): RegExp =>
  new RegExp(`"([^"]*(?:""[^"]*)*)("|$)|[^"${RegExp.escape(delimiter)}]*`, "y");

/** The cells of a record; null: the last one is not closed; a string: the fault. */
function cellsOf(
  record: string,
  cell: RegExp,
  delimiter: string,
): readonly string[] | string | null {
  const cells: string[] = [];
  for (let at = 0; ; at += 1) {
    cell.lastIndex = at;
    const [whole, quoted, close] = cell.exec(record) as RegExpExecArray;
    if (close === "") return null;
    cells.push(quoted?.replaceAll('""', '"') ?? whole);
    at = cell.lastIndex;
    if (at === record.length) return cells;
    if (record[at] === delimiter) continue;
    const finding =
      quoted === undefined
        ? "a quotation mark inside an unquoted field"
        : "text after the closing quotation mark of a field";
    return `not valid CSV (RFC 4180): ${finding}`;
  }
}

const DELIMITER_NAMES: Readonly<Record<string, string>> = {
  ",": "commas",
  ";": "semicolons",
  "\t": "tabs",
};

const delimiterName = (delimiter: string): string =>
  DELIMITER_NAMES[delimiter] ?? JSON.stringify(delimiter);

const otherSeparator = (separator: string, { delimiter, remedy }: CsvForm): string =>
  `says that ${delimiterName(separator)} separate columns, expected ${delimiterName(delimiter ?? ",")}${remedy(separator)}`;

/** The fault of a first line that is not a header with this delimiter; null: it may be one. */
function otherForm(line: string, delimiter: string, { remedy }: CsvForm): string | null {
  const [first = "", ...more] = line.split(delimiter);
  const name = delimiterName(delimiter);
  const expected = `expected a header of columns separated by ${name}`;
  if (/^\s*</.test(first)) return `looks like a web page, ${expected}`;
  if (/^\s*[[{]/.test(first)) return `looks like JSON, ${expected}`;
  if (/\r[^\r]/.test(line))
    return `lines that end with a carriage return alone, expected a line feed; ${SAVE_AS}`;
  if (more.length > 0) return null;
  const other = [";", "\t", ","].find((each) => each !== delimiter && first.includes(each));
  if (other === undefined) return null;
  return `columns separated by ${DELIMITER_NAMES[other]}, ${expected}${remedy(other)}`;
}
