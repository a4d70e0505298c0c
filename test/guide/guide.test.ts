/** The answers in the guide are real, and its commands and programs run as they stand there. */
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import examples from "../../src/docs/examples.json" with { type: "json" };
import { PROBLEMS } from "../../src/api/problems.ts";
import { withDuckDb } from "../../tools/client/sql.ts";
import { startTestProxy, type TestProxy } from "../http/fixture.ts";
import { testWith, testWithClients } from "../http/needed-tools.ts";
import { blocksOf } from "../docs/blocks.ts";
import { askAll } from "./asked-answers.ts";
import { run } from "./programs.ts";
import type { Example } from "./example-service.ts";
import { programsUnder, textOf, under } from "./guide-texts.ts";

const GUIDE = textOf("documents/guide.md");
/** Debian installs pandas for this one. */
const PYTHON = "/usr/bin/python3";

/** Without digests of manifests: two machines may code the same bytes differently. */
const comparable = (answers: readonly Pick<Example, "body">[]): unknown =>
  answers.map((answer) => ({
    ...answer,
    body: answer.body
      .replaceAll(/"(manifest_sha256|previous)":"\w{64}"/g, '"$1":""')
      .replaceAll(/urn:uuid:[\w-]{36}/g, "urn:uuid:"),
  }));

test("its answers equal the proxy's", async () => {
  expect(comparable(await askAll())).toEqual(comparable(examples));
});

test("every code is refused in one of them, with the status of the table", () => {
  const refused = examples
    .filter(({ status }) => status >= 400)
    .map(({ body }) => JSON.parse(body));
  for (const [code, { status }] of Object.entries(PROBLEMS)) {
    expect(refused).toContainEqual(expect.objectContaining({ code, status }));
  }
});

test("its example of a back-test differs by the correction", () => {
  const bodyOf = (path: string): string =>
    examples.find(({ request }) => request === `GET /api/public/v1/${path}`)?.body ?? "";
  const [then, now] = ["history.csv?publication=1", "history.csv"].map((path) =>
    bodyOf(path).split("\n"),
  );
  const changed = then?.filter((line) => !now?.includes(line));
  expect(changed).toEqual([expect.stringMatching(/^ddr5-16gb,2026-11-20,2\.94,/)]);
  expect(now).toContainEqual(expect.stringMatching(/^ddr5-16gb,2026-11-20,2\.95,/));
  expect(GUIDE).toMatch(/at 2\.94 on 2026-11-20\.[^]{0,60} have 2\.95,/);
});

