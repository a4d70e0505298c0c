/** Whole processes of the program, and what each takes from its start to its end. */
import { chipboard } from "../../test/program/program.ts";

/** Runs the program and prints its cost at the end. */
export const MEASURED_CHILD = new URL("measured-child.ts", import.meta.url).pathname;

export interface Usage {
  readonly seconds: number;
  /** Processor time of all its threads. */
  readonly cpuSeconds: number;
  /** The peak of its resident memory in megabytes (2^20 bytes). */
  readonly rssMb: number;
  /** HTTP requests sent. */
  readonly requests: number;
}

/** Runs `chipboard ARGS` on Node with the options `flags`. Throws, with its standard error, if it fails. */
export async function runMeasured(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  flags: readonly string[] = [],
): Promise<Usage> {
  const startedAt = performance.now();
  const { code, stdout, stderr } = await chipboard(args, { script: MEASURED_CHILD, env, flags });
  const seconds = (performance.now() - startedAt) / 1_000;
  if (code !== 0) throw new Error(`chipboard ${args.join(" ")} ended with ${code}: ${stderr}`);
  return {
    seconds,
    cpuSeconds: printed(stdout, "cpu_us") / 1e6,
    rssMb: printed(stdout, "peak_mb"),
    requests: printed(stdout, "requests"),
  };
}

/** A figure that the child has printed. */
export function printed(stdout: string, name: string): number {
  const figure = new RegExp(`^${name}=(\\d+)$`, "m").exec(stdout)?.[1];
  if (figure === undefined) throw new Error(`The child printed no ${name}`);
  return Number(figure);
}
