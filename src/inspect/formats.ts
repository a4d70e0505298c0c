/** Whether JSON, CSV and workbook of a tier hold the same values. */
import { parse } from "csv-parse/sync";
import { BOARDS, type Board } from "../market/contract.ts";
import { TIERS, type TierName } from "../market/tier.ts";
import { COLUMNS, SHEET_NAMES, WORKBOOK_COLUMNS, type Column } from "../render/columns.ts";
import { readSnapshotFile } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { FILES } from "../store/paths.ts";
import { readBoard, type StoredRecord } from "./stored-payloads.ts";
import type { FoundSnapshot } from "./reference.ts";
import { sheetRows } from "./sheets.ts";

/** The differences, one line each: `pro/export.csv row 3 spot_usd: "1", expected "2"`. */
export async function formatDifferences(
  store: ObjectStore,
  snapshot: Pick<FoundSnapshot, "name" | "manifest">,
  tier: TierName,
): Promise<string[]> {
  const board = await readBoard(store, snapshot, tier);
  const { name, manifest } = snapshot;
  const differences: string[] = [];
  if (TIERS[tier].exports.includes("csv")) {
    const path = FILES.csv(tier);
    const { bytes } = await readSnapshotFile(store, name, manifest, path);
    const rows = parse(bytes, { record_delimiter: "\r\n" });
    const expected = BOARDS.flatMap((key) =>
      board[key].map((record) =>
        COLUMNS.map((column: Column) =>
          csvText(column, valueOf(column, record, key, board.session_utc)),
        ),
      ),
    );
    const header = COLUMNS.map((column) => column.name);
    differences.push(...rowDifferences(path, [header, ...expected], rows, header));
  }
  if (TIERS[tier].exports.includes("xlsx")) {
    const path = FILES.xlsx(tier);
    const { bytes } = await readSnapshotFile(store, name, manifest, path);
    const sheets = await sheetRows(bytes);
    for (const key of BOARDS) {
      const title = SHEET_NAMES[key];
      const header = WORKBOOK_COLUMNS.map((column) => column.name);
      const expected = board[key].map((record) =>
        WORKBOOK_COLUMNS.map((column) =>
          sheetText(column, valueOf(column, record, key, board.session_utc)),
        ),
      );
      const rows = sheets.get(title) ?? [];
      differences.push(...rowDifferences(`${path} ${title}`, [header, ...expected], rows, header));
    }
  }
  return differences;
}

function valueOf(
  column: Column,
  record: StoredRecord,
  board: Board,
  sessionUtc: string,
): string | null {
  switch (column.name) {
    case "session_utc":
      return sessionUtc;
    case "board":
      return board;
    case "break_session_utc":
      return record.break?.session_utc ?? null;
    case "break_reason":
      return record.break?.reason ?? null;
    default: {
      const value = record[column.field ?? column.name];
      return typeof value === "string" ? value : null;
    }
  }
}

/** As the CSV writes it: text that a spreadsheet would take for a formula gets a leading quote. */
function csvText(column: Column, value: string | null): string {
  if (value === null) return "";
  const isText = column.kind === "text" || column.kind === "url";
  return isText && /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
}

/** As sheetRows reads it back: numbers by value, not by digits, and dates as instants. */
function sheetText(column: Column, value: string | null): string {
  if (value === null) return "";
  if (column.kind === "decimal") return String(Number(value));
  return column.kind === "date" ? `${value}T00:00:00.000Z` : value;
}

function rowDifferences(
  path: string,
  expected: readonly (readonly string[])[],
  rows: readonly (readonly string[])[],
  header: readonly string[],
): string[] {
  if (rows.length !== expected.length) {
    return [`${path} has ${rows.length} rows, expected ${expected.length}`];
  }
  return expected.flatMap((cells, row) =>
    cells.flatMap((cell, at) => {
      const found = rows[row]?.[at] ?? "";
      if (found === cell) return [];
      const place = `${path} row ${row + 1} ${header[at]}`;
      return [`${place}: ${JSON.stringify(found)}, expected ${JSON.stringify(cell)}`];
    }),
  );
}
