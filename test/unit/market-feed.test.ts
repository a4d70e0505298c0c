/** The readers of the three formats keep digits, count lines and separate rows. */
import { fc, test } from "@fast-check/vitest";
import { stringify } from "csv-stringify/sync";
import { describe, expect, it } from "vitest";
import { Complaints } from "../../src/feed/complaints.ts";
import { InputError } from "../../src/lib/errors.ts";
import type { Format, InputSource } from "../../src/feed/source.ts";
import type { TableShape } from "../../src/feed/table-shape.ts";
import { readTable } from "../../src/feed/table.ts";
import { runs } from "../property/runs.ts";

const SHAPE: TableShape = { columns: ["id", "usd", "note"], required: ["id", "usd"] };

interface Read {
  readonly rows: readonly (readonly string[])[];
  readonly places: readonly string[];
  readonly complaints: readonly string[];
}

/** Reads text that arrives in pieces of `pieceBytes`. */
async function read(
  text: string | Buffer,
  format: Format | null,
  pieceBytes = 65_536,
): Promise<Read> {
  const bytes = Buffer.from(text as string);
  const source: InputSource = {
    name: "feed",
    format,
    async *open() {
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        yield bytes.subarray(at, at + pieceBytes);
      }
    },
  };
  const complaints = new Complaints();
  const rows: (readonly string[])[] = [];
  const places: string[] = [];
  await readTable(source, SHAPE, complaints, (row) => {
    if (!row.isFaultless) return;
    rows.push(SHAPE.columns.map((name) => row.text(name)));
    places.push(row.where);
  });
  return { rows, places, complaints: linesOf(complaints) };
}

function linesOf(complaints: Complaints): readonly string[] {
  try {
    complaints.raise();
    return [];
  } catch (error) {
    if (error instanceof InputError) return error.details;
    throw error;
  }
}

/** Cells that are not empty, so that no row is a blank line. */
const cell = fc
  .string({
    minLength: 1,
    maxLength: 8,
    unit: fc.constantFrom("a", '"', ",", "\n", "é", " ", "漢"),
  })
  .map((text) => `x${text}`);
const table = fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 12 });
const pieces = fc.constantFrom(1, 2, 7, 65_536);
const newline = fc.constantFrom<"unix" | "windows">("unix", "windows");

describe("CSV", () => {
  test.prop([table, pieces, newline], runs(300))(
    "keeps every cell and the first line of its row, quoted or not",
    async (rows, pieceBytes, record_delimiter) => {
      const text = csvText([[...SHAPE.columns], ...rows], record_delimiter);
      let line = 2;
      const lines = rows.map((cells) => {
        const first = line;
        line += cells.join("").split("\n").length;
        return `feed:${first}`;
      });
      expect(await read(text, "csv", pieceBytes)).toEqual({ rows, places: lines, complaints: [] });
    },
  );

  test.prop([table, fc.shuffledSubarray([0, 1, 2], { minLength: 3 })])(
    "accepts the columns in any order",
    async (rows, order) => {
      const turned = [[...SHAPE.columns] as string[], ...rows].map((cells) =>
        order.map((at) => cells[at] ?? ""),
      );
      expect((await read(csvText(turned), "csv")).rows).toEqual(rows);
    },
  );

  it("names the line of a short row after quoted line breaks", async () => {
    const { complaints } = await read('id,usd,note\na,1,"two\nlines\nmore"\nb,2\nc,3,\n', "csv");
    expect(complaints).toEqual(["feed:5: 2 fields, expected 3 as in the header"]);
  });

  it("also counts blank lines", async () => {
    const { places } = await read("id,usd\n\na,1\n\n\nb,2\n", "csv");
    expect(places).toEqual(["feed:3", "feed:6"]);
  });
});

/** csv-stringify quotes only the line break that ends its records. */
const csvText = (
  rows: readonly string[][],
  record_delimiter: "unix" | "windows" = "unix",
): string => stringify([...rows], { record_delimiter, quoted_match: /[\r\n]/ });

/** A plain decimal, and the same number in JSON with an exponent. */
const exponential = fc
  .tuple(
    fc.bigInt(1n, 10n ** 17n),
    fc.integer({ min: 0, max: 20 }),
    fc.integer({ min: -25, max: 25 }),
  )
  .map(([digits, decimals, shift]) => {
    const mantissa = placed(digits, decimals);
    const point = decimals - shift;
    const plain = point > 0 ? placed(digits, point) : (digits * 10n ** BigInt(-point)).toString();
    return { plain: trimmed(plain), written: `${mantissa}e${shift}` };
  });

describe("JSON and NDJSON", () => {
  test.prop([fc.array(exponential, { minLength: 1, maxLength: 8 })], runs(500))(
    "writes out an exponent exactly",
    async (numbers) => {
      const objects = numbers.map(({ written }) => `{"id":"a","usd":${written}}`);
      const expected = numbers.map(({ plain }) => ["a", plain, ""]);
      expect((await read(`[${objects.join()}]`, "json")).rows).toEqual(expected);
      expect((await read(objects.join("\n"), "ndjson")).rows).toEqual(expected);
    },
  );

  it.each([
    ["12.50", "12.50"],
    ["0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"],
    ["123456789012345678901234567890", "123456789012345678901234567890"],
    ["1e-6", "0.000001"],
    ["1E-06", "0.000001"],
    ["1.5e+3", "1500"],
    ["-2.5e-1", "-0.25"],
    ["0e7", "0"],
    ["1e9", "1000000000"],
  ])("the number %s is the cell %s", async (written, text) => {
    expect((await read(`[{"id":"a","usd":${written}}]`, null)).rows).toEqual([["a", text, ""]]);
  });

  test.prop([table, pieces])("give the same rows as CSV", async (rows, pieceBytes) => {
    const objects = rows.map(([id, usd, note]) => ({ note, id, usd }));
    const json = await read(JSON.stringify(objects, null, 1), null, pieceBytes);
    expect(json).toEqual({ rows, places: rows.map((_, at) => `feed[${at}]`), complaints: [] });
    const text = `${objects.map((item) => JSON.stringify(item)).join("\r\n")}\n`;
    const ndjson = await read(text, null, pieceBytes);
    expect(ndjson).toEqual({
      rows,
      places: rows.map((_, at) => `feed:${at + 1}`),
      complaints: [],
    });
  });

  it("names the place of an invalid row, and reads on", async () => {
    const { rows, complaints } = await read('{"id":"a","usd":1}\n[1]\n{"id":\n{"id":"d"}\n', null);
    expect(rows).toEqual([["a", "1", ""]]);
    expect(complaints).toHaveLength(3);
    expect(complaints[0]).toBe("feed:2: expected an object");
    expect(complaints[1]).toMatch(/^feed:3: not JSON/);
    expect(complaints[2]).toBe('feed:4: the field "usd" is missing');
  });
});

