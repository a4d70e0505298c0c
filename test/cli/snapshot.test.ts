/** The published files have the same bytes everywhere and always, and the same values in every format. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import exceljs, { type CellValue } from "exceljs";
import { describe, expect, test, vi } from "vitest";
import { MemoryStore } from "../store/memory-store.ts";
import { catalogOf, headJson, lines, mustPublish, type Run } from "./small-market.ts";
import { inProcess } from "./run.ts";

/** Both boards, with names that need escapes, carried and dropped levels, a break and capacities. */
const CATALOG = catalogOf([
  { id: "plain", capacity_gb: "2" },
  { id: "formula", name: "=1+1" },
  { id: "quoted", name: '"Two, ""words"""' },
  { id: "carried", capacity_gb: "0.032" },
  { id: "broken", name: "\u00dcber 漢字" },
  { id: "gone" },
  { id: "young", name: "-1" },
  { id: "never" },
  { id: "chip", board: "semiconductor" },
]);
const CLOSES = lines(
  "id,date,close_usd",
  ...["2025-11-20", "2026-09-01", "2026-10-20", "2026-11-18", "2026-11-19"].flatMap((date, n) =>
    ["plain", "formula", "quoted", "carried", "broken", "chip"].map(
      (id, k) => `${id},${date},${(10 + k + n / 7).toFixed(3)}`,
    ),
  ),
  "gone,2026-10-01,5",
);
const DAY_BEFORE = lines(
  "id,spot_usd,basis,as_of,source,source_url,break",
  "plain,12.50,assessed,2026-11-19,=Other,https://other.example/?a=1&b=2,",
  "formula,11.1,,,,,",
  "quoted,12.000001,estimated,,,,",
  "broken,25,,,,,+ New unit",
  "chip,0.000001,,,,,",
);
const TODAY = lines(
  "id,spot_usd",
  "plain,13",
  "formula,11.1",
  "quoted,12",
  "broken,24.9",
  "young,1000000000",
  "chip,0.000001",
);
const SESSIONS = ["2026-11-20T12Z", "2026-11-21T00Z"];
const QUOTES = [DAY_BEFORE, TODAY];

