/** Bytes to text: UTF-8 without a byte order mark, or a complaint that says what it is instead. */
import type { Complaints } from "./complaints.ts";
import type { Source } from "./source.ts";

const NEWLINE = 10;

const MARKS: readonly { readonly bytes: readonly number[]; readonly name: string }[] = [
  { bytes: [0xef, 0xbb, 0xbf], name: "a UTF-8 byte order mark" },
  { bytes: [0xff, 0xfe], name: "a UTF-16 byte order mark" },
  { bytes: [0xfe, 0xff], name: "a UTF-16 byte order mark" },
];

/**
 * The source's text in chunks. At the first bytes that are not UTF-8 it complains, with the line,
 * and ends.
 */
export async function* readText(source: Source, complaints: Complaints): AsyncIterable<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let line = 1;
  let started = false;
  for await (const bytes of source.open()) {
    if (bytes.length === 0) continue;
    const mark = started ? undefined : MARKS.find(({ bytes: mark }) => startsWith(bytes, mark));
    started = true;
    if (mark !== undefined) {
      complaints.at(`${source.name}:1`, `starts with ${mark.name}, expected UTF-8 without one`);
      return;
    }
    const nul = bytes.indexOf(0);
    if (nul >= 0) {
      const at = line + newlines(bytes.subarray(0, nul));
      complaints.at(`${source.name}:${at}`, "a NUL byte, expected UTF-8 text (is it UTF-16?)");
      return;
    }
    try {
      yield decoder.decode(bytes, { stream: true });
    } catch {
      complaints.at(`${source.name}:${line + validLines(bytes)}`, "not UTF-8");
      return;
    }
    line += newlines(bytes);
  }
  try {
    decoder.decode();
  } catch {
    complaints.at(`${source.name}:${line}`, "ends within a character, expected UTF-8");
  }
}

/**
 * The same text with memory of its own. A cell is a window on the chunk it was cut from, and keeps
 * all of it: what outlives its row is detached.
 */
export const detached = (text: string): string => Buffer.from(text).toString();

/** The first character that is no white space (null: there is none), and the text unread. */
export async function sniffed(
  text: AsyncIterable<string>,
): Promise<{ first: string | null; chunks: AsyncIterable<string> }> {
  const iterator = text[Symbol.asyncIterator]();
  const held: string[] = [];
  let first: string | null = null;
  while (first === null) {
    const next = await iterator.next();
    if (next.done === true) break;
    held.push(next.value);
    first = /\S/.exec(next.value)?.[0] ?? null;
  }
  return { first, chunks: resumed(held, iterator) };
}

async function* resumed(
  held: readonly string[],
  iterator: AsyncIterator<string>,
): AsyncIterable<string> {
  yield* held;
  for (;;) {
    const next = await iterator.next();
    if (next.done === true) return;
    yield next.value;
  }
}

const startsWith = (bytes: Uint8Array, mark: readonly number[]): boolean =>
  mark.every((byte, at) => bytes[at] === byte);

function newlines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}

/** How many whole lines of these bytes, from the start, are UTF-8. */
function validLines(bytes: Uint8Array): number {
  let count = 0;
  let from = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, from)) {
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(from, at));
    } catch {
      // The first line of a chunk may start within a character that is fine as a whole.
      if (from > 0) return count;
    }
    count += 1;
    from = at + 1;
  }
  return count;
}
