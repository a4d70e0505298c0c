/**
 * Measures the processor time of a start: whole processes of this checkout, in turns with `node -e 0`.
 * What Node compiles is kept before, by a start of each.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { FIRST_SESSION, instantIn, writeMarket } from "./bench-market.ts";
import { publishSession } from "./bench-publish.ts";
import { median, type BenchOptions, type Section } from "./section.ts";

const BIN = join(import.meta.dirname, "../../bin/chipboard.js");
const CONTRACTS = 110;
const CLOSE_DAYS = 30;
/** Processes of a command in one turn: one takes some hundredths of a second. */
const PROCESSES = 20;

interface Measured {
  readonly name: string;
  /** What Node is called with. */
  readonly words: readonly string[];
  /** The target: so many times `node -e 0`. */
  readonly limit: number | null;
  /** Of one process, for each round. */
  readonly cpuMs: number[];
}

export async function benchStart(options: BenchOptions): Promise<Section> {
  const store = join(options.folder, "store");
  const market = writeMarket(options.folder, CONTRACTS, 2, CLOSE_DAYS);
  for (const index of market.quotes.keys()) await publishSession(market, index, store);
  const ls = [BIN, "snapshots", "ls", "--store", store];
  const all: readonly Measured[] = [
    { name: "node -e 0", words: ["-e", "0"], limit: null, cpuMs: [] },
    { name: "chipboard --version", words: [BIN, "--version"], limit: 2.5, cpuMs: [] },
    { name: "chipboard snapshots ls", words: ls, limit: 5, cpuMs: [] },
  ];
  for (const { words } of all) cpuMsOf(words, 1);
  for (let round = 1; round <= options.rounds; round += 1) {
    options.say(`start: round ${round} of ${options.rounds}`);
    for (const { words, cpuMs } of all) cpuMs.push(cpuMsOf(words, PROCESSES) / PROCESSES);
  }
  const [node = NaN, ...others] = all.map(({ cpuMs }) => median(cpuMs));
  const ratios = [1, ...others.map((ms) => ms / node)];
  return {
    title: "Start",
    columns: ["process", "processor ms", "times node -e 0"],
    rows: all.map(({ name, cpuMs }, at) => [
      name,
      median(cpuMs).toFixed(0),
      ratios[at]?.toFixed(2) ?? "",
    ]),
    notes: [`${PROCESSES} processes a round, medians of ${options.rounds}.`],
    targets: all.flatMap(({ name, limit }, at) => {
      const ratio = ratios[at] ?? NaN;
      if (limit === null) return [];
      const text = `${name} takes at most ${limit} times the processor time of node -e 0`;
      return [{ text, met: ratio <= limit, figure: ratio.toFixed(2) }];
    }),
    figures: {},
  };
}

const TIMED = `TIMEFORMAT="%3U %3S"
times=$1; shift
time for ((at = 0; at < times; at++)); do "$@" >/dev/null || exit; done`;

/** Processor time, user and system, of so many processes of Node. Throws if one fails. */
function cpuMsOf(words: readonly string[], times: number): number {
  const args = ["--norc", "-c", TIMED, "bash", String(times), process.execPath, ...words];
  const env = { PATH: process.env["PATH"], CHIPBOARD_NOW: instantIn(FIRST_SESSION + 1) };
  const { status, stderr } = spawnSync("bash", args, { env, encoding: "utf8" });
  const seconds = /^(\d+\.\d+) (\d+\.\d+)\n$/.exec(stderr)?.slice(1).map(Number) ?? [];
  if (status !== 0 || seconds.length === 0) throw new Error(`node ${words.join(" ")}: ${stderr}`);
  return seconds.reduce((sum, part) => sum + part * 1_000, 0);
}
