/** deploy/watched and deploy/backup: the scripts themselves, at another place than the units know. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { catalogOf, quotesOf } from "../cli/small-market.ts";
import { chipboard, endWithUs, NOW, type Ran } from "../program/program.ts";
import { testWithService } from "../services/service-programs.ts";

const ROOT = join(import.meta.dirname, "../..");

/** A release with the scripts, and with the program of this checkout. */
let release: string;
let folder: string;
beforeAll(async () => {
  release = join(await mkdtemp(join(tmpdir(), "chipboard-jobs-")), "a release");
  await cp(join(ROOT, "deploy"), join(release, "deploy"), { recursive: true });
  await mkdir(join(release, "dist/bin"), { recursive: true });
  await symlink(join(ROOT, "bin/chipboard.js"), join(release, "dist/bin/chipboard.js"));
});
afterAll(() => rm(dirname(release), { recursive: true }));
beforeEach(async () => {
  folder = await mkdtemp(join(dirname(release), "run-"));
});

const place = (name: string): string => join(folder, name);

function start(script: string, args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(join(release, "deploy", script), args, {
    cwd: folder,
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
    env: {
      PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`,
      CHIPBOARD_NOW: NOW,
      CHIPBOARD_STORE: place("snapshots"),
      CHIPBOARD_STATE: place("state"),
      ...env,
    },
  });
  endWithUs(child);
  return child;
}

/** Runs a script of deploy/; the signal that it ended by, if one did. */
async function run(
  script: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Ran & { signal: NodeJS.Signals | null }> {
  const child = start(script, args, env);
  // A job that ends early does not read it.
  child.stdin.on("error", () => undefined).end("the input\n");
  const ended = once(child, "close");
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code, signal] = await ended;
  return { code, signal, stdout, stderr };
}

const shell = (script: string, env: Record<string, string> = {}) =>
  run("watched", [place("publish.prom"), "sh", "-c", script], env);

/** The metrics of a textfile by name; throws if a line is none of them. */
async function metricsOf(name = "publish"): Promise<Record<string, number>> {
  const lines = (await readFile(place(`${name}.prom`), "utf8")).split("\n");
  expect(lines.pop()).toBe("");
  const values = lines.filter((line) => !line.startsWith("# "));
  return Object.fromEntries(
    values.map((line) => {
      const [, metric = "", label, value] =
        /^chipboard_job_(\w+)\{name="(\w+)"\} (\d+)$/.exec(line) ?? [];
      expect([line, label]).toEqual([line, name]);
      return [metric, Number(value)];
    }),
  );
}

describe("watched", () => {
  test("a job that succeeds: the time, 0, and its seconds", async () => {
    const before = Math.floor(Date.now() / 1000);
    const ran = await shell("cat; echo printed; echo complained >&2; sleep 1");
    expect(ran).toMatchObject({ code: 0, stdout: "the input\nprinted\n", stderr: "complained\n" });
    const { success_timestamp_seconds: at = 0, ...others } = await metricsOf();
    expect(at).toBeGreaterThan(before);
    expect(at).toBeLessThanOrEqual(Date.now() / 1000);
    expect(others).toEqual({ exit_code: 0, duration_seconds: expect.any(Number) });
    expect(others["duration_seconds"]).toBeGreaterThan(0);
    // node_exporter runs as another user.
    expect(((await stat(place("publish.prom"))).mode & 0o777).toString(8)).toBe("644");
    expect(await readdir(folder)).toEqual(["publish.prom"]);
  });

  test("one that fails keeps its exit code, and the time of the last success", async () => {
    expect((await shell("exit 4")).code).toBe(4);
    expect(await metricsOf()).toMatchObject({ success_timestamp_seconds: 0, exit_code: 4 });
    await shell("exit 0");
    const { success_timestamp_seconds: at } = await metricsOf();
    for (const code of [3, 5]) {
      expect((await shell(`sleep 1; exit ${code}`)).code).toBe(code);
      expect(await metricsOf()).toMatchObject({ success_timestamp_seconds: at, exit_code: code });
    }
  });

  test("one that is killed: by which signal, and it ends by the same", async () => {
    await shell("exit 0");
    const { success_timestamp_seconds: at } = await metricsOf();
    const ran = await shell("kill -9 $$");
    expect([ran.code, ran.signal]).toEqual([null, "SIGKILL"]);
    expect(await metricsOf()).toMatchObject({ success_timestamp_seconds: at, exit_code: 137 });
  });

  test("a time limit, which ends all processes of a unit: the file says so", async () => {
    const child = start("watched", [place("publish.prom"), "sh", "-c", "echo ready; sleep 600"]);
    await once(child.stdout, "data");
    const ended = once(child, "close");
    process.kill(-(child.pid as number), "SIGTERM");
    expect(await ended).toEqual([null, "SIGTERM"]);
    expect(await metricsOf()).toMatchObject({ success_timestamp_seconds: 0, exit_code: 143 });
  });

  test("a reader of the file finds it whole, at any time", async () => {
    await shell("exit 0");
    let isDone = false;
    const runs = (async () => {
      for (let count = 0; count < 25; count += 1) await shell(`exit ${count % 3}`);
      isDone = true;
    })();
    let reads = 0;
    for (; !isDone; reads += 1) expect(Object.keys(await metricsOf())).toHaveLength(3);
    await runs;
    expect(reads).toBeGreaterThan(25);
  });

  test("killed while it writes, it leaves the old file, and nothing that node_exporter reads", async () => {
    await shell("exit 0");
    const before = await readFile(place("publish.prom"), "utf8");
    // The script with a kill in place of the rename.
    const script = join(release, "deploy/killed");
    const own = await readFile(join(release, "deploy/watched"), "utf8");
    await writeFile(
      script,
      own.replace('mv "$new" "$file"', () => "kill -9 $$"),
      { mode: 0o755 },
    );
    const ran = await run("killed", [place("publish.prom"), "sh", "-c", "exit 3"]);
    expect(ran.signal).toBe("SIGKILL");
    expect(await readFile(place("publish.prom"), "utf8")).toBe(before);
    expect((await readdir(folder)).filter((name) => name.endsWith(".prom"))).toEqual([
      "publish.prom",
    ]);
  });

  test("without a job nothing has succeeded: 2", async () => {
    const ran = await run("watched", [place("publish.prom")]);
    expect([ran.code, ran.stderr]).toEqual([2, "error: expected watched FILE COMMAND …\n"]);
    expect(await readdir(folder)).toEqual([]);
  });

  test("a file that cannot be written is a warning, and changes nothing for the job", async () => {
    const ran = await run("watched", [place("none/publish.prom"), "sh", "-c", "exit 3"]);
    expect(ran.code).toBe(3);
    expect(ran.stderr).toContain(`warning: ${place("none/publish.prom")} cannot be written\n`);
    await mkdir(place("publish.prom/in the way"), { recursive: true });
    expect((await shell("exit 0")).code).toBe(0);
  });

  test("NOTICE_URL gets the failures, and only these; without an answer there is a warning", async () => {
    const notices: string[] = [];
    const server = createServer(async (request, response) => {
      notices.push(`${request.method} ${await text(request)}`);
      response.end();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const env = { NOTICE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
    expect((await shell("exit 0", env)).code).toBe(0);
    expect((await shell("exit 3", env)).code).toBe(3);
    const notice = `publish ended with exit code 3 on ${hostname()}`;
    expect(notices).toEqual([`POST ${notice}`]);
    // Slack shows `text`, and Discord `content`.
    await shell("exit 3", { ...env, NOTICE_FORMAT: "json" });
    expect(notices[1]).toBe(`POST ${JSON.stringify({ text: notice, content: notice })}`);
    server.close();
    server.closeAllConnections();
    const unheard = await shell("exit 3", env);
    expect([unheard.code, unheard.stderr]).toEqual([
      3,
      "warning: NOTICE_URL did not take the notice\n",
    ]);
  });

  testWithService("promtool")("promtool has nothing to say about the metrics", async () => {
    await shell("exit 2");
    const checked = promisify(execFile)("promtool", ["check", "metrics"]);
    checked.child.stdin?.end(await readFile(place("publish.prom")));
    expect(await checked).toEqual({ stdout: "", stderr: "" });
  });
});

describe("the jobs of the units, from a release at another place", () => {
  test("publish, backup and prune do their work, and say how it ended", async () => {
    await writeFile(place("c.csv"), catalogOf(["a"]));
    await writeFile(place("q.csv"), quotesOf({ a: 1 }));
    const watched = (name: string, script: string, ...args: string[]) =>
      run("watched", [place(`${name}.prom`), join(release, "deploy", script), ...args]);
    await run("run", ["store", "init"]);
    const published = await watched(
      "publish",
      "run",
      "publish",
      "--catalog",
      "c.csv",
      "--quotes",
      "q.csv",
    );
    expect(published.stdout).toContain("Published 2026-11-21T00Z/r1 as publication 1");
    await run("run", ["accounts", "add", "acme", "--tier", "pro"]);
    await mkdir(place("kept"));
    const backup = await watched("backup", "backup", "kept");
    expect([backup.code, backup.stdout]).toEqual([
      0,
      expect.stringMatching(/^Backed up 1 account/),
    ]);
    expect((await watched("prune", "run", "snapshots", "prune", "--keep-days", "90")).code).toBe(0);
    for (const name of ["publish", "backup", "prune"]) {
      expect(await metricsOf(name)).toMatchObject({ exit_code: 0 });
    }
    const [state = "", store = ""] = (await readdir(place("kept"))).toSorted().toReversed();
    expect([state, store]).toEqual([expect.stringMatching(/^state-.*\.sqlite$/), "snapshots"]);
    const listed = await chipboard(["accounts", "ls", "--state", place(`kept/${state}`)]);
    expect(listed.stdout).toContain("acme");
    const verified = await chipboard(["snapshots", "verify", "--store", place("kept/snapshots")]);
    expect(verified.code).toBe(0);

    // What refuses ends the whole backup, with its exit code.
    await rm(place("snapshots"), { recursive: true });
    const failed = await watched("backup", "backup", "kept");
    expect(failed.code).not.toBe(0);
    expect(await metricsOf("backup")).toMatchObject({ exit_code: failed.code });
    expect((await metricsOf("backup"))["success_timestamp_seconds"]).toBeGreaterThan(0);
  });
});
