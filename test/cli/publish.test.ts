/** `publish`: options and variables, exit codes, output. */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Ran, RunOptions } from "../program/program.ts";
import { lines } from "./small-market.ts";
import { inputFolder, jsonIn, runIn } from "./publish-folder.ts";
import { inProcess } from "./run.ts";

let folder: string;
beforeEach(() => {
  folder = inputFolder();
});
afterEach(() => rmSync(folder, { recursive: true }));

const run = (line: string, options: RunOptions = {}): Promise<Ran> => runIn(folder, line, options);
const publish = (line: string, options: RunOptions = {}): Promise<Ran> =>
  run(`publish ${line}`, options);
const json = (path: string) => jsonIn(folder, path);
const files = (): string[] =>
  readdirSync(join(folder, "x"), { recursive: true }).map(String).toSorted();

describe("the commands of the documentation", () => {
  const LINE = "--catalog c.csv --closes h.csv --quotes q.csv --session 2026-11-21T00Z --store ./x";

  test("publish once, then find nothing to do; --dry-run names the steps that it would take", async () => {
    const dry = await publish(`${LINE} --dry-run`);
    expect([dry.code, dry.stdout.split("\n")[0]]).toEqual([
      0,
      "Dry run: would publish 2026-11-21T00Z/r1; nothing was written",
    ]);
    expect(readdirSync(folder)).not.toContain("x");

    const first = await publish(LINE);
    expect(first.code).toBe(0);
    expect(first.stdout).toBe(
      lines(
        "Published 2026-11-21T00Z/r1 as publication 1",
        "Board      2 memory and 0 semiconductor contracts of 2 in the catalog",
        "Levels     2 for the session; carried 0; dropped 0",
        "Unchanged  1 of 2 given levels",
        "Corrected  nothing",
        expectedFiles(),
      ),
    );
    expect(first.stderr).toMatch(/^Reading 3\/3\nRendering (\d+)\/\1\n$/);

    const before = files();
    const again = await publish(`${LINE.replace("T00Z", "T00:00:00.000Z")} --json`);
    expect(again.code).toBe(0);
    expect(JSON.parse(again.stdout)).toMatchObject({
      outcome: "unchanged",
      snapshot: "2026-11-21T00Z/r1",
      publication: 1,
      identity: json("x/sessions/2026-11-21T00Z/r1/manifest.json").identity,
    });
    expect(files()).toEqual(before);
  });

  const expectedFiles = (): string => {
    const { files, counts } = json("x/sessions/2026-11-21T00Z/r1/manifest.json");
    const bytes = files.reduce((sum: number, file: { bytes: number }) => sum + file.bytes, 0);
    expect([counts.files, counts.bytes]).toEqual([files.length, bytes]);
    return `Files      ${files.length} of ${bytes} bytes in ./x/sessions/2026-11-21T00Z/r1/`;
  };
});

