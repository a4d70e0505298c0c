/**
 * A client that a public generator makes of /openapi.json (openapi-typescript, openapi-fetch):
 * it type-checks, and reads every endpoint. Its packages are in tools/client.
 */
import { execFile } from "node:child_process";
import { copyFile, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { startTestProxy } from "./fixture.ts";
import { CLIENTS, testWithClients } from "./needed-tools.ts";

const run = promisify(execFile);

testWithClients()("a generated client type-checks and reads every endpoint", async () => {
  const proxy = await startTestProxy();
  const folder = await mkdtemp(join(tmpdir(), "chipboard-client-"));
  try {
    const tool = (name: string, ...args: string[]) =>
      run(join(CLIENTS, "node_modules", ".bin", name), args, { cwd: folder });
    await symlink(join(CLIENTS, "node_modules"), join(folder, "node_modules"));
    for (const file of ["package.json", "tsconfig.json", "read-all.ts"]) {
      await copyFile(join(CLIENTS, file), join(folder, file));
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
});
