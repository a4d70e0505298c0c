/** Accounts from a file, lists and calls as CSV, keys that end: the commands, in a folder for each test. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Ran } from "../program/program.ts";
import { inProcess } from "./run.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-accounts-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const run = (line: string): Promise<Ran> => inProcess(line.trim().split(/ +/), { cwd: folder });

describe("accounts import", () => {
  const file = (text: string): string => {
    writeFileSync(join(folder, "new.csv"), text);
    return "new.csv";
  };
  const lines = (text: string): string[] => text.trimEnd().split("\n");

  test("adds every row, and creates a missing state", async () => {
    const csv = file(
      'note,name,tier,trial_days\n"pays late, in €",acme,starter,14\n,b.2,pro,\n=1+1,c,pro,1.0\n',
    );
    const { code, stdout, stderr } = await run(`accounts import ${csv}`);
    expect(code).toBe(0);
    expect(stderr).toContain("Created a new state at ");
    expect(stdout).toMatch(
      /^account  tier +trial until +suspended  created\nacme +starter  2026-12-05T00:05:\S+ +no .*\nb\.2 +pro +- +no .*\nc +pro +2026-11-22T00:05:.*\nAdded 3 accounts\.\n$/,
    );
    const all = JSON.parse((await run("accounts ls --json")).stdout);
    expect(all).toMatchObject([
      { name: "acme", tier: "starter", trial: { days: 14 }, note: "pays late, in €" },
      { name: "b.2", tier: "pro", trial: null, note: null },
      { name: "c", tier: "pro", trial: { days: 1 }, note: "=1+1" },
    ]);
    const listed = lines((await run("accounts ls --csv")).stdout);
    expect(listed.map((line) => line.replace(/^[0-9a-f-]{36},/, "ID,"))).toEqual([
      "account_id,name,tier,trial_days,trial_lapses_at,suspended,created_at,note\r",
      `ID,acme,starter,14,${all[0].trial.lapses_at},false,${all[0].created_at},"pays late, in €"\r`,
      `ID,b.2,pro,,,false,${all[1].created_at},\r`,
      `ID,c,pro,1,${all[2].trial.lapses_at},false,${all[2].created_at},'=1+1`,
    ]);
    // Again: each name, and nothing is added.
    const again = await run(`accounts import ${csv} --json`);
    expect(again.code).toBe(4);
    expect(JSON.parse(again.stdout).error).toEqual({
      exit_code: 4,
      message: "3 errors in the input; nothing was written",
      details: ["acme", "b.2", "c"].map(
        (name, at) => `new.csv:${at + 2} name "${name}": expected a name that no account has`,
      ),
    });
    const more = await run(`accounts import ${file("name,tier\nd,pro\n")} --json`);
    expect(JSON.parse(more.stdout)).toMatchObject([{ name: "d", tier: "pro", note: null }]);
  });

  test("tells all faults together, with names that are taken, and adds nothing", async () => {
    await run("accounts add acme --tier pro");
    const rows = [
      "acme,pro,,",
      "b,gold,,",
      "b,pro,,",
      ",pro,,",
      "Big,pro,,",
      "c,pro,0,",
      "d,pro,1.5,",
      "e,pro,3651,",
      'f,pro,,"two\nlines"',
      `g,pro,,${"x".repeat(1_001)}`,
      "a:b,pro,,",
    ];
    const csv = file(`name,tier,trial_days,note\n${rows.join("\n")}\n`);
    const { code, stdout, stderr } = await run(`accounts import ${csv}`);
    expect([code, stdout]).toEqual([2, ""]);
    const name = 'expected 1 to 63 of a-z, 0-9, ".", "_", "-", starting with a letter or digit';
    const days = "expected a whole number from 1 to 3650";
    const note = "expected text of up to 1000 characters on one line";
    expect(lines(stderr)).toEqual([
      "error: 11 errors in the input; nothing was written",
      '  new.csv:2 name "acme": expected a name that no account has',
      '  new.csv:3 tier "gold": expected starter or pro',
      '  new.csv:4 name "b": expected another name than new.csv:3',
      `  new.csv:5 name "": ${name}`,
      `  new.csv:6 name "Big": ${name}`,
      `  new.csv:7 trial_days "0": ${days}`,
      `  new.csv:8 trial_days "1.5": ${days}`,
      `  new.csv:9 trial_days "3651": ${days}`,
      `  new.csv:10 note "two\\nlines": ${note}`,
      `  new.csv:12 note "${"x".repeat(120)}…": ${note}`,
      `  new.csv:13 name "a:b": ${name}`,
    ]);
    expect(JSON.parse((await run("accounts ls --json")).stdout)).toMatchObject([{ name: "acme" }]);
  });

  test("a wrong tier of an account that exists is refused, also with --update", async () => {
    await run("accounts add known --tier pro");
    for (const more of ["", " --update"]) {
      const csv = file("name,tier\nknown,gold\n");
      const { code, stderr } = await run(`accounts import ${csv}${more}`);
      expect([code, lines(stderr)]).toEqual([
        2,
        [
          "error: 1 error in the input; nothing was written",
          '  new.csv:2 tier "gold": expected starter or pro',
        ],
      ]);
    }
  });

  test.each([
    ["name,tier,email\na,pro,x\n", 'new.csv:1: unknown column "email", expected name, tier, trial'],
    ["name\na\n", 'new.csv:1: the header lacks the column "tier"'],
    ["name;tier\na;pro\n", "new.csv:1: columns separated by semicolons"],
    ["name,tier\na\n", "new.csv:2: 1 field, expected 2 as in the header"],
    ['[{"name":"a","tier":"pro"}]', "new.csv:1: looks like JSON"],
    ["", "new.csv: the file is empty"],
  ])("%j is refused, and creates no state", async (text, finding) => {
    const { code, stderr } = await run(`accounts import ${file(text)}`);
    expect(code).toBe(2);
    expect(stderr).toContain(finding);
    expect(readdirSync(folder)).toEqual(["new.csv"]);
  });

  test("a file that is not there: 2; many faults are bounded", async () => {
    const none = await run("accounts import none.csv");
    expect([none.code, none.stderr]).toEqual([
      2,
      expect.stringContaining("Cannot read none.csv: no such file"),
    ]);
    const rows = Array.from({ length: 5_000 }, (_, at) => `n${at},gold,x,`);
    const csv = file(`name,tier,trial_days,note\n${rows.join("\n")}\n`);
    const { code, stderr } = await run(`accounts import ${csv}`);
    expect([code, lines(stderr).length]).toEqual([2, 3]);
    expect(stderr).toContain("5000 rows have such an error");
  });
});

describe("accounts import --update", () => {
  const file = (text: string): string => {
    writeFileSync(join(folder, "more.csv"), text);
    return "more.csv";
  };

  test("changes accounts to their rows, adds others, and says what changed", async () => {
    await run("accounts add acme --tier starter --trial-days 14");
    await run("accounts add b --tier pro --note=kept");
    await run("accounts add c --tier pro");
    const csv = file("name,tier,trial_days\nacme,pro,\nb,starter,\nnew,starter,7\n");
    const { code, stdout } = await run(`accounts import ${csv} --update`);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^account  tier .*\nnew +starter .*\naccount  before +after\nacme +tier=starter trial_until=2026-12-05T\S+ +tier=pro trial_until=-\nb +tier=pro +tier=starter\nAdded 1 account, changed 2, left 0 as they were\.\n$/,
    );
    const again = JSON.parse((await run(`accounts import ${csv} --update --json`)).stdout);
    expect(again).toEqual({ added: [], changed: [], unchanged: ["acme", "b", "new"] });
    // The file has no notes, and not every account.
    expect(JSON.parse((await run("accounts ls --json")).stdout)).toMatchObject([
      { name: "acme", tier: "pro", trial: null },
      { name: "b", tier: "starter", note: "kept" },
      { name: "c", tier: "pro" },
      { name: "new", trial: { days: 7 } },
    ]);
  });

  test("refuses a tier that does not allow an account's keys, and changes nothing", async () => {
    await run("accounts add acme --tier pro");
    for (let key = 0; key < 3; key++) await run("keys create acme");
    const { code, stderr } = await run(
      `accounts import ${file("name,tier\nnew,pro\nacme,starter\n")} --update`,
    );
    expect([code, stderr]).toEqual([
      3,
      'error: 1 error in the input; nothing was written\n  more.csv:3 tier "starter": expected a tier that allows the keys of acme; or revoke 1 first\n',
    ]);
    expect(JSON.parse((await run("accounts ls --json")).stdout)).toMatchObject([
      { name: "acme", tier: "pro" },
    ]);
  });
});

describe("keys create --accounts", () => {
  const file = (text: string): string => {
    writeFileSync(join(folder, "names"), text);
    return "names";
  };

  test.each(["b\nacme", "\ufeffb\r\nacme\r\n", "tier,name\npro,b\n,acme\n"])(
    "%j gives each account a key, which is printed once",
    async (text) => {
      for (const name of ["acme", "b", "c"]) await run(`accounts add ${name} --tier starter`);
      const { code, stdout } = await run(`keys create --accounts ${file(text)} --label many --csv`);
      expect(code).toBe(0);
      const [head, ...rows] = stdout.trimEnd().split("\r\n");
      expect(head).toBe("account,key_id,key");
      expect(rows.map((row) => row.split(",")[0])).toEqual(["b", "acme"]);
      for (const row of rows) expect(row).toMatch(/^\w+,(cbk_\w{8}),\1\w{41}$/);
      const keys = JSON.parse((await run("keys ls --json")).stdout);
      expect(keys.map(({ account, label }: Record<string, string>) => [account, label])).toEqual([
        ["acme", "many"],
        ["b", "many"],
      ]);
      const one = await run("keys create c --csv");
      expect(one.stdout).toMatch(/^account,key_id,key\r\nc,(cbk_\w{8}),\1\w{41}\r\n$/);
    },
  );

  test.each([
    [
      "acme\nnobody\nfull\n",
      2,
      [
        'names:2 name "nobody": expected the name of an account',
        'names:3 name "full": expected an account that can have one more key',
      ],
    ],
    ["acme\nfull", 3, ['names:2 name "full": expected an account that can have one more key']],
    ["acme\nacme", 2, ['names:2 name "acme": expected another name than names:1']],
    ["Acme", 2, ['names:1 name "Acme": expected 1 to 63 of a-z']],
    [
      "tier,account\npro,acme\n",
      2,
      ['names:1: no column "name", expected one, or a file with a name per line'],
    ],
    ["name,tier\nacme\n", 2, ["names:2: 1 field, expected 2 as in the first line"]],
    ["name\n", 2, ["names: no names, expected one at least"]],
    ["", 2, ["names: no names, expected one at least"]],
  ] as const)("%j makes no key", async (text, exit, findings) => {
    for (const name of ["acme", "full"]) await run(`accounts add ${name} --tier starter`);
    for (let key = 0; key < 2; key++) await run("keys create full");
    const { code, stdout, stderr } = await run(`keys create --accounts ${file(text)} --csv`);
    expect([code, stdout]).toEqual([exit, ""]);
    const lines = stderr.trimEnd().split("\n").slice(1);
    expect(lines).toEqual(findings.map((finding) => expect.stringContaining(`  ${finding}`)));
    expect(JSON.parse((await run("keys ls acme --json")).stdout)).toEqual([]);
  });

  test.each(["keys create --csv", "keys create acme --accounts names"])("%s: 2", async (line) => {
    const { code, stderr } = await run(line);
    expect([code, stderr]).toEqual([
      2,
      "error: Expected an account, or --accounts with a file of their names\n",
    ]);
  });
});

test("accounts log as a table, as CSV and as JSON", async () => {
  await run("accounts add acme --tier starter --by=Ann");
  expect((await run("accounts log")).stdout).toMatch(
    /^at +account  action +key  before  after +by\n2026-11-21T\S+  acme +accounts add  - +- +tier=starter  Ann\n$/,
  );
  const { key, key_id } = JSON.parse((await run("keys create acme --json --by=Bo")).stdout);
  writeFileSync(join(folder, "notes.csv"), 'name,tier,note\nacme,pro,"=1, late"\n');
  await run("accounts import notes.csv --update --by=Ann");
  await run("accounts rm acme --yes --by=Ann");
  const [head, ...rows] = (await run("accounts log acme --csv")).stdout.trimEnd().split("\r\n");
  expect(head).toBe("number,at,account_id,account,action,key_id,before,after,by");
  expect(rows.map((row) => row.replace(/,2026-11-21T\S+?Z,[0-9a-f-]{36},/, ",AT,ID,"))).toEqual([
    "1,AT,ID,acme,accounts add,,,tier=starter,Ann",
    `2,AT,ID,acme,keys create,${key_id},,,Bo`,
    '3,AT,ID,acme,accounts import,,tier=starter note=-,"tier=pro note=""=1, late""",Ann',
    `4,AT,ID,acme,accounts rm,,"tier=pro note=""=1, late"" keys=${key_id}",,Ann`,
  ]);
  const { stdout } = await run("accounts log --json");
  expect(stdout).not.toContain(key.slice(12));
  expect(JSON.parse(stdout)).toMatchObject([
    { action: "accounts add", key_id: null, before: null, by: "Ann" },
    { action: "keys create", key_id, before: null, by: "Bo" },
    { before: { tier: "starter", note: null }, after: { tier: "pro", note: "=1, late" } },
    { action: "accounts rm", after: null },
  ]);
  await run("accounts add b --tier pro");
  expect(JSON.parse((await run("accounts log b --json")).stdout)).toMatchObject([
    { by: userInfo().username },
  ]);
  const none = await run("accounts log nobody");
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('Account "nobody"')]);
});

test("usage as CSV, and keys that end", async () => {
  const json = async (line: string) => JSON.parse((await run(`${line} --json`)).stdout);
  const { account_id } = await json("accounts add acme --tier starter");
  const made = await run("keys create acme --label=-ci --expires 2026-11-21");
  expect(made.stdout).toMatch(
    /\nKey cbk_\S{8} of acme, until 2026-11-22T00:00:00\.000Z\. Store it now: /,
  );
  const [key] = await json("keys ls acme");
  expect(key).toMatchObject({
    status: "active",
    expires_at: "2026-11-22T00:00:00.000Z",
    last_used_on: null,
  });
  expect((await run("keys ls")).stdout).toMatch(
    /^keyid .* until +replaced by  last use\n.*2026-11-22T00:00:00\.000Z  - +-\n$/,
  );
  expect((await run("keys create acme --expires 9999-12-31")).stderr).toBe(
    'error: --expires "9999-12-31": expected a date before the year 9999, such as 2026-12-31\n',
  );
  const past = await run("keys create acme --expires 2026-11-20");
  expect([past.code, past.stderr]).toEqual([
    2,
    "error: A key until 2026-11-21T00:00:00.000Z: expected a date UTC that has not passed\n",
  ]);
  const csv = async (line: string): Promise<string> => (await run(`usage ${line} --csv`)).stdout;
  const head = "month,account_id,account,tier";
  expect(await csv("")).toBe(`${head},calls\r\n2026-11,${account_id},acme,starter,0\r\n`);
  expect(await csv("--month 2026-11 acme")).toBe(await csv(""));
  expect(await csv("--per month")).toBe(await csv(""));
  expect(await csv("--month 2026-11 --per key")).toBe(
    `${head},key_id,label,calls\r\n2026-11,${account_id},acme,starter,${key.key_id},'-ci,0\r\n`,
  );
  expect(await csv("--month 2025-12")).toBe(`${head},calls\r\n`);
  expect(await json("usage acme --month 2026-11")).toEqual([
    { month: "2026-11", account_id, account: "acme", tier: "starter", used: 0 },
  ]);
  expect(await csv("--per day")).toBe(
    `day,account_id,account,tier,calls\r\n2026-11-21,${account_id},acme,starter,0\r\n`,
  );
  expect(await json("usage acme --per day --month 2026-11")).toEqual([
    { day: "2026-11-21", account_id, account: "acme", tier: "starter", used: 0 },
  ]);
  expect((await run("usage --per day --month 2026-08")).stderr).toBe(
    'error: Month "2026-08": expected one of 2026-09 to 2026-11\n',
  );
  for (const month of ["2026-12", "2025-09", "november"]) {
    const { code, stderr } = await run(`usage --month ${month} --csv`);
    expect([code, stderr]).toEqual([
      2,
      `error: Month "${month}": expected one of 2025-10 to 2026-11\n`,
    ]);
  }
  for (const line of ["accounts ls --csv --json", "usage --csv --json"]) {
    const { code, stderr } = await run(line);
    expect([code, stderr]).toEqual([2, expect.stringContaining("cannot be used with option")]);
  }
  await run("accounts rm acme --yes");
  expect(await csv("--month 2026-11")).toBe(
    `${head},calls\r\n2026-11,${account_id},acme,starter,0\r\n`,
  );
  expect(await csv("acme")).toBe(await csv("--month 2026-11"));
  await run("accounts add globex --tier starter");
  const { key_id } = await json("keys create globex --expires 2026-11-21");
  const rotated = await run(`keys rotate ${key_id} --overlap 48h`);
  expect(rotated.stdout).toContain(
    "\nIt ends when that would have ended: 2026-11-22T00:00:00.000Z.\nStore it now: ",
  );
});
