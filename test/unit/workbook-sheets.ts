/** A rendered workbook as a spreadsheet reads it: its sheets, and their cells by column. */
import exceljs, { type CellValue, type Workbook, type Worksheet } from "exceljs";
import type { TierView } from "../../src/market/view.ts";
import { WORKBOOK_COLUMNS } from "../../src/public/columns.ts";
import type { Settlement } from "../../src/market/settlements.ts";
import type { SettledItem } from "../../src/render/settlement-files.ts";
import { renderWorkbook } from "../../src/render/workbook/workbook.ts";

export const ATTRIBUTION = "Levels: example.com";

/** The columns of each board's sheet, in order. */
export const NAMES = WORKBOOK_COLUMNS.map(({ name }) => name);

const figures = { average: "12.345678", last: "13", high: "14.5", low: "11" };

/** Settlements: of a year and a month, the second of them with a break. */
export const SETTLED: readonly SettledItem[] = [
  {
    kind: "contract",
    id: "ddr5-16gb",
    months: Array.from({ length: 13 }, (_, at): Settlement => {
      const month = `${2025 + Math.floor((at + 9) / 12)}-${String(((at + 9) % 12) + 1).padStart(2, "0")}`;
      const settled = { days: 30, figures: at === 11 ? null : figures };
      const now = { days: 31, figures };
      return { month, unit: "=USD", capacityGb: "2", settled, now, settledBy: 7 };
    }),
  },
];

/** Renders the view and reads the workbook back. */
export async function read(view: TierView, attribution = ATTRIBUTION): Promise<Workbook> {
  const workbook = new exceljs.Workbook();
  const bytes = await renderWorkbook(view, SETTLED, { attribution });
  await workbook.xlsx.load(bytes as unknown as Parameters<typeof workbook.xlsx.load>[0]);
  return workbook;
}

/** The sheet of that name; throws where there is none. */
export const sheetOf = (workbook: Workbook, name: string): Worksheet => {
  const sheet = workbook.getWorksheet(name);
  if (sheet === undefined) throw new Error(`No sheet ${name}`);
  return sheet;
};

/** The values of a row, in the order of NAMES. */
export const cellsOf = (sheet: Worksheet, row: number): CellValue[] =>
  NAMES.map((_, at) => sheet.getRow(row).getCell(at + 1).value);

/** The cell of a row that is in the column of that name. */
export const cellOf = (sheet: Worksheet, row: number, name: string) =>
  sheet.getRow(row).getCell(NAMES.indexOf(name) + 1);
