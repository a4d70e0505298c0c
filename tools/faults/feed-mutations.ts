/** Feeds with mutations of the table, the text or the bytes. */
import type { Format } from "../../src/feed/source.ts";
import type { FeedRandom } from "./feed-random.ts";
import { FEED_KINDS, FEED_SESSION, HEAD_SESSION, PLAIN_WRITING } from "./feed-table.ts";
import { validTable, written, type Cell } from "./feed-table.ts";
import type { FeedKind, FeedTable, Writing } from "./feed-table.ts";
import { mutateText, shown } from "./feed-text.ts";
import {
  COLUMNS,
  DATES,
  FORMULAS,
  IDS,
  JSON_TOKENS,
  NUMBERS,
  SESSIONS,
  UNICODE,
  URLS,
  WORDS,
} from "./feed-values.ts";

/** One input file of a publish, with a description of its mutations. */
export interface Feed {
  readonly kind: FeedKind;
  readonly format: Format;
  readonly bytes: Buffer;
  readonly story: string;
  /** The outcomes that are correct. "published": the feed is valid. "refused": it is invalid. */
  readonly outcome: "published" | "refused" | "either";
}

/** The feed without mutations. */
export function validFeed(kind: FeedKind): Feed {
  const bytes = Buffer.from(written(validTable(kind), "csv", PLAIN_WRITING));
  return { kind, format: "csv", bytes, story: "", outcome: "published" };
}

/** The same for HEAD_SESSION: its quotes name that session. */
export function headFeed(kind: FeedKind): Feed {
  const feed = validFeed(kind);
  const text = feed.bytes
    .toString()
    .replaceAll(FEED_SESSION, HEAD_SESSION)
    .replace("Sold by the tray", "");
  return { ...feed, bytes: Buffer.from(text) };
}

/** A feed with up to six mutations; without any, it is valid. */
export function mutatedFeed(format: Format, random: FeedRandom): Feed {
  const kind = random.pick(FEED_KINDS);
  const table = validTable(kind);
  const story: string[] = [];
  const times = random.oneIn(20) ? 0 : 1 + random.below(6);
  for (let done = 0; done < times; done += 1) {
    if (!random.oneIn(3)) story.push(mutateTable(table, random));
  }
  const harmless = shuffleHarmlessly(table, kind, random);
  let text = written(table, format, writingOf(random));
  while (story.length < times) {
    const [what, mutated] = mutateText(text, random);
    story.push(what);
    text = mutated;
  }
  const outcome = times === 0 ? "published" : "either";
  return {
    kind,
    format,
    bytes: Buffer.from(text),
    story: [...story, ...harmless].join("; "),
    outcome,
  };
}

/** A feed with texts from `tricks` in some cells. */
export function trickyFeed(tricks: readonly string[], format: Format, random: FeedRandom): Feed {
  const kind = random.pick(FEED_KINDS);
  const table = validTable(kind);
  const names = {
    catalog: ["ticker", "name", "segment", "unit", "source"],
    quotes: ["source", "break"],
    closes: ["break"],
  };
  const story: string[] = [];
  for (let times = 1 + random.below(3); times > 0; times -= 1) {
    const column = random.pick(names[kind]);
    const trick = random.pick(tricks);
    const text = random.oneIn(3) ? `${trick}${random.pick(tricks)}` : trick;
    const row = random.below(table.rows.length);
    (table.rows[row] as Cell[])[table.columns.indexOf(column)] = { text };
    story.push(`${column} of row ${row} ${shown(text)}`);
  }
  // UTF-8 cannot encode a lone surrogate. JSON can, as an escape.
  const sent =
    format === "csv" && /\p{Surrogate}/u.test(written(table, "csv", writingOf(random)))
      ? "json"
      : format;
  const text = written(table, sent, { lineEnd: "\n", quoteAll: true });
  return {
    kind,
    format: sent,
    bytes: Buffer.from(text),
    story: story.join("; "),
    outcome: "either",
  };
}

