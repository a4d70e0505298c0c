/** A folder of small inputs, and commands that run in it. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chipboard, type Ran, type RunOptions } from "../program/program.ts";
import { plainFile } from "../store/stored-file.ts";
import { catalogOf, lines, quotesOf } from "./small-market.ts";
import { inProcess } from "./run.ts";

/** The content of c.csv and q.csv. */
export const CATALOG = catalogOf(["a", "b"]);
export const QUOTES = quotesOf({ a: 11, b: 5 });

/** A new folder with a catalog (c.csv), quotes (q.csv) and closes (h.csv); the caller removes it. */
export function inputFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "chipboard-cli-"));
  writeFileSync(join(folder, "c.csv"), CATALOG);
  writeFileSync(join(folder, "q.csv"), QUOTES);
  writeFileSync(
    join(folder, "h.csv"),
    lines("id,date,close_usd", "a,2026-11-19,10", "b,2026-11-19,5"),
  );
  return folder;
}

/** Runs `chipboard LINE` in the folder; spaces separate the words. With standard input it runs in a process of its own. */
export const runIn = (folder: string, line: string, options: RunOptions = {}): Promise<Ran> =>
  (options.stdin === undefined ? inProcess : chipboard)(line.split(" "), {
    cwd: folder,
    ...options,
  });

/** A JSON file of the folder. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests check the fields that they read
export const jsonIn = (folder: string, path: string): any =>
  JSON.parse(String(plainFile(join(folder, path))));
