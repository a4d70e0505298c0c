/**
 * A tier's boards as CSV: one row for each contract, memory first, under the names of COLUMNS. It
 * follows RFC 4180: CRLF after every record, the last one too. UTF-8 without a byte order mark; a null
 * is an empty field.
 */
import { csvText, harmless } from "../lib/csv.ts";
import { recordsOf, type TierView } from "../market/view.ts";
import { COLUMNS, type BoardColumn } from "../public/columns.ts";

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

/** Columns of text, which a feed may give. Numbers and dates are the program's: a number may start with a minus. */
const isFreeText = ({ kind }: BoardColumn): boolean => kind === "text" || kind === "url";
