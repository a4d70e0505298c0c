/** Checks that a refusal names the fault and its place. */
import assert from "node:assert/strict";
import { ChipboardError, EXIT } from "../../src/lib/errors.ts";
import type { Feed } from "./feed-mutations.ts";
import { CONTRACT_IDS } from "./feed-table.ts";

/** A refusal lists at most this many errors, and each line is no longer than this. */
const LINES_KEPT = 10_000;
const MAX_LINE_CHARACTERS = 1_000;

/** Characters that a terminal obeys or a reader does not see: controls, lone surrogates, bidi marks. */
const UNSHOWN = /\p{Cc}|\p{Surrogate}|\p{Bidi_Control}|[\u2028\u2029\u200b\ufeff]/u;

/** Errors of a whole file, without a line. */
const WHOLE_FILE = [
  "the file is empty",
  "expected an array of objects",
  "no rows, expected at least one contract",
  "free is true on ",
  "not JSON: ",
  "nests too deep",
];

/**
 * Throws unless `error` refuses lines of these feeds, or a gate refuses their levels. If the catalog
 * lacks a contract, the error names the line of its quote.
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
      requireFindings(details, Number.parseInt(message.slice("Refused: ".length), 10), feeds);
      return;
    case EXIT.conflict:
      // The feed changes a level of the head's session, or a withdrawn one: each line is named.
      assert.match(message, /^The input changes \d+ published levels?; /);
      for (const line of details) requirePlace(line, feeds);
      return;
    default:
      throw error;
  }
}

/** Throws unless each finding of a gate names a contract or a share, and a remedy follows them. */
function requireFindings(
  details: readonly string[],
  findings: number,
  feeds: readonly Feed[],
): void {
  for (const line of details.slice(0, findings)) {
    // The id may be one that the feed alone has.
    const [id = ""] = /^[a-z0-9-]+(?= )/.exec(line) ?? [];
    const isOfFeed = id !== "" && feeds.some(({ bytes }) => bytes.includes(id));
    const isNamed = isOfFeed || CONTRACT_IDS.some((known) => line.includes(known));
    assert.ok(isNamed || line.includes("percent"), `a gate names no contract: ${line}`);
  }
  const remedies = details.slice(findings);
  assert.ok(
    remedies.some((line) => line.includes("--accept ")),
    "a gate names no remedy",
  );
}

/** Throws unless all errors are listed, or the first LINES_KEPT with the number of the others. */
function requireCounted(details: readonly string[], announced: number): void {
  const more = announced - LINES_KEPT;
  assert.equal(details.length, more > 0 ? LINES_KEPT + 1 : announced);
  if (more > 0) assert.equal(details.at(-1), `and ${more} more`);
}

/** Throws if a line is too long or has characters of UNSHOWN. */
export function requireReadable(line: string): void {
  assert.ok(line.length <= MAX_LINE_CHARACTERS, `${line.length} characters: ${line.slice(0, 200)}`);
  assert.ok(!UNSHOWN.test(line), `has unprintable characters: ${JSON.stringify(line)}`);
}

/** Throws unless the line begins with an existing place, such as `quotes.csv:3` or `quotes.json[2]`. */
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
