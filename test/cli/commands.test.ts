/** The common parts of all commands, and accounts, keys and usage from beginning to end. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Ran } from "../program/program.ts";
import { inProcess } from "./run.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-commands-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (line: string, env: Record<string, string> = {}): Promise<Ran> =>
  inProcess(line === "" ? [] : line.split(" "), {
    env: { CHIPBOARD_STATE: join(folder, "state"), ...env },
  });

const STORE = ["--store", "--s3-endpoint", "--s3-region", "--s3-path-style", "--json"];
const SERVE = [
  ...STORE,
  ..."--state --host --port --public-url --metrics-port --metrics-host --poll --grace --trust-proxy --tls-cert --tls-key --cache-mb --max-connections --max-connections-per-address --plans".split(
    " ",
  ),
];
/** What every run of publish knows. */
const PUBLISH =
  "--catalog --quotes --closes --map --feed-header --wait --round --closed --holidays --attribution --by --max-move --min-coverage --max-gap --keep-days --sign-key".split(
    " ",
  );
const STATE = ["--state", "--json"];
/** They name a single act, let something through, or change an account: a variable would do that again, unseen. */
const WITHOUT_VARIABLE = [
  ..."--revise --rerender --restate-series --accept --accept-moves --allow-sparse --ignore-unknown --hold".split(
    " ",
  ),
  ..."--hold-invalid --session --dry-run --why --reason --mirror --from --all --open --limit --out".split(
    " ",
  ),
  ..."--yes --suspend --resume --tier --trial-days --note --update --accounts --expires --label".split(
    " ",
  ),
  ..."--overlap --per --month --csv --restate-members --backup --memory --ping --test --calls --log".split(
    " ",
  ),
  ..."--try --with --as".split(" "),
];

describe("--help", () => {
  test.each([
    [
      "publish",
      [
        ...STORE,
        ..."--catalog --quotes --closes --session --attribution --dry-run --revise --max-move --max-index-move --max-board-move --accept-moves".split(
          " ",
        ),
        ..."--min-coverage --allow-sparse --max-unchanged --max-gap --max-carry-days --accept".split(
          " ",
        ),
        ..."--feed-header --wait --hold --hold-invalid --ignore-unknown --round --rerender --restate-series --from --restate-members".split(
          " ",
        ),
        "--summary",
        "--map",
        "--allow-host",
        "--by",
        "--why",
        ..."--sign-key --verify-key".split(" "),
      ],
    ],
    ["map", ["--try", "--with", "--catalog", "--as", "--json"]],
    ["serve", SERVE],
    ["export", [...STORE, "--public-url", "--service", "--grace", "--plans", "--verify-key"]],
    ["doctor", [...SERVE, ...PUBLISH, "--verify-key", "--backup", "--memory", "--ping"]],
    ["guard", [...SERVE, ...PUBLISH, "--verify-key", "--backup", "--memory", "--ping", "--test"]],
    ["demo", SERVE],
    ["init", ["--json"]],
    ["snapshots inputs", ["--out", ...STORE]],
    ["snapshots copy", [...STORE.slice(1), "--mirror", "--dry-run"]],
    ["snapshots repair", ["--from", "--all", ...STORE]],
    ["accounts add", ["--tier", "--trial-days", "--note", "--by", ...STATE]],
    ["accounts import", ["--update", "--by", ...STATE]],
    ["accounts ls", ["--csv", ...STATE]],
    ["accounts show", STATE],
    [
      "accounts set",
      ["--tier", "--trial-days", "--note", "--suspend", "--resume", "--by", ...STATE],
    ],
    ["accounts rm", ["--yes", "--by", ...STATE]],
    ["accounts log", ["--csv", ...STATE]],
    ["keys create", ["--accounts", "--label", "--expires", "--csv", "--by", ...STATE]],
    ["keys ls", STATE],
    ["keys suspend", ["--by", ...STATE]],
    ["keys resume", ["--by", ...STATE]],
    ["keys revoke", ["--by", ...STATE]],
    ["keys rotate", ["--overlap", "--by", ...STATE]],
    ["usage", ["--per", "--month", "--calls", "--log", "--csv", ...STATE]],
    ["state init", STATE],
    ["state copy", ["--json"]],
    ["state backup", STATE],
    ["state forget-log", ["--by", ...STORE, ...STATE]],
    ["store init", STORE],
    ["check", ["--key", "--verify-key", "--remember", "--json"]],
  ])("%s has examples, every option and its variable, if it has one", async (command, options) => {
    const { code, stdout, stderr } = await run(`${command} --help`);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(new RegExp(`\\nExamples:\\n  \\$ chipboard ${command}`));
    const words = stdout.replace(/\s+/g, " ");
    for (const option of options) {
      const variable = `CHIPBOARD_${option.slice(2).toUpperCase().replaceAll("-", "_")}`;
      if (WITHOUT_VARIABLE.includes(option)) expect(words).not.toContain(`env: ${variable})`);
      else expect(words).toMatch(new RegExp(`${option}[ ,][^$]*env: ${variable}\\)`));
      expect(words).toContain(` ${option} `);
    }
  });

  test.each(["", "accounts", "keys", "state"])(
    "%j without a command shows the help, and is a usage error",
    async (line) => {
      const { code, stdout, stderr } = await run(line);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toContain("Examples:");
      expect((await run(`${line} --help`.trim())).code).toBe(0);
    },
  );
});

