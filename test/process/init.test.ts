/** `init`: its files work as they stand, from the printed commands to cron; it overwrites nothing. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inProcess } from "../cli/run.ts";
import { testUnprivileged, testWith } from "../http/needed-tools.ts";
import { chipboard, endWithUs, NOW, outputOf } from "../program/program.ts";

const FILES = ["catalog.csv", "closes.csv", "quotes.csv", "chipboard.env", "crontab", "chipboard"];
const KILLER = join(import.meta.dirname, "killed-at.ts");

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-init-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The standard output of a command that must end well. */
async function output(args: readonly string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await inProcess(args, { cwd });
  expect(code, stderr).toBe(0);
  return stdout;
}
/** In a process of its own: its files and output name the program that runs. */
const init = (place: string): Promise<string> => outputOf(["init", place], { cwd: folder });
/** The files of a folder, without the state and the stores. */
const contentOf = (place: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(place)
      .filter((name) => !["state", "snapshots", "samples"].includes(name))
      .map((name) => [name, readFileSync(join(place, name), "utf8")]),
  );
const accountsIn = (place: string): Promise<string> => output(["accounts", "ls"], place);

/** What cron gives a job, and when it is. */
const cronEnvironment = (now: string) => ({
  PATH: "/usr/bin:/bin",
  HOME: folder,
  SHELL: "/bin/sh",
  CHIPBOARD_NOW: now,
});

