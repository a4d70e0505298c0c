/**
 * The one table of columns. The fields of a JSON record, the CSV, the sheets of the workbook with their
 * formats, the `About` sheet and the OpenAPI description are made from it: a column that you add here
 * appears in all of them.
 *
 * Values are canonical text: decimals without exponent or trailing zeros, dates `YYYY-MM-DD`,
 * instants ISO 8601 with milliseconds, null for "there is none".
 */
import type { Horizon } from "../market/change.ts";
import { PRICE_TYPES, type Board } from "../market/contract.ts";
import { formatMicros, type Micros } from "../market/decimal.ts";
import { BOARD_BASES, dateOf } from "../market/series.ts";
import { dateText, sessionUtc, SESSIONS_PER_DAY } from "../market/session.ts";
import { basisOf, type BoardRecord } from "../market/view.ts";

/** The kind of a column's values. `instant` is ISO 8601 in UTC. */
type ColumnKind = "text" | "url" | "decimal" | "date" | "instant";

/** A column of CSV and workbook, and a field of a JSON record. */
export interface BoardColumn {
  /** The header in CSV and workbook. */
  readonly name: string;
  /** The name of the field in a JSON record, if it differs. */
  readonly field?: string;
  /**
   * The field before it in a JSON record, if that is not the column before. Null: records do not have
   * this field.
   */
  readonly follows?: string | null;
  readonly kind: ColumnKind;
  /** Whether `value` may be null. */
  readonly nullable?: true;
  /** The version of the API that brought it; by default the first. */
  readonly since?: string;
  /** All texts that this version gives, if there are few. */
  readonly values?: readonly string[];
  /** Digits after the point shown in the workbook; 0: the numbers are whole. */
  readonly shownDecimals?: number;
  /** Unit and meaning, for people. */
  readonly meaning: string;
  /** Whether the workbook leaves it out: each of its sheets has one session and one board. */
  readonly onlyCsv?: true;
  /** The canonical text; for a decimal column, the text of a number. */
  readonly value: (record: BoardRecord) => string | null;
}

/** The name of the column's field in a JSON record. */
export const fieldOf = ({ field, name }: BoardColumn): string => field ?? name;

/** A text of the catalog. */
const text = (name: "ticker" | "name" | "segment" | "unit", meaning: string): BoardColumn => ({
  name,
  kind: "text",
  meaning,
  value: ({ contract }) => contract[name],
});

/** The change over a time. */
const change = (name: string, horizon: Horizon, time: string): BoardColumn => ({
  name,
  kind: "decimal",
  nullable: true,
  shownDecimals: 2,
  meaning: `Change against the level in force ${time} earlier, percent.`,
  value: ({ changePct }) => changePct[horizon],
});

/** A price in US dollars that not every record has. */
const price = (
  name: string,
  meaning: string,
  usdOf: (record: BoardRecord) => Micros | undefined,
): BoardColumn => ({
  name,
  kind: "decimal",
  nullable: true,
  shownDecimals: 6,
  meaning,
  value: (record) => {
    const usd = usdOf(record);
    return usd === undefined ? null : formatMicros(usd);
  },
});

/**
 * In the order of the CSV. Free text is at the end, and `source` last, because there are clients that
 * split lines at commas.
 */
