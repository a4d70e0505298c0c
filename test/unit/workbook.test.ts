/** The workbook: its sheets, values, formats and widths, and the same bytes everywhere and always. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { CellValue, Workbook } from "exceljs";
import { beforeAll, describe, expect, it } from "vitest";
import { BOARDS } from "../../src/market/contract.ts";
import { parseSession, type Session } from "../../src/market/session.ts";
import { TIERS } from "../../src/market/tier.ts";
import { COLUMNS, WORKBOOK_COLUMNS, type BoardColumn } from "../../src/public/columns.ts";
import { SETTLEMENT_COLUMNS } from "../../src/public/settlement-columns.ts";
import { renderWorkbook } from "../../src/render/workbook/workbook.ts";
import { listing, VARIED, viewOf } from "./market-fixture.ts";
import type { SettledItem } from "../../src/render/settlement-files.ts";
import { ATTRIBUTION, cellOf, cellsOf, NAMES, read, SETTLED, sheetOf } from "./workbook-sheets.ts";

const SHEETS = { memory: "Memory", semiconductor: "Semiconductor" } as const;

/** The cell value for a column's canonical text. */
function expectedCell({ kind }: BoardColumn, value: string | null): CellValue {
  if (value === null) return null;
  if (kind === "decimal") return Number(value);
  if (kind === "date") return new Date(`${value}T00:00:00.000Z`);
  if (kind === "instant") return new Date(value);
  return kind === "url" ? { text: value, hyperlink: value } : value;
}

