/** The list of variables; a `CHIPBOARD_…` that is not in it is refused; and a variable that holds several files. */
import { mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command, Option } from "commander";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { COMMANDS } from "../../src/main.ts";
import type { Ran } from "../program/program.ts";
import { inProcess } from "./run.ts";
import { FIRST, SECOND, workshop } from "./signed.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-variables-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (words: string, env: Record<string, string>): Promise<Ran> =>
  inProcess(words.split(" "), { env, cwd: folder });

const unknown = (name: string, wayOn: string): string =>
  `error: ${name} is not a variable of chipboard${wayOn}\n`;

const LISTED = [
  ..."STORE S3_ENDPOINT S3_REGION S3_PATH_STYLE STATE CATALOG QUOTES CLOSES MAP FEED_HEADER WAIT ROUND CLOSED".split(
    " ",
  ),
  ..."HOLIDAYS ATTRIBUTION BY SUMMARY SIGN_KEY VERIFY_KEY REMEMBER MAX_MOVE MAX_INDEX_MOVE MAX_BOARD_MOVE MIN_COVERAGE MAX_UNCHANGED".split(
    " ",
  ),
  ..."NOTICE_STILL MAX_GAP MAX_CARRY_DAYS KEEP_DAYS HOST PORT PUBLIC_URL TRUST_PROXY TLS_CERT TLS_KEY PLANS".split(
    " ",
  ),
  ..."POLL GRACE CACHE_MB MAX_CONNECTIONS MAX_CONNECTIONS_PER_ADDRESS METRICS_HOST METRICS_PORT LOG_LEVEL".split(
    " ",
  ),
  ..."LOG_REQUESTS SERVICE URL KEY HTTP ALLOW_HOST JSON".split(" "),
].map((name) => `CHIPBOARD_${name}`);

/** Every command that acts, as words of the command line. */
async function acting(): Promise<readonly { words: string; command: Command }[]> {
  const loaded = await Promise.all(COMMANDS.map(({ load }) => load()));
  const leaves = (command: Command, before: string): { words: string; command: Command }[] => {
    const words = `${before} ${command.name()}`.trim();
    if (command.commands.length > 0) return command.commands.flatMap((each) => leaves(each, words));
    return [{ words, command }];
  };
  return loaded.flatMap((command) => leaves(command, ""));
}

/** Words that a command needs so that it would act. */
function neededBy({ registeredArguments, options }: Command): string[] {
  const given = registeredArguments.filter(({ required }) => required).map(() => "x");
  const needed = options.filter(({ mandatory }) => mandatory);
  const valueOf = ({ argChoices, long }: Option): string =>
    argChoices?.[0] ?? (long === "--keep-days" ? "90" : "http://127.0.0.1:1");
  return [...given, ...needed.flatMap((option) => [option.long ?? "", valueOf(option)])];
}

test("the options with a variable are exactly these", async () => {
  const commands = await acting();
  const found = commands.flatMap(({ command }) => command.options.map(({ envVar }) => envVar));
  expect(new Set(found.filter((name) => name !== undefined))).toEqual(new Set(LISTED));
});

describe("a variable that no command has", () => {
  test("is refused by every command, which then does nothing", async () => {
    const said = unknown("CHIPBOARD_STROE", "; did you mean CHIPBOARD_STORE (--store)?");
    for (const { words, command } of await acting()) {
      const line = [words, ...neededBy(command)].join(" ");
      const { code, stdout, stderr } = await run(line, { CHIPBOARD_STROE: "./x" });
      expect([line, code, stdout, stderr]).toEqual([line, 2, "", said]);
    }
    expect(readdirSync(folder)).toEqual([]);
  });

  test("is told with a usage error that it may have caused", async () => {
    const env = { CHIPBOARD_KEEP_DAY: "90" };
    const { code, stdout, stderr } = await run("snapshots prune --json", env);
    const wayOn = "; did you mean CHIPBOARD_KEEP_DAYS (--keep-days)?";
    expect([code, stderr]).toEqual([
      2,
      `error: required option '--keep-days <days>' not specified\n(add --help for usage)\n${unknown("CHIPBOARD_KEEP_DAY", wayOn)}`,
    ]);
    expect(JSON.parse(stdout).error).toEqual({
      exit_code: 2,
      message: "required option '--keep-days <days>' not specified",
      details: [unknown("CHIPBOARD_KEEP_DAY", wayOn).slice("error: ".length, -1)],
    });
  });

  test("is named in one error with the others, and in JSON", async () => {
    const env = {
      CHIPBOARD_STROE: "./x",
      chipboard_keepdays: "1",
      CHIPBOARD_SOMETHING: "x",
      CHIPBOARD_EMPTY: "",
    };
    const { code, stdout } = await run("snapshots ls --json", env);
    expect(code).toBe(2);
    const { message, details } = JSON.parse(stdout).error;
    expect([message, ...details].toSorted()).toEqual([
      "CHIPBOARD_SOMETHING is not a variable of chipboard: remove it",
      "CHIPBOARD_STROE is not a variable of chipboard; did you mean CHIPBOARD_STORE (--store)?",
      "chipboard_keepdays is not a variable of chipboard; did you mean CHIPBOARD_KEEP_DAYS (--keep-days)?",
    ]);
  });

  test("is named with its file, where the file is known", async () => {
    const env = { CHIPBOARD_ENV_FILE: "a.env CHIPBOARD_API", CHIPBOARD_API: "x" };
    const { code, stderr } = await run("snapshots ls", env);
    expect([code, stderr]).toEqual([2, unknown("CHIPBOARD_API in a.env", ": remove it")]);
  });

  test.each([
    ["CHIPBOARD_STOR", "; did you mean CHIPBOARD_STORE (--store)?"],
    ["CHIPBOARD_VERIFY_KEYS", "; did you mean CHIPBOARD_VERIFY_KEY (--verify-key)?"],
    ["CHIPBOARD_MAXMOVE", "; did you mean CHIPBOARD_MAX_MOVE (--max-move)?"],
    ["CHIPBOARD_PUBLIC_ULR", "; did you mean CHIPBOARD_PUBLIC_URL (--public-url)?"],
    ["CHIPBOARD_LOG-LEVEL", "; did you mean CHIPBOARD_LOG_LEVEL (--log-level)?"],
    ["CHIPBOARD_PROT", "; did you mean CHIPBOARD_PORT (--port)?"],
    ["CHIPBOARD_STORE_OF_PRICES", ": remove it"],
    ["CHIPBOARD_API", ": remove it"],
    ["CHIPBOARD_", ": remove it"],
    [
      "CHIPBOARD_DRYRUN",
      ": remove it, and give --dry-run on the command line of each run that needs it",
    ],
  ])("%s", async (name, wayOn) => {
    const { code, stderr } = await run("snapshots ls", { [name]: "x" });
    expect([code, stderr]).toEqual([2, unknown(name, wayOn)]);
  });

  test("a name that moves the cursor is escaped", async () => {
    const { stderr } = await run("snapshots ls", { "CHIPBOARD_\u001b[2J": "x" });
    expect(stderr).toBe(unknown("CHIPBOARD_\\u001b[2J", ": remove it"));
  });
});

