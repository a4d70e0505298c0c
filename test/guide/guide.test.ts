/** The answers in the guide are real, its formulas give the published numbers, and its recipes run. */
import { DuckDBConnection } from "@duckdb/node-api";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import examples from "../../src/proxy/docs/examples.json" with { type: "json" };
import { INDICES } from "../../src/proxy/docs/guide-indices.ts";
import { NUMBERS, RECIPES } from "../../src/proxy/docs/guide-text.ts";
import { guidePage } from "../../src/proxy/docs/guide.ts";
import { escaped } from "../../src/proxy/docs/html.ts";
import { PROBLEMS } from "../../src/proxy/problems.ts";
import { RECORD_COLUMNS } from "../../src/render/columns.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { catalogOf, headJson, lines, mustPublish } from "../cli/market.ts";
import { startTestProxy, type TestProxy } from "../http/fixture.ts";
import { testWith } from "../http/tools.ts";
import { askAll } from "./answers.ts";

const run = promisify(execFile);
/** Debian installs pandas for this one. */
const PYTHON = "/usr/bin/python3";

test("its answers are those of the proxy", async () => {
  expect(await askAll()).toEqual(examples);
});

test("every code is refused in one of them, with the status of the table", () => {
  const refused = examples
    .filter(({ status }) => status >= 400)
    .map(({ body }) => JSON.parse(body));
  for (const [code, { status }] of Object.entries(PROBLEMS)) {
    expect(refused).toContainEqual(expect.objectContaining({ code, status }));
  }
});

describe("its worked example", () => {
  const answerTo = (path: string): { [name: string]: number } =>
    JSON.parse(
      examples.find(({ request, tier }) => request === path && tier === "pro")?.body ?? "",
    );
  const percent = (ratio: number): number => Number(((ratio - 1) * 100).toFixed(2));

  test("changes", () => {
    const contract = answerTo("GET /api/public/v1/prices/ddr5-16gb");
    const changes = [percent(3 / 2.9), percent(3 / 2.4), percent(3 / 2)];
    expect(changes).toEqual([
      contract["chg_24h_pct"],
      contract["chg_30d_pct"],
      contract["chg_yoy_pct"],
    ]);
    for (const change of changes) expect(NUMBERS).toContain(`${change} %`);
    expect(NUMBERS).toContain(`here\n${contract["prev_as_of"]}. If`);
    expect(NUMBERS).toContain(`: ${contract["low_52w_usd"]} and ${contract["high_52w_usd"]}. The`);
  });

  test("index and basket", () => {
    const index = answerTo("GET /api/public/v1/index");
    const now = (3 / 2 + 60 / 80 + 11_000 / 10_000) / 3;
    const then = (2.9 / 2 + 61.2 / 80 + 11_000 / 10_000) / 3;
    expect(index["level"]).toBe(Number((now * 100).toFixed(4)));
    expect(index["chg_24h_pct"]).toBe(percent(now / then));
    expect(NUMBERS).toContain(`= ${index["level"]}.`);
    expect(NUMBERS).toContain(`= ${then.toFixed(3)}, and`);
    expect(NUMBERS).toContain(`= ${index["chg_24h_pct"]} %`);
    const basket = answerTo("GET /api/public/v1/index?ids=ddr5-16gb,tlc-1tb&weights=60,40");
    expect(basket["level"]).toBe(Number(((0.6 * 1.5 + 0.4 * 0.75) * 100).toFixed(4)));
    expect(NUMBERS).toContain(`the ${basket["level"]} above`);
  });

  test("what quantities cost", () => {
    const ids = "ids=ddr5-16gb,tlc-1tb,n3-wafer";
    const basket = answerTo(`GET /api/public/v1/index?${ids}&quantities=64,2,0.02`);
    const cost = (d5: number, s1: number, n3: number): number => 64 * d5 + 2 * s1 + 0.02 * n3;
    const costs = {
      cost_usd: cost(3, 60, 11_000),
      cost_24h_usd: cost(2.9, 61.2, 11_000),
      cost_30d_usd: cost(2.4, 64, 10_800),
      cost_base_usd: cost(2, 80, 10_000),
    };
    for (const [field, value] of Object.entries(costs)) {
      expect([field, basket[field]]).toEqual([field, Number(value.toFixed(6))]);
      expect(NUMBERS).toMatch(RegExp(`<code>${field}</code>.*<td>${basket[field]}</td></tr>`));
    }
    const { cost_usd: now, cost_24h_usd: day, cost_30d_usd: month, cost_base_usd: year } = costs;
    expect(basket["level"]).toBe(Number(((now / year) * 100).toFixed(4)));
    expect([basket["chg_24h_pct"], basket["chg_30d_pct"]]).toEqual([
      percent(now / day),
      percent(now / month),
    ]);
    expect(basket["contributions"]).toMatchObject([{ weight_pct: 26.2295 }, {}, {}]);
    for (const text of [`= ${basket["level"]},`, `= ${percent(now / day)} %`, "= 26.2295 %"]) {
      expect(NUMBERS).toContain(text);
    }
    expect(NUMBERS).toContain(`= ${percent(now / month)} %`);
  });
});

