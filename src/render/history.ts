/**
 * The files with all histories, as CSV and Parquet. They have a row for each entry of a contract's `history`;
 * contracts in board order, dates ascending. And the file with every level behind them, from which the
 * figures of boards and indices can be calculated again, and the file with the rows that it no longer has.
 */
import type { DecodedArray, Encoding, SchemaElement } from "hyparquet";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { inBoardOrder, type Contract } from "../market/contract.ts";
import { formatMicros, unitsOf, type Micros } from "../market/decimal.ts";
import { dateOf, type Basis, type Close, type Level } from "../market/series.ts";
import { dateText, sessionStartMs, sessionUtc } from "../market/session.ts";
import { historyOf, knownOf, levelsOf, type BoardRecord, type TierView } from "../market/view.ts";
import type { Piece } from "../snapshot/coded.ts";
import { csvCell } from "../lib/csv.ts";
import { headerOf, levelRow, supersededRow } from "../public/row-schemas.ts";
import type { KnownRows } from "./known-rows.ts";

interface HistoryColumn {
  readonly name: string;
  /** How Parquet stores it; an OPTIONAL one may be null. */
  readonly type: Omit<SchemaElement, "name">;
  /** Without it hyparquet-writer tries a dictionary, which takes longer than all else. */
  readonly encoding?: Encoding;
  /** The value in Parquet: dates in days and instants in milliseconds since 1970. */
  readonly value: (row: Close, id: string) => string | number | null;
  /** The cell in CSV. */
  readonly text: (row: Close, id: string) => string;
}

const TEXT = { type: "BYTE_ARRAY", converted_type: "UTF8" } as const;
const UTC_MILLIS = {
  type: "INT64",
  converted_type: "TIMESTAMP_MILLIS",
  logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MILLIS" },
} as const;
const REQUIRED = { repetition_type: "REQUIRED" } as const;
const OPTIONAL = { repetition_type: "OPTIONAL" } as const;

/** A column of prices that may be null. */
const price = (name: string, usdOf: (row: Close) => Micros | undefined): HistoryColumn => ({
  name,
  type: { type: "DOUBLE", ...OPTIONAL },
  encoding: "PLAIN",
  value: (row) => {
    const usd = usdOf(row);
    return usd === undefined ? null : unitsOf(usd);
  },
  text: (row) => usdText(usdOf(row)),
});

const usdText = (usd: Micros | undefined): string => (usd === undefined ? "" : formatMicros(usd));

/** The columns of histories, in their order. */
const COLUMNS: readonly HistoryColumn[] = [
  {
    name: "contract_id",
    type: { ...TEXT, ...REQUIRED },
    value: (_row, id) => id,
    text: (_row, id) => id,
  },
  {
    name: "date",
    type: { type: "INT32", converted_type: "DATE", ...REQUIRED },
    encoding: "DELTA_BINARY_PACKED",
    value: ({ date }) => date,
    text: ({ date }) => dateText(date),
  },
  { ...price("close_usd", ({ level }) => level.usd), type: { type: "DOUBLE", ...REQUIRED } },
  price("low_usd", ({ level }) => level.lowUsd),
  price("high_usd", ({ level }) => level.highUsd),
  {
    name: "inputs",
    type: { type: "INT32", ...OPTIONAL },
    value: ({ level }) => level.inputs ?? null,
    text: ({ level }) => inputsText(level),
  },
  {
    name: "basis",
    type: { ...TEXT, ...REQUIRED },
    value: ({ level }) => basisOf(level),
    text: ({ level }) => basisOf(level),
  },
  {
    name: "session_utc",
    type: { ...UTC_MILLIS, ...REQUIRED },
    encoding: "DELTA_BINARY_PACKED",
    value: ({ level }) => sessionStartMs(level.session),
    text: ({ level }) => sessionUtc(level.session),
  },
  {
    name: "break_reason",
    type: { ...TEXT, ...OPTIONAL },
    value: ({ breakReason }) => breakReason,
    text: ({ breakReason }) => reasonText(breakReason),
  },
];

const inputsText = ({ inputs }: Level): string => (inputs === undefined ? "" : String(inputs));

/** The basis as the feed gave it. No close and no level of these files is carried. */
const basisOf = ({ basis = "reported" }: Level): Basis => basis;

export const historyCsv = (view: TierView, catalog: readonly Contract[]): Generator<Piece> =>
  csvByContract(
    COLUMNS.map(({ name }) => name).join(","),
    knownOf(view, catalog).map((record) => {
      const { id } = record.contract;
      const line = (row: Close): string =>
        `${COLUMNS.map(({ text }) => text(row, id)).join(",")}\r\n`;
      return { id, lines: () => historyOf(view, record).map(line).join("") };
    }),
  );

