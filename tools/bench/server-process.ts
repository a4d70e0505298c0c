/**
 * Server processes of the benches. All run on one core and the load on the other, so that they do
 * not slow each other.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { endWithUs } from "../../test/program/program.ts";

export const SERVER_CORE = "0";
export const LOAD_CORE = "1";

/** What deploy/ gives a process that affects its memory: variables, and options of Node. */
export const DEPLOYED = {
  env: { MALLOC_ARENA_MAX: "1" },
  flags: ["--max-semi-space-size=16", "--heap-growing-percent=40"],
} as const;

const START_MS = 60_000;
/** A process that uses less processor time than this in QUIET_MS is quiet. */
const QUIET_MS = 1_000;
const QUIET_CPU_SECONDS = 0.05;
const CLOCK_TICKS_PER_SECOND = 100;

export interface Server {
  readonly name: string;
  /** `http://127.0.0.1:40123` */
  readonly url: string;
  readonly pid: number;
  /** Sends SIGTERM and waits for the end. Throws if the exit code is not 0. */
  stop(): Promise<void>;
}

export interface ServerCommand {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The file that standard error goes to. */
  readonly log: string;
  /** Its address, for a program that does not print `listening on URL`. */
  readonly url?: string;
  /** Set if SIGTERM does not end the program with exit code 0. */
  readonly isKilled?: boolean;
}

/** Starts a server and waits until it listens. Throws, with the end of its log, if it does not. */
export async function startServer(start: ServerCommand): Promise<Server> {
  const { name, command, args, env, log } = start;
  const logFile = openSync(log, "a");
  const child = spawn("taskset", ["-c", SERVER_CORE, command, ...args], {
    env,
    stdio: ["ignore", "pipe", logFile],
  });
  closeSync(logFile);
  const ended = once(child, "exit");
  endWithUs(child);
  let said = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (said += text));
  const stop = async (): Promise<void> => {
    if (start.isKilled === true) {
      child.kill("SIGKILL");
      await ended;
      return;
    }
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    const [code] = await ended;
    if (code !== 0) throw new Error(`${name} ended with ${String(code)}: ${logEnd(log)}`);
  };
  const deadline = performance.now() + START_MS;
  while (performance.now() < deadline && child.exitCode === null) {
    const url = start.url ?? /^listening on (http:\S+)$/m.exec(said)?.[1];
    if (url !== undefined && (await answers(url))) {
      return { name, url, pid: child.pid as number, stop };
    }
    await delay(20);
  }
  child.kill("SIGKILL");
  throw new Error(`${name} did not start: ${logEnd(log)}`);
}

/** Servers that end together at the end of a block (`await using`), the last one first. */
export class Servers implements AsyncDisposable {
  readonly #running: Server[] = [];

  async add(starting: Promise<Server>): Promise<Server> {
    const server = await starting;
    this.#running.push(server);
    return server;
  }

  async stop(): Promise<void> {
    for (const server of this.#running.splice(0).reverse()) await server.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** Processor time the process and its children have used so far, in seconds. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name, in parentheses, may hold spaces; utime and stime are fields 14 and 15 (proc(5)).
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const own = (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").match(/\d+/g) ?? [];
  return children.reduce((sum, child) => sum + cpuSeconds(Number(child)), own);
}

/** Waits until the process is idle. */
export async function settled(pid: number): Promise<void> {
  for (let before = -1, now = cpuSeconds(pid); now - before > QUIET_CPU_SECONDS;) {
    await delay(QUIET_MS);
    before = now;
    now = cpuSeconds(pid);
  }
}

/** Resident memory of the process in megabytes (2^20 bytes): at its peak, and now. */
export function residentMb(pid: number): { readonly peak: number; readonly now: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const kilobytes = (field: string): number =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]);
  return { peak: kilobytes("VmHWM") / 1_024, now: kilobytes("VmRSS") / 1_024 };
}

async function answers(url: string): Promise<boolean> {
  try {
    await (await fetch(url)).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}

const logEnd = (log: string): string => readFileSync(log, "utf8").slice(-2_000);
