/** The program as its users start it, and what it may say when a disk fails it. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { endWithUs } from "../bench/child.ts";

const BIN = join(import.meta.dirname, "../../bin/chipboard.ts");
/** The same without root's rights. */
const AS_NOBODY = join(import.meta.dirname, "../process/setuid.ts");

export interface ProgramOptions {
  readonly cwd: string;
  /** The instant that its clock starts at. */
  readonly now: string;
  /** No file that it writes may be larger. */
  readonly fileLimitKilobytes?: number;
  readonly isUnprivileged?: boolean;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `chipboard ARGS` to its end. */
export async function program(
  args: readonly string[],
  { cwd, now, fileLimitKilobytes, isUnprivileged = false }: ProgramOptions,
): Promise<Ended> {
  const bin = isUnprivileged && process.getuid?.() === 0 ? AS_NOBODY : BIN;
  const limit = fileLimitKilobytes === undefined ? "" : `ulimit -f ${fileLimitKilobytes}; `;
  const child = spawn("bash", ["-c", `${limit}exec "$@"`, "bash", process.execPath, bin, ...args], {
    cwd,
    env: { PATH: process.env["PATH"] ?? "", CHIPBOARD_NOW: now },
    stdio: ["ignore", "pipe", "pipe"],
  });
  endWithUs(child);
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => (said[name] += text));
  }
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...said };
}

/** Throws where the program did not end with this code and one clear error of this kind. */
export function requireFailure({ code, stderr }: Ended, expected: number, reason: RegExp): void {
  assert.equal(code, expected, stderr);
  const error = stderr.split("\n").find((line) => line.startsWith("error: "));
  assert.match(error ?? stderr, reason);
  assert.doesNotMatch(stderr, /^ +at |node:internal/m);
}
