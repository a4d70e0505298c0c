/** The lines of the log: text on a terminal, JSON elsewhere. */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { API, chipboard, NOW, SESSION, until, writeMarket } from "../cluster/cluster-fixture.ts";
import { jsonLine, textLine } from "../../src/hosts/node/request-log.ts";
import { BIN, endWithUs } from "../program/program.ts";
import { testWith } from "./needed-tools.ts";

/** Runs a command on a terminal of its own; standard output and error are that terminal. */
const ON_TERMINAL =
  "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

let folder: string;
let key: string;
const children: ChildProcess[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "chipboard-lines-"));
  const files = await writeMarket(folder);
  const feeds = ["--catalog", files.catalog, "--quotes", files.quotes, "--session", SESSION];
  const published = await chipboard(["publish", ...feeds, "--store", join(folder, "snapshots")]);
  expect(published.code).toBe(0);
  const state = ["--state", join(folder, "state")];
  await chipboard(["accounts", "add", "acme", "--tier", "pro", ...state]);
  key = JSON.parse((await chipboard(["keys", "create", "acme", ...state, "--json"])).stdout).key;
});
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

/** Serves four requests, and returns all printed text. */
async function printed(onTerminal: boolean): Promise<string> {
  const command = [process.execPath, BIN, "serve", "--log-requests", "all"];
  const places = ["--store", join(folder, "snapshots"), "--state", join(folder, "state")];
  const ports = ["--port", "0", "--metrics-port", "off"];
  const [program = "", ...args] = [
    ...(onTerminal ? ["python3", "-c", ON_TERMINAL] : []),
    ...command,
    ...places,
    ...ports,
  ];
  const child = spawn(program, args, {
    env: { PATH: process.env["PATH"], CHIPBOARD_NOW: NOW },
    stdio: ["pipe", "pipe", "pipe"],
  });
  endWithUs(child);
  children.push(child);
  let text = "";
  child.stdout.on("data", (piece) => (text += String(piece)));
  child.stderr.on("data", (piece) => (text += String(piece)));
  await until(() => text.includes("listening on http://"));
  const url = /http:\/\/\S+/.exec(text)?.[0] ?? "";
  await fetch(`${url}${API}/prices`, { headers: { "x-api-key": key } });
  await fetch(`${url}${API}/prices/nothing`, { headers: { "x-api-key": key } });
  await fetch(`${url}${API}/index?api_key=${key}`);
  await fetch(`${url}/%1b[31m`);
  await until(() => /not_found[^\n]*\n/.test(text));
  return text;
}

testWith("python3")("a terminal gets text", async () => {
  const lines = (await printed(true)).split("\r\n");
  const time = String.raw`12:05:\d\dZ`;
  const switched = `snapshot="${SESSION}/r1"  publication=1  unchanged=0  still=0  carried=0  ms=\\d+`;
  expect(lines).toContainEqual(
    expect.stringMatching(RegExp(`^${time}  info   snapshot switched  ${switched}$`)),
  );
  const requests = lines.filter((line) => line.includes("  request  "));
  const told = requests.map((line) => /route=\S+ {2}status=\d+(?: {2}code=\S+)?/.exec(line)?.[0]);
  expect(told).toEqual([
    `route="${API}/prices"  status=200`,
    `route="${API}/prices/{id}"  status=404  code="unknown_contract"`,
    `route="${API}/index"  status=400  code="key_in_query"`,
    'route="(none)"  status=404  code="not_found"',
  ]);
  for (const line of requests) {
    expect(line).toMatch(RegExp(`^${time}  info   request  method="GET"  .*  ms=[\\d.]+$`));
  }
  const text = lines.join("\n");
  expect(text).not.toContain(key);
  expect(text).not.toContain("127.0.0.1 ");
  expect(text).not.toContain("\u001b");
  expect(text).not.toContain('{"');
});

test("a pipe gets JSON", async () => {
  const text = await printed(false);
  const logged = text.split("\n").filter((line) => line !== "" && !line.startsWith("listening on"));
  const lines = logged.map((line) => JSON.parse(line));
  expect(lines.map(({ msg }) => msg)).toEqual([
    "snapshot switched",
    ...Array.from({ length: 4 }, () => "request"),
  ]);
  expect(text).not.toContain(key);
});

describe("the two forms of a line", () => {
  const time = Date.parse("2026-11-21T00:05:03Z");

  test("an event has its message and its fields", () => {
    const fields = { err: { type: "DamageError", message: "a.json is damaged" }, serving: null };
    expect(textLine("error", time, fields, "log cannot be read")).toBe(
      '00:05:03Z  error  log cannot be read  err={"type":"DamageError","message":"a.json is damaged"}  serving=null\n',
    );
    expect(textLine("warn", time, { dropped: 7 }, "7 lines were dropped")).toBe(
      "00:05:03Z  warn   7 lines were dropped  dropped=7\n",
    );
  });

  test("an error has its stack below, and no other member", () => {
    const cause = new Error("socket closed");
    const err = Object.assign(new Error("no answer", { cause }), { token: "secret" });
    const text = textLine("error", time, { err, route: "/" }, "request failed");
    expect(text).toMatch(/^00:05:03Z {2}error {2}request failed {2}route="\/"\nError: no answer\n/);
    expect(text).toContain("\ncaused by: Error: socket closed\n");
    expect(text).not.toContain("secret");
    expect(jsonLine("error", time, { err }, "request failed")).not.toContain("secret");
  });

  test("control characters of other texts do not reach the terminal", () => {
    const text = textLine("error", time, { trouble: "a\u001b[2J\r\nb" }, "state");
    expect(text).toBe(`00:05:03Z  error  state  trouble="a\\u001b[2J\\r\\nb"\n`);
  });
});

test("usage --calls sums the lines of an account, and says if no log keeps them", async () => {
  const log = join(folder, "proxy.log");
  await writeFile(log, await printed(false));
  const state = ["--state", join(folder, "state"), "--calls", "acme", "--month", "2026-11"];
  const usage = (...more: string[]) => chipboard(["usage", ...state, ...more]);
  const { calls, request_log, counted } = JSON.parse((await usage("--log", log, "--json")).stdout);
  expect(request_log).toBe(true);
  const row = { day: "2026-11-21", key: key.slice(0, 12) };
  expect(calls).toEqual([
    { ...row, route: `${API}/prices`, status: 200, calls: 1, requests: 1 },
    { ...row, route: `${API}/prices/{id}`, status: 404, calls: 0, requests: 1 },
  ]);
  // Other tests of this file asked as well.
  expect(counted).toBeGreaterThanOrEqual(1);
  expect((await usage("--log", log, "--csv")).stdout).toContain(
    `2026-11-21,${row.key},${API}/prices,200,1,1`,
  );
  expect((await usage("--log", log)).stdout).toMatch(
    /The log has 1 calls? of acme in 2026-11; the state counted \d+\.$/m,
  );
  const without = await usage();
  expect([without.code, without.stdout]).toEqual([0, expect.stringContaining("No request log")]);
  await writeFile(log, "listening on …\n");
  expect((await usage("--log", log)).stdout).toContain("is not kept there");
  expect((await usage("--log", join(folder, "none"))).code).toBe(2);
});
