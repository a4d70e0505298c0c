/** Input that attacks the reader, or the terminal that shows the message. */
import { expect, test } from "vitest";
import { MemoryStore } from "../store/memory-store.ts";
import {
  catalogOf,
  contentOf,
  mustPublish,
  quotesOf,
  tryPublish,
  type Run,
} from "./small-market.ts";

const SPARSE: Run = { catalog: catalogOf(["a", "b"]), allowSparse: true };

async function complaints(run: Run): Promise<readonly string[]> {
  const store = new MemoryStore();
  const { code, said } = await tryPublish(store, { ...SPARSE, ...run });
  expect([code, await contentOf(store)]).toEqual([2, {}]);
  return said.slice(1);
}

test.each([3_000, 10_000, 100_000])(
  "JSON that nests %i deep is refused, and its place is named",
  async (depth) => {
    const deep = "[".repeat(depth) + "]".repeat(depth);
    const finding = "nests too deep, expected objects of text";
    expect(await complaints({ quotes: deep })).toEqual([`quotes.json[0]: ${finding}`]);
    const rows = `{"id":"b","spot_usd":1}\n{"id":"a","spot_usd":${deep}}\n`;
    expect(await complaints({ quotes: rows })).toEqual([`quotes.ndjson:2: ${finding}`]);
  },
);

test.each([
  ["JSON", '[{"id":\u001b[31m\r\n"a"}]'],
  ["NDJSON", '{"id":\u009b31m"a"}\n'],
  ["a row of CSV", 'id,spot_usd\na,"1"\u001b[31m\n'],
  ["a cell of CSV", "id,spot_usd\na\u061c\u202e,1\n"],
])("%s: messages show invisible characters by their number", async (_name, quotes) => {
  const [complaint = "", ...more] = await complaints({ quotes });
  expect(more).toEqual([]);
  expect(complaint).toMatch(/^quotes\.\w+/);
  expect(complaint).not.toMatch(/\p{Cc}|\p{Bidi_Control}/u);
});

test("a message stays short for any value", async () => {
  const id = "x".repeat(100_000);
  const twice = `id,spot_usd\n${id},1\n${id},2\n`;
  const quoted = `id,spot_usd\n${id}"x",1\n`;
  for (const line of [
    ...(await complaints({ quotes: twice })),
    ...(await complaints({ quotes: quoted })),
  ]) {
    expect(line.length).toBeLessThanOrEqual(1_000);
  }
});

test("for a quotation mark that is never closed, the message names the first line of its row", async () => {
  const quotes = 'id,spot_usd,source\r\na,1,x\r\nb,1,"two\r\nthree\r\nfour\r\n';
  expect(await complaints({ quotes })).toEqual(["quotes.csv:3: a quoted field is not closed"]);
});

test("an endless row of 40 MB is refused, and its place is named", async () => {
  const huge = "x".repeat(40_000_000);
  const tooLong = "a row of more than 1000000 characters";
  const row = `{"id":"a","spot_usd":1,"source":"${huge}"}`;
  expect(await complaints({ quotes: `{"id":"b","spot_usd":1}\n${row}\n` })).toEqual([
    `quotes.ndjson:2: ${tooLong}`,
  ]);
  expect(await complaints({ quotes: `[{"id":"b","spot_usd":1},${row}]` })).toEqual([
    `quotes.json[1]: ${tooLong}`,
  ]);
  expect(await complaints({ quotes: `id,spot_usd,source\nb,1,x\na,1,${huge}\n` })).toEqual([
    `quotes.csv:3: ${tooLong}`,
  ]);
});

test.each(["\uffff", "\ufffe", "\u0085", "\\ud800"])(
  "an address with %j is refused",
  async (character) => {
    const url = `https://s.example/${character}`;
    const quotes = `[{"id":"a","spot_usd":1,"source_url":"${url}"}]`;
    const [complaint] = await complaints({ quotes });
    expect(complaint).toMatch(
      /^quotes\.json\[0\] source_url ".*": expected an http or https address without user, password or key$/,
    );
  },
);

test("a gate escapes a unit as messages escape values", async () => {
  const store = new MemoryStore();
  const catalog = (unit: string) => catalogOf([{ id: "a", unit }]);
  const quotes = quotesOf({ a: 1 });
  await mustPublish(store, { session: "2026-11-20T12Z", catalog: catalog("USD"), quotes });
  const { code, said } = await tryPublish(store, {
    catalog: catalog(`\u202e${"x".repeat(900)}`),
    quotes,
  });
  expect(code).toBe(3);
  expect(said[1]).toMatch(/^a changes its unit from "USD" to "\\u202ex{119}…" without a break$/);
});

test("an address with a secret is refused, and no message repeats the secret", async () => {
  const row = (url: string): string => `,A,memory,DRAM,USD,1,Source ${url},${url}`;
  const user = "https://user:s3cr3t@example.com/a";
  const key = `https://api.example.com/${"a".repeat(120)}?api_key=s3cr3t`;
  const expected = "expected an http or https address without user, password or key";
  const text = "expected text of 1 to 1000 characters without control characters";
  const told = [
    `catalog.csv:2 source "Source https://***@example.com/a": ${text}; it holds a user or a password, which would be public`,
    `catalog.csv:2 source_url "https://***@example.com/a": ${expected}; it holds a user or a password, which would be public`,
    `quotes.csv:2 source_url "${key.slice(0, 120)}…": ${expected}; it holds the parameter api_key, which would be public`,
    `quotes.csv:2 break "${key.slice(0, 120)}…": ${text}; it holds the parameter api_key, which would be public`,
  ];
  const columns = "id,ticker,name,board,segment,unit,ai_exposure_pct,source,source_url";
  const catalog = `${columns}\na,A${row(user)}\n`;
  const quotes = `id,spot_usd,source_url,break\na,1,${key},${key}\n`;
  expect(await complaints({ catalog, quotes })).toEqual(told);
  const [other = ""] = await complaints({ quotes: `id,spot_usd\na,${user}\n` });
  expect(other).toMatch(/^quotes\.csv:2 spot_usd "https:\/\/\*\*\*@example\.com\/a": expected/);
});