describe("JSON arrays", () => {
  it.each<[string, string[], string[]]>([
    ["[]", [], []],
    [" [ \n] ", [], []],
    ['[{"id":"a]","usd":"1"},{"id":"b\\"],","usd":2}]', ["a]", 'b"],'], []],
    ['[{"id":"a","usd":1},]', ["a"], ["feed[1]: not JSON: Unexpected end of JSON input"]],
    ["[,]", [], ["feed[0]: not JSON: Unexpected end of JSON input"]],
    ['[{"id":"a","usd":1}', [], ["feed: not JSON: ends before the array is closed"]],
    ['[{"id":"a","usd":1}] x', ["a"], ["feed: not JSON: text after the array"]],
    ['[{"id":"a","usd":1}][]', ["a"], ["feed: not JSON: text after the array"]],
    ['[{"id":"a","usd":1} {"id":"b","usd":1}]', [], ["feed[0]: not JSON: "]],
    ['[{"id":"a","usd":secret}]', [], ["feed[0]: not JSON: an unexpected character"]],
    ['[{"id":"a"}}]', [], ["feed[0]: not JSON: "]],
    [
      '[1,"x",[],null,{"id":"a","usd":1}]',
      ["a"],
      [0, 1, 2, 3].map((n) => `feed[${n}]: expected an object`),
    ],
    ['{"id":"a","usd":1}', [], ["feed: expected an array of objects"]],
    ["secret", [], ["feed: expected an array of objects"]],
  ])("%s, however it is cut", async (text, ids, found) => {
    for (const pieceBytes of [1, 2, 3, 65_536]) {
      const { rows, complaints } = await read(text, "json", pieceBytes);
      expect(rows.map(([id]) => id)).toEqual(ids);
      expect(complaints).toEqual(found.map((start) => expect.stringContaining(start)));
    }
  });
});

describe("text that is not UTF-8", () => {
  const rowText = fc.string({
    minLength: 1,
    maxLength: 9,
    unit: fc.constantFrom("a", "é", "漢", "💾"),
  });
  const rows = fc.array(rowText, { minLength: 1, maxLength: 9 });
  const latin1 = fc.constantFrom("é", "ï", "ü", "ÿ");
  const fault = fc.tuple(fc.nat(), latin1);

  test.prop([rows, rows, fault, pieces], runs(500))(
    "is one complaint, about the line of its first character, in every format and however it is cut",
    async (above, below, [at, character], pieceBytes) => {
      const row = (note: string): string => JSON.stringify({ id: "a", usd: 1, note });
      const formats = {
        csv: { begin: "id,usd,note\n", row: (note: string) => `a,1,${note}\n`, end: "" },
        ndjson: { begin: "", row: (note: string) => `${row(note)}\n`, end: "" },
        json: { begin: "[\n", row: (note: string) => `${row(note)},\n`, end: "{}]" },
      };
      for (const [format, { begin, row, end }] of Object.entries(formats)) {
        const [from = "", to = ""] = row(`${"x".repeat(at % 9)}@`).split("@");
        const before = begin + above.map(row).join("") + from;
        const line = before.split("\n").length;
        const bytes = Buffer.concat([
          Buffer.from(before),
          Buffer.from(`${character}x`, "latin1"),
          Buffer.from(to + below.map(row).join("") + end),
        ]);
        const { complaints } = await read(bytes, format as Format, pieceBytes);
        expect(complaints).toEqual([
          `feed:${line}: not UTF-8 (is it Latin-1, with "${character}"?); in Excel save it as CSV UTF-8`,
        ]);
      }
    },
  );
});

it("an input has at most 256 MB", async () => {
  const row = `a,1,${"x".repeat(995)}\n`;
  const chunk = Buffer.from(row.repeat(100));
  let rows = 0;
  const source: InputSource = {
    name: "feed",
    format: "csv",
    async *open() {
      yield Buffer.from("id,usd,note\n");
      for (;;) yield chunk;
    },
  };
  const complaints = new Complaints();
  await readTable(source, SHAPE, complaints, () => (rows += 1));
  expect(linesOf(complaints)).toEqual(["feed: more than 256 MB, expected at most that; split it"]);
  // The chunk that exceeds the limit is not read.
  expect(rows).toBe(2_559 * 100);
});

/** The digits with so many of them after the point. */
function placed(digits: bigint, decimals: number): string {
  const text = digits.toString().padStart(decimals + 1, "0");
  return decimals === 0 ? text : `${text.slice(0, -decimals)}.${text.slice(-decimals)}`;
}

const trimmed = (plain: string): string =>
  plain.includes(".") ? plain.replace(/\.?0+$/, "") : plain;
