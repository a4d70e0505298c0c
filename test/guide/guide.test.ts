/** The answers in the guide are real, and its commands and programs run as they stand there. */
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import examples from "../../src/docs/examples.json" with { type: "json" };
import { PROBLEMS } from "../../src/public/problems.ts";
import { withDuckDb } from "../../tools/client/sql.ts";
import { dateText, dayOf, sessionStartMs, sessionUtc } from "../../src/market/session.ts";
import { lines, quotesOf } from "../cli/small-market.ts";
import {
  BROKEN,
  catalogCsv,
  eventually,
  FREE_IDS,
  KEYED_IDS,
  SESSION,
  startTestProxy,
  YOUNG,
  type TestProxy,
} from "../http/fixture.ts";
import { publishInto } from "../http/vintage-market.ts";
import type { MemoryStore } from "../store/memory-store.ts";
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

const API = "/api/public/v1";
const RENAMED = "dram-zero";
/** The contract with this id now. */
type IdOf = (id: string) => string;

describe("its commands and programs", () => {
  let proxy: TestProxy;
  let guide: string;
  let folder: string;
  beforeAll(async () => {
    proxy = await startTestProxy();
    guide = (await proxy.get("/guide.md")).text;
    folder = await mkdtemp(join(tmpdir(), "chipboard-guide-"));
    await symlink(join(import.meta.dirname, "../../node_modules"), join(folder, "node_modules"));
    await inShell(block("The Python module"));
    const [bill] = blocksOf(under(guide, "A bill of materials"));
    await writeFile(join(folder, "bill.csv"), bill?.text ?? "");
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
  const inPython = (text: string, python = "python3"): Promise<string> =>
    printed(python, "-Bc", text);
  async function inNode(text: string): Promise<string> {
    await writeFile(join(folder, "program.mjs"), text);
    return printed(process.execPath, "program.mjs");
  }

  const text = async (path: string): Promise<string> =>
    (await proxy.get(API + path, { key: proxy.pro })).text;
  const linesOf = (said: string): string[] => said.trimEnd().split("\n");
  const saved = (name: string): Promise<string> => readFile(join(folder, name), "utf8");

  type Cells = Readonly<Record<string, string>>;
  const rowsOf = async (path: string): Promise<Cells[]> =>
    parse(await text(path), { columns: true });
  /** All rows of /levels.csv in the order of their sessions, by contract. */
  async function levelsOf(query = ""): Promise<Map<string, Cells[]>> {
    const rows = await rowsOf(`/levels.csv${query}`);
    rows.sort((one, other) => (String(one["session_utc"]) < String(other["session_utc"]) ? -1 : 1));
    return Map.groupBy(rows, (row) => String(row["contract_id"]));
  }
  const lastUsd = (rows: readonly Cells[] | undefined): number =>
    Number(rows?.at(-1)?.["spot_usd"]);
  /** The last level of each day. */
  const closesOf = (rows: readonly Cells[] = []): Map<string, number> =>
    new Map(rows.map((row) => [String(row["session_utc"]).slice(0, 10), Number(row["spot_usd"])]));
  const maxOf2026 = async (): Promise<unknown[][]> =>
    [...(await levelsOf())]
      .map(([id, rows]) => {
        const closes = [...closesOf(rows)].filter(([day]) => day.startsWith("2026"));
        return [id, Math.max(...closes.map(([, usd]) => usd))];
      })
      .toSorted(([one], [other]) => (String(one) < String(other) ? -1 : 1));

  /** Publishes a session, then a rename and corrections of two levels, one of them to a high of long ago. */
  async function publishMore(): Promise<void> {
    const session = SESSION + 1;
    const nowMs = sessionStartMs(session) + 600_000;
    const ids = [...FREE_IDS, ...KEYED_IDS];
    const levels = Object.fromEntries(ids.map((id, at) => [id, id === "dram-0" ? 60 : 12 + at]));
    const store = proxy.store as MemoryStore;
    await publishInto(store, session, nowMs, { quotes: quotesOf(levels) });
    const [columns, ...rows] = catalogCsv().trimEnd().split("\n");
    const renamed = rows.map((row) =>
      row.startsWith("dram-0,") ? `${row.replace("dram-0", RENAMED)},dram-0` : `${row},`,
    );
    await publishInto(store, session, nowMs + 600_000, {
      catalog: lines(`${columns},formerly`, ...renamed),
      quotes: lines("id,session_utc,spot_usd", `nand-1,${sessionUtc(SESSION)},40`),
      closes: lines("id,date,close_usd", "nand-1,2026-10-01,500", `${RENAMED},2026-11-07,25`),
      revise: "The source restated three levels",
    });
    proxy.clock.ms = nowMs + 1_200_000;
    await eventually(async () => (await proxy.get("/readyz")).json.publication === 3);
  }

  const present: IdOf = (id) => (id === "dram-0" ? RENAMED : id);
  describe.each<[when: string, idOf: IdOf, head: number]>([
    ["at first", (id) => id, 1],
    ["again, after a session, a rename and corrections", present, 3],
  ])("%s", (_, idOf, head) => {
    beforeAll(async () => {
      if (head > 1) await publishMore();
    });

    const boardIds = [...FREE_IDS, "nand-0", "nand-1", YOUNG, BROKEN, "chip-0"].map(idOf);
    const board = async (): Promise<string[]> => {
      const levels = await levelsOf();
      return boardIds.map((id) => `${id} ${lastUsd(levels.get(id))}`);
    };
    const printedLevels = (said: string): string[] => linesOf(said.replaceAll(/\.0(?=\n)/g, ""));

    testWith("curl")("the first call, and the first one with a key", async () => {
      const free = JSON.parse(await inShell(block("Get a key")));
      // One session behind.
      const then = [...(await levelsOf("?ids=dram-1,dram-9")).entries()].map(([id, rows]) => {
        const known = rows.filter((row) => String(row["session_utc"]) <= free.session_utc);
        return [id, lastUsd(known)];
      });
      const levels = free.memory.map((each: { id: string; spot_usd: number }) => [
        each.id,
        each.spot_usd,
      ]);
      expect(levels).toHaveLength(10);
      expect(levels).toEqual(expect.arrayContaining(then));
      expect(free.session_utc).toBe(sessionUtc(SESSION + (head > 1 ? 0 : -1)));
      const usage = JSON.parse(await inShell(block("Get a key", 1)));
      expect(usage).toEqual(JSON.parse(await text("/usage")));
      expect(usage).toMatchObject({ tier: "pro" });
    });

    testWith("curl")("the export", async () => {
      const save = `${block("Export to a spreadsheet").trimEnd()} -w '%{http_code}'`;
      for (const status of [/200$/, /304$/]) {
        expect(await inShell(save)).toMatch(status);
        expect(await saved("prices.csv")).toBe(await text("/export.csv"));
      }
    });

    testWith("curl")("proof", async () => {
      const [ok, entry] = (await inShell(block("Proof"))).split("\n");
      expect(ok).toBe("export.csv: OK");
      expect(JSON.parse(entry ?? "")).toMatchObject({
        number: head,
        roots: { pro: expect.any(String) },
      });
      expect(await saved("SHA256SUMS")).toBe(await text("/sums"));
    });

    testWith("wget")("user and password", async () => {
      await inShell(block("User and password"));
      const board = await text("/export.csv");
      expect(board).toMatch(/^session_utc,contract_id,/);
      expect([await saved("board.csv"), await saved("export.csv")]).toEqual([board, board]);
    });

    testWith("python3")("Python", async () => {
      const said = printedLevels(await inPython(block("The Python module", 1)));
      expect(
        said.slice(0, boardIds.length).map((line) => line.split(" ").slice(0, 2).join(" ")),
      ).toEqual((await board()).map((line) => line.replace(/ (\d+)$/, " $1")));
      const closes = (await rowsOf("/indices.csv?ids=composite&last=90")).map(
        (row) => `${row["date"]} ${Number(row["close"])}`,
      );
      expect(said.slice(boardIds.length)).toEqual(closes);
    });

    testWith("python3")("a bill of materials", async () => {
      const said = linesOf(await inPython(block("A bill of materials")));
      expect(said).toHaveLength(1 + 52);
      // dram-0 and dram-1 are served in the place of the example's contracts.
      const levels = await levelsOf();
      const [chip, drive] = [levels.get(idOf("dram-0")), levels.get("dram-1")];
      const now = 64 * lastUsd(chip) + 2 * lastUsd(drive);
      expect(said[0]).toBe(`now ${now.toFixed(2)} without new-part`);
      const [chipCloses, driveCloses] = [closesOf(chip), closesOf(drive)];
      const weeks = Array.from({ length: 52 }, (__, week) => {
        const day = dateText(dayOf(SESSION) - 7 * (week + 1));
        const cost = 64 * Number(chipCloses.get(day)) + 2 * Number(driveCloses.get(day));
        return `${day} ${cost.toFixed(2)} without new-part`;
      });
      expect(said.slice(1)).toEqual(weeks);
    });

    testWith("python3")("settled months", async () => {
      const [curl = "", python = ""] = [0, 1].map((at) => block("Settled months", at));
      const query = `?ids=${idOf("dram-0")},composite&from=2026-01`;
      expect(await inShell(curl)).toBe(await text(`/settlements.csv${query}`));
      const rows = await rowsOf(`/settlements.csv?ids=${idOf("dram-0")}`);
      const { month, average, days, settled_by: by } = rows.at(-1) ?? {};
      expect([month, by]).toEqual(["2026-10", "1"]);
      const said = (await inPython(python)).replace(".0 over", " over");
      expect(said).toBe(`${month} ${average} over ${days} days, by publication ${by}\n`);
    });

    testWith("python3")("the board, the same in three languages", async () => {
      const [curl = "", python = "", js = ""] = [0, 1, 2].map((at) => block("Read the board", at));
      const { memory, semiconductor } = JSON.parse(await inShell(curl));
      const levels = [...memory, ...semiconductor].map(({ id, spot_usd }) => `${id} ${spot_usd}`);
      expect(levels).toEqual(await board());
      expect(linesOf(await inPython(python))).toEqual(levels);
      expect(linesOf(await inNode(js))).toEqual(levels);
    });

    testWith("python3")("a history, the same in three languages", async () => {
      const [curl = "", python = "", js = ""] = [0, 1, 2].map((at) =>
        block("One contract's history", at),
      );
      const levels = (await levelsOf()).get(idOf("dram-0"));
      const closes = [...closesOf(levels)].slice(-30).map(([day, usd]) => `${day} ${usd}`);
      expect(closes).toHaveLength(30);
      const told = JSON.parse(await inShell(curl)).history.map(
        ({ date, close_usd }: { date: string; close_usd: number }) => `${date} ${close_usd}`,
      );
      expect(told).toEqual(closes);
      expect(printedLevels(await inPython(python))).toEqual(closes);
      expect(linesOf(await inNode(js))).toEqual(closes);
    });

    testWith(PYTHON, "pandas")("pandas", async () => {
      const said = linesOf(await inPython(block("pandas"), PYTHON));
      const figures = said.flatMap((line) => {
        const [, name, figure] = /^(\S+) +(-?[\d.]+)$/.exec(line) ?? [];
        return name === undefined ? [] : [[name, Number(figure)]];
      });
      const { memory, semiconductor } = JSON.parse(await text("/prices"));
      const changes = [...memory, ...semiconductor]
        .map(({ chg_30d_pct: change }) => change)
        .filter((change) => change !== null);
      const mean = changes.reduce((sum, change) => sum + change, 0) / changes.length;
      const highs = [...(await levelsOf())].map(([id, rows]) => [
        id,
        Math.max(...closesOf(rows).values()),
      ]);
      expect(figures[0]).toEqual(["DRAM", expect.closeTo(mean, 4)]);
      expect(new Map(figures.slice(1) as [string, number][])).toEqual(
        new Map(highs as [string, number][]),
      );
    });

    test("a part of the histories", async () => {
      const said = await inNode(block("A part of the Parquet file"));
      const rows = await rowsOf("/history.csv");
      const count = said.slice(0, said.indexOf(" "));
      expect(Number(count)).toBe(rows.length);
      const first = rows[0] ?? {};
      for (const cell of [
        first["contract_id"],
        first["date"],
        `close_usd: ${first["close_usd"]}`,
      ]) {
        expect(said).toContain(cell);
      }
    });

    testWithClients()("DuckDB, by Parquet and by CSV", async () => {
      const maxima = await maxOf2026();
      for (const [save, query] of [
        [0, 1],
        [2, 3],
      ] as const) {
        await inShell(block("DuckDB", save));
        const sql = block("DuckDB", query).replace("'history", `'${folder}/history`);
        expect(await withDuckDb((ask) => ask(sql))).toEqual(maxima);
      }
    });

    testWith("python3")("a copy in SQLite", async () => {
      expect(await inPython(block("A copy in SQLite"))).toMatch(
        new RegExp(`^Copied publication ${head} with `),
      );
      expect(await inPython(block("A copy in SQLite"))).toBe("");
      const database = new DatabaseSync(join(folder, "history.sqlite"));
      const copied = database
        .prepare(
          "select contract_id || ' ' || date || ' ' || close_usd as row from history order by 1",
        )
        .all()
        .map(({ row }) => String(row).replace(/\.0$/, ""));
      database.close();
      const rows = await rowsOf("/history.csv");
      const expected = rows.map(
        (row) => `${row["contract_id"]} ${row["date"]} ${Number(row["close_usd"])}`,
      );
      expect(copied.toSorted()).toEqual(expected.toSorted());
    });

    testWith("python3")("both back-tests", async () => {
      const { publications } = JSON.parse(await text("/publications"));
      expect(publications).toHaveLength(head);
      const dearest: string[] = [];
      for (const { number, at } of publications) {
        const last = [...(await levelsOf(`?publication=${number}`))].map(
          ([id, rows]) => [lastUsd(rows), id] as const,
        );
        const [, id = ""] = last.toSorted(([one], [other]) => other - one)[0] ?? [];
        dearest.push(`${at} ${id}`);
      }
      expect(linesOf(await inPython(block("A back-test in Python")))).toEqual(dearest);
      expect(linesOf(await inPython(block("A back-test from two files")))).toEqual(
        dearest.map((line) => line.replace(/\S+$/, idOf)),
      );
    });
  });

  testWithClients()("DuckDB reads CSV whose first quotes and decimals come late", async () => {
    const rows = Array.from({ length: 25_000 }, (_, at) => `a,${dateText(at)},${at},`);
    rows.push('b,2026-02-01,1.5,"Sold by the tray, ""as is"""', "b,2026-02-02,1.25,");
    await writeFile(
      join(folder, "history.csv"),
      lines("contract_id,date,close_usd,break_reason", ...rows),
    );
    const sql = block("DuckDB", 3).replace("'history", `'${folder}/history`);
    expect(await withDuckDb((ask) => ask(sql))).toContainEqual(["b", 1.5]);
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

  test("polars and R get the type of each column of every CSV file", async () => {
    const programs = programsUnder(guide, "Polars and R").map(({ text }) => text);
    const [, numbers = ""] = /NUMBERS = r"(.*)"/.exec(programs[0] ?? "") ?? [];
    const [, dates = ""] = /DATES = r"(.*)"/.exec(programs[0] ?? "") ?? [];
    expect(programs[1]).toContain(`numbers <- "${numbers}"\ndates <- "${dates}"\n`);
    const forms: [name: RegExp, form: RegExp][] = [
      [new RegExp(numbers), /^-?\d+(?:\.\d+)?$/],
      [new RegExp(dates), /^\d{4}-\d{2}-\d{2}$/],
      [/_utc$/, /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/],
    ];
    const files = "export history levels superseded indices members settlements contracts";
    for (const file of files.split(" ")) {
      const { text } = await proxy.get(`/api/public/v1/${file}.csv`, { key: proxy.pro });
      const [header = [], ...rows] = parse(text);
      for (const [at, column] of header.entries()) {
        const values = rows.map((row) => row[at] ?? "").filter((value) => value !== "");
        if (values.length === 0) continue;
        const named = forms.map(([name]) => name.test(column));
        const fits = forms.map(([, form]) => values.every((value) => form.test(value)));
        expect([file, column, named]).toEqual([file, column, fits]);
      }
    }
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
      "Settled months",
      "DuckDB",
      "Proof",
    ];
    const languages = ["sh", "python", "js", "sql", "powerquery", "r"];
    const programs = blocksOf(guide).filter(({ language }) => languages.includes(language));
    const known = ran.flatMap((heading) => programsUnder(guide, heading)).map(({ text }) => text);
    known.push(block("Export to a spreadsheet"));
    const untried = programs.filter(({ text }) => !known.includes(text));
    expect(untried).toHaveLength(1);
    for (const { before } of untried) expect(before).toMatch(/[Ww]e have not (?:run|tried)/);
  });
});