describe("its commands and programs", () => {
  let proxy: TestProxy;
  let guide: string;
  let folder: string;
  beforeAll(async () => {
    proxy = await startTestProxy();
    guide = (await proxy.get("/guide.md")).text;
    folder = await mkdtemp(join(tmpdir(), "chipboard-guide-"));
    await inShell(block("The Python module"));
  });
  afterAll(async () => {
    await proxy.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** A block of the served guide, with nothing changed but the key's place. */
  const block = (heading: string, at = 0): string =>
    programsUnder(guide, heading)[at]?.text.replace("KEY=cbk_...", `KEY=${proxy.pro}`) ?? "";

  /** Runs it, and returns its output. It must end well and complain of nothing. */
  async function printed(program: string, ...args: string[]): Promise<string> {
    const strict = program.endsWith("python3") ? ["-W", "error"] : [];
    const { code, stdout, stderr } = await run(program, [...strict, ...args], folder, proxy.pro);
    expect([code, stderr]).toEqual([0, ""]);
    return stdout;
  }

  const inShell = (text: string): Promise<string> => printed("sh", "-ec", text);

  testWith("curl")("the first call, and the first one with a key", async () => {
    expect(JSON.parse(await inShell(block("Get a key"))).delayed_sessions).toBe(1);
    expect(JSON.parse(await inShell(block("Get a key", 1)))).toMatchObject({ tier: "pro" });
  });

  testWith("curl")("the export", async () => {
    const saved = (): Promise<string> =>
      inShell(`${block("Export to a spreadsheet").trimEnd()} -w '%{http_code}'`);
    expect(await saved()).toMatch(/200$/);
    expect(await saved()).toMatch(/304$/);
  });

  testWith("curl")("proof", async () => {
    const [ok, entry] = (await inShell(block("Proof"))).split("\n");
    expect(ok).toBe("export.csv: OK");
    expect(JSON.parse(entry ?? "")).toMatchObject({
      number: 1,
      roots: { pro: expect.any(String) },
    });
  });

  testWith("wget")("user and password", async () => {
    await inShell(block("User and password"));
    const files = ["board.csv", "export.csv"].map((name) => readFile(join(folder, name)));
    const [byCurl, byWget] = await Promise.all(files);
    expect(byCurl?.toString()).toMatch(/^session_utc,contract_id,/);
    expect(byCurl).toEqual(byWget);
  });

  testWith("python3")("Python", async () => {
    expect(await printed("python3", "-Bc", block("The Python module", 1))).toMatch(/^dram-0 11 /m);
  });

  testWith("python3")("a bill of materials", async () => {
    const [bill] = blocksOf(under(guide, "A bill of materials"));
    await writeFile(join(folder, "bill.csv"), bill?.text ?? "");
    const lines = (await printed("python3", "-Bc", block("A bill of materials"))).split("\n");
    expect(lines).toHaveLength(1 + 52 + 1);
    // dram-0 and nand-0 are served in the place of the example's contracts.
    expect(lines[0]).toBe(`now ${64 * 11 + 2 * 12}.00 without new-part`);
  });

  testWith("python3")("the board, the same in three languages", async () => {
    const [curl = "", python = "", js = ""] = [0, 1, 2].map((at) => block("Read the board", at));
    const { memory, semiconductor } = JSON.parse(await inShell(curl));
    const levels = [...memory, ...semiconductor].map(({ id, spot_usd }) => `${id} ${spot_usd}`);
    expect(levels.length).toBeGreaterThan(10);
    const printedBy = (text: string): string[] => text.trimEnd().split("\n");
    expect(printedBy(await printed("python3", "-Bc", python))).toEqual(levels);
    await writeFile(join(folder, "board.mjs"), js);
    expect(printedBy(await printed(process.execPath, "board.mjs"))).toEqual(levels);
  });

  testWith("python3")("a history, the same in three languages", async () => {
    const [curl = "", python = "", js = ""] = [0, 1, 2].map((at) =>
      block("One contract's history", at),
    );
    const closes = JSON.parse(await inShell(curl)).history.map(
      ({ date, close_usd }: { date: string; close_usd: number }) => `${date} ${close_usd}`,
    );
    expect(closes).toHaveLength(30);
    const numbers = (text: string): string[] => text.trimEnd().replaceAll(".0\n", "\n").split("\n");
    expect(numbers(await printed("python3", "-Bc", python))).toEqual(closes);
    await writeFile(join(folder, "history.mjs"), js);
    expect(numbers(await printed(process.execPath, "history.mjs"))).toEqual(closes);
  });

  testWith(PYTHON, "pandas")("pandas", async () => {
    const stdout = await printed(PYTHON, "-Bc", block("pandas"));
    expect(stdout).toMatch(/^DRAM +-?[\d.]+$/m);
    expect(stdout).toMatch(/^long-gone +7\.25$/m);
  });

  test("a part of the histories", async () => {
    await symlink(join(import.meta.dirname, "../../node_modules"), join(folder, "node_modules"));
    await writeFile(join(folder, "parts.mjs"), block("A part of the Parquet file"));
    const stdout = await printed(process.execPath, "parts.mjs");
    expect(stdout).toMatch(/^\d{4,} \{\s+contract_id: 'dram-0',\s+date: 2024-11-21T00:00:00.000Z,/);
  });

  testWithClients()("DuckDB", async () => {
    await inShell(block("DuckDB"));
    const query = block("DuckDB", 1).replace("'history", `'${folder}/history`);
    const rows = await withDuckDb((ask) => ask(query));
    expect(rows).toContainEqual(["new-unit", 20]);
  });

  test("Power Query gets the type of each column of the board", async () => {
    const { text } = blocksOf(guide).find(({ language }) => language === "powerquery") ?? {
      text: "",
    };
    const listed = (name: string): string[] => {
      const [, list = ""] = new RegExp(`  ${name} = \\{([^}]*)\\}`).exec(text) ?? [];
      return [...list.matchAll(/"(\w+)"/g)].map(([, column = ""]) => column);
    };
    const forms: [list: string, form: RegExp][] = [
      ["Numbers", /^-?\d+(?:\.\d+)?$/],
      ["Dates", /^\d{4}-\d{2}-\d{2}$/],
      ["Instants", /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/],
    ];
    const csv = (await proxy.get("/api/public/v1/export.csv", { key: proxy.pro })).text;
    const [header = [], ...rows] = parse(csv);
    for (const [at, column] of header.entries()) {
      const values = rows.map((row) => row[at] ?? "").filter((value) => value !== "");
      if (values.length === 0) continue;
      const fits = forms.filter(([, form]) => values.every((value) => form.test(value)));
      const types = forms.filter(([list]) => listed(list).includes(column));
      expect([column, types.map(([list]) => list)]).toEqual([column, fits.map(([list]) => list)]);
    }
    expect(
      forms.flatMap(([list]) => listed(list)).filter((name) => !header.includes(name)),
    ).toEqual([]);
  });

  test("are all of those in the guide, but for those that it says were not run", () => {
    const ran = [
      "Get a key",
      "Read the board",
      "One contract's history",
      "The Python module",
      "A copy in SQLite",
      "A back-test in Python",
      "A back-test from two files",
      "User and password",
      "A bill of materials",
      "Proof",
    ];
    const languages = ["sh", "python", "js", "sql", "powerquery"];
    const programs = blocksOf(guide).filter(({ language }) => languages.includes(language));
    const known = ran.flatMap((heading) => programsUnder(guide, heading)).map(({ text }) => text);
    known.push(block("Export to a spreadsheet"));
    const untried = programs.filter(({ text }) => !known.includes(text));
    expect(untried).toHaveLength(1);
    for (const { before } of untried) expect(before).toMatch(/[Ww]e have not (?:run|tried)/);
  });
});
