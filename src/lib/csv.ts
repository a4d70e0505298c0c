/** Tables as CSV (RFC 4180) with CRLF after every record, and texts that spreadsheets do not run. */
import { stringify } from "csv-stringify/sync";

/** The rows as text, the header among them; null is an empty field. */
export const csvText = (rows: readonly (readonly (string | null)[])[]): string =>
  stringify(rows as string[][], { record_delimiter: "windows", quoted_match: LINE_BREAK });

/**
 * RFC 4180 quotes every field with a CR or LF. By itself csv-stringify only quotes fields with its
 * whole record delimiter, CRLF.
 */
const LINE_BREAK = /[\r\n]/;

/** A text of a feed as one cell of CSV, harmless and in quotation marks if it needs them. */
export const csvCell = (text: string): string =>
  csvText([[harmless(text)]]).slice(0, -"\r\n".length);

const FORMULA_START = /^(?:\s*[=+\-@＝＋－＠]|[\t\r])/;

/**
 * Spreadsheets run a cell that starts like a formula; an apostrophe before it makes it text (OWASP,
 * CSV Injection). Some of them trim blanks before the sign, and East Asian ones read full-width signs.
 * csv-stringify's `escape_formulas` would also change negative numbers.
 */
export const harmless = (text: string): string => (FORMULA_START.test(text) ? `'${text}` : text);
