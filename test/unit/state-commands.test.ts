/** The commands for accounts, keys and usage, on SQLite in a temporary folder. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { looksLikeKey } from "../../src/state/api-keys.ts";
import { accountsCommand } from "../../src/commands/accounts-command.ts";
import { keysCommand } from "../../src/commands/keys-command.ts";
import { usageCommand } from "../../src/commands/usage-command.ts";
import { tableLines } from "../../src/lib/terminal.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "chipboard-commands-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** The standard output of a command line. */
async function run(line: string): Promise<string> {
  const written: string[] = [];
  const stdout = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    written.push(String(text));
    return true;
  });
  const stderr = vi.spyOn(process.stderr, "write").mockImplementation(() => true);
  const program = new Command("chipboard");
  for (const command of [accountsCommand(), keysCommand(), usageCommand()]) {
    program.addCommand(command);
  }
  const quiet = { writeErr: () => undefined };
  const configure = (command: Command): void => {
    command.exitOverride().configureOutput(quiet);
    command.commands.forEach(configure);
  };
  configure(program);
  try {
    await program.parseAsync([...line.split(" "), "--state", join(folder, "state")], {
      from: "user",
    });
  } finally {
    stdout.mockRestore();
    stderr.mockRestore();
  }
  return written.join("");
}

const json = async (line: string): Promise<unknown> => JSON.parse(await run(`${line} --json`));

describe("accounts, keys and usage", () => {
  test("from an account to a rotated key", async () => {
    expect(await json("accounts add acme --tier starter --trial-days 14")).toMatchObject({
      name: "acme",
      tier: "starter",
      trial: { days: 14, lapsed: false },
      suspended: false,
    });
    const made = (await json("keys create acme --label ci")) as Record<string, string>;
    expect(looksLikeKey(made["key"] as string)).toBe(true);
    expect(made).toMatchObject({ account: "acme", label: "ci" });
    expect(made["key"]?.slice(0, 12)).toBe(made["key_id"]);
    const next = (await json(`keys rotate ${made["key_id"]} --overlap 30m`)) as typeof made;
    expect(next).toMatchObject({ replaces: made["key_id"], label: "ci" });
    expect(await json("keys ls acme")).toMatchObject([
      { key_id: made["key_id"], status: "rotating", replaced_by: next["key_id"] },
      { key_id: next["key_id"], status: "active" },
    ]);
    expect(await json(`keys revoke ${made["key_id"]}`)).toMatchObject({ status: "revoked" });
    expect(await json("accounts set acme --tier pro")).toMatchObject({ tier: "pro", trial: null });
    expect(await json("accounts show acme")).toMatchObject({ name: "acme", keys: [{}, {}] });
    expect(await json("usage acme")).toMatchObject({ account: "acme", used: 0, limit: null });
    expect(await json("usage")).toMatchObject([{ account: "acme" }]);
    const listing = (await run("keys ls")) + (await run("accounts show acme"));
    expect(listing).toContain(next["key_id"]);
    expect(listing).not.toContain(next["key"]);
  });

  test.each([
    ["accounts add acme --tier gold", /Allowed choices are starter, pro/],
    ["accounts add acme", /--tier/],
    ["accounts add acme --tier pro --trial-days 0", /whole days from 1 to 3650/],
    ["accounts add acme --tier pro --trial-days 1.5", /whole days from 1 to 3650/],
    ["accounts add Acme --tier pro", /"Acme"/],
    ["accounts set acme", /Nothing to change/],
    ["accounts show acme", /no such account/],
    ["keys create acme", /no such account/],
    ["keys rotate cbk_1a2B3c4D --overlap 5x", /2s, 60m, 12h or 7d/],
    ["keys rotate cbk_1a2B3c4D --overlap 366d", /to 365d/],
    ["keys suspend cbk_1a2B3c4D", /no such key/],
    ["usage acme", /"acme"/],
  ])("%s is refused", async (line, message) => {
    await run("accounts add other --tier pro");
    await expect(run(line)).rejects.toThrow(message);
  });
});

test("a table aligns texts to the left and numbers to the right", () => {
  const rows = [
    ["acme", 5, null],
    ["b", 25_000, "x"],
  ];
  expect(tableLines(["account", "used", "note"], rows)).toEqual([
    "account   used  note",
    "acme         5  -",
    "b        25000  x",
  ]);
});
