/** What commands print: aligned tables for people, JSON for machines. */

/** What stands in a cell of a table. */
export type Cell = string | number | null;

/** Writes text and a line end to standard output. */
export function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Writes a value as indented JSON to standard output. */
export function printJson(value: unknown): void {
  printLine(JSON.stringify(value, null, 2));
}

/**
 * Writes a table: names, then rows, in columns two spaces apart. Numbers are aligned to the right,
 * null prints as `-`. The names are underlined on a terminal, and plain elsewhere.
 */
export function printTable(columns: readonly string[], rows: readonly (readonly Cell[])[]): void {
  const isTerminal = process.stdout.isTTY;
  const lines = tableLines(columns, rows);
  lines.forEach((line, index) => printLine(index === 0 && isTerminal ? underlined(line) : line));
}

/** The lines of such a table; the first holds the names. */
export function tableLines(
  columns: readonly string[],
  rows: readonly (readonly Cell[])[],
): string[] {
  const texts = rows.map((row) => row.map((cell) => (cell === null ? "-" : String(cell))));
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

const underlined = (line: string): string => `\u001b[4m${line}\u001b[24m`;

const PROGRESS_INTERVAL_MS = 80;

/**
 * Progress of long work on a stream: one line that is rewritten on a terminal, a line for each
 * stage elsewhere. `end` removes the rewritten line; call it before printing anything else.
 */
export function progressTo(stream: NodeJS.WriteStream): {
  tell(stage: string, done: number, total: number | null): void;
  end(): void;
} {
  let stageShown = "";
  let shownAtMs = 0;
  const isTerminal = stream.isTTY;
  return {
    tell(stage, done, total) {
      const isLast = done === total;
      const counted = total === null ? String(done) : `${done}/${total}`;
      if (!isTerminal) {
        if (isLast) stream.write(`${stage} ${counted}\n`);
        return;
      }
      const nowMs = performance.now();
      if (stage === stageShown && !isLast && nowMs - shownAtMs < PROGRESS_INTERVAL_MS) return;
      [stageShown, shownAtMs] = [stage, nowMs];
      stream.write(`\r\u001b[K${stage} ${counted}`);
    },
    end() {
      if (isTerminal && stageShown !== "") stream.write("\r\u001b[K");
      stageShown = "";
    },
  };
}
