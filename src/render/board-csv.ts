/**
 * A tier's boards as CSV: one row for each contract, memory first, under the names of COLUMNS. It
 * follows RFC 4180: CRLF after every record, the last one too. UTF-8 without a byte order mark; a null
 * is an empty field.
 */
import { stringify } from "csv-stringify/sync";
import { recordsOf, type TierView } from "../market/view.ts";
import { COLUMNS, type BoardColumn } from "./columns.ts";

/** The file's text. Empty boards give only the header. */
export function renderCsv(view: TierView): string {
  const header = COLUMNS.map(({ name }) => name);
  const rows = recordsOf(view).map((record) =>
    COLUMNS.map((column) => {
      const value = column.value(record);
      return isFreeText(column) && value !== null ? harmless(value) : value;
    }),
  );
  return csvText([header, ...rows]);
}

export const csvText = (rows: readonly (readonly (string | null)[])[]): string =>
  stringify(rows as string[][], { record_delimiter: "windows", quoted_match: LINE_BREAK });

/** Columns whose text comes from the program, not from a feed. It may start with a minus. */
const isFreeText = ({ kind }: BoardColumn): boolean => kind === "text" || kind === "url";

/**
 * RFC 4180 quotes every field with a CR or LF. By itself csv-stringify only quotes fields with its
 * whole record delimiter, CRLF.
 */
const LINE_BREAK = /[\r\n]/;

const FORMULA_START = /^[=+\-@\t\r]/;

/**
 * Spreadsheets run a cell that starts like a formula; an apostrophe before it makes it text (OWASP,
 * CSV Injection). csv-stringify's `escape_formulas` would also change negative numbers, and
 * full-width signs, which no spreadsheet takes for a formula.
 */
export const harmless = (text: string): string => (FORMULA_START.test(text) ? `'${text}` : text);
