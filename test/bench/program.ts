/** The real program: its command line, run to its end, in an environment without settings. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

export const BIN = new URL("../../bin/chipboard.ts", import.meta.url).pathname;

/** The environment of every run: where programs are, and when the clock starts (ISO 8601). */
export const chipboardEnv = (now: string): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "",
  CHIPBOARD_NOW: now,
});

/** Runs `chipboard ARGS` and returns its standard output. Throws, with what it said, if it fails. */
export async function chipboard(args: readonly string[], now: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [BIN, ...args], {
    env: chipboardEnv(now),
  });
  return stdout;
}
