import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import exceljs, { type CellValue, type Workbook, type Worksheet } from "exceljs";
import { beforeAll, describe, expect, it } from "vitest";
import { BOARDS } from "../../src/market/contract.ts";
import { TIERS } from "../../src/market/tier.ts";
import type { TierView } from "../../src/market/view.ts";
import { WORKBOOK_COLUMNS, type Column } from "../../src/payload/columns.ts";
import { renderWorkbook } from "../../src/render/workbook.ts";
import { cellText, linkTarget } from "../../src/render/workbook-text.ts";
import { HEAD, VARIED, listing, viewOf, type Listing } from "./market-fixture.ts";

const ATTRIBUTION = "Levels: example.com";
const SHEETS = { memory: "Memory", semiconductor: "Semiconductor" } as const;
const NAMES = WORKBOOK_COLUMNS.map(({ name }) => name);

async function read(view: TierView, attribution = ATTRIBUTION): Promise<Workbook> {
  const workbook = new exceljs.Workbook();
  const bytes = await renderWorkbook(view, { attribution });
  await workbook.xlsx.load(bytes as unknown as Parameters<typeof workbook.xlsx.load>[0]);
  return workbook;
}

const sheetOf = (workbook: Workbook, name: string): Worksheet => {
  const sheet = workbook.getWorksheet(name);
  if (sheet === undefined) throw new Error(`No sheet ${name}`);
  return sheet;
};

const cellsOf = (sheet: Worksheet, row: number): CellValue[] =>
  NAMES.map((_, at) => sheet.getRow(row).getCell(at + 1).value);

const cellOf = (sheet: Worksheet, row: number, name: string) =>
  sheet.getRow(row).getCell(NAMES.indexOf(name) + 1);

/** What a reader of the workbook must find for a column's canonical text. */
function expectedCell({ kind }: Column, value: string | null): CellValue {
  if (value === null) return null;
  if (kind === "decimal") return Number(value);
  if (kind === "date") return new Date(`${value}T00:00:00.000Z`);
  if (kind === "instant") return new Date(value);
  return kind === "url" ? { text: value, hyperlink: value } : value;
}

const AWKWARD = [
  "=1+1",
  "+1",
  "-1",
  "@SUM(A1)",
  "'quoted",
  "\tafter a tab",
  "  spaces around  ",
  "a\rb\r\nc\nd\n",
  "_x000D_ and _x000d_ and _x005F_x000D_ and _x0041_x0042_ and _x12_",
  "<b>&amp;</b> \"'",
  "\u202eright to left\u202c \u05d0\u05d1",
  "\u{1f4c8} \u{1f468}\u200d\u{1f469}\u200d\u{1f467} 漢字 e\u0301",
  "\u00a0\u2028\u0085\ufeff",
  "x".repeat(1_000),
  "12.50",
  "2026-11-21",
  "TRUE",
  "#REF!",
  "__proto__",
  "constructor",
];