test.each([
  ["pubish", "unknown command 'pubish'\n(Did you mean publish?)"],
  ["accounts ad", "unknown command 'ad'"],
  ["publish --frobnicate", "unknown option '--frobnicate'"],
  ["usage a b", "too many arguments"],
  ["accounts add", "required option '--tier <tier>' not specified"],
  ["accounts add --tier pro", "missing required argument 'name'"],
  ["accounts set a --suspend --resume", "cannot be used with option"],
  [
    "keys create a --expires 2026-11-31",
    '--expires "2026-11-31": expected a date before the year 9999, such as',
  ],
  [
    "keys create a --expires 9999-12-31",
    '--expires "9999-12-31": expected a date before the year 9999, such as',
  ],
  [
    "keys create a --expires 2026-12-31T00:00:00Z",
    "expected a date before the year 9999, such as 2026-12-31",
  ],
])("%s: 2", async (line, expected) => {
  const { code, stdout, stderr } = await run(line);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(expected);
});

test.each([
  "ftp://x",
  "https://u:p@x.example",
  "https://x.example/?a=1",
  "https://x.example/#",
  "x",
])("serve --public-url %s: 2", async (url) => {
  const { code, stderr } = await run(`serve --public-url ${url}`);
  expect(code).toBe(2);
  const shown = url.replace("u:p", "***");
  expect(stderr).toContain(`error: --public-url "${shown}": expected an address such as https://`);
});

test("the value of an option that is refused is named, without its control characters", async () => {
  const revise = await inProcess(["publish", "--revise", "why\u001b[2J\u009b\u202e"]);
  expect([revise.code, revise.stderr]).toEqual([
    2,
    'error: --revise "why\\u001b[2J\\u009b\\u202e": expected text of 1 to 1000 characters on one line\n',
  ]);
  const unknown = await inProcess(["publish", "--x\u001b[2J"]);
  expect(unknown.stderr).toContain("unknown option '--x\\u001b[2J'\n");
  const variable = await run("publish", { CHIPBOARD_MAX_MOVE: "much" });
  expect([variable.code, variable.stderr]).toEqual([
    2,
    expect.stringMatching(/^error: CHIPBOARD_MAX_MOVE "much": expected a percentage /),
  ]);
});