export const formulaFeed = (format: Format, random: FeedRandom): Feed =>
  trickyFeed(FORMULAS, format, random);

export const unicodeFeed = (format: Format, random: FeedRandom): Feed =>
  trickyFeed(UNICODE, format, random);

function shuffleHarmlessly(table: FeedTable, kind: FeedKind, random: FeedRandom): string[] {
  if (!random.oneIn(3) || table.rows.some(({ length }) => length !== table.columns.length))
    return [];
  const from = random.below(table.columns.length);
  for (const cells of [table.columns, ...table.rows] as unknown[][])
    cells.push(...cells.splice(from, 1));
  // The order of the catalog is the order of the board.
  if (kind !== "catalog") table.rows.reverse();
  return ["columns and rows in another order"];
}

const writingOf = (random: FeedRandom): Writing => ({
  lineEnd: random.pick(["\n", "\r\n"]),
  quoteAll: random.oneIn(3),
});

/** Makes one mutation of the table, in place, and describes it. */
function mutateTable(table: FeedTable, random: FeedRandom): string {
  const row = random.below(table.rows.length);
  const cells = table.rows[row] ?? [];
  const at = random.below(table.columns.length);
  const column = table.columns[at] ?? "";
  const rowTo = random.below(table.rows.length + 1);
  switch (random.below(14)) {
    case 0:
      table.rows.splice(rowTo, 0, [...cells]);
      return `row ${row} twice`;
    case 1:
      table.rows.splice(row, 1);
      return `without row ${row}`;
    case 2:
      cells.splice(at, 1);
      return `row ${row} without cell ${at}`;
    case 3:
      cells.splice(at, 0, { text: random.pick(WORDS) });
      return `row ${row} with one more cell at ${at}`;
    case 4: {
      const name = random.pick(COLUMNS);
      table.columns[at] = name;
      return `column ${column} named ${shown(name)}`;
    }
    case 5: {
      const name = random.oneIn(2) ? column : random.pick(COLUMNS);
      table.columns.push(name);
      for (const each of table.rows) each.push(each[at] ?? { text: "" });
      return `one more column ${shown(name)}`;
    }
    case 6:
      table.columns.splice(at, 1);
      for (const each of table.rows) each.splice(at, 1);
      return `without column ${column}`;
    default: {
      const cell = mutatedCell(column, random);
      cells[at] = cell;
      return `${column} of row ${row} ${shown(cell.json ?? cell.text)}`;
    }
  }
}

function mutatedCell(column: string, random: FeedRandom): Cell {
  const fitting = random.oneIn(4) ? random.pick(LISTS) : (LIST_OF_COLUMN.get(column) ?? UNICODE);
  const text = random.pick(fitting);
  if (random.oneIn(4)) return { text, json: random.pick(JSON_TOKENS) };
  // In JSON half of these are number tokens, even if JSON has no such number.
  return fitting === NUMBERS && random.oneIn(2) ? { text, json: text } : { text };
}

const LISTS = [NUMBERS, DATES, SESSIONS, IDS, URLS, WORDS, FORMULAS, UNICODE];
const LIST_OF_COLUMN = new Map<string, readonly string[]>([
  ["id", IDS],
  ["board", WORDS],
  ["free", WORDS],
  ["basis", WORDS],
  ["spot_usd", NUMBERS],
  ["close_usd", NUMBERS],
  ["ai_exposure_pct", NUMBERS],
  ["capacity_gb", NUMBERS],
  ["max_carry_days", NUMBERS],
  ["price_type", WORDS],
  ["delisted_on", DATES],
  ["formerly", IDS],
  ["cadence_days", NUMBERS],
  ["max_move_pct", NUMBERS],
  ["date", DATES],
  ["as_of", DATES],
  ["session_utc", SESSIONS],
  ["source_url", URLS],
]);
