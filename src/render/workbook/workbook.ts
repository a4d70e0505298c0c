/**
 * A tier's boards as an Excel workbook (Office Open XML, ECMA-376): one sheet for each board, `Settlements`, and
 * `About`. It uses plain features only, so that Excel and LibreOffice open it without a repair.
 *
 * The same view gives the same bytes at any time and in any time zone: the times inside are the
 * session's, the dates of the archive's entries are fixed, and cells hold UTC serial numbers.
 */
import { createRequire } from "node:module";
import { PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import type { stream, Workbook } from "exceljs";
import { BOARDS } from "../../market/contract.ts";
import { sessionStartMs, type Session } from "../../market/session.ts";
import type { TierView } from "../../market/view.ts";
import { SHEET_NAMES, WORKBOOK_COLUMNS, type BoardColumn } from "../../public/columns.ts";
import { SETTLEMENT_COLUMNS } from "../../public/settlement-columns.ts";
import type { SettledItem } from "../settlement-files.ts";
import { addAboutSheet, SETTLED_MONTHS, SETTLEMENTS_SHEET } from "./about.ts";
import { FONT, HEADER_FONT } from "./font.ts";
import { cellText, linkTarget, shownWidth } from "./cell-text.ts";

/** Excel's limit on links in one sheet. Further addresses stay plain text. */
const MAX_LINKS_PER_SHEET = 65_530;

/** Excel counts a 29 February 1900, so its numbers mean other days before. Such dates stand as text. */
const FIRST_EXCEL_DATE = "1900-03-01";

const LINK_FONT = { ...FONT, underline: true, color: { argb: "FF0563C1" } } as const;

/** Excel's widths are in characters; the rest is for the filter's button and the margin. */
const WIDTH_MARGIN = 3;
const MAX_TEXT_WIDTH = 50;

/** The file's bytes. The first call loads exceljs, so that other commands start without it. */
export async function renderWorkbook(
  view: TierView,
  settled: readonly SettledItem[],
  about: { readonly attribution: string },
): Promise<Buffer> {
  const archive = new PassThrough();
  const bytes = buffer(archive);
  const workbook = emptyWorkbook(view.session, archive);
  for (const board of BOARDS) {
    const rows = view.boards[board].map((record) =>
      WORKBOOK_COLUMNS.map((each) => each.value(record)),
    );
    addSheet(workbook, SHEET_NAMES[board], WORKBOOK_COLUMNS, rows);
  }
  addSheet(workbook, SETTLEMENTS_SHEET, SETTLED_SHEET_COLUMNS, settledRows(settled));
  addAboutSheet(workbook, view, about.attribution);
  await workbook.commit();
  return bytes;
}

/** The archive takes each row as soon as it is committed: all cells of a large market at once take 250 MB. */
function emptyWorkbook(session: Session, archive: PassThrough): stream.xlsx.WorkbookWriter {
  const workbook = new (loadWriterClass())({
    stream: archive,
    useStyles: true,
    useSharedStrings: true,
    zip: { zlib: { level: 6 } },
  });
  const time = new Date(sessionStartMs(session));
  workbook.created = time;
  workbook.modified = time;
  workbook.creator = "chipboard";
  workbook.lastModifiedBy = "chipboard";
  // The sheets' views refer to the workbook's first view, so there must be one.
  workbook.views = [
    {
      x: 0,
      y: 0,
      width: 24_000,
      height: 12_000,
      firstSheet: 0,
      activeTab: 0,
      visibility: "visible",
    },
  ];
  return workbook;
}

/** The writer, and the archive that it appends its entries to. */
interface ArchivingWriter extends stream.xlsx.WorkbookWriter {
  readonly zip: { append(source: unknown, entry: { readonly name: string; date?: Date }): unknown };
}

/**
 * Loads the writer of exceljs without its entry point, which also loads CSV and the readers.
 *
 * The entries of the archive hold the time of their making, and exceljs offers no way to set it. So all get the
 * earliest date of the format. The theme is the first entry that the writer's constructor appends.
 */
function loadWriterClass(): typeof stream.xlsx.WorkbookWriter {
  const requireOfExceljs = createRequire(createRequire(import.meta.url).resolve("exceljs"));
  const Writer = requireOfExceljs("./lib/stream/xlsx/workbook-writer.js") as new (
    ...options: ConstructorParameters<typeof stream.xlsx.WorkbookWriter>
  ) => ArchivingWriter;
  return class extends Writer {
    override addThemes(): Promise<void> {
      const append = this.zip.append.bind(this.zip);
      this.zip.append = (source, entry) => append(source, { ...entry, date: FIRST_ZIP_DATE });
      return super.addThemes();
    }
  };
}

const FIRST_ZIP_DATE = new Date(Date.UTC(1980, 0, 1));

/** The months of a year: all of five years would take more space than the rest of the workbook. */
function settledRows(settled: readonly SettledItem[]): (readonly (string | null)[])[] {
  return settled.flatMap(({ kind, id, months }) =>
    months
      .slice(-SETTLED_MONTHS)
      .map((settlement) => [kind, id, ...SETTLEMENT_COLUMNS.map((each) => each.value(settlement))]),
  );
}

type SheetColumn = Pick<BoardColumn, "name" | "kind" | "shownDecimals">;

const SETTLED_SHEET_COLUMNS: readonly SheetColumn[] = [
  { name: "kind", kind: "text" },
  { name: "id", kind: "text" },
  ...SETTLEMENT_COLUMNS,
];

function addSheet(
  workbook: Workbook,
  name: string,
  columns: readonly SheetColumn[],
  rows: readonly (readonly (string | null)[])[],
): void {
  const sheet = workbook.addWorksheet(name, { views: [{ state: "frozen", ySplit: 1 }] });
  sheet.columns = columns.map((column, at) => ({
    header: column.name,
    width: columnWidth(
      column,
      rows.map((row) => row[at] ?? null),
    ),
    style: { numFmt: numberFormat(column) },
  }));
  sheet.getRow(1).font = HEADER_FONT;
  // Without rows the filter covers only the header: a filter without cells is not valid.
  sheet.autoFilter = {
    from: { row: 1, column: 1 },
    to: { row: rows.length + 1, column: columns.length },
  };

  let links = 0;
  for (const [rowAt, row] of rows.entries()) {
    const sheetRow = sheet.getRow(rowAt + 2);
    for (const [at, column] of columns.entries()) {
      const value = row[at] ?? null;
      // A missing cell reads as empty and takes no bytes.
      if (value === null) continue;
      const cell = sheetRow.getCell(at + 1);
      const mayLink = column.kind === "url" && links < MAX_LINKS_PER_SHEET;
      const hyperlink = mayLink ? linkTarget(value) : null;
      cell.value = cellValue(column, value);
      if (hyperlink === null) continue;
      cell.value = { text: cellText(value), hyperlink };
      cell.font = LINK_FONT;
      links += 1;
    }
    sheetRow.commit();
  }
}

function cellValue({ kind }: SheetColumn, value: string): number | Date | string {
  if (kind === "decimal") return Number(value);
  const isTime = kind === "date" || kind === "instant";
  return isTime && value >= FIRST_EXCEL_DATE ? new Date(value) : cellText(value);
}

function numberFormat({ kind, shownDecimals = 0 }: SheetColumn): string {
  if (kind === "date") return "yyyy-mm-dd";
  if (kind === "instant") return "yyyy-mm-dd hh:mm";
  if (kind !== "decimal") return "General";
  if (shownDecimals === 0) return "0";
  return shownDecimals <= 2
    ? `0.${"0".repeat(shownDecimals)}`
    : `#,##0.00${"#".repeat(shownDecimals - 2)}`;
}

/** Numbers and dates get their whole width (else Excel shows `####`); text gets a limited one. */
function columnWidth(column: SheetColumn, values: readonly (string | null)[]): number {
  const format = numberFormat(column);
  let width = column.name.length;
  for (const value of values) {
    if (value === null) continue;
    width = Math.max(width, column.kind === "decimal" ? numberWidth(value) : shownWidth(value));
  }
  const isTime = column.kind === "date" || column.kind === "instant";
  if (isTime && values.every((value) => value === null || value >= FIRST_EXCEL_DATE)) {
    width = Math.max(column.name.length, format.length);
  }
  const isBounded = column.kind === "text" || column.kind === "url";
  return (isBounded ? Math.min(width, MAX_TEXT_WIDTH) : width) + WIDTH_MARGIN;
}

/** The width with the two decimals that are always shown, and the commas between thousands. */
function numberWidth(decimal: string): number {
  const [whole = "", fraction = ""] = decimal.split(".");
  return whole.length + Math.floor(whole.length / 3) + 1 + Math.max(2, fraction.length);
}
