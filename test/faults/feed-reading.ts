/** A feed read as plainly as can be, and what must then be published: made without src. */
import { parse } from "csv-parse/sync";
import type { Feed } from "./feed-mutations.ts";
import { FEED_SESSION, type FeedKind } from "./feed-table.ts";

/** A row by the names of its columns; what is not there is "". */
export type PlainRow = Readonly<Record<string, string>>;

/** The rows of a feed that was accepted. Throws where it is not what its format is. */
export function plainRows({ format, bytes }: Pick<Feed, "format" | "bytes">): PlainRow[] {
  const text = bytes.toString("utf8").replace(/^\ufeff/, "");
  if (format === "csv") {
    const options = { record_delimiter: ["\r\n", "\n"], skip_empty_lines: true };
    const [header = [], ...records]: string[][] = parse(text, options);
    return records.map((cells) =>
      Object.fromEntries(header.map((name, at) => [name, cells[at] ?? ""])),
    );
  }
  const values: unknown =
    format === "json"
      ? digitsKept(text)
      : text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [digitsKept(line)]));
  return (values as Record<string, unknown>[]).map((fields) =>
    Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, plainText(value)])),
  );
}

/** A cell that was accepted is no array and no object. */
const plainText = (value: unknown): string =>
  typeof value === "string" ? value : value === null ? "" : JSON.stringify(value);

/** JSON with its numbers as they were written. */
const digitsKept = (text: string): unknown =>
  JSON.parse(text, (_name, value: unknown, context?: { source?: string }) =>
    typeof value === "number" ? context?.source : value,
  );

/** Whether a text is the one that was given; a number's may be written without its exponent. */
export const isSameText = (published: unknown, given: string): boolean =>
  published === given ||
  (/^-?\d+(?:\.\d+)?e[+-]?\d+$/i.test(given) && Number(published) === Number(given));

/** What a contract of the board must say. */
export interface ExpectedContract {
  readonly spotUsd: number;
  readonly basis: string;
  readonly asOf: string;
  readonly history: readonly { readonly date: string; readonly close_usd: number }[];
}

interface PlainLevel {
  readonly usd: number;
  readonly basis: string;
  readonly asOf: string;
}

/**
 * What must be published for each contract that has levels, by id: those of all feeds, in the order
 * they were given. A level says what the last row that names it says.
 */
export function expectedContracts(
  feeds: readonly {
    readonly kind: FeedKind;
    readonly rows: readonly PlainRow[];
    readonly session: string;
  }[],
): Map<string, ExpectedContract> {
  const levels = new Map<string, Map<string, PlainLevel>>();
  for (const { kind, rows, session } of feeds) {
    if (kind === "catalog") continue;
    for (const row of rows) {
      if (row["basis"] === "withdrawn") continue;
      const at =
        kind === "closes" ? `${row["date"]}T12` : (row["session_utc"] || session).slice(0, 13);
      const own = levels.get(row["id"] ?? "") ?? new Map<string, PlainLevel>();
      levels.set(row["id"] ?? "", own);
      const before = own.get(at);
      own.set(at, {
        usd: Number(row["close_usd"] ?? row["spot_usd"]),
        basis: row["basis"] || (before?.basis ?? "reported"),
        asOf: row["as_of"] || (before?.asOf ?? at.slice(0, 10)),
      });
    }
  }
  return new Map([...levels].map(([id, own]) => [id, expected(own)]));
}

/** Pro's history goes back five years, as FEED_SESSION has it. */
function expected(levels: ReadonlyMap<string, PlainLevel>): ExpectedContract {
  const sorted = [...levels].sort(([a], [b]) => (a < b ? -1 : 1));
  const byDate = new Map<string, number>();
  for (const [, { asOf, usd }] of sorted) byDate.set(asOf, usd);
  const since = `${Number(FEED_SESSION.slice(0, 4)) - 5}${FEED_SESSION.slice(4, 10)}`;
  const [at, last] = sorted.at(-1) as [string, PlainLevel];
  return {
    spotUsd: last.usd,
    basis: at === FEED_SESSION.slice(0, 13) ? last.basis : "carried",
    asOf: last.asOf,
    history: [...byDate]
      .filter(([date]) => date > since)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([date, usd]) => ({ date, close_usd: usd })),
  };
}