describe("renderWorkbook", () => {
  let workbook: Workbook;
  beforeAll(async () => {
    workbook = await read(viewOf(VARIED));
  });

  it("has the sheets Memory, Semiconductor, Settlements and About", () => {
    expect(workbook.worksheets.map(({ name }) => name)).toEqual([
      "Memory",
      "Semiconductor",
      "Settlements",
      "About",
    ]);
  });

  it("has the columns of the CSV without session_utc and board", () => {
    const expected = COLUMNS.map(({ name }) => name).filter(
      (name) => !["session_utc", "board"].includes(name),
    );
    for (const name of Object.values(SHEETS)) {
      expect(cellsOf(sheetOf(workbook, name), 1)).toEqual(expected);
    }
  });

  it("has every value of every record, as number, date, link or text", () => {
    const view = viewOf(VARIED);
    for (const board of BOARDS) {
      const sheet = sheetOf(workbook, SHEETS[board]);
      expect(sheet.rowCount).toBe(view.boards[board].length + 1);
      for (const [at, record] of view.boards[board].entries()) {
        expect(cellsOf(sheet, at + 2)).toEqual(
          WORKBOOK_COLUMNS.map((column) => expectedCell(column, column.value(record))),
        );
      }
    }
  });

  it("has values that a spreadsheet can calculate with", () => {
    const sheet = sheetOf(workbook, "Memory");
    expect(cellOf(sheet, 2, "spot_usd").value).toBe(12.5);
    expect(cellOf(sheet, 2, "chg_30d_pct").value).toBe(-16.67);
    expect(cellOf(sheet, 2, "as_of").value).toEqual(new Date("2026-11-21T00:00:00.000Z"));
    expect(cellOf(sheet, 2, "break_session_utc").value).toBeNull();
    expect(cellOf(sheet, 3, "spot_usd").value).toBe(1_000_000_000);
    expect(cellOf(sheet, 4, "chg_30d_pct").value).toBeNull();
    expect(cellOf(sheet, 4, "break_session_utc").value).toEqual(
      new Date("2026-11-14T12:00:00.000Z"),
    );
    expect(cellOf(sheet, 5, "spot_usd").value).toBe(0.000002);
    expect(cellOf(sheet, 5, "basis").value).toBe("carried");
    expect(cellOf(sheet, 5, "as_of").value).toEqual(new Date("2026-11-19T00:00:00.000Z"));
  });

  it("has dates before 1900-03-01 as text, since Excel's numbers mean other days there", async () => {
    const march = parseSession("1900-03-01T00Z") as Session;
    const early = sheetOf(
      await read(
        viewOf(
          [
            {
              levels: [
                { session: march - 76, usd: 1 },
                { session: march - 75, usd: 2, breakReason: "Other part" },
              ],
            },
            { levels: [{ session: march - 1, usd: 1 }] },
            { levels: [{ session: march, usd: 1, breakReason: "Other part" }] },
          ],
          TIERS.pro,
          march,
        ),
      ),
      "Memory",
    );
    expect(cellOf(early, 2, "as_of").value).toBe("1900-01-22");
    expect(cellOf(early, 2, "break_session_utc").value).toBe("1900-01-22T12:00:00.000Z");
    expect(cellOf(early, 3, "as_of").value).toBe("1900-02-28");
    expect(cellOf(early, 4, "as_of").value).toEqual(new Date("1900-03-01T00:00:00.000Z"));
    expect(cellOf(early, 4, "break_session_utc").value).toEqual(
      new Date("1900-03-01T00:00:00.000Z"),
    );
    const width = (column: string): number => early.getColumn(NAMES.indexOf(column) + 1).width ?? 0;
    expect(width("break_session_utc")).toBeGreaterThan("1900-01-22T12:00:00.000Z".length);
  });

  it("formats percentages, prices and dates", () => {
    const sheet = sheetOf(workbook, "Memory");
    expect(cellOf(sheet, 4, "chg_24h_pct").numFmt).toBe("0.00");
    expect(cellOf(sheet, 4, "ai_exposure_pct").numFmt).toBe("0.00");
    expect(cellOf(sheet, 4, "spot_usd").numFmt).toBe("#,##0.00####");
    expect(cellOf(sheet, 2, "usd_per_gb").numFmt).toBe("#,##0.00####");
    expect(cellOf(sheet, 2, "low_usd").numFmt).toBe("#,##0.00####");
    expect(cellOf(sheet, 2, "inputs")).toMatchObject({ value: 17, numFmt: "0" });
    expect(cellOf(sheet, 5, "age_days")).toMatchObject({ value: 2, numFmt: "0.0" });
    expect(cellOf(sheet, 4, "as_of").numFmt).toBe("yyyy-mm-dd");
    expect(cellOf(sheet, 2, "prev_as_of").numFmt).toBe("yyyy-mm-dd");
    expect(cellOf(sheet, 4, "break_session_utc").numFmt).toBe("yyyy-mm-dd hh:mm");
  });

  it("has a bold header that stays in place and filters all rows", () => {
    for (const [name, rows] of [
      ["Memory", 5],
      ["Semiconductor", 2],
    ] as const) {
      const sheet = sheetOf(workbook, name);
      expect(sheet.views[0]).toMatchObject({ state: "frozen", ySplit: 1 });
      expect(sheet.autoFilter).toBe(`A1:${sheet.getColumn(NAMES.length).letter}${rows}`);
      expect(sheet.getCell("A1").font.bold).toBe(true);
      expect(sheet.getCell("A2").font?.bold).toBeUndefined();
    }
  });

  it("fits the column widths to the values, up to a limit for text", async () => {
    const name = "n".repeat(30);
    const wide = sheetOf(
      await read(viewOf([listing({ name, unit: "u".repeat(1_000) }, 999_999_999_999_999)])),
      "Memory",
    );
    const width = (column: string): number => wide.getColumn(NAMES.indexOf(column) + 1).width ?? 0;
    expect(width("name")).toBeGreaterThanOrEqual(30);
    expect(width("name")).toBeLessThan(40);
    expect(width("unit")).toBeLessThan(60);
    expect(width("spot_usd")).toBeGreaterThanOrEqual("999,999,999.999999".length);
    expect(width("as_of")).toBeGreaterThanOrEqual("2026-11-21".length);
    expect(width("as_of")).toBeLessThan(20);
  });

  it("shows an empty board as a header with a valid filter", async () => {
    const empty = await read(viewOf([], TIERS.pro));
    for (const name of Object.values(SHEETS)) {
      const sheet = sheetOf(empty, name);
      expect(sheet.rowCount).toBe(1);
      expect(cellsOf(sheet, 1)).toEqual(NAMES);
      expect(sheet.autoFilter).toBe(`A1:${sheet.getColumn(NAMES.length).letter}1`);
    }
  });

  it("shows attribution, session, licence and the columns' meaning in About", () => {
    const about = sheetOf(workbook, "About");
    const rows = new Map<CellValue, CellValue>();
    about.eachRow((row) => {
      // The sheets of boards come first, and Settlements has some of their names.
      const [name, meaning] = [row.getCell(1).value, row.getCell(2).value];
      if (!rows.has(name)) rows.set(name, meaning);
    });
    expect(rows.get("Session (UTC)")).toBe("2026-11-21T00:00:00.000Z");
    expect(rows.get("Sessions behind when published")).toBe(0);
    expect(rows.get("Licence")).toBe(TIERS.pro.license);
    expect(rows.get("Attribution")).toBe(ATTRIBUTION);
    for (const { name, meaning } of WORKBOOK_COLUMNS) expect(rows.get(name)).toBe(meaning);
    for (const basis of ["reported", "assessed", "estimated", "carried"]) {
      expect(rows.get(basis)).toMatch(/\.$/);
    }
  });

  it("has the last twelve settled months of each contract and index, figures as numbers", () => {
    const sheet = sheetOf(workbook, "Settlements");
    const rows: CellValue[][] = [];
    sheet.eachRow((row) => rows.push((row.values as CellValue[]).slice(1)));
    const [header, ...months] = rows;
    expect(header).toEqual(["kind", "id", ...SETTLEMENT_COLUMNS.map(({ name }) => name)]);
    const [{ months: settled }] = SETTLED as [SettledItem];
    expect(months.map((row) => row[2])).toEqual(settled.slice(1).map(({ month }) => month));
    const now = [12.345678, 13, 14.5, 11, 31, 7];
    expect(months[0]).toEqual([
      "contract",
      "ddr5-16gb",
      "2025-11",
      "=USD",
      2,
      12.345678,
      13,
      14.5,
      11,
      30,
      ...now,
    ]);
    const broken: CellValue[] = ["contract", "ddr5-16gb", "2026-09", "=USD", 2];
    expect([...(months[10] as CellValue[])]).toEqual([
      ...broken,
      ...Array.from({ length: 4 }, () => undefined),
      30,
      ...now,
      "break",
    ]);
  });

  it("takes session, delay and licence from the view", async () => {
    const about = sheetOf(await read(viewOf(VARIED, TIERS.starter)), "About");
    expect(about.getCell("B1").value).toBe("2026-11-20T12:00:00.000Z");
    expect(about.getCell("B2").value).toBe(1);
    expect(about.getCell("B3").value).toBe(TIERS.starter.license);
  });
});

