/** Runs the program as a user does, in a clean environment, and collects what it says. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const BIN = join(import.meta.dirname, "../../bin/chipboard.ts");

/** The instant at which the tests' clocks start, five minutes into their session. */
export const NOW = "2026-11-21T00:05:00Z";

export interface RunOptions {
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  /** What it reads from standard input; nothing without. */
  readonly stdin?: string;
  /** Kills it (SIGKILL) after so many milliseconds. */
  readonly killAfterMs?: number;
}

export interface Ran {
  /** Null where it was killed. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts `chipboard ARGS`. The environment holds a path, the clock's start, and `env`. */
export function start(args: readonly string[], options: RunOptions = {}): ChildProcess {
  return spawn(process.execPath, [BIN, ...args], {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { PATH: process.env["PATH"] ?? "", CHIPBOARD_NOW: NOW, ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
}

/** Runs `chipboard ARGS` to its end. */
export async function chipboard(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const child = start(args, options);
  const closed = once(child, "close");
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => (output[name] += text));
  }
  // A program that ends early does not read its input; that is no failure of the test.
  child.stdin?.on("error", () => undefined).end(options.stdin ?? "");
  const timer =
    options.killAfterMs === undefined
      ? undefined
      : setTimeout(() => child.kill("SIGKILL"), options.killAfterMs);
  const [code] = await closed;
  clearTimeout(timer);
  return { code, ...output };
}
