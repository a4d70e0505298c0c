/** The feeds of a small market as tables of cells, and each format's text of a table. */
import type { Format } from "../../src/feed/source.ts";

export type FeedKind = "catalog" | "quotes" | "closes";
export const FEED_KINDS: readonly FeedKind[] = ["catalog", "quotes", "closes"];

/** `json`: the token in JSON; without it, JSON has the text as a string. */
export interface Cell {
  readonly text: string;
  readonly json?: string;
}

/** A mutated row may have more or fewer cells than there are columns; a column may occur twice. */
export interface FeedTable {
  columns: string[];
  rows: Cell[][];
}

/** The session that is already published, and the session of the feeds. */
export const HEAD_SESSION = "2026-11-20T12Z";
export const FEED_SESSION = "2026-11-21T00Z";

export const CONTRACT_IDS = ["dram-0", "dram-1", "dram-2", "nand-0", "chip-0", "chip-1"] as const;

/** The feed as a publisher sends it. Closes are older than all published levels. */
export const validTable = (kind: FeedKind): FeedTable =>
  ({ catalog: catalogTable, quotes: quotesTable, closes: closesTable })[kind]();

export interface Writing {
  readonly lineEnd: "\n" | "\r\n";
  readonly quoteAll: boolean;
}

export const PLAIN_WRITING: Writing = { lineEnd: "\n", quoteAll: false };

/** The table as text. */
export function written(table: FeedTable, format: Format, writing: Writing): string {
  const { lineEnd } = writing;
  if (format === "csv") {
    const records = [table.columns.map((text) => ({ text })), ...table.rows];
    return records.map((cells) => csvLine(cells, writing) + lineEnd).join("");
  }
  const objects = table.rows.map((cells) => jsonObject(table.columns, cells));
  if (format === "ndjson") return objects.map((text) => text + lineEnd).join("");
  return `[${lineEnd}${objects.join(`,${lineEnd}`)}${lineEnd}]${lineEnd}`;
}

const csvLine = (cells: readonly Cell[], { quoteAll }: Writing): string =>
  cells
    .map(({ text }) =>
      quoteAll || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text,
    )
    .join(",");

const jsonObject = (columns: readonly string[], cells: readonly Cell[]): string =>
  `{${columns
    .slice(0, cells.length)
    .map((name, at) => {
      // A mutation of a row that lost its last cells may leave a hole.
      const { text, json = JSON.stringify(text) } = cells[at] ?? textCell("");
      return `${JSON.stringify(name)}:${json}`;
    })
    .join(",")}}`;

const textCell = (text: string): Cell => ({ text });
const numberCell = (text: string): Cell => ({ text, json: text });

function catalogTable(): FeedTable {
  const columns =
    "id,ticker,name,board,segment,unit,ai_exposure_pct,source,source_url,capacity_gb,max_carry_days,free,price_type,delisted_on,formerly,cadence_days,max_move_pct";
  const rows = CONTRACT_IDS.map((id, at) => [
    textCell(id),
    textCell(`T${at}`),
    textCell(`Contract ${at}, été`),
    textCell(id.startsWith("chip") ? "semiconductor" : "memory"),
    textCell(at % 2 === 0 ? "DRAM" : "NAND"),
    textCell("USD per piece"),
    numberCell(String(10 * at)),
    textCell("Desk"),
    textCell(`https://example.com/${id}`),
    id.startsWith("chip") ? { text: "", json: "null" } : numberCell("2"),
    { text: "", json: "null" },
    { text: "", json: "null" },
    textCell("spot"),
    { text: "", json: "null" },
    { text: "", json: "null" },
    numberCell("0.5"),
    { text: "", json: "null" },
  ]);
  return { columns: columns.split(","), rows };
}

function quotesTable(): FeedTable {
  const columns = "id,spot_usd,session_utc,basis,as_of,source,source_url,break".split(",");
  const rows = CONTRACT_IDS.map((id, at) => [
    textCell(id),
    numberCell(`${10 + at}.25`),
    textCell(at % 2 === 0 ? FEED_SESSION : ""),
    textCell(at === 1 ? "assessed" : ""),
    textCell(at === 2 ? "2026-11-20" : ""),
    textCell(at === 3 ? "Another desk" : ""),
    textCell(at === 3 ? "https://example.org/x?a=1,2" : ""),
    textCell(at === 4 ? "Sold by the tray" : ""),
  ]);
  return { columns, rows };
}

function closesTable(): FeedTable {
  const rows = CONTRACT_IDS.flatMap((id, at) =>
    ["2026-11-10", "2026-11-11"].map((date, day) => [
      textCell(id),
      textCell(date),
      numberCell(String(10 + at + day / 2)),
      textCell(""),
    ]),
  );
  return { columns: ["id", "date", "close_usd", "break"], rows };
}
