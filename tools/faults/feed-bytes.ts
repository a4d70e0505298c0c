/** Feeds in wrong encodings, with too deep nesting or with too long cells. */
import { gzipSync } from "node:zlib";
import type { Format } from "../../src/feed/source.ts";
import type { Feed } from "./feed-mutations.ts";
import type { FeedRandom } from "./feed-random.ts";
import { FEED_KINDS, PLAIN_WRITING, validTable, written, type Cell } from "./feed-table.ts";

const TEN_MEGABYTES = 10_000_000;

/** Invalid UTF-8: cut off, overlong, surrogates, beyond U+10FFFF, single continuation bytes. */
const BROKEN = [
  [0xff],
  [0xfe],
  [0x80],
  [0xc3],
  [0xc0, 0xaf],
  [0xe2, 0x82],
  [0xed, 0xa0, 0x80],
  [0xf0, 0x9f, 0x92],
  [0xf4, 0x90, 0x80, 0x80],
  [0xf8, 0x88, 0x80, 0x80, 0x80],
];

const WITH_MARK = "UTF-8 with a byte order mark";

/** A correct feed in another encoding than UTF-8, or as another kind of file. */
export function encodedFeed(format: Format, random: FeedRandom): Feed {
  // Only the catalog has characters beyond ASCII.
  const kind = random.oneIn(2) ? "catalog" : random.pick(FEED_KINDS);
  const text = written(validTable(kind), format, PLAIN_WRITING);
  const bytes = Buffer.from(text);
  const at = random.below(bytes.length + 1);
  const way = random.below(kind === "catalog" ? 9 : 8);
  const broken = Buffer.from(random.pick(BROKEN));
  const forms: [string, Buffer][] = [
    ["UTF-16LE", Buffer.from(`${random.pick(["\ufeff", ""])}${text}`, "utf16le")],
    ["UTF-16BE", Buffer.from(`${random.pick(["\ufeff", ""])}${text}`, "utf16le").swap16()],
    [WITH_MARK, Buffer.from(`\ufeff${text}`)],
    [
      `${broken.toString("hex")} at ${at}`,
      Buffer.concat([bytes.subarray(0, at), broken, bytes.subarray(at)]),
    ],
    ["gzip", gzipSync(bytes)],
    ["a ZIP file", Buffer.concat([Buffer.from("PK\x03\x04"), bytes])],
    ["an SQLite database", Buffer.concat([Buffer.from("SQLite format 3\0"), bytes])],
    [`NUL at ${at}`, Buffer.concat([bytes.subarray(0, at), Buffer.of(0), bytes.subarray(at)])],
    ["Latin-1", Buffer.from(text, "latin1")],
  ];
  const [story, mutated] = forms[way] as [string, Buffer];
  const outcome = story === WITH_MARK ? "published" : "refused";
  return { kind, format, bytes: mutated, story, outcome };
}

/** JSON or NDJSON that nests deeply or has very many items that are not rows. */
export function hugeJsonFeed(format: "json" | "ndjson", random: FeedRandom): Feed {
  const kind = random.pick(FEED_KINDS);
  const count = random.oneIn(10) ? 100_000 : 10 ** (2 + random.below(3));
  const depth = 10 ** (2 + random.below(4));
  const table = validTable(kind);
  const column = random.below(table.columns.length);
  const inCell = (json: string): string => {
    (table.rows[0] as Cell[])[column] = { text: "", json };
    return written(table, format, PLAIN_WRITING);
  };
  const forms: [string, () => string][] = [
    [`arrays ${depth} deep`, () => "[".repeat(depth) + "]".repeat(depth)],
    [`arrays ${depth} deep, not closed`, () => "[".repeat(depth)],
    [`objects ${depth} deep`, () => '{"id":'.repeat(depth) + "1" + "}".repeat(depth)],
    [`a cell of arrays ${depth} deep`, () => inCell("[".repeat(depth) + "]".repeat(depth))],
    [
      `a cell of objects ${depth} deep`,
      () => inCell('{"a":'.repeat(depth) + "1" + "}".repeat(depth)),
    ],
    [`${count} items that are not rows`, () => `[${Array(count).fill("1").join(",")}]`],
    [`${count} empty objects`, () => `[${Array(count).fill("{}").join(",")}]`],
    [`a cell of ${count} items`, () => inCell(`[${Array(count).fill("1").join(",")}]`)],
    [
      `${count} unknown fields`,
      () => `{${Array.from({ length: count }, (_, at) => `"f${at}":1`).join(",")}}`,
    ],
    [`one field ${count} times`, () => `{${Array(count).fill('"id":"dram-0"').join(",")}}`],
    [`a number of ${count} digits`, () => inCell("1".repeat(count))],
  ];
  const [story, made] = random.pick(forms);
  // A number may stand for a name, if it is not longer than a name may be.
  const outcome = story.startsWith("a number") ? "either" : "refused";
  return { kind, format, bytes: Buffer.from(made()), story, outcome };
}

/** A correct feed except for one cell, or one header, of ten million bytes. */
export function longCellFeed(format: Format, random: FeedRandom): Feed {
  const kind = random.pick(FEED_KINDS);
  const table = validTable(kind);
  const long = random
    .pick(["x", "1", '"', " ", "é", "\n", "="])
    .repeat(TEN_MEGABYTES)
    .slice(0, TEN_MEGABYTES);
  const column = random.below(table.columns.length);
  const row = random.below(table.rows.length + 1);
  if (row === table.rows.length) table.columns[column] = long;
  else (table.rows[row] as Cell[])[column] = { text: long };
  const writing = { ...PLAIN_WRITING, quoteAll: random.oneIn(2) };
  const story = `10 MB of ${JSON.stringify(long[0])} in column ${column} of row ${row}`;
  return {
    kind,
    format,
    bytes: Buffer.from(written(table, format, writing)),
    story,
    outcome: "refused",
  };
}
