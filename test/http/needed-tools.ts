/**
 * Programs that tests run. In CI all of them must be installed; elsewhere a test whose
 * program is missing is skipped with a message.
 */
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { test } from "vitest";

/** The programs of callers, which have an install of their own. */
export const CLIENTS = join(import.meta.dirname, "../../tools/client");

export function isInstalled(program: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

export type AnyTest = typeof test | typeof test.skip;

/** `test` if the program, with this module of Python, is installed or must be (CI). */
export function testWith(program: string, module?: string): AnyTest {
  if (process.env["CI"] !== undefined) return test;
  const isThere =
    module === undefined
      ? isInstalled(program)
      : spawnSync(program, ["-c", `import ${module}`]).status === 0;
  if (isThere) return test;
  console.warn(`${module ?? program} is not installed: its tests are skipped. CI runs them.`);
  return test.skip;
}

/** `test` if the programs of callers are installed or must be (CI). */
export function testWithClients(): AnyTest {
  if (process.env["CI"] !== undefined || existsSync(join(CLIENTS, "node_modules"))) return test;
  console.warn("npm run install:tools has not run: tests of callers' programs are skipped.");
  return test.skip;
}

/** `test` if a program can run without the rights of root here (StartOptions.unprivileged), or must (CI). */
export function testUnprivileged(): AnyTest {
  if (process.env["CI"] !== undefined || process.getuid?.() !== 0) return test;
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    if ((statSync(folder).mode & constants.S_IXOTH) === 0) {
      console.warn(`Only root can read ${folder}: tests of other users are skipped. CI runs them.`);
      return test.skip;
    }
  }
  return test;
}
