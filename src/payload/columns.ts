/**
 * The one table of columns. It drives the fields of a JSON record, the CSV, the sheets of the
 * workbook with their formats, the `About` sheet and the OpenAPI description: to add a column, add
 * it here (and to RECORD_FIELDS, if records carry it).
 *
 * Values are canonical text: decimals without exponent or trailing zeros, dates `YYYY-MM-DD`,
 * instants ISO 8601 with milliseconds, null for "there is none".
 */
import type { Board } from "../market/contract.ts";
import { formatMicros } from "../market/decimal.ts";
import { dateText, sessionUtc, type Session } from "../market/session.ts";
import { basisOf, type BoardRecord } from "../market/view.ts";

/** How a value is written: as a number, an address, a date; `instant` is ISO 8601 in UTC. */
type ColumnKind = "text" | "url" | "decimal" | "date" | "instant";

/** A column of CSV and workbook, and a field of a record where RECORD_FIELDS names it. */
export interface Column {
  /** The header in CSV and workbook. */
  readonly name: string;
  /** The name of the field in a JSON record, where it differs. */
  readonly field?: string;
  readonly kind: ColumnKind;
  /** Whether `value` may be null. */
  readonly nullable?: true;
  /** Digits after the point shown in the workbook. */
  readonly shownDecimals?: number;
  /** Unit and meaning, for people. */
  readonly meaning: string;
  /** Left out of the workbook: its sheets are one session and one board each. */
  readonly onlyCsv?: true;
  /** Canonical text; of a decimal column a number's. */
  readonly value: (record: BoardRecord, session: Session) => string | null;
}

/** The name of the column's field in a JSON record. */
export const fieldOf = ({ field, name }: Column): string => field ?? name;

/** In the order of the CSV. `source` is last: clients in the field expect it there. */
export const COLUMNS = [
  {
    name: "session_utc",
    kind: "instant",
    onlyCsv: true,
    meaning: "The 12-hour session the row belongs to (UTC).",
    value: (_record, session) => sessionUtc(session),
  },
  {
    name: "contract_id",
    field: "id",
    kind: "text",
    meaning: "Identifier of the contract, as used in addresses.",
    value: ({ contract }) => contract.id,
  },
  {
    name: "ticker",
    kind: "text",
    meaning: "Short ticker. Memory contracts have no exchange tickers; these are the publisher's.",
    value: ({ contract }) => contract.ticker,
  },
  {
    name: "name",
    kind: "text",
    meaning: "Display name.",
    value: ({ contract }) => contract.name,
  },
  {
    name: "segment",
    kind: "text",
    meaning: "Segment, such as DRAM, HBM, NAND, LPDDR, NOR, eMMC or SSD.",
    value: ({ contract }) => contract.segment,
  },
  {
    name: "unit",
    kind: "text",
    meaning: "Currency and item that the level is for.",
    value: ({ contract }) => contract.unit,
  },
  {
    name: "spot_usd",
    kind: "decimal",
    shownDecimals: 6,
    meaning: "Level in force, in US dollars per unit.",
    value: ({ level }) => formatMicros(level.usd),
  },
  {
    name: "chg_24h_pct",
    kind: "decimal",
    nullable: true,
    shownDecimals: 2,
    meaning: "Change against the level in force 24 hours earlier, percent.",
    value: (record) => record.chg24hPct,
  },
  {
    name: "chg_30d_pct",
    kind: "decimal",
    nullable: true,
    shownDecimals: 2,
    meaning: "Change against the level in force 30 days earlier, percent.",
    value: (record) => record.chg30dPct,
  },
  {
    name: "chg_yoy_pct",
    kind: "decimal",
    nullable: true,
    shownDecimals: 2,
    meaning: "Change against the level in force one calendar year earlier, percent.",
    value: (record) => record.chgYoyPct,
  },
  {
    name: "ai_exposure_pct",
    kind: "decimal",
    shownDecimals: 2,
    meaning: "Share of demand attributed to AI, percent (0 to 100).",
    value: ({ contract }) => contract.aiExposurePct,
  },
  {
    name: "capacity_gb",
    kind: "decimal",
    nullable: true,
    shownDecimals: 6,
    meaning: "Capacity of one unit in gigabytes (10⁹ bytes); empty where it has none.",
    value: ({ contract }) => contract.capacityGb,
  },
  {
    name: "usd_per_gb",
    kind: "decimal",
    nullable: true,
    shownDecimals: 6,
    meaning: "Level divided by capacity, US dollars per gigabyte; empty without a capacity.",
    value: (record) => record.usdPerGb,
  },
  {
    name: "board",
    kind: "text",
    onlyCsv: true,
    meaning: "memory or semiconductor.",
    value: ({ contract }) => contract.board,
  },
  {
    name: "break_session_utc",
    kind: "instant",
    nullable: true,
    meaning: "Session of the latest break: levels from it on are not comparable with earlier ones.",
    value: (record) => (record.break === null ? null : sessionUtc(record.break.session)),
  },
  {
    name: "break_reason",
    kind: "text",
    nullable: true,
    meaning: "Why the levels are not comparable across the break.",
    value: (record) => record.break?.reason ?? null,
  },
  {
    name: "basis",
    kind: "text",
    meaning:
      "reported, assessed or estimated by the source; carried: none for this session, the last level stands.",
    value: basisOf,
  },
  {
    name: "as_of",
    kind: "date",
    meaning: "Date of the level.",
    value: ({ level }) => dateText(level.asOf),
  },
  {
    name: "source_url",
    kind: "url",
    meaning: "Address of the source.",
    value: ({ contract, level }) => level.sourceUrl ?? contract.sourceUrl,
  },
  {
    name: "source",
    kind: "text",
    meaning: "Name of the data source.",
    value: ({ contract, level }) => level.source ?? contract.source,
  },
] as const satisfies readonly Column[];

/** The fields of a JSON record, in order. `break` is an object and stands after them. */
const RECORD_FIELDS = [
  "id",
  "ticker",
  "name",
  "segment",
  "unit",
  "spot_usd",
  "chg_24h_pct",
  "chg_30d_pct",
  "chg_yoy_pct",
  "ai_exposure_pct",
  "basis",
  "as_of",
  "source",
  "source_url",
  "capacity_gb",
  "usd_per_gb",
] as const;

/** The columns behind RECORD_FIELDS, in that order. */
export const RECORD_COLUMNS: readonly Column[] = RECORD_FIELDS.map((field) => {
  const column = (COLUMNS as readonly Column[]).find((item) => fieldOf(item) === field);
  if (column === undefined) throw new Error(`No column holds the field ${field}`);
  return column;
});

/** The workbook's sheet of each board. */
export const SHEET_NAMES: { readonly [B in Board]: string } = {
  memory: "Memory",
  semiconductor: "Semiconductor",
};

/** The columns of a sheet, in the order of the CSV. */
export const WORKBOOK_COLUMNS: readonly Column[] = (COLUMNS as readonly Column[]).filter(
  (column) => column.onlyCsv !== true,
);
