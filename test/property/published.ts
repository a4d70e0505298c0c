/** Publishes raw rows with the real `publish`, and reads the files, with numbers as text. */
import { parse } from "csv-parse/sync";
import { stringify } from "csv-stringify/sync";
import exceljs, { type CellValue } from "exceljs";
import type { Source } from "../../src/feed/source.ts";
import { parseSession, type Session } from "../../src/market/session.ts";
import { publish, type PublishResult } from "../../src/publish/publish.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { snapshotFileKey } from "../../src/store/paths.ts";
import type { RawContract, RawLevel, RawMarket } from "./naive-levels.ts";

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
  return publish(
    {
      catalog: contracts === null ? null : csvSource("catalog.csv", catalogCsv(contracts)),
      quotes: quotes.length === 0 ? [] : [csvSource("quotes.csv", quotesCsv(quotes))],
      closes: closes.length === 0 ? [] : [csvSource("closes.csv", closesCsv(closes))],
      session: parseSession(sessionUtc) as Session,
      attribution: ATTRIBUTION,
      revise: input.revise ?? null,
      dryRun: false,
      gates: {
        maxMoveMicros: 50_000_000,
        minCoverageMicros: 80_000_000,
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

/** Whether a close can express the row. */
export const isClose = (level: RawLevel): boolean =>
  level.session_utc === `${level.as_of}T12:00:00.000Z` &&
  level.basis === "reported" &&
  level.source === null &&
  level.source_url === null;

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

  async bytes(path: string): Promise<Buffer> {
    const bytes = await this.#store.get(snapshotFileKey(this.#result.snapshot, path));
    if (bytes === null) throw new Error(`${path} is not there`);
    return bytes;
  }

  async json(path: string): Promise<Record<string, unknown>> {
    return exactJson((await this.bytes(path)).toString("utf8"));
  }

  /** Reads as most programs do: any line break outside quotation marks ends a record. */
  async csv(path: string): Promise<Record<string, string>[]> {
    return parse(await this.bytes(path), { columns: true, record_delimiter: ["\r\n", "\n", "\r"] });
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

const csvSource = (name: string, text: string): Source => ({
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
] as const;

const quotesCsv = (levels: readonly RawLevel[]): string =>
  stringify(
    levels.map((level) => QUOTES.map((name) => level[name])),
    { header: true, columns: [...QUOTES] },
  );

const closesCsv = (levels: readonly RawLevel[]): string =>
  stringify(
    levels.map((level) => [level.id, level.as_of, level.spot_usd, level.break]),
    { header: true, columns: ["id", "date", "close_usd", "break"] },
  );