describe("its example of a series", () => {
  const rows = [...INDICES.matchAll(/<tr><td>(\d{4}-[^]*?)<\/td><\/tr>/g)].map(([, cells = ""]) =>
    cells.split("</td><td>"),
  );
  const levels = rows.map((cells) => cells.slice(1, 4).map((cell) => Number(cell)));

  test("is what is published for its levels", async () => {
    const closes = rows.flatMap(([date, ...cells]) =>
      cells.slice(0, 3).flatMap((usd, at) => (usd === "" ? [] : [`${"abc"[at]},${date},${usd}`])),
    );
    const store = new MemoryStore();
    await mustPublish(store, {
      session: "2026-11-21T12Z",
      catalog: catalogOf(["a", "b", "c"]),
      closes: lines("id,date,close_usd", ...closes),
      acceptMoves: true,
    });
    const { series } = await headJson(store, "pro/indices/composite.json");
    expect(rows).toHaveLength(3);
    expect(series.history).toEqual(
      rows.map((cells) => ({ date: cells[0], close: Number(cells.at(-1)) })),
    );
  });

  test("has the mean of each day, of the contracts that were there the day before", () => {
    rows.slice(1).forEach((cells, at) => {
      const [before = [], now = []] = [levels[at], levels[at + 1]];
      const moves = now.flatMap((usd, place) =>
        before[place] === 0 ? [] : [Number((usd / (before[place] as number)).toFixed(6))],
      );
      const mean = moves.reduce((product, move) => product * move, 1) ** (1 / moves.length);
      const root = moves.length === 2 ? "√" : "∛";
      expect(cells[4]).toBe(`${root}(${moves.join(" × ")}) = ${mean.toFixed(1)}`);
      expect(Number(cells[5])).toBeCloseTo(Number(rows[at]?.[5]) * mean, 9);
    });
  });

  test("the other numbers of the section", () => {
    const text = INDICES.replaceAll(/\s+/g, " ");
    const percent = (from: number, to: number): number =>
      Number(((to / from - 1) * 100).toFixed(6));
    expect(text).toContain(`2.42 / 2.00 = ${2.42 / 2}`);
    expect(text).toContain(`9000 / 10000 = ${9000 / 10_000}`);
    expect(text).toContain(
      `fell by ${-percent(110, 99)} % that day, 99 / 110 − 1, and by ${-percent(100, 99)} %`,
    );
    const [up, down] = [(2 + 1) / 2, (0.5 + 1) / 2];
    expect(text).toContain(`(2 + 1) / 2 = ${up} and (0.5 + 1) / 2 = ${down}`);
    expect(text).toContain(`${up} × ${down} = ${up * down}: up ${percent(1, up * down)} %`);
    const [root, back] = [Math.sqrt(2), Math.sqrt(0.5)];
    expect(text).toContain(`√(2 × 1) = ${root.toFixed(4)} and √(0.5 × 1) = ${back.toFixed(4)}`);
    expect(root * back).toBeCloseTo(1, 12);
  });
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
  expect(guidePage()).toMatch(/at 2\.94 on 2026-11-20\.[^]{0,40} the 2\.95 of/);
});

