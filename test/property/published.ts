/** Publishes raw rows with the real `publish`, and reads the files, with numbers as text. */
import { parse } from "csv-parse/sync";
import { stringify } from "csv-stringify/sync";
import { parquetReadObjects } from "hyparquet";
import exceljs, { type CellValue } from "exceljs";
import type { InputSource } from "../../src/feed/source.ts";
import { parseSession, type Session } from "../../src/market/session.ts";
import { publishMoves } from "../store/publish-moves.ts";
import type { PublishResult } from "../../src/publish/release.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { snapshotFileKey } from "../../src/store/paths.ts";
import { plainBytes } from "../store/stored-file.ts";
import type { RawContract, RawLevel, RawMarket } from "./naive-levels.ts";
import { USUAL_REQUEST } from "../../src/publish/request.ts";

export const ATTRIBUTION = "Levels made up by a test";

/** The rows as input: a catalog (null: the last one stands), quotes, and closes where asked for. */
export interface RawInput {
  readonly contracts: readonly RawContract[] | null;
  readonly quotes: readonly RawLevel[];
  readonly closes: readonly RawLevel[];
  readonly maxCarryDays: number;
  readonly revise?: string;
}

/** Publishes with every gate open, at 00:01 after the session began. */
export function publishRaw(
  store: ObjectStore,
  input: RawInput,
  sessionUtc: string,
): Promise<PublishResult> {
  const { contracts, quotes, closes } = input;
  const nowMs = Date.parse(sessionUtc) + 60_000;
  return publishMoves(
    {
      ...USUAL_REQUEST,
      catalog: contracts === null ? null : csvSource("catalog.csv", catalogCsv(contracts)),
      quotes: quotes.length === 0 ? [] : [csvSource("quotes.csv", quotesCsv(quotes))],
      closes: closes.length === 0 ? [] : [csvSource("closes.csv", closesCsv(closes))],
      session: parseSession(sessionUtc) as Session,
      attribution: ATTRIBUTION,
      revise: input.revise ?? null,
      gates: {
        maxMoveMicros: 50_000_000,
        maxIndexMoveMicros: 25_000_000,
        maxBoardMoveMicros: 15_000_000,
        minCoverageMicros: 80_000_000,
        maxUnchangedSessions: 1_000_000,
        maxGapSessions: 1_000_000,
        maxCarryDays: input.maxCarryDays,
        acceptMoves: true,
        allowSparse: true,
      },
    },
    store,
    { now: () => nowMs },
    () => {},
  );
}

/** Rows of levels or closes without the number of the entry that brought each. */
export const withoutEntries = (
  rows: readonly Readonly<Record<string, string>>[],
): Record<string, string>[] =>
  rows.map((row) =>
    Object.fromEntries(Object.entries(row).filter(([column]) => column !== "known_from")),
  );

/** Whether a close can express the row. */
export const isClose = (level: RawLevel): boolean =>
  level.session_utc === `${level.as_of}T12:00:00.000Z` &&
  level.basis === "reported" &&
  level.source === null &&
  level.source_url === null &&
  level.inputs === null &&
  level.rationale === null;

/** The files of one snapshot, by path. */
export class PublishedFiles {
  readonly #store: ObjectStore;
  readonly #result: PublishResult;

  constructor(store: ObjectStore, result: PublishResult) {
    this.#store = store;
    this.#result = result;
  }

  /** The paths of the files under a folder such as `pro/contracts/`. */
  under(folder: string): string[] {
    return this.#result.manifest.files
      .map(({ path }) => path)
      .filter((path) => path.startsWith(folder));
  }