describe("two builds of one snapshot", () => {
  const ZONES = {
    UTC: /GMT\+0000/,
    "Asia/Kathmandu": /GMT\+0545/,
    "America/St_Johns": /GMT-0[23]30/,
  };

  /** Publishes both sessions, then the second with a correction. Returns every file but the log. */
  async function build(now: string, timeZone: keyof typeof ZONES): Promise<Map<string, Buffer>> {
    const folder = mkdtempSync(join(tmpdir(), "chipboard-build-"));
    try {
      writeFileSync(join(folder, "c.csv"), CATALOG);
      writeFileSync(join(folder, "h.csv"), CLOSES);
      QUOTES.forEach((text, n) => writeFileSync(join(folder, `q${n}.csv`), text));
      writeFileSync(
        join(folder, "fix.csv"),
        lines("id,spot_usd,session_utc", "plain,12.75,2026-11-20T12Z"),
      );
      const env = { CHIPBOARD_NOW: now, TZ: timeZone };
      vi.stubEnv("TZ", timeZone);
      expect(String(new Date())).toMatch(ZONES[timeZone]);
      for (const line of [
        `--catalog c.csv --closes h.csv --quotes q0.csv --session ${SESSIONS[0]}`,
        `--quotes q1.csv --session ${SESSIONS[1]}`,
        `--quotes fix.csv --session ${SESSIONS[1]} --revise Mistyped`,
      ]) {
        const args = [
          "publish",
          ...line.split(" "),
          "--store",
          "x",
          "--allow-sparse",
          "--accept-moves",
          "--max-index-move",
          "1000000",
        ];
        expect(await inProcess(args, { cwd: folder, env })).toMatchObject({ code: 0 });
      }
      const entries = readdirSync(join(folder, "x"), { recursive: true, withFileTypes: true });
      const paths = entries
        .filter((entry) => entry.isFile() && !entry.parentPath.endsWith("publications"))
        .map((entry) => join(entry.parentPath, entry.name));
      return new Map(
        paths.toSorted().map((path) => [path.slice(folder.length), readFileSync(path)]),
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  test("are byte-identical, at any time, in any time zone", async () => {
    const first = await build("2026-11-21T00:05:00Z", "UTC");
    const second = await build("2027-02-28T23:59:59Z", "Asia/Kathmandu");
    const third = await build("2026-11-21T11:59:00Z", "America/St_Johns");
    expect([...first.keys()].filter((path) => path.endsWith("manifest.json")).length).toBe(3);
    for (const other of [second, third]) {
      expect([...other.keys()]).toEqual([...first.keys()]);
      expect([...first].filter(([path, bytes]) => !other.get(path)?.equals(bytes))).toEqual([]);
    }
  });
});

describe("one snapshot in JSON, CSV and XLSX", () => {
  async function published(): Promise<MemoryStore> {
    const store = new MemoryStore();
    const lax: Run = { allowSparse: true, acceptMoves: true };
    await mustPublish(store, {
      ...lax,
      session: SESSIONS[0] as string,
      catalog: CATALOG,
      closes: CLOSES,
      quotes: DAY_BEFORE,
    });
    await mustPublish(store, { ...lax, session: SESSIONS[1] as string, quotes: TODAY });
    return store;
  }
  type Values = Record<string, string | number | null>;

  /** A JSON record in the names of the exports; texts as they are. */
  function expected(record: Record<string, unknown>): Values {
    const { id, break: since, ...rest } = record as Record<string, string | number | null>;
    const pause = since as unknown as { session_utc: string; reason: string } | null;
    return {
      ...rest,
      contract_id: id ?? null,
      break_session_utc: pause?.session_utc ?? null,
      break_reason: pause?.reason ?? null,
    };
  }

  test.each(["starter", "pro"])("%s: the CSV equals the board", async (tier) => {
    const store = await published();
    const board = await headJson(store, `${tier}/board.json`);
    const csv = String(await store.get(`sessions/2026-11-21T00Z/r1/${tier}/export.csv`));
    expect(csv).toMatch(/^[^\r\n]*source\r\n/);
    expect(csv.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
    const rows: Record<string, string>[] = parse(csv, { columns: true });
    const records = [...board.memory, ...board.semiconductor];
    expect(rows.length).toBe(records.length);
    rows.forEach(({ session_utc, board: name, ...cells }, n) => {
      const record = records[n];
      expect([session_utc, name]).toEqual([
        board.session_utc,
        record.id === "chip" ? "semiconductor" : "memory",
      ]);
      for (const [column, value] of Object.entries(expected(record))) {
        const isText = typeof value === "string" && /^(?:\s*[=+\-@＝＋－＠]|[\t\r])/.test(value);
        expect(cells[column], `${record.id} ${column}`).toBe(
          isText ? `'${value}` : String(value ?? ""),
        );
        delete cells[column];
      }
      expect(cells).toEqual({});
    });
    expect(records.map(({ id }) => id)).toEqual([
      "plain",
      "formula",
      "quoted",
      "carried",
      "broken",
      ...(tier === "pro" ? ["young"] : []),
      "chip",
    ]);
  });

  test("pro: the workbook equals the board", async () => {
    const store = await published();
    const board = await headJson(store, "pro/board.json");
    const workbook = new exceljs.Workbook();
    const bytes = (await store.get("sessions/2026-11-21T00Z/r1/pro/export.xlsx")) as Buffer;
    await workbook.xlsx.load(bytes as unknown as Parameters<typeof workbook.xlsx.load>[0]);
    expect(workbook.worksheets.map(({ name }) => name)).toEqual([
      "Memory",
      "Semiconductor",
      "Settlements",
      "About",
    ]);
    for (const [sheetName, records] of [
      ["Memory", board.memory],
      ["Semiconductor", board.semiconductor],
    ]) {
      const sheet = workbook.getWorksheet(sheetName);
      if (sheet === undefined) throw new Error(`No sheet ${sheetName}`);
      const names = (sheet.getRow(1).values as string[]).slice(1);
      expect(sheet.actualRowCount).toBe(records.length + 1);
      for (const [n, record] of records.entries()) {
        const values = expected(record);
        expect(names.toSorted()).toEqual(Object.keys(values).toSorted());
        names.forEach((name, column) => {
          const cell = sheet.getRow(n + 2).getCell(column + 1).value ?? null;
          expect(readable(cell, name), `${record.id} ${name}`).toEqual(values[name]);
        });
      }
    }
  });

  test.each(["free", "starter", "pro"])(
    "%s: every contract's file has the board's record",
    async (tier) => {
      const store = await published();
      const { memory, semiconductor, session_utc, delayed_sessions } = await headJson(
        store,
        `${tier}/board.json`,
      );
      for (const record of [...memory, ...semiconductor]) {
        const contract = await headJson(store, `${tier}/contracts/${record.id}.json`);
        expect(contract).toMatchObject({ ...record, session_utc, delayed_sessions });
        const { as_of: date, spot_usd: close_usd } = record;
        const noon = `${date}T12:00:00.000Z`;
        // A level that is carried is a close of the feed.
        const isNoon = record.basis === "carried" || session_utc === noon;
        const last = { date, close_usd, ...(!isNoon && { session_utc }) };
        expect(contract.history.at(-1)).toEqual(tier === "free" ? undefined : last);
      }
    },
  );

  /** The value of a cell as in JSON. */
  function readable(cell: CellValue, name: string): unknown {
    if (cell instanceof Date)
      return name.endsWith("as_of") ? cell.toISOString().slice(0, 10) : cell.toISOString();
    if (cell !== null && typeof cell === "object" && "text" in cell) return cell.text;
    return cell;
  }
});
