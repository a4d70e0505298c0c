/** A folder with the three sessions of RUNS published in it. */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { FolderStore } from "../../src/store/folder-store.ts";
import { mustPublish, quotesOf } from "../cli/small-market.ts";
import { RUNS, temporaryFolder } from "./desk.ts";

/** Publishes RUNS once per test file. Returns a function that copies the folder for one test. */
export function publishedFolders(): () => string {
  const original = mkdtempSync(join(tmpdir(), "chipboard-desk-"));
  beforeAll(async () => {
    const store = new FolderStore(original);
    for (const run of RUNS) await mustPublish(store, run);
  });
  afterAll(() => rmSync(original, { recursive: true }));
  return () => {
    const folder = join(temporaryFolder(), "x");
    cpSync(original, folder, { recursive: true });
    return folder;
  };
}

/** A revision of the last session, with another level for b. */
export const REVISION = {
  session: "2026-11-21T12Z",
  quotes: quotesOf({ b: 10.75 }),
  revise: "Late report",
  minCoverageMicros: 0,
};
