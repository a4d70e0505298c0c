/** A simple reading of feeds, and what must be published for them. It uses no code of src. */
import assert from "node:assert/strict";
import { parse } from "csv-parse/sync";
import type { Feed } from "./feed-mutations.ts";
import { FEED_SESSION, type FeedKind } from "./feed-table.ts";

/** The cells of a row by column name; a missing cell is "". */
export type PlainRow = Readonly<Record<string, string>>;

/** The rows of a feed that was accepted. Throws if the text does not follow its format. */
export function plainRows({ format, bytes }: Pick<Feed, "format" | "bytes">): PlainRow[] {
  const text = bytes.toString("utf8").replace(/^\ufeff/, "");
  if (format === "csv") {
    const options = {
      record_delimiter: ["\r\n", "\n"],
      skip_empty_lines: true,
      relax_column_count: true,
    };
    const [header = [], ...records]: string[][] = parse(text, options);
    // Empty last rows are none, however many cells they have.
    const last = records.findLastIndex((cells) => cells.some((cell) => cell.trim() !== ""));
    return records.slice(0, last + 1).map((cells) => {
      assert.equal(cells.length, header.length);
      return Object.fromEntries(header.map((name, at) => [name, cells[at] ?? ""]));
    });
  }
  const values: unknown =
    format === "json"
      ? digitsKept(text)
      : text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [digitsKept(line)]));
  return (values as Record<string, unknown>[]).map((fields) =>
    Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, plainText(value)])),
  );
}

/** An accepted cell is neither an array nor an object. */
const plainText = (value: unknown): string =>
  typeof value === "string" ? value : value === null ? "" : JSON.stringify(value);

/** Parses JSON; numbers become the text they were written as. */
const digitsKept = (text: string): unknown =>
  JSON.parse(text, (_name, value: unknown, context?: { source?: string }) =>
    typeof value === "number" ? context?.source : value,
  );

/** Whether the published text is the given one. A number may have lost its exponent. */
export const isSameText = (published: unknown, given: string): boolean =>
  published === given ||
  (/^-?\d+(?:\.\d+)?e[+-]?\d+$/i.test(given) && Number(published) === Number(given));

/** What the board must say about a contract. */
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
 * What must be published, by id, for each contract that has levels. `feeds` are in the order in which
 * they are given; the last row for a level counts.
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

/** The history of tier pro starts five years before FEED_SESSION. */
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
