/** The checks run beside the tests, so that neither waits for the other. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const isInstalled = existsSync(join(ROOT, "tools/node_modules"));
if (!isInstalled) console.warn("npm run install:tools has not run: the checks are skipped.");

test.skipIf(!isInstalled && process.env["CI"] === undefined)(
  "npm run check: types, linter, format",
  async () => {
    const found = await promisify(execFile)("npm", ["run", "check"], { cwd: ROOT }).then(
      () => "",
      ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
    );
    expect(found).toBe("");
  },
);
