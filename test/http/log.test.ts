/** A log that cannot be written: the proxy keeps answering and counts the lines that it drops. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  API,
  chipboard,
  killed,
  NOW,
  SESSION,
  until,
  writeMarket,
} from "../cluster/cluster-fixture.ts";
import { SmallDisk } from "../../tools/faults/disk-full.ts";
import { serve, type Serving } from "../program/program.ts";
import { Visitor } from "./crowd.ts";

const CALLS = 8_000;

let folder: string;
let store: string;
let key: string;
const proxies: Serving[] = [];
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
afterEach(() => killed(proxies));
afterAll(() => rmSync(folder, { recursive: true }));

/** Starts a proxy that logs to the file, or to a pipe. */
async function serveTo(log: string | null, ...args: string[]): Promise<Serving> {
  const usual = [
    "--store",
    store,
    "--state",
    join(folder, "state"),
    "--metrics-port",
    "0",
    "--json",
  ];
  const env = { CHIPBOARD_NOW: NOW };
  const proxy = await serve([...usual, ...args], log === null ? { env } : { env, log });
  proxies.push(proxy);
  return proxy;
}

/** The number of lines that could not be written, as the metrics say. */
async function dropped({ metricsUrl }: Serving): Promise<number> {
  const text = await (await fetch(String(metricsUrl))).text();
  return Number(/^chipboard_log_lines_dropped_total (\d+)$/m.exec(text)?.[1]);
}

/** Sends this many requests over one connection, and waits for the answers. */
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
/** The lines that a proxy has written to a pipe so far. */
const wholeLines = (proxy: Serving): Line[] => {
  const text = proxy.stderr();
  return linesOf(text.slice(0, text.lastIndexOf("\n") + 1));
};
const requestsIn = (lines: readonly Line[]): number =>
  lines.filter(({ msg }) => msg === "request").length;
const sumOf = (lines: readonly Line[], name: "dropped" | "more"): number =>
  lines.reduce((sum, line) => sum + (line[name] ?? 0), 0);

describe("a log that cannot be written", () => {
  test("a full device: the proxy answers and counts lines, and SIGTERM ends it", async () => {
    const proxy = await serveTo("/dev/full", "--log-requests", "all");
    await ask(proxy.url, `${API}/prices`, CALLS);
    await until(async () => (await dropped(proxy)) >= CALLS);
    await ask(proxy.url, `${API}/prices`, 10);
    expect(await proxy.end()).toBe(0);
  });

  test("a disk that is full for some time: then a line says how many lines are missing", async (context) => {
    const disk = SmallDisk.mount(join(folder, "disk"));
    if (disk === null) return context.skip("not tested: a full disk (this user may not mount one)");
    try {
      const file = join(disk.path, "log");
      writeFileSync(file, "");
      disk.fill(16 * 4_096);
      const proxy = await serveTo(file, "--log-requests", "all");
      await ask(proxy.url, `${API}/prices`, CALLS);
      await until(async () => (await dropped(proxy)) > 0);
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
      expect(requestsIn(lines)).toBeLessThan(CALLS);
      expect(requestsIn(lines) + sumOf(lines, "dropped")).toBe(CALLS + 20);
    } finally {
      disk.unmount();
    }
  });

  test("a pipe that nobody reads: a limited number of lines waits, the others are counted", async () => {
    const proxy = await serveTo(null, "--log-requests", "all");
    proxy.child.stderr?.pause();
    await ask(proxy.url, `${API}/prices`, CALLS);
    await until(async () => (await dropped(proxy)) > 0);
    const lost = await dropped(proxy);
    proxy.child.stderr?.resume();
    await until(() => /lines were dropped/.test(proxy.stderr()));
    await ask(proxy.url, `${API}/prices`, 10);
    await until(() => requestsIn(wholeLines(proxy)) === CALLS + 10 - lost);
    expect(await proxy.end()).toBe(0);
    expect(sumOf(wholeLines(proxy), "dropped")).toBe(lost);
  });

  test("a pipe that nobody reads does not delay the end", async () => {
    const proxy = await serveTo(null, "--log-requests", "all");
    proxy.child.stderr?.pause();
    await ask(proxy.url, `${API}/prices`, CALLS);
    await until(async () => (await dropped(proxy)) > 0);
    expect(await proxy.end()).toBe(0);
  });

  test("a pipe without a reader: the proxy answers and counts lines", async () => {
    const proxy = await serveTo(null, "--log-requests", "all");
    proxy.child.stderr?.destroy();
    await ask(proxy.url, `${API}/prices`, 1_000);
    await until(async () => (await dropped(proxy)) >= 1_000);
    expect(await proxy.end()).toBe(0);
  });
});

test("very many problems: some lines, and the number of the others", async () => {
  const proxy = await serveTo(null);
  await ask(proxy.url, "/nothing", 1_000);
  const lines = (): Line[] => wholeLines(proxy);
  await until(() => requestsIn(lines()) + sumOf(lines(), "more") === 1_000);
  expect(requestsIn(lines())).toBeLessThan(1_000);
  expect(lines().map(({ msg }) => msg)).toContainEqual(
    expect.stringMatching(/^and \d+ more requests with a problem$/),
  );
  await ask(proxy.url, "/nothing", 1);
  await until(() => requestsIn(lines()) + sumOf(lines(), "more") === 1_001);
  expect(await proxy.end()).toBe(0);
});
