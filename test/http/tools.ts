/**
 * Programs of the machine that tests drive. In CI all of them must be there; elsewhere a test whose
 * program is missing is skipped, and says so.
 */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { test } from "vitest";

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

/** `test` where the program is installed or must be (CI). */
export function testWith(program: string): typeof test | typeof test.skip {
  if (process.env["CI"] !== undefined || isInstalled(program)) return test;
  console.warn(`${program} is not installed: its tests are skipped. CI runs them.`);
  return test.skip;
}