test("variables of other commands, of the clock, of tests and of others are known to every command", async () => {
  const env = {
    CHIPBOARD_QUOTES: "quotes.csv",
    CHIPBOARD_KEEP_DAYS: "90",
    CHIPBOARD_TLS_CERT: "cert.pem",
    CHIPBOARD_URL: "http://127.0.0.1:1",
    CHIPBOARD_KEY: "cbk_1",
    CHIPBOARD_ENV_FILE: "chipboard.env",
    CHIPBOARD_NOW: "2026-11-21T00:05:00Z",
    CHIPBOARD_TEST_SEED: "1",
    CLIPBOARD_STORE: "x",
    MY_CHIPBOARD_STORE: "x",
  };
  expect(await run("snapshots ls", env)).toMatchObject({ code: 0, stderr: "" });
});

test("a wrong value stops no other command, and its own names it", async () => {
  const env = { CHIPBOARD_ROUND: "maybe", CHIPBOARD_MAX_MOVE: "much" };
  expect(await run("snapshots ls", env)).toMatchObject({ code: 0, stderr: "" });
  const { code, stderr } = await run("publish", env);
  expect([code, stderr]).toEqual([2, expect.stringContaining('CHIPBOARD_ROUND "maybe"')]);
});

test("--help and --version answer, whatever the variables hold", async () => {
  const env = {
    CHIPBOARD_STROE: "x",
    CHIPBOARD_DRY_RUN: "1",
    CHIPBOARD_JSON: "maybe",
    CHIPBOARD_ROUND: "maybe",
    CHIPBOARD_MAX_MOVE: "much",
    CHIPBOARD_PORT: "tcp://10.0.0.1:80",
  };
  const lines = (await acting()).flatMap(({ words }) => [`${words} --help`, `help ${words}`]);
  for (const line of ["--help", "help", "--version", "publish --version", ...lines]) {
    const { code, stdout, stderr } = await run(line, env);
    expect([line, code, stderr]).toEqual([line, 0, ""]);
    expect(stdout).not.toBe("");
  }
});

test("CHIPBOARD_VERIFY_KEY holds several files, so a unit changes its key without a new command line", async () => {
  const shop = workshop();
  for (const name of ["old", "new"]) await shop.opensslKey(name);
  const both = { CHIPBOARD_VERIFY_KEY: `${shop.path("old.pub")}:${shop.path("new.pub")}` };
  const one = (name: string) => ({ CHIPBOARD_VERIFY_KEY: shop.path(`${name}.pub`) });
  expect((await shop.publish(FIRST, "--sign-key @old")).code).toBe(0);
  // The log's newest entry is the old key's, and the run signs with the new one.
  const publish = `publish --quotes @${SECOND}.csv --session ${SECOND} --sign-key @new`;
  expect((await shop.say(publish, one("new"))).code).toBe(6);
  expect((await shop.say(publish, one("old"))).code).toBe(2);
  expect(await shop.say(publish, both)).toMatchObject({ code: 0 });
  expect((await shop.say("snapshots verify --all", both)).code).toBe(0);
  expect((await shop.say("snapshots verify --all", one("new"))).code).toBe(6);
  expect((await shop.say("snapshots verify", one("new"))).code).toBe(0);

  // The error names a file that is missing, or says that none is given; the command line takes the same.
  const { code, stderr } = await shop.say("snapshots verify", {
    CHIPBOARD_VERIFY_KEY: `${shop.path("new.pub")}:`,
  });
  expect([code, stderr]).toEqual([2, expect.stringContaining('--verify-key "": cannot be read')]);
  renameSync(shop.path("old.pub"), shop.path("gone"));
  const gone = await shop.say("snapshots verify", both);
  expect([gone.code, gone.stderr]).toEqual([2, expect.stringContaining(shop.path("old.pub"))]);
  const given = `${shop.path("gone")}:${shop.path("new.pub")}`;
  expect((await shop.say(`snapshots verify --all --verify-key ${given}`)).code).toBe(0);
});
