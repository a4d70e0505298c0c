/** Runs the program in processes of its own, in an environment without the tester's settings. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beginFolder } from "../store/begun.ts";

export const BIN = join(import.meta.dirname, "../../bin/chipboard.ts");
const AS_NOBODY = join(import.meta.dirname, "setuid.ts");

/** The start of the tests' clocks: five minutes into their session. */
export const NOW = "2026-11-21T00:05:00Z";
/** A process that has not printed its address after this time is killed. */
const START_MS = 3_600_000;

export interface StartOptions {
  readonly cwd?: string;
  /** Variables beside PATH and CHIPBOARD_NOW. */
  readonly env?: Readonly<Record<string, string>>;
  /** Run without the rights of root: as the user nobody if the tests run as root. */
  readonly unprivileged?: boolean;
  /** The largest file that it may write (`ulimit -f`). */
  readonly fileLimitKilobytes?: number;
  /** The file that standard error is appended to; by default it is a pipe. */
  readonly log?: string;
  /** Options of Node. */
  readonly flags?: readonly string[];
  /** The script to run; by default the program. */
  readonly script?: string;
  /** A module that Node loads before the script. The process then has a channel for messages. */
  readonly preload?: string;
}

export interface RunOptions extends StartOptions {
  /** Its standard input; empty by default. */
  readonly stdin?: string;
  /** False: a publish finds its folder as it is. Otherwise a new one gets its mark before. */
  readonly begins?: boolean;
}

export interface Ran {
  /** Null if it was killed. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The environment of every run: where programs and compiled modules are, and when the clock starts (ISO 8601). */
export const environment = (now = NOW): Record<string, string> => {
  const { PATH = "", NODE_COMPILE_CACHE } = process.env;
  return {
    PATH,
    CHIPBOARD_NOW: now,
    ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }),
  };
};

const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Kills `child` when this process exits for any reason. */
export function endWithUs(child: ChildProcess): void {
  running.add(child);
  child.once("exit", () => running.delete(child));
}

/** Starts `chipboard ARGS`. */
export function start(args: readonly string[], options: StartOptions = {}): ChildProcess {
  const { cwd, env, fileLimitKilobytes: limit, log, preload } = options;
  const isNobody = options.unprivileged === true && process.getuid?.() === 0;
  const [command = "", ...words] = [
    ...(limit === undefined ? [] : ["bash", "-c", `ulimit -f ${limit}; exec "$@"`, "bash"]),
    process.execPath,
    ...(options.flags ?? []),
    ...(preload === undefined ? [] : ["--import", preload]),
    options.script ?? (isNobody ? AS_NOBODY : BIN),
    ...args,
  ];
  const stderr = log === undefined ? "pipe" : openSync(log, "a");
  const child = spawn(command, words, {
    cwd,
    env: { ...environment(), ...env },
    stdio: ["pipe", "pipe", stderr, ...(preload === undefined ? [] : ["ipc" as const])],
  });
  if (stderr !== "pipe") closeSync(stderr);
  endWithUs(child);
  return child;
}

/** Runs `chipboard ARGS` until it ends. */
export async function chipboard(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { stdin = "", begins = true } = options;
  const end = begins ? await beginFolder(args, options) : null;
  const child = start(args, options);
  const output = collect(child);
  // A program that ends early does not read its input. The test must not fail for that.
  child.stdin?.on("error", () => undefined).end(stdin);
  const [code] = (await once(child, "close")) as [number | null];
  await end?.();
  return { code, ...output };
}

/** The standard output of `chipboard ARGS`. Throws, with its standard error, if it fails. */
export async function outputOf(args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await chipboard(args, options);
  if (code !== 0) throw new Error(`chipboard ${args.join(" ")} ended with ${code}: ${stderr}`);
  return stdout;
}

/** A process that serves: `serve`, `demo` or a script of a test. */
export class Serving {
  readonly child: ChildProcess;
  /** Resolves with the exit code or the signal. */
  readonly ended: Promise<number | NodeJS.Signals>;
  readonly #output: { readonly stdout: string; readonly stderr: string };
  readonly #log: string | undefined;

  private constructor(child: ChildProcess, log: string | undefined) {
    this.child = child;
    this.#log = log;
    this.#output = collect(child);
    this.ended = new Promise((resolve) => {
      child.once("close", (code: number, signal) => resolve(signal ?? code));
    });
  }

  /** Resolves when the process prints its address. Throws, with its log, if it ends before. */
  static async start(args: readonly string[], options: StartOptions = {}): Promise<Serving> {
    const child = start(args, options);
    const serving = new Serving(child, options.log);
    const timer = setTimeout(() => child.kill("SIGKILL"), START_MS);
    const listens = new Promise<void>((resolve) => {
      child.stdout?.on("data", () => {
        if (serving.url !== "") resolve();
      });
    });
    await Promise.race([listens, serving.ended]);
    clearTimeout(timer);
    if (serving.url !== "") return serving;
    throw new Error(`The program does not listen: ${serving.stderr().slice(-2_000)}`);
  }

  /** Standard output so far. */
  get printed(): string {
    return this.#output.stdout;
  }

  get url(): string {
    return /(?:listening on |"url":")([^"\s]+).*\n/.exec(this.printed)?.[1] ?? "";
  }

  /** With `--json` only. */
  get metricsUrl(): string | null {
    return /"metrics_url":"([^"]+)"/.exec(this.printed)?.[1] ?? null;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  get pid(): number {
    return this.child.pid as number;
  }

  get isAlive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Standard error so far. */
  stderr(): string {
    return this.#log === undefined ? this.#output.stderr : readFileSync(this.#log, "utf8");
  }

  /** Sends the signal; resolves with the exit code or the signal when the process has ended. */
  end(signal: NodeJS.Signals = "SIGTERM"): Promise<number | NodeJS.Signals> {
    this.child.kill(signal);
    return this.ended;
  }
}

/** Starts `chipboard serve ARGS` on a free port, without a metrics port. */
export const serve = (args: readonly string[], options: StartOptions = {}): Promise<Serving> =>
  Serving.start(["serve", "--port", "0", "--metrics-port", "off", ...args], options);

function collect(child: ChildProcess): { stdout: string; stderr: string } {
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => (output[name] += text));
  }
  return output;
}
