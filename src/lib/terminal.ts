/** Output of the commands: aligned tables for people, JSON for programs. */

/** The content of a cell. Null prints as `-`. */
export type Cell = string | number | null;

/**
 * The text with every control character, and every character that changes the writing direction, as a
 * JSON escape: text from a store or a feed cannot move the cursor or hide a line.
 */
export const plainText = (text: string): string =>
  text.replace(
    /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** The same for text of several lines, with their line ends. */
export const plainLines = (text: string): string => text.split("\n").map(plainText).join("\n");

/** Writes `text` as a line, through `plainLines`, to standard output. */
export function printLine(text: string): void {
  process.stdout.write(`${plainLines(text)}\n`);
}

/** The same on standard error: what a person must know, beside the output. */
export function printNotice(text: string): void {
  process.stderr.write(`${plainLines(text)}\n`);
}

export function printJson(value: unknown): void {
  printLine(JSON.stringify(value, null, 2));
}

/**
 * Writes a table: a line of names, then the rows, with two spaces between columns. Numbers are
 * aligned to the right.
 */
export function printTable(columns: readonly string[], rows: readonly (readonly Cell[])[]): void {
  for (const line of tableLines(columns, rows)) printLine(line);
}

/** Named values: a line, or a row of a table. */
export type Fields = Readonly<Record<string, Cell>>;

/** Writes a table of records, each in the fields of the first: their names, with spaces, then their values. */
export function printRecords(records: readonly Fields[]): void {
  const names = Object.keys(records[0] ?? {});
  printTable(
    names.map((name) => name.replaceAll("_", " ")),
    records.map((record) => names.map((name) => record[name] ?? null)),
  );
}

/** Writes a line for each value, after its name. */
export function printFacts(facts: Fields): void {
  const width = Math.max(...Object.keys(facts).map((name) => name.length));
  for (const [name, value] of Object.entries(facts)) {
    printLine(`${name.padEnd(width)}  ${plainText(String(value))}`);
  }
}

/** The lines of such a table; the first has the names. */
export function tableLines(
  columns: readonly string[],
  rows: readonly (readonly Cell[])[],
): string[] {
  const texts = rows.map((row) =>
    row.map((cell) => (cell === null ? "-" : plainText(String(cell)))),
  );
  const widths = columns.map((name, column) =>
    Math.max(name.length, ...texts.map((row) => row[column]?.length ?? 0)),
  );
  const isNumeric = columns.map((_, column) => rows.some((row) => typeof row[column] === "number"));
  return [columns, ...texts].map((row) =>
    row
      .map((text, column) => {
        const width = widths[column] ?? 0;
        return isNumeric[column] === true ? text.padStart(width) : text.padEnd(width);
      })
      .join("  ")
      .trimEnd(),
  );
}

const PROGRESS_INTERVAL_MS = 80;

/**
 * Shows the progress of long work on standard error: on a terminal in one line that it rewrites, elsewhere with a line
 * for each stage. With `done` null the stage says it all. `end` clears that line; call it before you print anything else.
 */
export function startProgress(): {
  tell(stage: string, done: number | null, total: number | null): void;
  end(): void;
} {
  let stageShown = "";
  let shownAtMs = 0;
  const { stderr } = process;
  const isTerminal = stderr.isTTY;
  return {
    tell(stage, done, total) {
      const isLast = done === total;
      const count = total === null ? String(done) : `${done}/${total}`;
      const line = plainText(done === null ? stage : `${stage} ${count}`);
      if (!isTerminal) {
        if (isLast) stderr.write(`${line}\n`);
        return;
      }
      const nowMs = performance.now();
      if (stage === stageShown && !isLast && nowMs - shownAtMs < PROGRESS_INTERVAL_MS) return;
      stageShown = stage;
      shownAtMs = nowMs;
      stderr.write(`\r\u001b[K${line}`);
    },
    end() {
      if (isTerminal && stageShown !== "") stderr.write("\r\u001b[K");
      stageShown = "";
    },
  };
}
