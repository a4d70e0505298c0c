/**
 * What a file that others send may cost the program that reads it. A text of pieces that matter to a parser is dear if
 * it costs many times as much as letters, and more than in proportion to its length. Compared is processor time of
 * this process, never wall time.
 */
import { expect, test } from "vitest";
import { Complaints } from "../../src/feed/complaints.ts";
import { CLOSES, QUOTES } from "../../src/feed/table-shape.ts";
import { readMap } from "../../src/feed/map.ts";
import { tryMap } from "../../src/feed/try-map.ts";
import { ChipboardError } from "../../src/lib/errors.ts";
import { parsePlanTerms } from "../../src/pages/plan-terms.ts";
import { CATALOG_COLUMNS, catalogOf, lines, tryPublish, type Run } from "../cli/small-market.ts";
import { MemoryStore } from "../store/memory-store.ts";

/** What grows with the square of this is many times as dear as to publish. */
const CHARACTERS = 16_000;
const RATIO_MAX = 10;
const GROWTH_MAX = 3;
/** An excess is measured again before it is believed: the machine or a collection of garbage can cause it. */
const TRIES = 4;
const SAMPLES = 5;

/** Pieces that many parsers read on, in search of an end. */
const LONG_PIECES = ["a", "0", "1", " ", "a1", "1,", "0.", "a@", "a-"] as const;
/** Pieces of one and two characters that mean something to some parser. */
const PIECES = [
  ...LONG_PIECES,
  ...",;=\"*/-.:_(\\A@?&#%<[{'$\t\n\r\ufeff\u0001￥",
  '""',
  '",',
  "\\\\",
  "\r\n",
  ",0",
  "a,",
  "a=",
  "a ",
  "aA",
  ":/",
  "?a",
  "%2",
  "e1",
  "a.",
] as const;

/** How a text may begin and end to lead a parser far into it. */
const ENDS = [
  ["?", "1b=x"],
  ["https://a", "@x"],
  ["0.", "1e5"],
  ["1", "x"],
  ["a", "\u0001"],
] as const;

/** Reads a text. Faults of the text are expected. */
type Reader = (text: string) => Promise<unknown>;

