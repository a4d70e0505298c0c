/** Whether a refusal says what a person needs: what is wrong, and where. */
import assert from "node:assert/strict";
import { ChipboardError, EXIT } from "../../src/lib/errors.ts";
import type { Feed } from "./feed-mutations.ts";
import { CONTRACT_IDS } from "./feed-table.ts";

/** A line says where, what it found (cut) and what it expected, and needs no more than this. */
const LINES_KEPT = 10_000;
const MAX_LINE_CHARACTERS = 1_000;

/** What a terminal would obey, or a reader not see: controls, surrogates alone, marks of direction. */
const UNSHOWN = /\p{Cc}|\p{Surrogate}|\p{Bidi_Control}|[\u2028\u2029\u200b\ufeff]/u;

/** What is true of a file and not of one of its lines. */
const WHOLE_FILE = [
  "the file is empty",
  "expected an array of objects",
  "no rows, expected at least one contract",
  "free is true on ",
  "not JSON: ",
  "nests too deep",
];

/**
 * Throws where `error` is not a refusal of these feeds by their lines, or of their levels by a gate.
 * A catalog that lacks a contract is told of by the quotes for it.
 */
export function requireRefusal(error: unknown, feeds: readonly Feed[]): void {
  if (!(error instanceof ChipboardError)) throw error;
  const { exitCode, message, details } = error;
  for (const line of [message, ...details]) requireReadable(line);
  switch (exitCode) {
    case EXIT.input:
      assert.match(message, /^\d+ errors? in the input; nothing was written$/);
      requireCounted(details, Number.parseInt(message, 10));
      for (const line of details.slice(0, LINES_KEPT)) requirePlace(line, feeds);
      return;
    case EXIT.refused:
      assert.match(message, /^Refused: \d+ findings?; nothing was written$/);
      for (const line of details.slice(0, -1)) {
        const named =
          CONTRACT_IDS.some((id) => line.includes(id)) || /percent|publish with/.test(line);
        assert.ok(named, `a gate names no contract: ${line}`);
      }
      return;
    case EXIT.conflict:
      // A feed that names a level of the head's session, or one withdrawn, is told so by line.
      assert.match(message, /^The input changes \d+ published levels?; /);
      for (const line of details) requirePlace(line, feeds);
      return;
    default:
      throw error;
  }
}

/** All of them; of more than anybody reads the first, and how many more. */
function requireCounted(details: readonly string[], announced: number): void {
  const more = announced - LINES_KEPT;
  assert.equal(details.length, more > 0 ? LINES_KEPT + 1 : announced);
  if (more > 0) assert.equal(details.at(-1), `and ${more} more`);
}

/** Throws where a line is too long to read, or does something to what shows it. */
export function requireReadable(line: string): void {
  assert.ok(line.length <= MAX_LINE_CHARACTERS, `${line.length} characters: ${line.slice(0, 200)}`);
  assert.ok(!UNSHOWN.test(line), `not fit to be shown: ${JSON.stringify(line)}`);
}

/** `quotes.csv:3` or `quotes.json[2]`, one that is there, and the column or what is wrong with the row. */
function requirePlace(line: string, feeds: readonly Feed[]): void {
  const [, file, row, item] = /^(\w+\.\w+)(?::(\d+)|\[(\d+)\])?:? \S/.exec(line) ?? [];
  const feed = feeds.find(({ kind, format }) => file === `${kind}.${format}`);
  assert.ok(feed, `names no feed: ${line}`);
  const { format, bytes } = feed;
  if (item !== undefined) {
    assert.ok(format === "json" && Number(item) < bytes.length, line);
  } else if (row !== undefined) {
    const rows = bytes.toString("latin1").split(/\r\n|\r|\n/).length;
    assert.ok(Number(row) >= 1 && Number(row) <= rows, `${line}: the file has ${rows} lines`);
  } else {
    const finding = line.slice(`${file}: `.length);
    assert.ok(
      WHOLE_FILE.some((start) => finding.startsWith(start)),
      `no place: ${line}`,
    );
  }
}
