/**
 * A short path reads lines without quotation marks. It must give the same rows, complaints and line
 * numbers as the path for quoted lines, however the text is cut into chunks.
 */
import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import { Complaints } from "../../src/feed/complaints.ts";
import { readTable } from "../../src/feed/table.ts";
import { runs } from "./runs.ts";

const SHAPE = { columns: ["id", "date", "usd"], required: ["id", "usd"] };

interface ReadTable {
  readonly rows: readonly (readonly [cells: readonly string[], line: number])[];
  readonly complaints: readonly string[];
}

async function read(text: string, cuts: readonly number[]): Promise<ReadTable> {
  const complaints = new Complaints();
  const rows: [readonly string[], number][] = [];
  const bytes = Buffer.from(text);
  async function* open(): AsyncGenerator<Uint8Array> {
    let from = 0;
    for (const cut of cuts.map((part) => part % (bytes.length + 1)).toSorted((a, b) => a - b)) {
      yield bytes.subarray(from, cut);
      from = cut;
    }
    yield bytes.subarray(from);
  }
  const source = { name: "a.csv", format: "csv", open } as const;
  await readTable(source, SHAPE, complaints, (row) => {
    rows.push([SHAPE.columns.map((name) => row.text(name)), row.position]);
  });
  let said: readonly string[] = [];
  try {
    complaints.raise();
  } catch (error) {
    said = [String(error), ...((error as { details?: readonly string[] }).details ?? [])];
  }
  return { rows, complaints: said };
}

const cell = fc.string({
  unit: fc.constantFrom("a", "1", ".", "-", " ", "ä", "\t"),
  maxLength: 4,
});
const header = fc.constantFrom("id,date,usd", "usd,id", "id,usd,date", "id,usd");
const record = fc.array(cell, { minLength: 1, maxLength: 4 });
const lineEnd = fc.constantFrom("\n", "\r\n");
const file = fc.record({
  header,
  records: fc.array(fc.tuple(record, lineEnd), { maxLength: 12 }),
  endsInBreak: fc.boolean(),
  cuts: fc.array(fc.nat(), { maxLength: 6 }),
});

test.prop([file], runs(2_000))("both paths read the same rows", async (given) => {
  const written = (write: (text: string) => string): string => {
    const lines = given.records.map(([cells, end]) => cells.map(write).join(",") + end);
    const text = `${given.header}\n${lines.join("")}`;
    return given.endsInBreak ? text : text.replace(/\r?\n$/, "");
  };
  // An empty line is no record, but one with an empty quoted cell is: leave those out of it.
  fc.pre(given.records.every(([cells]) => cells.length > 1 || cells[0] !== ""));
  const plain = await read(
    written((text) => text),
    given.cuts,
  );
  const quoted = await read(
    written((text) => `"${text}"`),
    [],
  );
  expect(plain).toEqual(quoted);
  let turn = 0;
  const mixed = written((text) => ((turn += 1) % 3 === 0 ? `"${text}"` : text));
  expect(await read(mixed, given.cuts)).toEqual(quoted);
});