describe("renderWorkbook", () => {
  let workbook: Workbook;
  beforeAll(async () => {
    workbook = await read(viewOf(VARIED));
  });

  it("has the sheets Memory, Semiconductor and About", () => {
    expect(workbook.worksheets.map(({ name }) => name)).toEqual([
      "Memory",
      "Semiconductor",
      "About",
    ]);
  });

  it("has the columns of the CSV but session_utc and board", () => {
    const expected =
      "contract_id,ticker,name,segment,unit,spot_usd,chg_24h_pct,chg_30d_pct,chg_yoy_pct," +
      "ai_exposure_pct,capacity_gb,usd_per_gb,break_session_utc,break_reason,basis,as_of," +
      "source_url,source";
    for (const name of Object.values(SHEETS)) {
      expect(cellsOf(sheetOf(workbook, name), 1)).toEqual(expected.split(","));
    }
  });

  it("holds every value of every record, as number, date, link or text", () => {
    const view = viewOf(VARIED);
    for (const board of BOARDS) {
      const sheet = sheetOf(workbook, SHEETS[board]);
      expect(sheet.rowCount).toBe(view.boards[board].length + 1);
      for (const [at, record] of view.boards[board].entries()) {
        expect(cellsOf(sheet, at + 2)).toEqual(
          WORKBOOK_COLUMNS.map((column) =>
            expectedCell(column, column.value(record, view.session)),
          ),
        );
      }
    }
  });

  it("has the values in the forms a spreadsheet calculates with", () => {
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

  it("shows percents, prices and dates in their formats", () => {
    const sheet = sheetOf(workbook, "Memory");
    expect(cellOf(sheet, 4, "chg_24h_pct").numFmt).toBe("0.00");
    expect(cellOf(sheet, 4, "ai_exposure_pct").numFmt).toBe("0.00");
    expect(cellOf(sheet, 4, "spot_usd").numFmt).toBe("#,##0.00####");
    expect(cellOf(sheet, 2, "usd_per_gb").numFmt).toBe("#,##0.00####");
    expect(cellOf(sheet, 4, "as_of").numFmt).toBe("yyyy-mm-dd");
    expect(cellOf(sheet, 4, "break_session_utc").numFmt).toBe("yyyy-mm-dd hh:mm");
  });

  it("has a bold header that stays in place and filters all rows", () => {
    for (const [name, filter] of [
      ["Memory", "A1:R5"],
      ["Semiconductor", "A1:R2"],
    ] as const) {
      const sheet = sheetOf(workbook, name);
      expect(sheet.views[0]).toMatchObject({ state: "frozen", ySplit: 1 });
      expect(sheet.autoFilter).toBe(filter);
      expect(sheet.getCell("A1").font.bold).toBe(true);
      expect(sheet.getCell("A2").font?.bold).toBeUndefined();
    }
  });

  it("fits the widths to what is shown, up to a bound for text", async () => {
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

  it("keeps empty boards as a header with a valid filter", async () => {
    const empty = await read(viewOf([], TIERS.pro));
    for (const name of Object.values(SHEETS)) {
      const sheet = sheetOf(empty, name);
      expect(sheet.rowCount).toBe(1);
      expect(cellsOf(sheet, 1)).toEqual(NAMES);
      expect(sheet.autoFilter).toBe("A1:R1");
    }
  });

  it("says in About whose data it is, of when, on which terms, and what it means", () => {
    const about = sheetOf(workbook, "About");
    const rows = new Map<CellValue, CellValue>();
    about.eachRow((row) => rows.set(row.getCell(1).value, row.getCell(2).value));
    expect(rows.get("Session (UTC)")).toBe("2026-11-21T00:00:00.000Z");
    expect(rows.get("Sessions behind when published")).toBe(0);
    expect(rows.get("Licence")).toBe(TIERS.pro.license);
    expect(rows.get("Attribution")).toBe(ATTRIBUTION);
    for (const { name, meaning } of WORKBOOK_COLUMNS) expect(rows.get(name)).toBe(meaning);
    for (const basis of ["reported", "assessed", "estimated", "carried"]) {
      expect(rows.get(basis)).toMatch(/\.$/);
    }
  });

  it("takes session, delay and licence from the view", async () => {
    const about = sheetOf(await read(viewOf(VARIED, TIERS.starter)), "About");
    expect(about.getCell("B1").value).toBe("2026-11-20T12:00:00.000Z");
    expect(about.getCell("B2").value).toBe(1);
    expect(about.getCell("B3").value).toBe(TIERS.starter.license);
  });

  it("gives awkward text back, never as a formula, a number or a date", async () => {
    const listings = AWKWARD.map((text): Listing => ({
      contract: { name: text, ticker: text, segment: text, unit: text },
      levels: [{ session: HEAD, usd: 1_000_000, source: text, breakReason: text }],
    }));
    const sheet = sheetOf(await read(viewOf(listings)), "Memory");
    for (const [at, text] of AWKWARD.entries()) {
      for (const name of ["name", "ticker", "segment", "unit", "source", "break_reason"]) {
        const cell = cellOf(sheet, at + 2, name);
        expect(cell.value).toBe(text);
        expect(cell.type).toBe(exceljs.ValueType.String);
      }
    }
  });

  it.each(AWKWARD)("gives the attribution %j back", async (attribution) => {
    const about = sheetOf(await read(viewOf([]), attribution), "About");
    expect(about.getCell("B4").value).toBe(attribution);
  });

  it("links each row to its own address and leaves as text what cannot be a link", async () => {
    const addresses = [
      'https://example.com/a?b=1&c="2"',
      "https://example.com/Preise/größe_x000D_",
      "https://example.com/plain",
      `https://example.com/${"ä".repeat(900)}`,
    ];
    const sheet = sheetOf(
      await read(viewOf(addresses.map((sourceUrl) => listing({ sourceUrl })))),
      "Memory",
    );
    const values = addresses.map((_, at) => cellOf(sheet, at + 2, "source_url").value);
    expect(values).toEqual([
      { text: addresses[0], hyperlink: "https://example.com/a?b=1&c=%222%22" },
      { text: addresses[1], hyperlink: "https://example.com/Preise/gr%C3%B6%C3%9Fe_x000D_" },
      { text: addresses[2], hyperlink: addresses[2] },
      addresses[3],
    ]);
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
      const { renderWorkbook } = await import(${url("../../src/render/workbook.ts")});
      const bytes = await renderWorkbook(viewOf(VARIED), { attribution: ${JSON.stringify(ATTRIBUTION)} });
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
      .update(await renderWorkbook(viewOf(VARIED), { attribution: ATTRIBUTION }))
      .digest("hex");
    const day = 24 * 3_600_000;
    const nepal = digestElsewhere("Asia/Kathmandu", -3_000 * day).split("\n");
    const newfoundland = digestElsewhere("America/St_Johns", 5_000 * day).split("\n");
    // The processes do live elsewhere: without this the comparison would prove nothing.
    expect(nepal[0]).not.toBe(newfoundland[0]);
    expect([nepal[1], newfoundland[1]]).toEqual([here, here]);
  });

  it("differ where a value does", async () => {
    const [one, other] = await Promise.all(
      [1_000_000, 1_000_001].map((usd) =>
        renderWorkbook(viewOf([listing({}, usd)]), { attribution: ATTRIBUTION }),
      ),
    );
    expect(one?.equals(other as Buffer)).toBe(false);
  });
});

describe("cellText", () => {
  it("escapes what XML cannot hold, and text that looks like an escape", () => {
    expect(cellText("a\rb\u0001\u007f\uffff")).toBe("a_x000D_b_x0001__x007F__xFFFF_");
    expect(cellText("_x000D_")).toBe("_x005F_x000D_");
    expect(cellText("_x12_")).toBe("_x005F_x12_");
    expect(cellText("_x_ _x00000_ \t\n é")).toBe("_x_ _x00000_ \t\n é");
  });
});

describe("linkTarget", () => {
  it("keeps plain addresses and encodes others", () => {
    expect(linkTarget("https://example.com")).toBe("https://example.com");
    expect(linkTarget("https://example.com/%7Ea#b")).toBe("https://example.com/%7Ea#b");
    expect(linkTarget("https://bücher.example/ü")).toBe("https://xn--bcher-kva.example/%C3%BC");
  });

  it("does not let an address pass for a cell of the workbook", () => {
    expect(linkTarget("https://example.com/Sheet!B12")).toBe("https://example.com/Sheet%21B12");
  });

  it("is null beyond Excel's limit, and for what is no URI", () => {
    const longest = `https://example.com/${"a".repeat(2_059)}`;
    expect(linkTarget(longest)).toBe(longest);
    expect(linkTarget(`${longest}a`)).toBeNull();
    expect(linkTarget("=1+1")).toBeNull();
  });
});
