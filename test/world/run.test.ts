/** `npm run world`, and the planted faults. */
import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");

test("planted faults are found: one in the store, one in the state, one in the core", async () => {
  for (const name of ["archive-newest-stamp", "verdicts-admit-revoked", "prune-keeps-only-head"]) {
    const { code, stdout } = await run(["--planted", name]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/: seed \d+: .*\n1 of 1 found\n$/)]);
  }
});

test("every planted fault fits the sources", async () => {
  const planted = join(import.meta.dirname, "planted");
  for (const file of await readdir(planted))
    await promisify(execFile)("git", ["apply", "--check", join(planted, file)], { cwd: ROOT });
});

test("a command without sense is refused, with the way on", async () => {
  expect(await run(["--seed", "no"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("expected a number from 1 to 999999999"),
  });
});

async function run(args: readonly string[]) {
  const child = promisify(execFile)(process.execPath, [
    join(import.meta.dirname, "run.ts"),
    ...args,
  ]);
  return child.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      stdout,
      stderr,
    }),
  );
}
