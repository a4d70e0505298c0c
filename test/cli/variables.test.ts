/** Variables that no command has are told; and what a variable of several files holds. */
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { COMMANDS } from "../../src/main.ts";
import { inProcess } from "./run.ts";
import { FIRST, SECOND, workshop } from "./signed.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-variables-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const told = async (words: string, env: Record<string, string>): Promise<string> =>
  (await inProcess(words.split(" "), { env, cwd: folder })).stderr;

const warning = (name: string, meant?: string): string =>
  `warning: ${name} is not a variable of chipboard${meant === undefined ? "" : `; did you mean ${meant}?`}\n`;

describe("a variable that no command has", () => {
  test("is told by every command, with the nearest name, before anything else", async () => {
    for (const { name } of COMMANDS) {
      const said = await told(`${name} --no-such-option`, { CHIPBOARD_STROE: "./x" });
      expect(said.startsWith(warning("CHIPBOARD_STROE", "CHIPBOARD_STORE")), name).toBe(true);
    }
  });

  test("does not stop the command, nor change its output", async () => {
    const env = { CHIPBOARD_STROE: "./x", chipboard_keepdays: "1", CHIPBOARD_SOMETHING: "" };
    const { code, stdout, stderr } = await inProcess(["snapshots", "ls", "--json"], {
      env,
      cwd: folder,
    });
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ publications: [] })]);
    const lines = [
      warning("CHIPBOARD_STROE", "CHIPBOARD_STORE"),
      warning("chipboard_keepdays", "CHIPBOARD_KEEP_DAYS"),
      warning("CHIPBOARD_SOMETHING"),
    ];
    expect(stderr.split("\n").toSorted()).toEqual(lines.join("").split("\n").toSorted());
  });

  test.each([
    ["CHIPBOARD_STOR", "CHIPBOARD_STORE"],
    ["CHIPBOARD_VERIFY_KEYS", "CHIPBOARD_VERIFY_KEY"],
    ["CHIPBOARD_MAXMOVE", "CHIPBOARD_MAX_MOVE"],
    ["CHIPBOARD_PUBLIC_ULR", "CHIPBOARD_PUBLIC_URL"],
    ["CHIPBOARD_LOG-LEVEL", "CHIPBOARD_LOG_LEVEL"],
    ["CHIPBOARD_STORE_OF_PRICES", undefined],
    ["CHIPBOARD_PROT", "CHIPBOARD_PORT"],
    ["CHIPBOARD_API", undefined],
    ["CHIPBOARD_", undefined],
  ])("%s", async (name, meant) => {
    const said = await told("snapshots ls", { [name]: "x" });
    expect(said).toBe(warning(name, meant));
  });

  test("a name that moves the cursor is escaped", async () => {
    const said = await told("snapshots ls", { "CHIPBOARD_\u001b[2J": "x" });
    expect(said).toBe(warning("CHIPBOARD_\\u001b[2J"));
  });
});

test("variables of other commands, of the clock, of tests and of others are none of them", async () => {
  const env = {
    CHIPBOARD_QUOTES: "quotes.csv",
    CHIPBOARD_KEEP_DAYS: "90",
    CHIPBOARD_TLS_CERT: "cert.pem",
    CHIPBOARD_NOW: "2026-11-21T00:05:00Z",
    CHIPBOARD_TEST_SEED: "1",
    CLIPBOARD_STORE: "x",
    MY_CHIPBOARD_STORE: "x",
  };
  expect(await told("snapshots ls", env)).toBe("");
});

test("a wrong flag of another command stops no command, and that one names it", async () => {
  const env = { CHIPBOARD_HOLD_INVALID: "maybe", CHIPBOARD_QUOTES: "q.csv" };
  expect(await told("snapshots ls", env)).toBe("");
  const { code, stderr } = await inProcess(["publish"], { env, cwd: folder });
  expect([code, stderr]).toEqual([2, expect.stringContaining('CHIPBOARD_HOLD_INVALID "maybe"')]);
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