test("accounts, keys and usage from beginning to end", async () => {
  const json = async (line: string, expected = 0, env = {}) => {
    const { code, stdout } = await run(`${line} --json`, env);
    expect(code).toBe(expected);
    return JSON.parse(stdout);
  };
  const absent = join(folder, "state", "chipboard.sqlite");
  for (const line of ["accounts ls", "keys create acme", "accounts rm acme --yes", "usage"]) {
    const { code, stderr } = await run(line);
    expect([line, code]).toEqual([line, 5]);
    expect(stderr).toContain(`There is no state at ${absent}: `);
  }
  expect(readdirSync(folder)).toEqual([]);
  const other = `--state ${join(folder, "empty")}`;
  expect((await run(`state init ${other}`)).stdout).toBe(
    `Created an empty state at ${join(folder, "empty")}.\n`,
  );
  expect((await run(`state init ${other}`)).stdout).toBe(
    `There is a state at ${join(folder, "empty")} already.\n`,
  );
  expect(await json(`state init ${other}`)).toEqual({
    state: join(folder, "empty"),
    created: false,
  });
  expect(await json(`accounts ls ${other}`)).toEqual([]);
  rmSync(join(folder, "empty"), { recursive: true });
  const first = await run("accounts add other --tier pro");
  expect([first.code, first.stdout]).toEqual([0, "Added account other (pro).\n"]);
  expect(first.stderr).toBe(
    `Created a new state at ${absent}. If your proxies use another one, name it with --state or CHIPBOARD_STATE.\n`,
  );
  const trial = await json("accounts add acme --tier starter --trial-days 14");
  expect(trial).toMatchObject({ name: "acme", tier: "starter", trial: { lapsed: false } });
  expect(trial.trial.lapses_at).toMatch(/^2026-12-05T00:05:/);

  const made = await run("keys create acme --label ci");
  const [key = "", note] = made.stdout.split("\n");
  expect(key).toMatch(/^cbk_[A-Za-z0-9]{49}$/);
  expect(note).toBe(`Key ${key.slice(0, 12)} of acme. Store it now: it cannot be shown again.`);
  const second = await json("keys create acme --label desk");
  expect(second.label).toBe("desk");
  const third = await json("keys create acme", 3);
  expect(third.error.message).toContain("acme");

  const id = key.slice(0, 12);
  const rotated = await run(`keys rotate ${id} --overlap 24h`);
  expect(rotated.stdout).toMatch(
    /^cbk_[A-Za-z0-9]{49}\nKey cbk_\S{8} of acme replaces cbk_\S{8}, which is valid until 2026-11-22T00:05:/,
  );
  expect(await json(`keys suspend ${second.key_id}`)).toMatchObject({ status: "suspended" });
  expect(await json(`keys resume ${second.key_id}`)).toMatchObject({ status: "active" });
  expect(await json(`keys revoke ${second.key_id}`)).toMatchObject({ status: "revoked" });
  expect((await json("keys ls acme")).map((item: { status: string }) => item.status)).toEqual([
    "rotating",
    "revoked",
    "active",
  ]);

  const late = { CHIPBOARD_NOW: "2026-12-05T00:06:00Z" };
  expect((await json("accounts show acme", 0, late)).trial.lapsed).toBe(true);
  expect(await json("accounts set acme --tier pro", 0, late)).toMatchObject({
    tier: "pro",
    trial: null,
  });
  expect(await json("accounts set acme --suspend")).toMatchObject({ suspended: true });
  for (const name of WITHOUT_VARIABLE) {
    const variable = `CHIPBOARD_${name.slice(2).toUpperCase().replaceAll("-", "_")}`;
    const { code, stdout, stderr } = await run("accounts set acme --by me", { [variable]: "1" });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toBe(
      `error: ${variable} is not a variable of chipboard: remove it, and give ${name} on the command line of each run that needs it\n`,
    );
  }
  expect(await json("usage acme")).toMatchObject({
    account: "acme",
    used: 0,
    limit: null,
    remaining: null,
  });
  const table = await run("usage");
  expect(table.stdout).toMatch(
    /^account +tier +month +used +limit +remaining +resets at\nacme +pro +2026-11 +0 +none +unlimited +2026-12-01T00:00:00/,
  );
  expect(await json("usage acme --per key")).toMatchObject([
    { account: "acme", key_id: id, status: "rotating", month: "2026-11", used: 0 },
    {},
    {},
  ]);
  expect((await run("usage --per month")).stdout).toMatch(
    /^month +account id +account +tier +used\n2026-11  \S+  acme +pro +0\n2026-11  \S+  other +pro +0\n$/,
  );
  const linked = await run("links create acme /export.csv?ids=a,b --label desk");
  const [link = ""] = linked.stdout.split("\n");
  expect(link).toMatch(/^\/l\/lnk_[0-9A-Za-z]{43}\.csv$/);
  const link_id = link.slice(3, 15);
  expect(linked.stdout).toBe(
    `${link}\nLink ${link_id} of acme. Store it now: it cannot be shown again.\n`,
  );
  const listed = { link_id, account: "acme", path: "/export.csv?ids=a,b", label: "desk" };
  expect(await json("links ls acme")).toMatchObject([{ ...listed, status: "active" }]);
  expect(await json("links ls other")).toEqual([]);
  expect((await run("links ls")).stdout).not.toContain(link.slice(3, 20));
  expect((await run(`links revoke ${link.slice(3)}`)).code).toBe(2);
  expect((await json(`keys revoke ${link_id}`, 2)).error.message).toContain("expected a KEYID");
  expect(await json(`links revoke ${link_id}`)).toMatchObject({ link_id, status: "revoked" });
  expect(linked.stderr).toBe("");
  await json("accounts set other --tier starter");
  const unread = await run("links create other /superseded.csv?segment=dram");
  expect([unread.code, unread.stderr]).toEqual([
    0,
    "note: starter does not include /superseded.csv?segment=dram: this link answers 403 until other is on a tier that does\n",
  ]);
  expect((await json("links create acme /prices", 2)).error.message).toContain("/export.csv");
  const listing = (await run("keys ls")).stdout + (await run("accounts show acme")).stdout;
  expect(listing).not.toContain(key);
  expect(readdirSync(folder)).toEqual(["state"]);

  const copied = await run(`state copy ${join(folder, "state")} ${join(folder, "copy")}`);
  expect([copied.code, copied.stderr]).toEqual([0, ""]);
  expect(copied.stdout).toMatch(
    /^Copied 2 accounts, 3 keys, 2 links and 0 counts from \S+ to \S+, and read them back\.\nStart the proxies with --state \S+copy\./,
  );
  const again = await json(`state copy ${join(folder, "state")} ${join(folder, "copy")}`, 4);
  expect(again.error.message).toContain("copy holds 2 accounts, 3 keys, 2 links and 0 counts");
  const backup = join(folder, "state.backup");
  expect(await json(`state backup ${backup}`)).toMatchObject({ to: backup, accounts: 2, keys: 3 });
  expect((await run(`accounts ls --state ${backup}`)).stdout).toBe(
    (await run("accounts ls")).stdout,
  );
  const euros = await inProcess(["accounts", "set", "acme", "--note", "pays in euros"], {
    env: { CHIPBOARD_STATE: join(folder, "state") },
  });
  expect(euros.code).toBe(0);
  expect((await run("accounts show acme")).stdout).toContain("note       pays in euros\n");
  expect(await json("accounts ls")).toMatchObject([{ note: "pays in euros" }, { note: null }]);
  const unsure = await run("accounts rm acme");
  expect([unsure.code, unsure.stderr]).toEqual([
    2,
    'error: Account "acme" stays: expected --yes, because there is no terminal to ask on\n',
  ]);
  expect((await run("accounts rm acme --yes")).stdout).toBe(
    "Removed account acme and its 3 keys.\n",
  );
  expect(await json("keys ls")).toEqual([]);

  for (const line of [
    "accounts show nobody",
    "accounts rm nobody --yes",
    "keys create nobody",
    "keys revoke cbk_00000000",
    "usage nobody",
  ]) {
    const { code, stdout, stderr } = await run(`${line} --json`);
    expect([line, code, JSON.parse(stdout).error.exit_code]).toEqual([line, 2, 2]);
    expect(stderr).toMatch(/^error: /);
  }
});