async function msOf(read: Reader, text: string): Promise<number> {
  const before = process.cpuUsage();
  await read(text);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** The first text that costs a reader too much, with the cost; null: there is none. */
async function dear(read: Reader): Promise<string | null> {
  const letters = "y".repeat(CHARACTERS);
  // The first readings also compile the program.
  let usualMs = Infinity;
  for (let sample = 0; sample < SAMPLES; sample += 1)
    usualMs = Math.min(usualMs, await msOf(read, letters));
  for (const [start, end, pieces] of [
    ["", "", PIECES] as const,
    ...ENDS.map((ends) => [...ends, LONG_PIECES] as const),
  ]) {
    const filled = (piece: string, characters: number): string =>
      start + piece.repeat(characters / piece.length) + end;
    for (const piece of pieces) {
      for (let tries = 0; tries <= TRIES; tries += 1) {
        const ms = await msOf(read, filled(piece, CHARACTERS));
        if (ms <= RATIO_MAX * usualMs) break;
        usualMs = await msOf(read, letters);
        if (ms <= RATIO_MAX * usualMs) break;
        const halfMs = await msOf(read, filled(piece, CHARACTERS / 2));
        if (ms <= GROWTH_MAX * halfMs) break;
        if (tries === TRIES) {
          const text = JSON.stringify(`${start}${piece}…${end}`);
          return `${text}: ${ms.toFixed(0)} ms, half as many ${halfMs.toFixed(0)} ms`;
        }
      }
    }
  }
  return null;
}

const CATALOG = catalogOf(["a", "b"]);
const tried = (run: Run): Promise<unknown> =>
  tryPublish(new MemoryStore(), { catalog: CATALOG, dryRun: true, ...run });

const inCsv = (text: string): string => `"${text.replaceAll('"', '""')}"`;
const tableOf = (columns: readonly string[], cell: () => string): string =>
  lines(columns.join(), columns.map(cell).join());

test.for([
  ["quotes", QUOTES.columns],
  ["closes", CLOSES.columns],
  ["catalog", CATALOG_COLUMNS.split(",")],
] as const)("cells of %s", async ([kind, columns]) => {
  expect(await dear((text) => tried({ [kind]: tableOf(columns, () => inCsv(text)) }))).toBeNull();
});

const READERS: Readonly<Record<string, Reader>> = {
  "ids that are left out": (id) =>
    tried({ quotes: lines("id,spot_usd", `${inCsv(id)},1`), ignoreUnknown: true }),
  "levels that are left out": (level) =>
    tried({ quotes: lines("id,spot_usd", `a,${inCsv(level)}`), holdInvalid: true }),
  "the name of a column": (name) =>
    tried({
      quotes: lines(`id,spot_usd,${inCsv(name)}`, "a,1,1"),
      closes: lines(inCsv(name), "a"),
    }),
  "a header": (text) => tried({ quotes: lines(text, "a,1") }),
  "a header with a column": (text) => tried({ closes: lines(`${text}id,id`, "a,1") }),
  "a header whose map names the column without a name": (text) =>
    tried({
      closes: lines(`id,close_usd${text}`, "a,1"),
      map: { columns: { id: "id", close_usd: "close_usd", date: "" } },
    }),
  "a line": (text) => tried({ quotes: lines("id,spot_usd", text, "a,1") }),
  "fields of JSON": (text) =>
    tried({
      quotes: JSON.stringify([Object.fromEntries(QUOTES.columns.map((name) => [name, text]))]),
    }),
  "the name of a field": (name) => tried({ quotes: JSON.stringify([{ id: "a", [name]: 1 }]) }),
  "a number of JSON": (text) => tried({ quotes: `[{"id":"a","spot_usd":${text}}]` }),
  "text for JSON": (text) => tried({ quotes: `[{"id":"a",${text}}]` }),
  "text for NDJSON": (text) => tried({ quotes: `{"id":"a",${text}}\n` }),
  "cells that a map converts": (text) =>
    tried({ quotes: tableOf(["id", "spot_usd", "as_of"], () => inCsv(text)), map: MAP }),
  "fields that a map finds": (text) =>
    tried({
      quotes: JSON.stringify({ d: [{ id: text, spot_usd: text, [text]: { a: text } }] }),
      map: MAP,
    }),
  "text around rows": (text) =>
    tried({
      quotes: `{"x":${JSON.stringify(text)},"d":[{"id":"a","spot_usd":1}],${text}`,
      map: MAP,
    }),
  "the names of contracts in a wide table": (text) =>
    tried({
      closes: JSON.stringify([{ t: text, [text]: { [text]: [text] } }]),
      map: { wide: { date: "t" }, dates: ["MMM D, YYYY", "YYYY-MM"], day: "last" },
    }),
  "a file that a map is proposed for": async (text) => {
    const csv = lines("Day,Chip", `2026-11-20,${inCsv(text)}`, `${inCsv(text)},1`, text);
    const json = JSON.stringify({
      d: [
        { day: text, [text]: { a: text } },
        { day: "2026-11-20", b: 1 },
      ],
    });
    for (const content of [csv, json, text]) {
      try {
        await tryMap({
          file: fileOf("x", content),
          catalog: null,
          map: null,
          kind: null,
          session: 1,
        });
      } catch (error) {
        if (!(error instanceof ChipboardError)) throw error;
      }
    }
  },
  "a map": (text) => {
    const complaints = new Complaints();
    const map = {
      ...Object.fromEntries(MAP_MEMBERS.map((name) => [name, text])),
      columns: { [text]: text, id: text },
    };
    return readMap(fileOf("map.json", JSON.stringify(map)), complaints);
  },
  "a map's own text": (text) =>
    readMap(fileOf("map.json", `{"columns":${text}}`), new Complaints()),
  "a file of plans": async (text) => {
    try {
      parsePlanTerms(
        Buffer.from(
          JSON.stringify({
            contact: text,
            starter: { support: text, usd_per_month: text },
            [text]: text,
          }),
        ),
        "plans.json",
      );
    } catch (error) {
      if (!(error instanceof ChipboardError)) throw error;
    }
  },
};

const MAP = {
  rows: "d",
  currency: "$",
  thousands: ",",
  marks: { e: "estimated", "*": "" },
  dates: ["DD.MM.YYYY", "MMM D, YY"],
  columns: { id: "id", spot_usd: "spot_usd" },
  ids: { A: "a" },
};
const MAP_MEMBERS = [
  ..."delimiter encoding skip rows decimal thousands currency marks dates day".split(" "),
  "constants",
  "wide",
];

const fileOf = (name: string, text: string) => ({
  name,
  format: null,
  open: async function* () {
    yield Buffer.from(text);
  },
});

test.for(Object.entries(READERS))("%s", async ([, read]) => {
  expect(await dear(read)).toBeNull();
});
