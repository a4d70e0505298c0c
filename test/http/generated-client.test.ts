/**
 * Clients that public generators make of /openapi.json: they compile in strict mode, and read a running proxy, also with
 * lists as arrays. Their packages are in tools/client.
 */
import { execFile } from "node:child_process";
import { copyFile, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { FREE_IDS, startTestProxy } from "./fixture.ts";
import { CLIENTS, testWithClients } from "./needed-tools.ts";

const run = promisify(execFile);
const IDS = FREE_IDS.slice(0, 2);

interface Generator {
  readonly name: string;
  readonly command: readonly string[];
  /** Files of tools/client; the last one is the program. */
  readonly files: readonly string[];
  readonly compilerOptions?: readonly string[];
  /** A program that must not compile: otherwise a compiled one proves nothing. */
  readonly wrong: string;
  /** What its program reads beside lists. */
  readonly alsoReads?: object;
}

const GENERATORS: readonly Generator[] = [
  {
    name: "openapi-typescript with openapi-fetch",
    command: ["openapi-typescript", "openapi.json", "-o", "openapi.d.ts"],
    files: ["read-all.ts"],
    wrong: `import type { components } from "./openapi.d.ts";
export const id: components["schemas"]["ContractRecord"]["id"] = 1;`,
    alsoReads: {
      records: 15,
      lastIsSpot: true,
      index: ["composite", "equal"],
      boardHeader: ["session_utc", "contract_id"],
      xlsxStart: "PK",
      account: "large",
      health: "ok",
      overdue: 0,
      isRoot: true,
      openapi: "3.1.0",
    },
  },
  {
    name: "Hey API",
    command: ["openapi-ts", "-f", "hey-api.config.js", "--no-log-file"],
    files: ["hey-api.config.js", "read-hey-api.ts"],
    // The code that it adds to each client does not compile with this option, whatever the document.
    compilerOptions: ["--exactOptionalPropertyTypes", "false"],
    wrong: `import type { GetBoardData } from "./hey-api/types.gen.ts";
export const query: GetBoardData["query"] = { ids: "a,b" };`,
  },
  {
    name: "Orval",
    command: ["orval", "--config", "orval.config.js"],
    files: ["orval.config.js", "read-orval.ts"],
    wrong: `import type { GetBoardParams } from "./orval.ts";
export const query: GetBoardParams = { ids: "a,b" };`,
  },
];

testWithClients().each(GENERATORS)(
  "a client of $name compiles and reads lists",
  async ({ command, files, compilerOptions = [], wrong, alsoReads = {} }) => {
    const proxy = await startTestProxy();
    const folder = await mkdtemp(join(tmpdir(), "chipboard-client-"));
    const tool = (name: string, ...args: string[]) =>
      run(join(CLIENTS, "node_modules", ".bin", name), args, { cwd: folder });
    try {
      await symlink(join(CLIENTS, "node_modules"), join(folder, "node_modules"));
      for (const file of ["package.json", "tsconfig.json", ...files]) {
        await copyFile(join(CLIENTS, file), join(folder, file));
      }
      const { json } = await proxy.get("/openapi.json");
      // Without --public-url it does not know the address that callers use.
      const document = { ...json, servers: [{ url: proxy.url }] };
      await writeFile(join(folder, "openapi.json"), JSON.stringify(document));
      const [generator = "", ...args] = command;
      await tool(generator, ...args);
      await tool("tsc", "-p", "tsconfig.json", ...compilerOptions).catch(
        (error: { stdout: string }) => {
          throw new Error(`The client does not compile:\n${error.stdout}`);
        },
      );
      const program = files.at(-1) as string;
      const { stdout } = await run(process.execPath, [program, proxy.url, proxy.pro, ...IDS], {
        cwd: folder,
      });
      expect(JSON.parse(stdout)).toMatchObject({
        ids: IDS,
        basket: ["custom", 2],
        csvHeader: ["contract_id", "date"],
        code: "key_required",
        ...alsoReads,
      });
      await writeFile(join(folder, "wrong.ts"), wrong);
      await expect(tool("tsc", "-p", "tsconfig.json", ...compilerOptions)).rejects.toThrow();
    } finally {
      await proxy.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
);
