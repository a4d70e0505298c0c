/** The package chipboard-client: its own tests against a service, its types, its version, and many ids. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { expect, test } from "vitest";
import type { z } from "zod";
import { withRecords } from "../../src/docs/client-records.ts";
import { PROGRAM } from "../../src/lib/version.ts";
import { boardRow } from "../../src/public/payload-schemas.ts";
import { API } from "../../src/public/routes.ts";
import * as rows from "../../src/public/row-schemas.ts";
import { pythonClient } from "../../src/site/site-files.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { catalogOf, mustPublish, quotesOf } from "../cli/small-market.ts";
import { temporaryFolder } from "../desk/desk.ts";
import { blocksOf } from "../docs/blocks.ts";
import { EXPECTED } from "../golden/golden-market.ts";
import { copyOf, startTestProxy, TestClock } from "../http/fixture.ts";
import { CLIENTS, testWith } from "../http/needed-tools.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { clientOf, ORIGIN, textOf } from "./guide-texts.ts";
import { PRELUDE, PythonClient } from "./python-client.ts";

const PACKAGE = join(import.meta.dirname, "../../clients/python");
/** Debian installs pytest and pandas for this one. */
const PYTHON = "/usr/bin/python3";

/** The output if it fails; empty if it ends well. */
const failureOf = (
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<string> =>
  new Promise((resolve) => {
    const options = { cwd: PACKAGE, env: { ...process.env, ...env } };
    execFile(program, args, options, (error, stdout, stderr) =>
      resolve(error === null ? "" : `${stdout}${stderr}${error.message}`),
    );
  });

testWith(PYTHON, "pytest, pandas")("its own tests pass against a service", async () => {
  const clock = new TestClock(Date.parse("2026-11-21T00:30:00Z"));
  const proxy = await startTestProxy({ store: await copyOf(new FolderStore(EXPECTED)), clock });
  try {
    const env = { CHIPBOARD_URL: proxy.url, CHIPBOARD_KEY: proxy.pro };
    const args = ["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"];
    expect(await failureOf(PYTHON, args, env)).toBe("");
  } finally {
    await proxy.close();
  }
});

const PYRIGHT = join(CLIENTS, "node_modules/pyright/index.js");
test.skipIf(!existsSync(PYRIGHT) && process.env["CI"] === undefined)(
  "pyright finds nothing in its strict mode, for the oldest Python that it supports",
  async () => {
    expect(await failureOf(process.execPath, [PYRIGHT, "--project", PACKAGE])).toBe("");
    const config = await readFile(join(PACKAGE, "pyproject.toml"), "utf8");
    expect(config).toContain('typeCheckingMode = "strict"\npythonVersion = "3.9"\n');
    expect(config).toContain('requires-python = ">=3.9"\n');
  },
);

test.skipIf(!existsSync(PYRIGHT) && process.env["CI"] === undefined)(
  "pyright finds nothing in the guide's programs",
  async () => {
    const folder = temporaryFolder();
    await writeFile(join(folder, "client.py"), clientOf(ORIGIN));
    const programs = blocksOf(textOf("documents/guide.md"))
      .filter(({ language }) => language === "python")
      .map(({ text }) => text);
    expect(programs.length).toBeGreaterThan(5);
    for (const [at, program] of programs.entries()) {
      await writeFile(join(folder, `program_${at}.py`), program);
    }
    const config = { pythonVersion: "3.9", reportMissingImports: false };
    await writeFile(join(folder, "pyrightconfig.json"), JSON.stringify(config));
    expect(await failureOf(process.execPath, [PYRIGHT, "--project", folder])).toBe("");
  },
);

test("has the records of the service's schemas; if not, run npm run regenerate", () => {
  expect(pythonClient()).toBe(withRecords(pythonClient()));
});

/** Files of a session, each with the schema of its rows. */
const ROWS: readonly (readonly [file: string, row: z.ZodObject])[] = [
  ["export.csv", boardRow],
  ["history.csv", rows.historyRow],
  ["levels.csv", rows.levelRow],
  ["superseded.csv", rows.supersededRow],
  ["indices.csv", rows.seriesRow],
  ["members.csv", rows.memberRow],
];

test.each(ROWS)("each row of /%s is as its schema says", async (file, row) => {
  const clock = new TestClock(Date.parse("2026-11-21T00:30:00Z"));
  const proxy = await startTestProxy({ store: await copyOf(new FolderStore(EXPECTED)), clock });
  try {
    const { text } = await proxy.get(`${API}/${file}`, { key: proxy.pro });
    const [header = [], ...records]: string[][] = parse(text);
    expect(header.join(",")).toBe(rows.headerOf(row));
    for (const record of records) {
      const cells = header.map((name, at) => {
        const cell = record[at] === "" ? null : record[at];
        const isAsItIs = row.shape[name]?.safeParse(cell).success === true;
        return [name, isAsItIs ? cell : Number(cell)];
      });
      expect(() => row.parse(Object.fromEntries(cells))).not.toThrow();
    }
  } finally {
    await proxy.close();
  }
});

test("has the version of the program, as Python writes it", async () => {
  const text = await readFile(join(PACKAGE, "chipboard_client/__init__.py"), "utf8");
  const [, version] = /^__version__ = "(.*)"$/m.exec(text) ?? [];
  expect(version).toBe(PROGRAM.version.replace("-dev", ".dev0"));
});

testWith("python3")(
  "more than 100 ids are asked for in several calls, of one publication",
  async () => {
    const ids = Array.from({ length: 250 }, (_, at) => `part-${at}`);
    const store = new MemoryStore();
    await mustPublish(store, {
      catalog: catalogOf(ids),
      quotes: quotesOf(Object.fromEntries(ids.map((id, at) => [id, at + 1]))),
    });
    const proxy = await startTestProxy({ store });
    const client = await PythonClient.download(proxy.url, proxy.pro);
    try {
      const printed = await client.print(`${PRELUDE}client = Client(key=key)
ids = [f"part-{at}" for at in range(250)]
for call in (client.prices, client.history, client.levels, client.superseded, client.corrections):
    rows, used = call(ids), client.usage()["used"]
    print(len(rows), used, rows.about["publication"], rows == client.as_of(1).prices(ids) if call == client.prices else "")
print([row["id"] for row in client.prices(ids)] == ids, len(client.as_of(1).history(set(ids + ids))))
`);
      expect(printed).toBe("250 3 1 True\n250 7 1 \n250 10 1 \n0 13 1 \n0 16 1 \nTrue 250\n");
    } finally {
      await proxy.close();
      await client.remove();
    }
  },
);