  bytes(path: string): Promise<Buffer> {
    return plainBytes(this.#store, snapshotFileKey(this.#result.snapshot, path));
  }

  async json(path: string): Promise<Record<string, unknown>> {
    return exactJson((await this.bytes(path)).toString("utf8"));
  }

  /** Reads as most programs do: any line break outside quotation marks ends a record. */
  async csv(path: string): Promise<Record<string, string>[]> {
    return parse(await this.bytes(path), { columns: true, record_delimiter: ["\r\n", "\n", "\r"] });
  }

  /** The rows of a Parquet file (see parquetTexts). */
  async parquet(path: string): Promise<Record<string, string>[]> {
    const bytes = await this.bytes(path);
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    const rows = await parquetReadObjects({ file: file as ArrayBuffer });
    return parquetTexts(rows);
  }

  /** A sheet's rows, by the names of its header; an empty cell is null. */
  async sheet(path: string, name: string): Promise<Record<string, CellValue>[]> {
    const workbook = new exceljs.Workbook();
    const bytes = await this.bytes(path);
    await workbook.xlsx.load(bytes as unknown as Parameters<typeof workbook.xlsx.load>[0]);
    const sheet = workbook.getWorksheet(name);
    if (sheet === undefined) throw new Error(`${path} has no sheet ${name}`);
    const rows: CellValue[][] = [];
    sheet.eachRow((row) => {
      rows.push(Array.from({ length: sheet.columnCount }, (_, at) => row.getCell(at + 1).value));
    });
    const [header = [], ...records] = rows;
    return records.map((cells) =>
      Object.fromEntries(header.map((column, at) => [column as string, cells[at] ?? null])),
    );
  }
}

/** Rows of Parquet under the names of its columns, as the texts of the CSV. */
export const parquetTexts = (rows: readonly object[]): Record<string, string>[] =>
  rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]: [string, string | number | Date | null]) => {
        if (value instanceof Date) {
          return [name, value.toISOString().slice(0, name === "date" ? 10 : undefined)];
        }
        // Levels have six decimals at most; String() writes the smallest with an exponent.
        if (typeof value === "number" && value < 0.001) {
          return [name, value.toFixed(6).replace(/0+$/, "")];
        }
        return [name, String(value ?? "")];
      }),
    ),
  );

/** JSON with every number as `#` and its text in the file. */
export function exactJson(text: string): Record<string, unknown> {
  const exact = (_key: string, value: unknown, context?: { source?: string }): unknown =>
    typeof value === "number" ? `#${context?.source}` : value;
  return JSON.parse(text, exact) as Record<string, unknown>;
}

/** The rows of a market that lie at or before a session, each as a close where it can be one. */
export function splitInput(
  raw: RawMarket,
  sessionUtc: string,
  withCloses: boolean,
): Pick<RawInput, "quotes" | "closes"> {
  const known = raw.levels.filter((level) => level.session_utc <= sessionUtc);
  return {
    quotes: known.filter((level) => !withCloses || !isClose(level)),
    closes: known.filter((level) => withCloses && isClose(level)),
  };
}

const csvSource = (name: string, text: string): InputSource => ({
  name,
  format: "csv",
  async *open() {
    yield Buffer.from(text);
  },
});

const CATALOG = [
  "id",
  "ticker",
  "name",
  "board",
  "segment",
  "unit",
  "ai_exposure_pct",
  "source",
  "source_url",
  "capacity_gb",
  "max_carry_days",
  "free",
  "price_type",
  "delisted_on",
  "formerly",
] as const;

export const catalogCsv = (contracts: readonly RawContract[]): string =>
  stringify(
    contracts.map((contract) => CATALOG.map((name) => String(contract[name] ?? ""))),
    { header: true, columns: [...CATALOG] },
  );

const QUOTES = [
  "id",
  "session_utc",
  "spot_usd",
  "as_of",
  "basis",
  "source",
  "source_url",
  "break",
  "low_usd",
  "high_usd",
  "inputs",
  "rationale",
] as const;

const quotesCsv = (levels: readonly RawLevel[]): string =>
  stringify(
    levels.map((level) => QUOTES.map((name) => level[name])),
    { header: true, columns: [...QUOTES] },
  );

const closesCsv = (levels: readonly RawLevel[]): string =>
  stringify(
    levels.map((level) => [
      level.id,
      level.as_of,
      level.spot_usd,
      level.break,
      level.low_usd,
      level.high_usd,
    ]),
    { header: true, columns: ["id", "date", "close_usd", "break", "low_usd", "high_usd"] },
  );
