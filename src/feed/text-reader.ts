/** Decodes text, or complains and says what the file is instead. */
import { MAX_INPUT_MEGABYTES, MAX_ROW_CHARACTERS } from "../lib/limits.ts";
import { quoted, type Complaints } from "./complaints.ts";
import { decoderOf, eastAsianReadings, NO_TEXT } from "./encodings.ts";
import type { InputSource } from "./source.ts";

/** The complaint about a longer row. */
export const ROW_TOO_LONG = `a row of more than ${MAX_ROW_CHARACTERS} characters`;

const NEWLINE = 10;

/** The remedy for a file that a spreadsheet wrote in another form. */
export const SAVE_AS = "in Excel save it as CSV UTF-8";

/** The byte order marks (Latin-1) of encodings, and how messages call these. */
const BYTE_ORDER_MARKS: readonly (readonly [start: string, encoding: string, name: string])[] = [
  ["\xef\xbb\xbf", "utf-8", "UTF-8"],
  ["\xff\xfe", "utf-16le", "UTF-16"],
  ["\xfe\xff", "utf-16be", "UTF-16"],
];

/** The first bytes (Latin-1) of files that are often mistaken for a table, and the remedy. */
const SIGNATURES: readonly (readonly [start: string, finding: string])[] = [
  ["PK\x03\x04", `a workbook or another ZIP file, expected text; ${SAVE_AS}, or unpack it`],
  ["\xd0\xcf\x11\xe0", `an old Excel workbook, expected text; ${SAVE_AS}`],
  ["\x1f\x8b", "a gzip file, expected text; unpack it with gunzip"],
  ["BZh", "a bzip2 file, expected text; unpack it with bunzip2"],
  ["\xfd7zXZ", "an xz file, expected text; unpack it with unxz"],
  ["PAR1", "a Parquet file, expected text; write the table as CSV (pandas: to_csv)"],
  ["%PDF-", "a PDF, expected text; ask for the table as CSV"],
  ["\x00\x05\x16\x07", "metadata of macOS (AppleDouble), expected text; leave out files named ._*"],
  ["\x00\x00\x00\x01Bud1", "a folder's metadata of macOS (.DS_Store), expected text; leave it out"],
  ["version https://git-lfs", "a Git LFS pointer, expected the file itself; run git lfs pull"],
  ["SQLite", "an SQLite database, expected text; export the table with sqlite3 -csv -header"],
];
const SIGNATURE_BYTES = Math.max(...SIGNATURES.map(([start]) => start.length));

/** How Japanese begins in ISO-2022-JP, between bytes that are also UTF-8. */
const JAPANESE_ESCAPE = Buffer.from("\u001b$");

/** The beginning of a line that git writes where it could not merge. */
const MERGE_MARK = /^(?:<{7}|>{7}|\|{7})(?: |\r?$)/m;
const MERGE_MARK_CHARACTERS = 8;

/**
 * The source's text in chunks, without a byte order mark. At the first bytes that are not in the encoding, and at marks
 * of a merge, it complains with the line number and stops. `encoding`: a name of TextDecoder's.
 */
export async function* readText(
  source: InputSource,
  complaints: Complaints,
  encoding = "utf-8",
): AsyncGenerator<string> {
  /** The end of the line so far, in which a mark may go on. */
  let before = "";
  let line = 1;
  for await (const text of decode(source, complaints, encoding)) {
    const seen = before + text;
    const mark = MERGE_MARK.exec(seen);
    if (mark !== null) {
      const place = `${source.name}:${line + newlines(seen.slice(0, mark.index))}`;
      const finding = `a mark of a merge conflict (${mark[0].trim()}), expected the rows of one side; merge the file first`;
      return complaints.at(place, finding);
    }
    const begin = seen.lastIndexOf("\n") + 1;
    line += newlines(seen);
    // Only a line that has just begun can become a mark.
    before =
      begin === 0 && before.length >= MERGE_MARK_CHARACTERS
        ? before
        : seen.slice(begin, begin + MERGE_MARK_CHARACTERS);
    yield text;
  }
}