export const COLUMNS: readonly BoardColumn[] = [
  {
    name: "session_utc",
    follows: null,
    kind: "instant",
    onlyCsv: true,
    meaning: "The 12-hour session the row belongs to (UTC).",
    value: ({ session }) => sessionUtc(session),
  },
  {
    name: "contract_id",
    field: "id",
    kind: "text",
    meaning: "Identifier of the contract, as used in addresses.",
    value: ({ contract }) => contract.id,
  },
  text(
    "ticker",
    "Short ticker. Memory contracts have no exchange tickers; these are the publisher's.",
  ),
  text("name", "Display name."),
  text("segment", "Segment, such as DRAM, HBM, NAND, LPDDR, NOR, eMMC or SSD."),
  text("unit", "Currency and item that the level is for."),
  {
    name: "spot_usd",
    kind: "decimal",
    shownDecimals: 6,
    meaning: "Level in force, in US dollars per unit.",
    value: ({ level }) => formatMicros(level.usd),
  },
  change("chg_24h_pct", "24h", "24 hours"),
  change("chg_30d_pct", "30d", "30 days"),
  change("chg_yoy_pct", "1y", "one calendar year"),
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
    value: ({ usdPerGb }) => usdPerGb,
  },
  {
    name: "board",
    follows: null,
    kind: "text",
    onlyCsv: true,
    meaning: "memory or semiconductor.",
    value: ({ contract }) => contract.board,
  },
  change("chg_7d_pct", "7d", "7 days"),
  change("chg_60d_pct", "60d", "60 days"),
  change("chg_90d_pct", "90d", "90 days"),
  change("chg_180d_pct", "180d", "180 days"),
  price(
    "low_52w_usd",
    "Lowest level given in the calendar year up to the session, none before the latest break.",
    ({ yearRange }) => yearRange?.low,
  ),
  price(
    "high_52w_usd",
    "Highest level given in the calendar year up to the session, none before the latest break.",
    ({ yearRange }) => yearRange?.high,
  ),
  {
    name: "prev_as_of",
    kind: "date",
    nullable: true,
    meaning: "Date of the level that chg_24h_pct compares with; empty without a change.",
    value: ({ reference: { "24h": then } }) => then && dateText(dateOf(then)),
  },
  {
    name: "age_days",
    kind: "decimal",
    shownDecimals: 1,
    meaning: "Days from the level's session to this one: 0, 0.5, 1 and so on.",
    value: ({ session, level }) => String((session - level.session) / SESSIONS_PER_DAY),
  },
  {
    name: "price_type",
    kind: "text",
    nullable: true,
    values: PRICE_TYPES,
    meaning: `What kind of price it is: ${PRICE_TYPES.join(", ")}; empty where the publisher does not say.`,
    value: ({ contract }) => contract.priceType,
  },
  price(
    "low_usd",
    "Lowest price behind the level in force, US dollars per unit; empty where not given.",
    ({ level }) => level.lowUsd,
  ),
  price(
    "high_usd",
    "Highest price behind the level in force, US dollars per unit; empty where not given.",
    ({ level }) => level.highUsd,
  ),
  {
    name: "inputs",
    kind: "decimal",
    nullable: true,
    shownDecimals: 0,
    meaning: "How many prices are behind the level in force; empty where not given.",
    value: ({ level }) => (level.inputs === undefined ? null : String(level.inputs)),
  },
  {
    name: "break_session_utc",
    follows: null,
    kind: "instant",
    nullable: true,
    meaning: "Session of the latest break: levels from it on are not comparable with earlier ones.",
    value: (record) => record.break && sessionUtc(record.break.session),
  },
  {
    name: "basis",
    follows: "ai_exposure_pct",
    kind: "text",
    values: BOARD_BASES,
    meaning:
      "reported, assessed or estimated by the source; carried: none for this session, the last level stands.",
    value: basisOf,
  },
  {
    name: "as_of",
    follows: "basis",
    kind: "date",
    meaning: "Date of the level.",
    value: ({ level }) => dateText(dateOf(level)),
  },
  {
    name: "source_url",
    follows: "as_of",
    kind: "url",
    meaning: "Address of the source.",
    value: ({ contract, level }) => level.sourceUrl ?? contract.sourceUrl,
  },
  {
    name: "break_reason",
    follows: null,
    kind: "text",
    nullable: true,
    meaning: "Why the levels are not comparable across the break.",
    value: (record) => record.break?.reason ?? null,
  },
  {
    name: "source",
    follows: "as_of",
    kind: "text",
    meaning: "Name of the data source.",
    value: ({ contract, level }) => level.source ?? contract.source,
  },
];

/** The fields of a JSON record, in its order. `break`, an object, follows them. */
export const RECORD_COLUMNS: readonly BoardColumn[] = COLUMNS.reduce<BoardColumn[]>(
  (fields, column) => {
    const { follows = fields.at(-1) && fieldOf(fields.at(-1) as BoardColumn) } = column;
    if (follows === null) return fields;
    const at = fields.findIndex((item) => fieldOf(item) === follows) + 1;
    return fields.toSpliced(at, 0, column);
  },
  [],
);

/** The workbook's sheet of each board. */
export const SHEET_NAMES: { readonly [B in Board]: string } = {
  memory: "Memory",
  semiconductor: "Semiconductor",
};

export const WORKBOOK_COLUMNS: readonly BoardColumn[] = COLUMNS.filter(({ onlyCsv }) => !onlyCsv);