describe("the bytes of a workbook", () => {
  const url = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);

  /** The digest of the bytes that a process makes which lives elsewhere, `shiftMs` from now. */
  function digestElsewhere(timeZone: string, shiftMs: number): string {
    const program = `
      const RealDate = Date;
      globalThis.Date = class extends RealDate {
        constructor(...parts) {
          if (parts.length === 0) super(RealDate.now() + ${shiftMs});
          else super(...parts);
        }
        static now() { return RealDate.now() + ${shiftMs}; }
      };
      const { viewOf, VARIED } = await import(${url("./market-fixture.ts")});
      const { SETTLED } = await import(${url("./workbook-sheets.ts")});
      const { renderWorkbook } = await import(${url("../../src/render/workbook/workbook.ts")});
      const bytes = await renderWorkbook(viewOf(VARIED), SETTLED, { attribution: ${JSON.stringify(ATTRIBUTION)} });
      const { createHash } = await import("node:crypto");
      console.log(new Date().getTimezoneOffset(), new Date().getFullYear());
      console.log(createHash("sha256").update(bytes).digest("hex"));
    `;
    return execFileSync(process.execPath, ["--input-type=module", "-e", program], {
      encoding: "utf8",
      cwd: fileURLToPath(new URL(".", import.meta.url)),
      env: { PATH: process.env["PATH"], TZ: timeZone },
    });
  }

  it("are the same at any time and in any time zone", async () => {
    const here = createHash("sha256")
      .update(await renderWorkbook(viewOf(VARIED), SETTLED, { attribution: ATTRIBUTION }))
      .digest("hex");
    const day = 24 * 3_600_000;
    const nepal = digestElsewhere("Asia/Kathmandu", -3_000 * day).split("\n");
    const newfoundland = digestElsewhere("America/St_Johns", 5_000 * day).split("\n");
    // The processes do run in other time zones: otherwise the comparison would prove nothing.
    expect(nepal[0]).not.toBe(newfoundland[0]);
    expect([nepal[1], newfoundland[1]]).toEqual([here, here]);
  });

  it("differ if a value differs", async () => {
    const [one, other] = await Promise.all(
      [1_000_000, 1_000_001].map((usd) =>
        renderWorkbook(viewOf([listing({}, usd)]), [], { attribution: ATTRIBUTION }),
      ),
    );
    expect(one?.equals(other as Buffer)).toBe(false);
  });
});