/**
 * Every level given, both sessions of a day, as CSV: see levelsOf. A level has its own break alone. With
 * `known` each row ends with the number of the entry that brought it.
 */
export const levelsCsv = (
  view: TierView,
  catalog: readonly Contract[],
  known: KnownRows | null,
): Generator<Piece> =>
  csvByContract(
    headerOf(levelRow, known !== null),
    knownOf(view, catalog).map((record) => {
      const { id } = record.contract;
      const lines = (): string =>
        known?.levelLines(id, levelRows(view, record)) ??
        levelRows(view, record)
          .map((row) => `${id},${row}\r\n`)
          .join("");
      return { id, lines };
    }),
  );

/**
 * The rows that levels.csv no longer has, as CSV, each with the numbers of the entries that brought and ended
 * it, and whether it ended because its contract left the catalog. Such contracts come last, by id.
 */
export function supersededCsv(
  view: TierView,
  catalog: readonly Contract[],
  known: KnownRows,
): Generator<Piece> {
  const records = new Map(knownOf(view, catalog).map((record) => [record.contract.id, record]));
  const rowsOf = (id: string): readonly string[] => {
    const record = records.get(id);
    return record === undefined ? [] : levelRows(view, record);
  };
  const listed = inBoardOrder(catalog).map(({ id }) => id);
  const ids = new Set([...listed, ...[...known.ids].sort()]);
  return csvByContract(
    headerOf(supersededRow),
    [...ids].map((id) => ({ id, lines: () => known.supersededLines(id, () => rowsOf(id)) })),
  );
}

/** The rows of a contract in levels.csv, without its id. */
const levelRows = (view: TierView, record: BoardRecord): string[] =>
  levelsOf(view, record).map(
    (level) =>
      `${sessionUtc(level.session)},${figures(level)},${dateText(dateOf(level))},${reasonText(level.breakReason)}`,
  );

/** The cells from price to basis. */
const figures = (level: Level): string =>
  `${unitsOf(level.usd)},${usdText(level.lowUsd)},${usdText(level.highUsd)},${inputsText(level)},${basisOf(level)}`;

/**
 * The CSV: its header, and a piece for each contract with rows. A file may have millions of rows, so only
 * text that may need quotation marks goes through the CSV library, and only one contract's rows are in
 * memory.
 */
function* csvByContract(
  header: string,
  contracts: Iterable<{ readonly id: string; lines(): string }>,
): Generator<Piece> {
  yield { id: null, bytes: Buffer.from(`${header}\r\n`) };
  for (const { id, lines } of contracts) {
    const text = lines();
    if (text !== "") yield { id, bytes: Buffer.from(text) };
  }
}

const reasonText = (text: string | null | undefined): string => (text ? csvCell(text) : "");

/** A reader of some contracts fetches their groups alone. */
const ROWS_PER_GROUP = 10_000;

/** The Parquet file, compressed with Snappy. The same rows give the same bytes. */
export function historyParquet(view: TierView, catalog: readonly Contract[]): Uint8Array {
  const root = { name: "history", num_children: COLUMNS.length };
  const schema = [root, ...COLUMNS.map(({ name, type }) => ({ name, ...type }))];
  const writer = new ByteWriter();
  const file = new ParquetWriter({ writer, schema });
  let group: { id: string; rows: Close[] }[] = [];
  let groupSize = 0;
  const writeGroup = (): void => {
    const columnData = COLUMNS.map(({ name, encoding, value }) => {
      // hyparquet-writer takes doubles as they are, and copies all else.
      const data: DecodedArray = name === "close_usd" ? new Float64Array(groupSize) : [];
      let at = 0;
      for (const { id, rows } of group) for (const row of rows) data[at++] = value(row, id);
      // By the least and the greatest id of a group a reader knows which contracts it holds.
      return { name, data, ...(encoding && { encoding }), statistics: name === "contract_id" };
    });
    // A group is one page, of any size.
    void file.write({ columnData, rowGroupSize: ROWS_PER_GROUP, pageSize: 0 });
    group = [];
    groupSize = 0;
  };
  for (const record of knownOf(view, catalog)) {
    const rows = historyOf(view, record);
    if (groupSize > 0 && groupSize + rows.length > ROWS_PER_GROUP) writeGroup();
    group.push({ id: record.contract.id, rows });
    groupSize += rows.length;
  }
  if (groupSize > 0) writeGroup();
  void file.finish();
  return writer.getBytes();
}
