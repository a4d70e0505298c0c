/** The log of a real process where it cannot be written: nothing freezes, nothing grows, all is counted. */
import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { API, chipboard, NOW, SESSION, until, writeMarket } from "../cluster/fixture.ts";
import { SmallDisk } from "../faults/disk-full.ts";
import { Visitor } from "./crowd.ts";

const PROGRAM = new URL("../../bin/chipboard.ts", import.meta.url).pathname;
const CALLS = 8_000;

let folder: string;
let store: string;
let key: string;
const children: ChildProcess[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-log-"));
  store = join(folder, "snapshots");
  const files = await writeMarket(folder);
  const feeds = ["--catalog", files.catalog, "--quotes", files.quotes, "--session", SESSION];
  expect((await chipboard(["publish", ...feeds, "--store", store])).code).toBe(0);
  const state = ["--state", join(folder, "state")];
  expect((await chipboard(["accounts", "add", "acme", "--tier", "pro", ...state])).code).toBe(0);
  key = JSON.parse((await chipboard(["keys", "create", "acme", ...state, "--json"])).stdout).key;
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Logging {
  readonly child: ChildProcess;
  readonly url: string;
  /** Of the log's lines that could not be written, as the metrics say. */
  dropped(): Promise<number>;
  /** Sends SIGTERM, and resolves with the exit code. */
  end(): Promise<unknown>;
}

async function serveTo(stderr: "pipe" | number, ...args: string[]): Promise<Logging> {
  const state = ["--state", join(folder, "state")];
  const ports = ["--port", "0", "--metrics-port", "0", "--json"];
  const all = ["serve", "--store", store, ...state, ...ports, ...args];
  const child = spawn(process.execPath, [PROGRAM, ...all], {
    env: { ...process.env, CHIPBOARD_NOW: NOW },
    stdio: ["ignore", "pipe", stderr],
  });
  children.push(child);
  let said = "";
  child.stdout?.on("data", (piece) => (said += String(piece)));
  const ended = new Promise((resolve) =>
    child.once("exit", (code, signal) => resolve(signal ?? code)),
  );
  await until(() => said.includes("\n") || child.exitCode !== null);
  const { url, metrics_url: metricsUrl } = JSON.parse(said);
  return {
    child,
    url,
    dropped: async () => {
      const text = await (await fetch(metricsUrl)).text();
      return Number(/^chipboard_log_lines_dropped_total (\d+)$/m.exec(text)?.[1]);
    },
    end: () => {
      child.kill("SIGTERM");
      return ended;
    },
  };
}

/** So many answers, over one connection. */
async function ask(url: string, path: string, times: number): Promise<void> {
  const visitor = await Visitor.at(url);
  const request = `GET ${path} HTTP/1.1\r\nHost: x\r\nx-api-key: ${key}\r\n`;
  visitor.send(`${request}\r\n`.repeat(times - 1) + `${request}Connection: close\r\n\r\n`);
  await visitor.closed;
  expect(visitor.statuses).toHaveLength(times);
}

interface Line {
  readonly msg: string;
  readonly dropped?: number;
  readonly more?: number;
}
const linesOf = (text: string): Line[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
const requestsIn = (lines: readonly Line[]): number =>
  lines.filter(({ msg }) => msg === "request").length;
const sumOf = (lines: readonly Line[], name: "dropped" | "more"): number =>
  lines.reduce((sum, line) => sum + (line[name] ?? 0), 0);

describe("a log that cannot be written", () => {
  test("a device that is full: answers go on, lines are counted, SIGTERM ends", async () => {
    const full = openSync("/dev/full", "w");
    const proxy = await serveTo(full, "--log-requests", "all");
    closeSync(full);
    await ask(proxy.url, `${API}/prices`, CALLS);
    await until(async () => (await proxy.dropped()) >= CALLS);
    await ask(proxy.url, `${API}/prices`, 10);
    expect(await proxy.end()).toBe(0);
  });

  test("a disk that is full for a while: a line says how many lines are missing", async (context) => {
    const disk = SmallDisk.mount(join(folder, "disk"));
    if (disk === null)
      return context.skip("NOT SEEN: a full disk, for want of the right to mount one");
    try {
      const file = join(disk.path, "log");
      writeFileSync(file, "");
      disk.fill(16 * 4_096);
      const log = openSync(file, "a");
      const proxy = await serveTo(log, "--log-requests", "all");
      closeSync(log);
      await ask(proxy.url, `${API}/prices`, CALLS);
      await until(async () => (await proxy.dropped()) > 0);
      await ask(proxy.url, `${API}/prices`, 10);
      disk.empty();
      await until(() => /lines were dropped/.test(readFileSync(file, "utf8")));
      await ask(proxy.url, `${API}/prices`, 10);
      expect(await proxy.end()).toBe(0);
      // One line may be cut where the disk became full; it counts as dropped.
      const whole = readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => /^\{.*\}$/.test(line));
      const lines = linesOf(whole.join("\n"));
      const all = lines.filter(({ dropped }) => dropped === undefined).length;
      expect(requestsIn(lines)).toBeLessThan(CALLS);
      // The line that says what is served is one of them, too.
      expect(all + sumOf(lines, "dropped")).toBe(CALLS + 20 + 1);
    } finally {
      disk.unmount();
    }
  });

  test("a pipe that nobody reads: what waits is bounded, the rest is counted", async () => {
    const proxy = await serveTo("pipe", "--log-requests", "all");
    proxy.child.stderr?.pause();
    await ask(proxy.url, `${API}/prices`, CALLS);
    await until(async () => (await proxy.dropped()) > 0);
    const dropped = await proxy.dropped();
    let text = "";
    proxy.child.stderr?.on("data", (piece) => (text += String(piece))).resume();
    await until(() => /lines were dropped/.test(text));
    await ask(proxy.url, `${API}/prices`, 10);
    await until(
      () => requestsIn(linesOf(text.slice(0, text.lastIndexOf("\n")))) === CALLS + 10 - dropped,
    );
    expect(await proxy.end()).toBe(0);
    expect(sumOf(linesOf(text), "dropped")).toBe(dropped);
  });

  test("a pipe that nobody reads does not delay the end", async () => {
    const proxy = await serveTo("pipe", "--log-requests", "all");
    proxy.child.stderr?.pause();
    await ask(proxy.url, `${API}/prices`, CALLS);
    await until(async () => (await proxy.dropped()) > 0);
    expect(await proxy.end()).toBe(0);
  });

  test("a pipe whose reader is gone: answers go on, lines are counted", async () => {
    const proxy = await serveTo("pipe", "--log-requests", "all");
    proxy.child.stderr?.destroy();
    await ask(proxy.url, `${API}/prices`, 1_000);
    await until(async () => (await proxy.dropped()) >= 1_000);
    expect(await proxy.end()).toBe(0);
  });
});

test("a flood of problems: some lines, and how many more there were", async () => {
  const proxy = await serveTo("pipe");
  let text = "";
  proxy.child.stderr?.on("data", (piece) => (text += String(piece)));
  await ask(proxy.url, "/nothing", 1_000);
  const lines = (): Line[] => linesOf(text.slice(0, text.lastIndexOf("\n")));
  await until(() => requestsIn(lines()) + sumOf(lines(), "more") === 1_000);
  expect(requestsIn(lines())).toBeLessThan(1_000);
  expect(lines().map(({ msg }) => msg)).toContainEqual(
    expect.stringMatching(/^and \d+ more requests with a problem$/),
  );
  await ask(proxy.url, "/nothing", 1);
  await until(() => requestsIn(lines()) + sumOf(lines(), "more") === 1_001);
  expect(await proxy.end()).toBe(0);
});
