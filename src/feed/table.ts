/**
 * Rows of text cells out of CSV, JSON or NDJSON. Whatever the format, a row arrives as its cells in
 * the order of the table's columns, `""` for what is empty, null or not there, with its position.
 */
import { InputError } from "../errors.ts";
import { readCsv } from "./csv-table.ts";
import type { Complaints } from "./complaints.ts";
import { readJson, readNdjson } from "./json-table.ts";
import type { Format, Source } from "./source.ts";
import { readText, sniffed } from "./text.ts";

/** The columns a table may have, in the order of a row's cells, and those that it must. */
export interface TableShape {
  readonly columns: readonly string[];
  readonly required: readonly string[];
}

/**
 * Takes one row. `position` is the line (CSV, NDJSON; from 1) or the index (JSON; from 0); give it
 * to the table's `where` for messages.
 */
type TakeRow = (cells: readonly string[], position: number) => void;

/** How messages name a row: `quotes.csv:17`, `quotes.json[16]`. */
export type Where = (position: number) => string;

/**
 * Reads all rows of a source. `begin` is called once, before the first row. What does not have the
 * table's shape is added to `complaints`, and so is a source that cannot be read.
 */
export async function readTable(
  source: Source,
  shape: TableShape,
  complaints: Complaints,
  begin: (where: Where) => TakeRow,
): Promise<void> {
  const before = complaints.count;
  try {
    const { format, chunks } = await formatOf(source, readText(source, complaints));
    if (format === null) {
      if (complaints.count === before) complaints.at(source.name, "the file is empty");
      return;
    }
    const where: Where =
      format === "json"
        ? (position) => `${source.name}[${position}]`
        : (position) => `${source.name}:${position}`;
    const read = { csv: readCsv, json: readJson, ndjson: readNdjson }[format];
    await read({ chunks, source: source.name, shape, complaints, where, take: begin(where) });
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    complaints.unreadable(error);
  }
}

/** What a reader of one format is given. */
export interface TableInput {
  readonly chunks: AsyncIterable<string>;
  /** The source's name, for messages about the whole of it. */
  readonly source: string;
  readonly shape: TableShape;
  readonly complaints: Complaints;
  readonly where: Where;
  readonly take: TakeRow;
}

async function formatOf(
  source: Source,
  text: AsyncIterable<string>,
): Promise<{ format: Format | null; chunks: AsyncIterable<string> }> {
  const { first, chunks } = await sniffed(text);
  if (first === null) return { format: null, chunks };
  if (source.format !== null) return { format: source.format, chunks };
  return { format: first === "[" ? "json" : first === "{" ? "ndjson" : "csv", chunks };
}
