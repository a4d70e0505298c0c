/** Runs the program like a user, in a clean environment, and collects its output. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { vi } from "vitest";
import { run } from "../../src/main.ts";

const BIN = join(import.meta.dirname, "../../bin/chipboard.ts");
const AS_NOBODY = join(import.meta.dirname, "../process/setuid.ts");

/** The start of the tests' clocks: five minutes into their session. */
export const NOW = "2026-11-21T00:05:00Z";

export interface RunOptions {
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  /** Its standard input; empty by default. */
  readonly stdin?: string;
  /** Run without the rights of root: as the user nobody if the tests run as root. */
  readonly unprivileged?: true;
  /** Kill it (SIGKILL) after this time. */
  readonly killAfterMs?: number;
}

export interface Ran {
  /** Null if it was killed. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts `chipboard ARGS`. The environment holds a path, the clock's start, and `env`. */
export function start(args: readonly string[], options: RunOptions = {}): ChildProcess {
  const asNobody = options.unprivileged === true && process.getuid?.() === 0;
  return spawn(process.execPath, [asNobody ? AS_NOBODY : BIN, ...args], {
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
  // A program that ends early does not read its input. The test must not fail for that.
  child.stdin?.on("error", () => undefined).end(options.stdin ?? "");
  const timer =
    options.killAfterMs === undefined
      ? undefined
      : setTimeout(() => child.kill("SIGKILL"), options.killAfterMs);
  const [code] = await closed;
  clearTimeout(timer);
  return { code, ...output };
}

/**
 * The same within this process, which is many times faster; one at a time. Settings of the tester's
 * own (AWS_…, CHIPBOARD_…) are hidden. For tests that need neither standard input nor another user.
 */
export async function inProcess(
  args: readonly string[],
  { env = {}, cwd = process.cwd() }: Pick<RunOptions, "env" | "cwd"> = {},
): Promise<Ran> {
  const output = { stdout: "", stderr: "" };
  const spies = (["stdout", "stderr"] as const).map((name) =>
    vi.spyOn(process[name], "write").mockImplementation((text) => {
      output[name] += String(text);
      return true;
    }),
  );
  for (const name of Object.keys(process.env))
    if (/^(AWS_|CHIPBOARD_)/.test(name)) vi.stubEnv(name, undefined);
  for (const [name, value] of Object.entries({ CHIPBOARD_NOW: NOW, ...env }))
    vi.stubEnv(name, value);
  const before = process.cwd();
  process.chdir(cwd);
  try {
    const code = await run([process.execPath, BIN, ...args]);
    return { code, ...output };
  } finally {
    process.chdir(before);
    vi.unstubAllEnvs();
    for (const spy of spies) spy.mockRestore();
  }
}
