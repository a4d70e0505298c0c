/** Reads the cells of a stored workbook. */
import type { CellValue } from "exceljs";

/**
 * The cells of every sheet of a workbook as text: numbers in their shortest form, dates as ISO
 * 8601 instants, links as the text that they show, empty cells as `""`.
 */
export async function sheetRows(bytes: Buffer): Promise<ReadonlyMap<string, string[][]>> {
  const { default: exceljs } = await import("exceljs");
  const workbook = new exceljs.Workbook();
  await workbook.xlsx.load(new Uint8Array(bytes).buffer);
  return new Map(
    workbook.worksheets.map((sheet) => [
      sheet.name,
      Array.from({ length: sheet.rowCount }, (_, row) =>
        Array.from({ length: sheet.columnCount }, (__, column) =>
          cellText(sheet.getCell(row + 1, column + 1).value),
        ),
      ),
    ]),
  );
}

function cellText(value: CellValue): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== "object") return String(value);
  if ("text" in value) return cellText(value.text);
  return JSON.stringify(value);
}
