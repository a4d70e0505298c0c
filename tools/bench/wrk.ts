/** The load: wrk on a core of its own, and its results. */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { cpus } from "node:os";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import type { Fields } from "./raw-answer.ts";
import { LOAD_CORE } from "./server-process.ts";

export const CONNECTIONS = 64;

const WRK = "/usr/bin/wrk";
const TASKSET = "/usr/bin/taskset";
const ENDLESS_SECONDS = 3_600;
/** A load that stops between its turns waits this long for answers. */
const PATIENCE_SECONDS = 60;
const SCRIPT = new URL("load.lua", import.meta.url).pathname;

export interface Load {
  readonly url: string;
  readonly fields: Fields;
  /** By default CONNECTIONS. One caller has at most eight large requests in progress. */
  readonly connections?: number;
  /** A file whose lines the requests take at random: keys or paths. See load.lua. */
  readonly lines?: { readonly file: string; readonly kind: "key" | "path" };
}

export interface Loaded {
  readonly requests: number;
  readonly seconds: number;
  readonly bytes: number;
  /** The median of the latencies, in milliseconds. */
  readonly p50: number;
}

/** Throws if the machine lacks wrk or a second core. */
export function requireLoad(): void {
  for (const [path, debianPackage] of [[WRK, "wrk"] as const, [TASKSET, "util-linux"] as const]) {
    if (existsSync(path)) continue;
    throw new Error(`${path} is missing: install the Debian package ${debianPackage}`);
  }
  if (cpus().length < 2) throw new Error("Server and load need a core each; there is one");
}

/**
 * Sends requests on its connections for some seconds. Throws if a connection failed or an
 * answer had a status above 399.
 */
export async function sendLoad(load: Load, seconds: number): Promise<Loaded> {
  const { stdout } = await promisify(execFile)(TASKSET, wrkArgs(load, seconds));
  return readSummary(load, stdout);
}

/** The load as a process of its own, which sends until SIGINT and then prints its results. */
export const startLoad = (load: Load): ChildProcess & { readonly stdout: Readable } =>
  spawn(TASKSET, wrkArgs(load, ENDLESS_SECONDS), { stdio: ["ignore", "pipe", "inherit"] });

/** What wrk printed at its end. Throws as `sendLoad` does. */
export function readSummary({ url }: Load, stdout: string): Loaded {
  const text = /^summary=(.*)$/m.exec(stdout)?.[1];
  if (text === undefined) throw new Error(`wrk has no summary: ${stdout}`);
  const summary = JSON.parse(text) as Record<string, number>;
  const figure = (name: string): number => summary[name] as number;
  if (figure("failed") + figure("refused") > 0) {
    throw new Error(
      `${url}: ${figure("refused")} of ${figure("requests")} answers were errors, ${figure("failed")} connections failed`,
    );
  }
  return {
    requests: figure("requests"),
    seconds: figure("micros") / 1e6,
    bytes: figure("bytes"),
    p50: figure("p50") / 1_000,
  };
}

function wrkArgs(load: Load, seconds: number): string[] {
  const { url, fields, lines, connections = CONNECTIONS } = load;
  const headers = Object.entries(fields).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
  const limits = [`-c${connections}`, `-d${seconds}s`, `--timeout=${PATIENCE_SECONDS}s`];
  const script = lines === undefined ? [] : ["--", lines.kind, lines.file];
  return ["-c", LOAD_CORE, WRK, "-t1", ...limits, "-s", SCRIPT, ...headers, url, ...script];
}
