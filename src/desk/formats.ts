/** Checks that JSON, CSV and workbook of a tier hold the same values. */
import { csvRecords } from "../feed/csv-reader.ts";
import { BOARDS, type Board } from "../market/contract.ts";
import type { TierName } from "../market/tier.ts";
import { COLUMNS, SHEET_NAMES, type BoardColumn } from "../render/columns.ts";
import { readSnapshotFile } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { FILES } from "../store/paths.ts";
import { readBoard, type Named, type StoredRecord } from "./stored-payloads.ts";
import { sheetRows } from "./sheets.ts";

/**
 * The differences, one line each: `pro/export.csv row 3 spot_usd: "1", expected "2"`. It compares the
 * columns in the exports' own headers: a missing column is no difference, and one that this version
 * does not know is skipped.
 */
export async function formatDifferences(
  store: ObjectStore,
  snapshot: Named,
  tier: TierName,
): Promise<string[]> {
  const { name, manifest } = snapshot;
  const board = await readBoard(store, snapshot, tier);
  if (board === null) return [];
  const differences: string[] = [];
  const csv = await readSnapshotFile(store, name, manifest, FILES.csv(tier));
  if (csv !== null) {
    const records = BOARDS.flatMap((key) => board[key].map((record) => ({ key, record })));
    const rows = csvRecords(csv.bytes.toString("utf8"));
    differences.push(
      ...rowDifferences(FILES.csv(tier), rows, records, (column, { key, record }) =>
        csvText(column, valueOf(column, record, key, board.session_utc)),
      ),
    );
  }
  const workbook = await readSnapshotFile(store, name, manifest, FILES.xlsx(tier));
  if (workbook !== null) {
    const sheets = await sheetRows(workbook.bytes);
    for (const key of BOARDS) {
      const place = `${FILES.xlsx(tier)} ${SHEET_NAMES[key]}`;
      const rows = sheets.get(SHEET_NAMES[key]) ?? [];
      differences.push(
        ...rowDifferences(
          place,
          rows.map((row) => row.map(withTime)),
          board[key],
          (column, record) => sheetText(column, valueOf(column, record, key, board.session_utc)),
        ),
      );
    }
  }
  return differences;
}

function valueOf(
  column: BoardColumn,
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

/** The value as in the CSV: text that a spreadsheet would read as a formula gets a leading quote. */
function csvText(column: BoardColumn, value: string | null): string {
  if (value === null) return "";
  const isText = column.kind === "text" || column.kind === "url";
  return isText && /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
}

/** The value as sheetRows reads it: numbers by value, not by digits, and dates as instants. */
function sheetText(column: BoardColumn, value: string | null): string {
  if (value === null) return "";
  if (column.kind === "decimal") return String(Number(value));
  return column.kind === "date" ? `${value}T00:00:00.000Z` : value;
}

/** A date that stands as text, because Excel has no number for it, as sheetRows reads other dates. */
const withTime = (text: string): string =>
  /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00.000Z` : text;

/** Compares the rows with the expected records in each column that the header names. */
function rowDifferences<R>(
  place: string,
  [header = [], ...rows]: readonly (readonly string[])[],
  records: readonly R[],
  textOf: (column: BoardColumn, record: R) => string,
): string[] {
  const columns = header.map((title) => COLUMNS.find(({ name }) => name === title));
  if (!header.includes("contract_id")) return [`${place} has no column contract_id`];
  if (rows.length !== records.length) {
    return [`${place} has ${rows.length + 1} rows, expected ${records.length + 1}`];
  }
  return records.flatMap((record, row) =>
    columns.flatMap((column, at) => {
      if (column === undefined) return [];
      const found = rows[row]?.[at] ?? "";
      const expected = textOf(column, record);
      if (found === expected) return [];
      const cell = `${place} row ${row + 2} ${column.name}`;
      return [`${cell}: ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`];
    }),
  );
}
