/** `publish` reads the CSV that spreadsheets save. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect } from "vitest";
import exceljs from "exceljs";
import { catalogOf } from "../cli/small-market.ts";
import { inProcess } from "../cli/run.ts";
import { testWithService } from "../services/service-programs.ts";

const SOURCE = 'Händler, "täglich" – ≈ 1 €';
const ROWS = [
  ["id", "spot_usd", "as_of", "basis", "source"],
  ["a", 12.5, new Date("2026-11-20T00:00:00Z"), "assessed", SOURCE],
  ["b", 19_500.25, new Date("2026-11-21T00:00:00Z"), "reported", "two\nlines"],
];
const READ = [
  { id: "a", spot_usd: 12.5, as_of: "2026-11-20", basis: "assessed", source: SOURCE },
  { id: "b", spot_usd: 19_500.25, as_of: "2026-11-21", basis: "reported", source: "two\nlines" },
];

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-sheets-"));
  writeFileSync(join(folder, "c.csv"), catalogOf(["a", "b"]));
  const workbook = new exceljs.Workbook();
  const sheet = workbook.addWorksheet("Quotes");
  sheet.addRows(ROWS);
  sheet.getColumn(3).numFmt = "yyyy-mm-dd";
  await workbook.xlsx.writeFile(join(folder, "quotes.xlsx"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Publishes the quotes into a new store, and returns the board. */
async function published(quotes: Uint8Array): Promise<Record<string, unknown>[]> {
  const place = mkdtempSync(join(folder, "store-"));
  writeFileSync(join(place, "quotes.csv"), quotes);
  const args = ["--catalog", "../c.csv", "--quotes", "quotes.csv", "--store", "x"];
  const { code, stderr } = await inProcess(["publish", ...args], { cwd: place });
  expect(code, stderr).toBe(0);
  const board = join(place, "x/sessions/2026-11-21T00Z/r1/pro/board.json");
  return JSON.parse(readFileSync(board, "utf8")).memory;
}

const MARK = Buffer.from("\ufeff");

/** As Excel saves "CSV UTF-8": with a byte order mark, and CRLF between the rows but not within cells. */
const asExcel = (csv: Buffer): Buffer =>
  Buffer.concat([MARK, Buffer.from(String(csv).replaceAll(/\n(?=a,|b,|"a"|"b"|$)/g, "\r\n"))]);

describe("LibreOffice's CSV", () => {
  // Token 7: quotes around every text. 76: UTF-8.
  testWithService("soffice").each([
    ["quotes where needed", "false"],
    ["quotes around all text", "true"],
  ])("%s: as it is, with a byte order mark, and as Excel saves it", async (_, quoteAll) => {
    const out = join(folder, quoteAll);
    mkdirSync(out);
    const filter = `csv:Text - txt - csv (StarCalc):44,34,76,1,,0,${quoteAll},true,false`;
    const profile = `-env:UserInstallation=file://${join(folder, "profile")}`;
    const args = [profile, "--headless", "--convert-to", filter, "--outdir", out];
    await promisify(execFile)("soffice", [...args, join(folder, "quotes.xlsx")]);
    const csv = readFileSync(join(out, "quotes.csv"));
    expect(String(csv).split("\n", 2)[1]).toBe(
      quoteAll === "true"
        ? `"a",12.5,2026-11-20,"assessed","${SOURCE.replaceAll('"', '""')}"`
        : `a,12.5,2026-11-20,assessed,"${SOURCE.replaceAll('"', '""')}"`,
    );
    for (const form of [csv, Buffer.concat([MARK, csv]), asExcel(csv)]) {
      expect(await published(form)).toMatchObject(READ);
    }
    expect(String(asExcel(csv)).match(/\r\n/g)).toHaveLength(3);
  });
});
