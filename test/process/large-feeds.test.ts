/** Feeds of millions of rows, in a process whose heap is a small part of their size in memory. */
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { catalogOf } from "../cli/small-market.ts";
import { chipboard, type Ran } from "../program/program.ts";

/** A process that keeps a million rows needs more. */
const HEAP_MEGABYTES = 96;
/** Other tests run at the same time. */
const BLOCK_ROWS = 10_000;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-large-"));
  writeFileSync(join(folder, "c.csv"), catalogOf(["a"]));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes `head`, then `row` so many times. */
function write(name: string, head: string, row: string, rows: number): void {
  const file = openSync(join(folder, name), "w");
  writeSync(file, head);
  for (let left = rows; left > 0; left -= BLOCK_ROWS) {
    writeSync(file, row.repeat(Math.min(left, BLOCK_ROWS)));
  }
  closeSync(file);
}

const publish = (quotes: string, ...more: readonly string[]): Promise<Ran> =>
  chipboard(["publish", "--catalog", "c.csv", "--quotes", quotes, "--store", "x", ...more], {
    cwd: folder,
    env: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MEGABYTES}` },
  });

test("240 MB of equal rows are refused for their number", async () => {
  write("huge.csv", "id,spot_usd\n", "a,12\n", 48_000_000);
  const { code, stderr } = await publish("huge.csv");
  expect(code).toBe(2);
  expect(stderr).toContain("error: 1 error in the input; nothing was written\n");
  expect(stderr).toContain(
    "\n  huge.csv: more than 2000000 rows, expected at most that; split it\n",
  );
});

test("a million equal rows are one level", async () => {
  write("equal.csv", "id,spot_usd\n", "a,12\n", 1_000_000);
  const { code, stdout } = await publish("equal.csv", "--dry-run", "--json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout).counts).toMatchObject({ ledger_levels: 1 });
});

test("a million rows that contradict the first are one error", async () => {
  write("torn.csv", "id,spot_usd\na,11\n", "a,12\n", 1_000_000);
  const { code, stderr } = await publish("torn.csv");
  expect(code).toBe(2);
  expect(stderr).toContain("error: 1 error in the input; nothing was written\n");
  expect(stderr).toContain(
    '  torn.csv:3 level "12": expected 11 as in torn.csv:2: a has one level for 2026-11-21T00Z; ' +
      '1000000 rows have such an error, the next are torn.csv:4 level "12" and torn.csv:5 level "12"\n',
  );
});
