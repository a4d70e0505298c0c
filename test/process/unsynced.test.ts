/** A disk that fails after a name exists: the command ends with 5 or 2, and says which files stand. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { catalogOf, quotesOf } from "../cli/small-market.ts";
import { chipboard, outputOf, type Ran } from "../program/program.ts";

const PRELOAD = join(import.meta.dirname, "unsynced.ts");

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-unsynced-"));
  writeFileSync(join(folder, "c.csv"), catalogOf(["a"]));
  writeFileSync(join(folder, "1.csv"), quotesOf({ a: 1 }));
  writeFileSync(join(folder, "2.csv"), quotesOf({ a: 1.1 }));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the command on a disk that fails to sync folders of this name. */
const fails = (line: string, unsynced: string, now: string): Promise<Ran> =>
  chipboard(line.split(" "), {
    cwd: folder,
    preload: PRELOAD,
    env: { CHIPBOARD_NOW: now, CHIPBOARD_STORE: "store", UNSYNCED: unsynced },
  });
const run = (line: string, now: string): Promise<string> =>
  outputOf(line.split(" "), {
    cwd: folder,
    env: { CHIPBOARD_NOW: now, CHIPBOARD_STORE: "store" },
  });

const FIRST = "2026-11-21T00:05:00Z";
const SECOND = "2026-11-21T12:05:00Z";
const LATER = "2026-11-26T00:05:00Z";

test("an entry of the log that stands is told, and the same command is then done, or goes on", async () => {
  await run("publish --catalog c.csv --quotes 1.csv", FIRST);
  for (const [line, now, number, what, again] of [
    ["publish --quotes 2.csv", SECOND, 2, "publication 2", /^Nothing to do/],
    ["snapshots rollback head~1 --reason wrong", SECOND, 3, "publication 3", /^Nothing to do/],
    ["publish --quotes 2.csv --revise again", SECOND, 4, "publication 4", /^Nothing to do/],
    ["publish --quotes 1.csv", LATER, 5, "publication 5", /^Nothing to do/],
    ["snapshots prune --keep-days 1", LATER, 6, "the prune, entry 6,", /^Removed 2 snapshots/],
  ] as const) {
    const { code, stderr } = await fails(line, "publications", now);
    const key = `publications/000000000${number}.json`;
    expect([line, code, stderr.split("\n").at(-2)]).toEqual([
      line,
      5,
      `error: --store "store": cannot write "${key}": i/o error (EIO); ${what} stands, but a crash of ` +
        'the machine may lose it: run "chipboard snapshots verify", then the same command again',
    ]);
    expect(existsSync(join(folder, "store", key))).toBe(true);
    expect(await run("snapshots verify --all", now)).toContain("snapshot");
    expect(await run(line.replace("head~1", "2026-11-21T00Z/r1"), now)).toMatch(again);
  }
});

test("an entry that is not there is not told", async () => {
  await run("publish --catalog c.csv --quotes 1.csv --store other", FIRST);
  const { code, stderr } = await fails("publish --quotes 2.csv --store other", "sessions", SECOND);
  expect([code, stderr]).toEqual([5, expect.stringMatching(/^error: .* \(EIO\)$/m)]);
  expect(readdirSync(join(folder, "other/publications"))).toEqual(["0000000001.json"]);
});

test("a backup whose name is not durable is not there", async () => {
  await run("accounts add acme --tier pro --state state", FIRST);
  mkdirSync(join(folder, "backups"));
  const line = "state backup backups/x.sqlite --state state";
  const { code, stderr } = await fails(line, "backups", FIRST);
  expect([code, stderr]).toEqual([
    2,
    'error: Backup "backups/x.sqlite" cannot be written: EIO: i/o error, fsync\n',
  ]);
  expect(readdirSync(join(folder, "backups"))).toEqual([]);
  await run(line, FIRST);
});
