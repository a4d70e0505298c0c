/** `chipboard` as an operator runs it, in a process of its own at the soak's time. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { endWithUs } from "../bench/child.ts";
import { BIN } from "../bench/program.ts";

export interface Ran {
  /** Null where it was killed. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

/** Runs `chipboard ARGS` to its end in this environment, or kills it (SIGKILL) after `killAfterMs`. */
export async function runChipboard(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  killAfterMs: number | null = null,
): Promise<Ran> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [BIN, ...args], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  endWithUs(child);
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => (output[name] += text));
  }
  const timer =
    killAfterMs === null ? undefined : setTimeout(() => child.kill("SIGKILL"), killAfterMs);
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(timer);
  return { code, ...output, ms: performance.now() - startedAt };
}

/** Throws where a run did not end with one of these exit codes. */
export function requireCode(ran: Ran, what: string, ...codes: (number | null)[]): void {
  if (codes.includes(ran.code)) return;
  throw new Error(`${what} ended with ${ran.code}, expected ${codes.join(" or ")}: ${ran.stderr}`);
}
