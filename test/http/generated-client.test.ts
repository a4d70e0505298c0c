/**
 * A client that a public generator makes of /openapi.json (openapi-typescript, openapi-fetch):
 * it type-checks, and reads every endpoint. Its packages are in test/client.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startTestProxy } from "./fixture.ts";

const CLIENT = fileURLToPath(new URL("../client", import.meta.url));
const isInstalled = existsSync(join(CLIENT, "node_modules"));
if (!isInstalled) {
  console.warn(
    "test/client is not installed (npm ci --prefix test/client): its test is skipped. CI runs it.",
  );
}
const run = promisify(execFile);

const testClient = isInstalled || process.env["CI"] !== undefined ? test : test.skip;
testClient(
  "a generated client type-checks and reads every endpoint",
  { timeout: 120_000 },
  async () => {
    const proxy = await startTestProxy();
    const folder = await mkdtemp(join(tmpdir(), "chipboard-client-"));
    try {
      const tool = (name: string, ...args: string[]) =>
        run(join(CLIENT, "node_modules", ".bin", name), args, { cwd: folder });
      await symlink(join(CLIENT, "node_modules"), join(folder, "node_modules"));
      for (const file of ["package.json", "tsconfig.json", "read-all.ts"]) {
        await copyFile(join(CLIENT, file), join(folder, file));
      }
      const { text, json } = await proxy.get("/openapi.json");
      await writeFile(join(folder, "openapi.json"), text);
      await tool("openapi-typescript", "openapi.json", "-o", "openapi.d.ts");
      await tool("tsc", "-p", "tsconfig.json").catch((error: { stdout: string }) => {
        throw new Error(`The client does not type-check:\n${error.stdout}`);
      });
      const { stdout } = await run(process.execPath, ["read-all.ts", proxy.url, proxy.pro], {
        cwd: folder,
      });
      const read = JSON.parse(stdout);
      expect(read).toMatchObject({
        records: 15,
        lastIsSpot: true,
        index: ["composite", "equal"],
        basket: ["basket", "custom", 2],
        csvHeader: ["session_utc", "contract_id"],
        account: "large",
        health: "ok",
        overdue: 0,
        isRoot: true,
        signature: "not_published",
        openapi: json.openapi,
        code: "key_required",
      });
      expect(read.xlsxBytes).toBeGreaterThan(5_000);
      // A wrong type must fail: otherwise the check above proves nothing.
      await writeFile(
        join(folder, "wrong.ts"),
        'import type { components } from "./openapi.d.ts";\nexport const id: components["schemas"]["ContractRecord"]["id"] = 1;\n',
      );
      await expect(tool("tsc", "-p", "tsconfig.json")).rejects.toThrow();
    } finally {
      await proxy.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
);
