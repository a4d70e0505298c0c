/** CSV with a header (RFC 4180), read as a stream. */
import { CsvError, parse, type Parser } from "csv-parse";
import type { Complaints } from "./complaints.ts";
import { quoted } from "./complaints.ts";
import type { TableInput, TableShape } from "./table.ts";

const MAX_RECORD_CHARACTERS = 1_000_000;

export async function readCsv(input: TableInput): Promise<void> {
  const { source, shape, complaints, where, take } = input;
  let positions: readonly number[] | null = null;
  let width = 0;
  let returnsInCells = 0;
  const parser = parse({
    record_delimiter: ["\r\n", "\n"],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: MAX_RECORD_CHARACTERS,
    on_record: (record: string[], context) => {
      returnsInCells += occurrences(record, "\r");
      if (positions === null) {
        positions = headerPositions(record, shape, `${source}:1`, complaints);
        width = record.length;
        if (positions === null) parser.destroy();
        return null;
      }
      const line = context.lines - returnsInCells - occurrences(record, "\n");
      if (record.length === width) {
        take(
          positions.map((position) => (position < 0 ? "" : (record[position] as string))),
          line,
        );
      } else {
        complaints.at(where(line), `${record.length} fields, expected ${width} as in the header`);
      }
      return null;
    },
  });
  try {
    await feedAll(parser, input.chunks);
  } catch (cause) {
    if (!(cause instanceof CsvError)) throw cause;
    complaints.at(where(Number(cause["lines"] ?? 1) - returnsInCells), explanation(cause));
  }
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

async function feedAll(parser: Parser, chunks: AsyncIterable<string>): Promise<void> {
  const finished = new Promise<void>((resolve, reject) => {
    parser.once("end", resolve).once("close", resolve).once("error", reject);
  });
  finished.catch(() => undefined);
  parser.resume();
  for await (const chunk of chunks) {
    if (parser.destroyed) break;
    if (!parser.write(chunk)) {
      await Promise.race([new Promise((resolve) => parser.once("drain", resolve)), finished]);
    }
  }
  if (!parser.destroyed) parser.end();
  await finished;
}

function explanation(error: CsvError): string {
  switch (error.code) {
    case "CSV_QUOTE_NOT_CLOSED":
      return "a quoted field is not closed";
    case "CSV_MAX_RECORD_SIZE":
      return `a row of more than ${MAX_RECORD_CHARACTERS} characters`;
    default:
      return `not CSV as RFC 4180 has it: ${error.message}`;
  }
}
