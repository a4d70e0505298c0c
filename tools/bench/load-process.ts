/** Loads of our own, each in a process of its own on the core of the loads. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { endWithUs } from "../../test/program/program.ts";
import { LOAD_CORE } from "./server-process.ts";

/** Runs the script of a load, and returns its output, parsed as JSON. */
export async function runLoad<T>(
  script: string,
  args: readonly (string | number)[],
  niceness = 0,
): Promise<T> {
  const file = new URL(script, import.meta.url).pathname;
  const words = ["-n", String(niceness), "taskset", "-c", LOAD_CORE, process.execPath, file];
  const child = spawn("nice", [...words, ...args.map(String)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  endWithUs(child);
  const ended = once(child, "exit");
  const printed = await text(child.stdout);
  const [code] = await ended;
  if (code !== 0) throw new Error(`${script} ended with ${String(code)}`);
  return JSON.parse(printed) as T;
}
