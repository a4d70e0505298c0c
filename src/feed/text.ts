/** Decodes UTF-8, or complains and says what the file is instead. */
import type { Complaints } from "./complaints.ts";
import type { Source } from "./source.ts";

/** The largest input, unpacked. A larger one is refused, because its rows may not fit in memory. */
export const MAX_INPUT_MEGABYTES = 256;

/** The most rows of an input: what is kept of each one takes memory. */
export const MAX_INPUT_ROWS = 2_000_000;

/** The longest row: a record of CSV, a line of NDJSON, an item of JSON. */
export const MAX_ROW_CHARACTERS = 1_000_000;

/** The complaint about a longer row. */
export const ROW_TOO_LONG = `a row of more than ${MAX_ROW_CHARACTERS} characters`;

const NEWLINE = 10;

/** The first bytes of files that are often mistaken for a table, and the remedy. */
const SIGNATURES: readonly { readonly bytes: Buffer; readonly finding: string }[] = [
  {
    bytes: Buffer.from([0xff, 0xfe]),
    finding: "starts with a UTF-16 byte order mark, expected UTF-8",
  },
  {
    bytes: Buffer.from([0xfe, 0xff]),
    finding: "starts with a UTF-16 byte order mark, expected UTF-8",
  },
  {
    bytes: Buffer.from("PK\x03\x04"),
    finding: "a workbook or another ZIP file, expected text; in Excel save it as CSV UTF-8",
  },
  {
    bytes: Buffer.from([0xd0, 0xcf, 0x11, 0xe0]),
    finding: "an old Excel workbook, expected text; in Excel save it as CSV UTF-8",
  },
  {
    bytes: Buffer.from([0x1f, 0x8b]),
    finding: "a gzip file, expected text; unpack it with gunzip",
  },
  {
    bytes: Buffer.from("SQLite format 3\0"),
    finding: "an SQLite database, expected text; export the table with sqlite3 -csv -header",
  },
];
const SIGNATURE_BYTES = Math.max(...SIGNATURES.map(({ bytes }) => bytes.length));

/**
 * The source's text in chunks, without a byte order mark. At the first bytes that are not UTF-8 it
 * complains with the line number and stops.
 */
export async function* readText(source: Source, complaints: Complaints): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let line = 1;
  let sizeBytes = 0;
  for await (const bytes of withLongStart(source.open())) {
    if (sizeBytes === 0) {
      const found = SIGNATURES.find((signature) => startsWith(bytes, signature.bytes));
      if (found !== undefined) return complaints.at(`${source.name}:1`, found.finding);
    }
    sizeBytes += bytes.length;
    if (sizeBytes > MAX_INPUT_MEGABYTES * 1_000_000) {
      const finding = `more than ${MAX_INPUT_MEGABYTES} MB, expected at most that; split it`;
      return complaints.at(source.name, finding);
    }
    const nul = bytes.indexOf(0);
    if (nul >= 0) {
      const at = line + newlines(bytes.subarray(0, nul));
      return complaints.at(
        `${source.name}:${at}`,
        "a NUL byte, expected UTF-8 text (is it UTF-16?)",
      );
    }
    try {
      yield decoder.decode(bytes, { stream: true });
    } catch {
      return complaints.at(`${source.name}:${line + validLines(bytes)}`, "not UTF-8");
    }
    line += newlines(bytes);
  }
  try {
    decoder.decode();
  } catch {
    complaints.at(`${source.name}:${line}`, "ends within a character, expected UTF-8");
  }
}

/** The same bytes, with a first chunk that is long enough to recognize the file. */
async function* withLongStart(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let start: Uint8Array | null = new Uint8Array(0);
  for await (const chunk of chunks) {
    if (start === null) {
      yield chunk;
      continue;
    }
    start = Buffer.concat([start, chunk]);
    if (start.length < SIGNATURE_BYTES) continue;
    yield start;
    start = null;
  }
  if (start !== null && start.length > 0) yield start;
}

/**
 * A copy of the text. A cell cut from a chunk keeps the whole chunk in memory, so text that outlives
 * its row must be copied.
 */
export const detached = (text: string): string => Buffer.from(text).toString();

/** Reads text in chunks. */
export interface TextReader {
  /** Returns false if nothing more is wanted: the rest cannot be trusted. */
  read(chunk: string): boolean;
  /** Call it after the last chunk, unless `read` returned false. */
  end(): void;
}

/**
 * Passes each line to `take`, the last one if it is not empty. `isEnded`: a line feed ended the line. A
 * line of more than MAX_ROW_CHARACTERS may come as its beginning only: it may never end, so it is not
 * kept. `take` returns false to stop the reading; `read` and `end` then return false, too.
 */
export function lineReader(take: (line: string, isEnded: boolean) => boolean) {
  let rest = "";
  return {
    read(chunk: string): boolean {
      const lines = chunk.split("\n");
      lines[0] = rest + (lines[0] as string);
      rest = lines.pop() as string;
      if (!lines.every((line) => take(line, true))) return false;
      return rest.length <= MAX_ROW_CHARACTERS || take(rest, false);
    },
    end: (): boolean => rest === "" || take(rest, false),
  };
}

/** The first character that is not white space (null: none), and the complete text. */
export async function sniffed(
  text: AsyncGenerator<string>,
): Promise<{ first: string | null; chunks: AsyncIterable<string> }> {
  const held: string[] = [];
  let first: string | null = null;
  while (first === null) {
    const next = await text.next();
    if (next.done === true) break;
    held.push(next.value);
    first = /\S/.exec(next.value)?.[0] ?? null;
  }
  async function* resumed(): AsyncIterable<string> {
    yield* held;
    yield* text;
  }
  return { first, chunks: resumed() };
}

const startsWith = (bytes: Uint8Array, signature: Uint8Array): boolean =>
  signature.every((byte, at) => bytes[at] === byte);

function newlines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}

/** How many complete lines at the start of these bytes are UTF-8. */
function validLines(bytes: Uint8Array): number {
  let count = 0;
  let from = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, from)) {
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(from, at));
    } catch {
      // The first line of a chunk may start in the middle of a valid character.
      if (from > 0) return count;
    }
    count += 1;
    from = at + 1;
  }
  return count;
}