/** Runs the line of the folder's crontab as cron does. */
function runJob(place: string, now: string): { status: number | null; stdout: string } {
  const lines = readFileSync(join(place, "crontab"), "utf8").split("\n");
  expect(lines.pop()).toBe("");
  const [, command = ""] = /^5 \* \* \* \* (.*)$/.exec(lines.at(-1) ?? "") ?? [];
  expect(command).not.toMatch(/(?<!\\)%/);
  const { status, stdout, stderr } = spawnSync("/bin/sh", ["-c", command.replaceAll("\\%", "%")], {
    cwd: folder,
    env: cronEnvironment(now),
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  return { status, stdout };
}

const quotesFor = (session: string): string =>
  `id,session_utc,spot_usd\nddr5-16gb,${session},12.60\nn3-wafer,${session},19500\n`;
const publications = (place: string): string[] =>
  readdirSync(join(place, "snapshots/publications")).toSorted();

/** The commands under a line of the output. */
const commandsUnder = (title: string, printed: string): string =>
  (printed.split(`\n${title}\n`)[1] ?? "").split("\n\n", 1)[0]?.replaceAll(/^ {2}/gm, "") ?? "";

testWith("curl")(
  "the commands that it prints publish, serve, and answer with a price",
  async () => {
    const printed = await init("my prices");
    const place = join(folder, "my prices");
    expect(printed).toContain(`Wrote ${FILES.join(", ")} into ${place}.\n`);
    expect(printed).toContain("The sample prices are illustrative, not market data");
    const env = { ...cronEnvironment(NOW), CHIPBOARD_PORT: "0", CHIPBOARD_METRICS_PORT: "off" };
    const commands = commandsUnder("Publish the samples and serve them:", printed);
    const server = spawn("bash", ["-ec", commands], { env, cwd: folder, detached: true });
    endWithUs(server);
    try {
      let said = "";
      const url = await new Promise<string>((resolve, reject) => {
        server.stdout.setEncoding("utf8").on("data", (text: string) => {
          said += text;
          const [, address] = /listening on (\S+)/.exec(said) ?? [];
          if (address !== undefined) resolve(address);
        });
        server.once("exit", () => reject(new Error(`ended: ${said}`)));
      });
      expect(said).toContain("Published 2026-11-21T00Z/r1 as publication 1");
      const call = commandsUnder(
        "In a second terminal, make a key and ask for the prices:",
        printed,
      );
      const asked = call.replace("http://127.0.0.1:8080", url).replace("curl -s", "curl -sSf");
      const { status, stdout, stderr } = spawnSync("bash", ["-ec", asked], {
        env,
        cwd: folder,
        encoding: "utf8",
      });
      expect([status, stderr]).toEqual([0, expect.not.stringContaining("curl")]);
      const board = JSON.parse(stdout);
      expect(board).toMatchObject({
        session_utc: "2026-11-21T00:00:00.000Z",
        delayed_sessions: 0,
        attribution: "Illustrative sample prices, not market data",
      });
      // All changes have something to compare with.
      const [{ source, ...record }] = board.memory;
      expect(source).toBe("Illustrative");
      for (const column of ["chg_24h_pct", "chg_30d_pct", "chg_yoy_pct"])
        expect(record[column]).toEqual(expect.any(Number));
    } finally {
      const ended = once(server, "close");
      process.kill(-(server.pid as number), "SIGTERM");
      await ended;
    }
  },
);

test("its job joins a crontab, and publishes session after session", async () => {
  const printed = await init("daily's 50% prices");
  const place = join(folder, "daily's 50% prices");
  // A crontab of a person who has a job already. The real one would be the tester's own.
  const table = join(folder, "table");
  writeFileSync(table, "0 7 * * 1 wake\n");
  mkdirSync(join(folder, "bin"));
  const script = `#!/bin/sh\ncase $1 in -l) cat '${table}' ;; -) t=$(cat); echo "$t" >'${table}' ;; esac\n`;
  writeFileSync(join(folder, "bin/crontab"), script, { mode: 0o755 });
  const title = "When your own prices have replaced the samples, publish them every session:";
  const { status } = spawnSync("bash", ["-ec", commandsUnder(title, printed)], {
    env: { PATH: `${join(folder, "bin")}:/usr/bin:/bin` },
    cwd: folder,
  });
  expect(status).toBe(0);
  expect(readFileSync(table, "utf8")).toBe(
    `0 7 * * 1 wake\n${readFileSync(join(place, "crontab"), "utf8")}`,
  );

  const log = (): string => readFileSync(join(place, "publish.log"), "utf8");
  expect(runJob(place, NOW)).toEqual({ status: 0, stdout: "" });
  expect(log()).toContain("Published 2026-11-21T00Z/r1 as publication 1");
  expect(runJob(place, "2026-11-21T01:05:00Z")).toEqual({ status: 0, stdout: "" });
  expect(publications(place)).toHaveLength(1);

  // The file of an earlier session is refused. What goes wrong is printed, so that cron mails it.
  const stale = runJob(place, "2026-11-21T12:05:00Z");
  expect(stale).toEqual({
    status: 1,
    stdout: expect.stringContaining(
      "The input is stale: its newest quotes are of 2026-11-21T00Z, and none is of 2026-11-21T12Z",
    ),
  });
  expect(publications(place)).toHaveLength(1);

  writeFileSync(join(place, "quotes.csv"), quotesFor("2026-11-21T12Z"));
  expect(runJob(place, "2026-11-21T12:05:00Z")).toEqual({ status: 0, stdout: "" });
  expect(log()).toContain("Published 2026-11-21T12Z/r1 as publication 2");

  writeFileSync(join(place, "quotes.csv"), "id,spot_usd\nddr5-16gb,-3\n");
  const failed = runJob(place, "2026-11-22T00:05:00Z");
  expect(failed).toEqual({ status: 1, stdout: expect.stringContaining("quotes.csv:2 spot_usd") });
  expect(publications(place)).toHaveLength(2);
});

test("the inputs have comments, and say that their prices are illustrative", async () => {
  await output(["init", "commented"], folder);
  const content = contentOf(join(folder, "commented"));
  expect(Object.keys(content).toSorted()).toEqual(FILES.toSorted());
  for (const name of FILES.slice(0, 3)) {
    const lines = content[name]?.split("\n") ?? [];
    const comments = lines.filter((line) => line.startsWith("#"));
    expect([name, comments.length > 1, comments.join("\n")]).toEqual([
      name,
      true,
      expect.stringContaining("illustrative"),
    ]);
    expect(lines.slice(comments.length).join("\n")).not.toContain("#");
  }
  expect(content["closes.csv"]).toContain("\nddr5-16gb,2026-11-20,12.45\n");
  expect(content["chipboard.env"]).toMatch(/^# /);
  expect(Object.values(content).join("\n")).not.toContain("{{");
  expect(await accountsIn(join(folder, "commented"))).toBe("No accounts in ./state.\n");
  const modes = FILES.map((name) => statSync(join(folder, "commented", name)).mode & 0o777);
  expect(modes).toEqual([0o600, 0o600, 0o600, 0o600, 0o600, 0o700]);
});

test("the credit line of the samples is not the one of the prices that replace them", async () => {
  await init("replaced");
  const place = join(folder, "replaced");
  expect(contentOf(place)["chipboard.env"]).not.toMatch(/^CHIPBOARD_ATTRIBUTION/m);
  writeFileSync(join(place, "quotes.csv"), quotesFor("2026-11-21T00Z"));
  runJob(place, NOW);
  const shown = await output(["snapshots", "show", "--json"], place);
  expect(JSON.parse(shown)).toMatchObject({
    manifest: { attribution: "Price levels published with chipboard" },
  });
});

test("--json says where and what", async () => {
  const { stdout } = await inProcess(["init", "j/deeper", "--json"], { cwd: folder });
  expect(JSON.parse(stdout)).toEqual({ folder: join(folder, "j/deeper"), files: FILES });
});

test.each(FILES)("a folder that has %s is left as it is: 2", async (name) => {
  const place = join(folder, `has-${name}`);
  mkdirSync(place);
  writeFileSync(join(place, name), "mine\n");
  const { code, stdout, stderr } = await inProcess(["init", place]);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toBe(
    `error: "${place}" has ${name} already; nothing was written. Name a new folder\n`,
  );
  expect(contentOf(place)).toEqual({ [name]: "mine\n" });
});

test("a second run is refused, a folder with other files is not", async () => {
  mkdirSync(join(folder, "other"));
  writeFileSync(join(folder, "other/notes.txt"), "mine\n");
  const cwd = join(folder, "other");
  await output(["accounts", "add", "acme", "--tier", "pro"], cwd);
  await output(["init", "other"], folder);
  // The state that was there has its account.
  expect(await accountsIn(cwd)).toContain("acme");
  const content = contentOf(join(folder, "other"));
  expect(Object.keys(content).toSorted()).toEqual([...FILES, "notes.txt"].toSorted());
  const again = await inProcess(["init", "."], { cwd });
  expect([again.code, again.stderr]).toEqual([
    2,
    expect.stringContaining(`has ${FILES.join(", ")} already`),
  ]);
  expect(contentOf(join(folder, "other"))).toEqual(content);
});

test("no name, and one that would break the line of a crontab: 2", async () => {
  mkdirSync(join(folder, "unnamed"));
  for (const place of ["", "two\nlines", "bell\u0007"]) {
    const { code, stderr } = await inProcess(["init", place], { cwd: join(folder, "unnamed") });
    expect([place, code]).toEqual([place, 2]);
    expect(stderr).toMatch(/: expected a folder, without control characters in its name\n$/);
  }
  expect(contentOf(join(folder, "unnamed"))).toEqual({});
});

testUnprivileged()(
  "a file in place of the folder, and a folder that cannot be written: 2",
  async () => {
    writeFileSync(join(folder, "file"), "mine\n");
    mkdirSync(join(folder, "locked"), { mode: 0o500 });
    for (const place of ["file", "file/below", "locked", "locked/below"]) {
      const { code, stderr } = await chipboard(["init", place], {
        cwd: folder,
        unprivileged: true,
      });
      expect([place, code]).toEqual([place, 2]);
      expect(stderr).toMatch(/^error: ".*": expected a folder to write \(E\w+: .*\)\n$/);
    }
    expect(readFileSync(join(folder, "file"), "utf8")).toBe("mine\n");
  },
);

test.each([
  ["a new folder", false],
  ["a folder that is there", true],
])("killed at any moment, %s has whole files or none", async (_, isThere) => {
  const place = join(folder, "killed");
  const seen: Record<string, string>[] = [];
  for (let at = 0; ; at += 1) {
    rmSync(place, { recursive: true, force: true });
    if (isThere) mkdirSync(place);
    const env = { KILLED_AT: String(at) };
    const { code } = await chipboard(["init", place], { preload: KILLER, env });
    const content = existsSync(place) ? contentNamed(place) : {};
    seen.push(content);
    if (code === 0) break;
    expect(code).toBeNull();
  }
  const whole = seen.at(-1) ?? {};
  expect(Object.keys(whole)).toHaveLength(FILES.length);
  expect(seen.length).toBeGreaterThan(2 * FILES.length);
  for (const content of seen) {
    expect(whole).toMatchObject(content);
    const count = Object.keys(content).length;
    if (!isThere) expect([0, FILES.length]).toContain(count);
  }
});

/** The files that have one of the names. */
const contentNamed = (place: string): Record<string, string> =>
  Object.fromEntries(
    FILES.filter((name) => existsSync(join(place, name))).map((name) => [
      name,
      readFileSync(join(place, name), "utf8"),
    ]),
  );