async function* decode(
  source: InputSource,
  complaints: Complaints,
  encoding: string,
): AsyncGenerator<string> {
  const isUtf8 = encoding === "utf-8";
  const decoder = decoderOf(encoding);
  let line = 1;
  let sizeBytes = 0;
  /** The end of the chunk before, from the start of a character that may go on in the next one. */
  let held: Uint8Array = new Uint8Array(0);
  for await (const bytes of inLongChunks(source.open())) {
    if (sizeBytes === 0) {
      const start = Buffer.from(bytes.subarray(0, SIGNATURE_BYTES)).toString("latin1");
      const finding = otherFile(start, encoding);
      if (finding !== null) return complaints.at(`${source.name}:1`, finding);
    }
    sizeBytes += bytes.length;
    if (sizeBytes > MAX_INPUT_MEGABYTES * 1_000_000) {
      const finding = `more than ${MAX_INPUT_MEGABYTES} MB, expected at most that; split it`;
      return complaints.at(source.name, finding);
    }
    if (!isUtf8) {
      const text = decoder.decode(bytes, { stream: true });
      const at = text.search(NO_TEXT);
      if (at >= 0) {
        const place = `${source.name}:${line + newlines(text.slice(0, at))}`;
        return complaints.at(place, `not ${encoding}, which the map names`);
      }
      line += newlines(text);
      yield text;
      continue;
    }
    const escape = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(
      JAPANESE_ESCAPE,
    );
    if (escape >= 0) {
      const place = `${source.name}:${line + newlines(bytes.subarray(0, escape))}`;
      return complaints.at(
        place,
        "not UTF-8 (is it iso-2022-jp?), expected UTF-8; save it as that",
      );
    }
    const nul = bytes.indexOf(0);
    if (nul >= 0) {
      const place = `${source.name}:${line + newlines(bytes.subarray(0, nul))}`;
      return complaints.at(place, `a NUL byte, expected UTF-8 text (is it UTF-16?); ${SAVE_AS}`);
    }
    try {
      yield decoder.decode(bytes, { stream: true });
    } catch {
      const text = Buffer.concat([held, bytes]);
      const at = firstFault(text);
      const place = `${source.name}:${line + newlines(text.subarray(held.length, at))}`;
      return complaints.at(place, `not UTF-8 ${otherEncoding(text, at, source)}`);
    }
    line += newlines(bytes);
    const end = bytes.subarray(-3);
    // Characters of several bytes begin with 0xc0 or more.
    const lead = end.findLastIndex((byte) => byte >= 0xc0);
    held = end.subarray(lead < 0 ? end.length : lead);
  }
  let end = "";
  try {
    end = decoder.decode();
  } catch {
    end = "\ufffd";
  }
  const expected = isUtf8 ? "UTF-8" : encoding;
  if (end !== "")
    complaints.at(`${source.name}:${line}`, `ends within a character, expected ${expected}`);
}

/** The bytes around the first that is not UTF-8 that decide about the encoding. */
const DECIDING_BYTES = 500;
const READINGS_SHOWN = 3;

/** The encodings that a text seems to have whose byte `at` is not UTF-8, and the way on. */
function otherEncoding(bytes: Buffer, at: number, { isAnswer }: InputSource): string {
  const begin = Math.max(bytes.lastIndexOf(NEWLINE, at) + 1, at - DECIDING_BYTES);
  const newline = bytes.indexOf(NEWLINE, at);
  const end = Math.min(newline < 0 ? bytes.length : newline, at + DECIDING_BYTES);
  const readings = eastAsianReadings(bytes.subarray(begin, end)).slice(0, READINGS_SHOWN);
  const [first] = readings;
  if (first === undefined) {
    const seen = quoted(new TextDecoder("windows-1252").decode(bytes.subarray(at, at + 1)));
    return `(is it Latin-1, with ${seen}?); ${SAVE_AS}`;
  }
  const named = readings.map(({ encoding, word }) =>
    isAnswer ? encoding : `${encoding}, with ${quoted(word)}`,
  );
  const byMap = `--map reads quotes and closes, with "encoding": ${quoted(first.encoding)}`;
  return `(is it ${named.join(", or ")}?); ${SAVE_AS}; ${byMap}`;
}

/** The finding for a file that begins like one of another kind or encoding; null: it may be text in this encoding. */
function otherFile(start: string, encoding: string): string | null {
  const mark = BYTE_ORDER_MARKS.find(([signature]) => start.startsWith(signature));
  if (mark !== undefined && mark[1] !== encoding) {
    const expected =
      encoding === "utf-8" ? `UTF-8; ${SAVE_AS}` : `${encoding}, which the map names`;
    return `starts with a ${mark[2]} byte order mark, expected ${expected}`;
  }
  return SIGNATURES.find(([signature]) => start.startsWith(signature))?.[1] ?? null;
}

/** The same bytes, in chunks of at least SIGNATURE_BYTES; the last one may be shorter. */
async function* inLongChunks(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let bytes: Uint8Array = new Uint8Array(0);
  for await (const chunk of chunks) {
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    if (bytes.length < SIGNATURE_BYTES) continue;
    yield bytes;
    bytes = new Uint8Array(0);
  }
  if (bytes.length > 0) yield bytes;
}

/**
 * A copy of the text. A cell cut from a chunk keeps the whole chunk in memory, so text that outlives
 * its row must be copied.
 */
export const detach = (text: string): string => Buffer.from(text).toString();

export interface TextReader {
  /** Returns false if nothing more is wanted: the rest cannot be trusted. */
  read(chunk: string): boolean;
  /** Call it after the last chunk, unless `read` returned false. */
  end(): void;
}

/**
 * Passes each line to `take`, the last one if it is not empty. `isEnded`: a line feed ended the line. A
 * line of more than MAX_ROW_CHARACTERS may come as its beginning only: it may never end, so it is not
 * kept. `take` returns false to stop the reading; `read` and `end` then also return false.
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
export async function sniff(
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
  async function* allChunks(): AsyncIterable<string> {
    yield* held;
    yield* text;
  }
  return { first, chunks: allChunks() };
}

function newlines(text: Uint8Array | string): number {
  const next = (from: number): number =>
    typeof text === "string" ? text.indexOf("\n", from) : text.indexOf(NEWLINE, from);
  let count = 0;
  for (let at = next(0); at >= 0; at = next(at + 1)) count += 1;
  return count;
}

/** Where bytes begin that are not UTF-8: decoded and encoded again, they are others. */
function firstFault(bytes: Buffer): number {
  const again = Buffer.from(bytes.toString());
  const from = bytes.findIndex((byte, at) => byte !== again[at]);
  const last = bytes.subarray(0, from + 1).findLastIndex((byte) => byte >= 0x80);
  return Math.max(0, last);
}