describe("options", () => {
  test("the defaults of --session and --store are the current session and ./snapshots", async () => {
    const env = { CHIPBOARD_NOW: "2026-11-21T17:29:00+05:30" };
    const { stdout } = await publish("--catalog c.csv --quotes q.csv", { env });
    expect(stdout).toMatch(/^Published 2026-11-21T00Z\/r1 as publication 1\n/);
    expect(readdirSync(join(folder, "snapshots/sessions"))).toEqual(["2026-11-21T00Z"]);
  });

  test("a session that has not begun or is invalid, and an invalid clock", async () => {
    const early = await publish(
      "--catalog c.csv --quotes q.csv --session 2026-11-21T12Z --store x",
    );
    expect([early.code, early.stderr]).toEqual([
      2,
      "error: --session 2026-11-21T12Z has not begun: the clock is in 2026-11-21T00Z\n",
    ]);
    const noon = await publish(
      "--catalog c.csv --quotes q.csv --session 2026-11-21T12Z --store x --dry-run",
      {
        env: { CHIPBOARD_NOW: "2026-11-21T12:00:00Z" },
      },
    );
    expect(noon.code).toBe(0);
    for (const text of ["2026-11-21", "2026-11-21T06Z", "tomorrow"]) {
      const { code, stderr } = await inProcess(["publish", "--session", text]);
      expect([code, stderr]).toEqual([
        2,
        expect.stringMatching(`^error: --session "${text}": expected `),
      ]);
    }
    const clock = await publish("--catalog c.csv --store x", { env: { CHIPBOARD_NOW: "noon" } });
    expect([clock.code, clock.stderr]).toEqual([
      2,
      expect.stringMatching(/^error: CHIPBOARD_NOW "noon": expected an instant/),
    ]);
    expect(readdirSync(folder)).not.toContain("x");
  });

  test.each(["n", "maybe", "2"])("%j as the variable of a flag: 2", async (word) => {
    const env = { CHIPBOARD_ROUND: word, CHIPBOARD_JSON: "1" };
    const line = "publish --catalog c.csv --quotes q.csv --store x";
    const { code, stdout } = await run(line, { env });
    expect([code, JSON.parse(stdout).error.message]).toEqual([
      2,
      `CHIPBOARD_ROUND "${word}": expected 1, true, yes or on, or 0, false, no or off`,
    ]);
    expect(readdirSync(folder)).not.toContain("x");
  });

  test("options of the feeds and limits have a variable", async () => {
    const env = {
      CHIPBOARD_CATALOG: "c.csv",
      CHIPBOARD_QUOTES: "q.csv",
      CHIPBOARD_CLOSES: "h.csv",
      CHIPBOARD_STORE: "./x",
      CHIPBOARD_ATTRIBUTION: "Levels: example",
      CHIPBOARD_MAX_MOVE: "60.5",
      CHIPBOARD_MIN_COVERAGE: "100",
      CHIPBOARD_MAX_CARRY_DAYS: "7",
      CHIPBOARD_ROUND: "false",
      CHIPBOARD_JSON: "yes",
    };
    const line = "publish --session 2026-11-20T12Z --accept-moves --allow-sparse";
    const { code, stdout } = await run(line, { env });
    expect([code, JSON.parse(stdout).outcome]).toEqual([0, "published"]);
    expect(json("x/sessions/2026-11-20T12Z/r1/manifest.json")).toMatchObject({
      attribution: "Levels: example",
      reason: null,
      options: {
        max_move_pct: "60.5",
        min_coverage_pct: "100",
        max_carry_days: 7,
        accept_moves: true,
        allow_sparse: true,
      },
    });
    const other = "publish --session 2026-11-21T00Z --dry-run --attribution Other";
    const planned = await run(other, { env });
    expect(JSON.parse(planned.stdout)).toMatchObject({ outcome: "planned", publication: null });
    const usage = await publish("--max-move many --json");
    expect([usage.code, JSON.parse(usage.stdout).error.exit_code]).toEqual([2, 2]);
    const failed = await run("publish --session 2026-11-20T00Z", { env });
    expect([failed.code, JSON.parse(failed.stdout).error.exit_code]).toEqual([4, 4]);
  });

  test.each([
    ["--max-move", "-1", "percentage"],
    ["--max-move", "many", "percentage"],
    ["--min-coverage", "100.1", "percentage from 0 to 100"],
    ["--max-carry-days", "1.5", "whole number of days"],
    ["--max-carry-days", "36501", "at most 36500 days"],
    ["--store", "ftp://x", "expected a folder or s3://bucket/prefix"],
    ["--s3-endpoint", "nowhere", "http(s) URL"],
    ["--s3-endpoint", "127.0.0.1:9000", "http(s) URL"],
    ["--s3-endpoint", "ftp://x", "http(s) URL"],
    ["--sesion", "2026-11-21T00Z", "(Did you mean --session?)"],
  ])("%s %s: 2", async (option, value, expected) => {
    const { code, stdout, stderr } = await inProcess([
      "publish",
      "--catalog",
      join(folder, "c.csv"),
      option,
      value,
    ]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(option);
    expect(stderr).toContain(expected);
    expect(readdirSync(folder).toSorted()).toEqual(["c.csv", "h.csv", "q.csv"]);
  });

  test("no input, an unexpected word, standard input twice, an empty reason", async () => {
    for (const [args, expected] of [
      [["--store", "/nowhere"], "give --catalog, --quotes or --closes"],
      [["q.csv"], "too many arguments"],
      [["--catalog", "-", "--quotes", "-"], "Standard input (-) is given twice"],
      [
        ["--catalog", "c.csv", "--revise", " "],
        "expected text of 1 to 1000 characters on one line",
      ],
      [
        ["--catalog", "c.csv", "--attribution", "a\nb"],
        "expected text of 1 to 1000 characters on one line",
      ],
      [
        ["--catalog", "c.csv", "--attribution", "https://u:s3cr3t@s.example"],
        '--attribution "https://***@s.example": expected public text, but it holds a user or a password',
      ],
      [
        ["--catalog", "c.csv", "--revise", "as in https://s.example?token=s3cr3t"],
        '"as in https://s.example?token=***": expected public text, but it holds the parameter token',
      ],
    ] as const) {
      const { code, stderr } = await inProcess(["publish", ...args]);
      expect([code, stderr]).toEqual([2, expect.stringContaining(expected)]);
    }
  });
});
