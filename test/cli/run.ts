/** Runs the program within the tests' process, and collects its output. */
import { vi } from "vitest";
import { run } from "../../src/main.ts";
import { BIN, NOW, type Ran, type RunOptions } from "../program/program.ts";
import { beginFolder } from "../store/begun.ts";

/**
 * Runs `chipboard ARGS` in this process, which is many times faster than a process of its own. Only
 * one run at a time. Hides the tester's own settings (AWS_…, CHIPBOARD_…, …_PROXY).
 */
export async function inProcess(
  args: readonly string[],
  { env = {}, cwd = process.cwd(), begins = true }: Pick<RunOptions, "env" | "cwd" | "begins"> = {},
): Promise<Ran> {
  const output = { stdout: "", stderr: "" };
  const spies = (["stdout", "stderr"] as const).map((name) =>
    vi.spyOn(process[name], "write").mockImplementation((text) => {
      output[name] += String(text);
      return true;
    }),
  );
  for (const name of Object.keys(process.env))
    if (/^(AWS_|CHIPBOARD_)|_proxy$/i.test(name)) vi.stubEnv(name, undefined);
  for (const [name, value] of Object.entries({ CHIPBOARD_NOW: NOW, ...env }))
    vi.stubEnv(name, value);
  const end = begins ? await beginFolder(args, { cwd, env }) : null;
  const before = process.cwd();
  process.chdir(cwd);
  try {
    const code = await run([process.execPath, BIN, ...args]);
    return { code, ...output };
  } finally {
    process.chdir(before);
    vi.unstubAllEnvs();
    for (const spy of spies) spy.mockRestore();
    await end?.();
  }
}