describe("its recipes", () => {
  let proxy: TestProxy;
  let folder: string;
  beforeAll(async () => {
    proxy = await startTestProxy();
    folder = await mkdtemp(join(tmpdir(), "chipboard-guide-"));
  });
  afterAll(async () => {
    await proxy.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** The recipe from the page, with the host and a key filled in. */
  const recipe = (heading: string): string => {
    const [, after = ""] = RECIPES.split(`<h3>${heading}`);
    const text = /<pre>([^]*?)<\/pre>/.exec(after)?.[1] ?? "";
    return text.replaceAll("https://HOST", proxy.url).replaceAll("KEY", proxy.pro);
  };

  testWith("curl")("curl", async () => {
    const saved = async (): Promise<string> =>
      (await run("sh", ["-c", `${recipe("curl")} -w '%{http_code}'`], { cwd: folder })).stdout;
    expect(await saved()).toMatch(/200$/);
    expect(await saved()).toMatch(/304$/);
  });

  testWith("wget")("user and password", async () => {
    await run("sh", ["-ec", recipe("Programs with user and password")], { cwd: folder });
    const files = ["board.csv", "export.csv"].map((name) => readFile(join(folder, name)));
    const [byCurl, byWget] = await Promise.all(files);
    expect(byCurl?.toString()).toMatch(/^session_utc,contract_id,/);
    expect(byCurl).toEqual(byWget);
  });

  testWith("python3")("Python", async () => {
    const { stdout } = await run("python3", ["-c", recipe("Python, standard library")]);
    expect(stdout).toMatch(/^dram-0 11 /m);
  });

  test("JavaScript", async () => {
    const file = join(folder, "recipe.mjs");
    await writeFile(file, recipe("JavaScript"));
    expect((await run(process.execPath, [file])).stdout).toMatch(/^[\d.]+ -?[\d.]+\n$/);
  });

  testWith(PYTHON, "pandas")("pandas", async () => {
    const { stdout } = await run(PYTHON, ["-c", recipe("Python, pandas")]);
    expect(stdout).toMatch(/^DRAM +-?[\d.]+$/m);
    expect(stdout).toMatch(/^long-gone +7\.25$/m);
  });

  test("a part of the histories", async () => {
    await symlink(join(import.meta.dirname, "../../node_modules"), join(folder, "node_modules"));
    const file = join(folder, "parts.mjs");
    await writeFile(file, recipe("JavaScript, a part of the histories"));
    const { stdout } = await run(process.execPath, [file]);
    expect(stdout).toMatch(/^\d{4,} \{\s+contract_id: 'dram-0',\s+date: 2024-11-21T00:00:00.000Z,/);
  });

  testWith("curl")("DuckDB", async () => {
    await run("sh", ["-ec", recipe("DuckDB: save the histories")], { cwd: folder });
    const duck = await DuckDBConnection.create();
    const query = recipe("DuckDB: ask the file").replace("'history", `'${folder}/history`);
    const rows = (await duck.runAndReadAll(query)).getRowsJson();
    duck.closeSync();
    expect(rows).toContainEqual(["new-unit", 20]);
  });

  test("the proxy serves the page, which lists every problem", async () => {
    const { status, text } = await proxy.get("/guide");
    expect(status).toBe(200);
    for (const code of Object.keys(PROBLEMS)) expect(text).toContain(`<code>${code}</code>`);
    for (const { meaning } of RECORD_COLUMNS)
      expect(text).toContain(`<td>${escaped(meaning)}</td>`);
  });
});
