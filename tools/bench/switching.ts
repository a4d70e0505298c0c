/**
 * Measures how a switch of session affects callers: the 99th percentile of latency during a switch, and of
 * the answers between the previous switch and this one.
 *
 * All sessions are published before, into the store that is served; but only the first entry of the
 * publication log is left there. The others are moved back one by one while the load runs. So the only work
 * during a switch is the proxy's own: to find the entry, to read and prove the snapshot, to serve it. The
 * proxy and the load use both cores; a publish at the same time would also be measured.
 *
 * A switch lasts from when the proxy began to load the snapshot (it logs how long that took) until a quarter
 * of a second after the first answer from it. An answer counts to the switch if its caller waited for it at
 * any time between.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { endWithUs } from "../../test/program/program.ts";
import { median, percentile, type BenchOptions, type Section } from "./section.ts";
import { LOAD_CORE, Servers } from "./server-process.ts";
import { BOARD_PATH, prepareService, startProxy } from "./bench-service.ts";

const CLIENT = new URL("switching-client.ts", import.meta.url).pathname;
const SWITCHES_A_ROUND = 2;
const WARM_UP_MS = 3_000;
const SWITCH_MS_MAX = 60_000;
const AFTER_MS = 250;
const RATIO_MAX = 3;

/** As switching-client.ts wrote them. */
interface Records {
  readonly count: number;
  readonly endMs: (at: number) => number;
  readonly latencyMs: (at: number) => number;
  readonly snapshot: (at: number) => number;
}

export async function benchSwitch(options: BenchOptions): Promise<Section> {
  const { folder, say, rounds, seconds } = options;
  const switches = rounds * SWITCHES_A_ROUND;
  say(`switch: publishing ${switches + 1} sessions`);
  const service = await prepareService(folder, switches + 1);
  const publications = join(service.store, "publications");
  const withheld = join(folder, "withheld");
  mkdirSync(withheld);
  const entries = readdirSync(publications).sort().slice(1);
  for (const entry of entries) renameSync(join(publications, entry), join(withheld, entry));
  await using servers = new Servers();
  const log = join(folder, "proxy.log");
  const proxy = await servers.add(startProxy(service, log));
  const recordsFile = join(folder, "records");
  const url = `${proxy.url}${BOARD_PATH}`;
  const client = spawn(
    "taskset",
    ["-c", LOAD_CORE, process.execPath, CLIENT, url, service.key, recordsFile],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  endWithUs(client);
  const ended = once(client, "exit");
  const snapshots = createInterface(client.stdout)[Symbol.asyncIterator]();
  const nextSnapshot = (): Promise<unknown> =>
    Promise.race([snapshots.next(), delay(SWITCH_MS_MAX, null, { ref: false }).then(tooSlow)]);
  await nextSnapshot();
  await delay(WARM_UP_MS + seconds * 1_000);
  for (const [at, entry] of entries.entries()) {
    say(`switch: ${at + 1} of ${switches}`);
    renameSync(join(withheld, entry), join(publications, entry));
    await nextSnapshot();
    await delay(seconds * 1_000);
  }
  client.stdin.end();
  const [code] = await ended;
  if (code !== 0) throw new Error(`The load ended with ${String(code)}`);
  await servers.stop();
  return sectionOf(readRecords(recordsFile), loadTimesMs(log), switches);
}

function tooSlow(): never {
  throw new Error(`There was no answer from the next snapshot within ${SWITCH_MS_MAX / 1_000} s`);
}

function sectionOf(records: Records, loadMs: readonly number[], switches: number): Section {
  const startedMs = records.endMs(0) + WARM_UP_MS;
  const windows = firstAnswersMs(records).map((firstMs, at) => ({
    startMs: firstMs - (loadMs[at] as number),
    endMs: firstMs + AFTER_MS,
  }));
  if (windows.length !== switches) {
    throw new Error(`Expected answers from ${switches} new snapshots, got ${windows.length}`);
  }
  const during: number[][] = windows.map(() => []);
  /** The answers between two switches. */
  const before: number[][] = windows.map(() => []);
  const otherwise: number[] = [];
  for (let at = 0; at < records.count; at += 1) {
    const endMs = records.endMs(at);
    const latencyMs = records.latencyMs(at);
    const askedMs = endMs - latencyMs;
    if (askedMs < startedMs) continue;
    const window = windows.findIndex((w) => endMs >= w.startMs && askedMs <= w.endMs);
    (during[window] ?? otherwise).push(latencyMs);
    if (window === -1) before[windows.findIndex((w) => endMs < w.startMs)]?.push(latencyMs);
  }
  const p99 = (latencies: readonly number[] = []): number => percentile(latencies, 0.99);
  const ratio = median(during.map((latencies, at) => p99(latencies) / p99(before[at])));
  const row = (name: string, latencies: readonly number[]): string[] => [
    name,
    latencies.length.toLocaleString("en"),
    ...[0.5, 0.99, 0.999, 1].map((share) => percentile(latencies, share).toFixed(2)),
  ];
  const each = during.map((latencies, at) =>
    [before[at], latencies].map((side) => p99(side).toFixed(1)),
  );
  return {
    title: "Switching",
    columns: ["answers", "number", "p50 ms", "p99 ms", "p99.9 ms", "slowest ms"],
    rows: [row(`during ${switches} switches`, during.flat()), row("otherwise", otherwise)],
    notes: [
      `Loading a snapshot took ${median(loadMs).toFixed(0)} ms under load. ` +
        `The 99th percentiles before and during each: ${each.map((pair) => pair.join(" and ")).join(", ")} ms; ` +
        "of the ratios the median counts.",
    ],
    targets: [
      {
        text: `during a switch the slowest 1 % of answers take at most ${RATIO_MAX} times as long as otherwise`,
        met: ratio <= RATIO_MAX,
        figure: ratio.toFixed(2),
      },
    ],
    figures: { switch_p99: ratio },
  };
}

/** The time of the first answer from each new snapshot, without the first snapshot. */
function firstAnswersMs(records: Records): number[] {
  const first: number[] = [];
  for (let at = 0; at < records.count; at += 1) {
    const snapshot = records.snapshot(at);
    if (snapshot > 0) first[snapshot - 1] ??= records.endMs(at);
  }
  return first;
}

/** How long the proxy took to load each new snapshot, from its log, without the first. */
function loadTimesMs(log: string): number[] {
  const lines = readFileSync(log, "utf8").split("\n");
  return lines
    .filter((line) => line.includes('"snapshot switched"'))
    .map((line) => (JSON.parse(line) as { ms: number }).ms)
    .slice(1);
}

function readRecords(file: string): Records {
  const bytes = readFileSync(file);
  const values = new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8);
  const value = (index: number): number => values[index] as number;
  return {
    count: values.length / 3,
    endMs: (at) => value(at * 3),
    latencyMs: (at) => value(at * 3 + 1),
    snapshot: (at) => value(at * 3 + 2),
  };
}
