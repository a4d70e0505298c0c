/** The files with all histories and all corrections: their order, and what each tier sees. */
import { parse } from "csv-parse/sync";
import { expect, test } from "vitest";
import { MemoryStore } from "../store/memory-store.ts";
import { plainBytes } from "../store/stored-file.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { catalogOf, contentOf, headJson, lines, mustPublish, quotesOf } from "./market.ts";

const COLUMNS = "contract_id,date,close_usd,low_usd,high_usd,inputs,basis,session_utc,break_reason";

async function csvOf(store: ObjectStore, snapshot: string, tier: string): Promise<string> {
  return String(await plainBytes(store, `sessions/${snapshot}/${tier}/history.csv`));
}

const rowsOf = (csv: string): Record<string, string>[] => parse(csv, { columns: true });

/** Five contracts: on both boards, dropped, delisted, and one that never had a level. */
const CATALOG = catalogOf([
  { id: "wafer", board: "semiconductor" },
  "dropped",
  "a",
  { id: "delisted", delisted_on: "2026-11-10" },
  "never",
  { id: "chip", board: "semiconductor" },
  "b",
]);
const CLOSES = lines(
  "id,date,close_usd,break",
  "dropped,2026-06-01,7,",
  "a,2026-08-01,1,",
  "a,2026-11-18,2,=2+1",
  "delisted,2026-11-01,5,",
  "wafer,2026-11-19,900,",
  "b,2026-11-19,3,",
);
const QUOTES = lines(
  "id,session_utc,spot_usd,basis,break",
  'b,2026-11-20T00Z,3.5,,"By the tray, from now on"',
  "b,2026-11-20T12Z,4,assessed,",
  "chip,2026-11-21T00Z,11,,",
);
const publishAll = (store: ObjectStore): Promise<string> =>
  mustPublish(store, {
    catalog: CATALOG,
    closes: CLOSES,
    quotes: QUOTES,
    attribution: "Test",
    allowSparse: true,
  });

test("rows stand in board order, contracts off the boards at their place in the catalog", async () => {
  const store = new MemoryStore();
  const snapshot = await publishAll(store);
  expect(await csvOf(store, snapshot, "pro")).toBe(
    [
      COLUMNS,
      "dropped,2026-06-01,7,,,,reported,2026-06-01T12:00:00.000Z,",
      "a,2026-08-01,1,,,,reported,2026-08-01T12:00:00.000Z,",
      "a,2026-11-18,2,,,,reported,2026-11-18T12:00:00.000Z,'=2+1",
      "delisted,2026-11-01,5,,,,reported,2026-11-01T12:00:00.000Z,",
      "b,2026-11-19,3,,,,reported,2026-11-19T12:00:00.000Z,",
      'b,2026-11-20,4,,,,assessed,2026-11-20T12:00:00.000Z,"By the tray, from now on"',
      "wafer,2026-11-19,900,,,,reported,2026-11-19T12:00:00.000Z,",
      "chip,2026-11-21,11,,,,reported,2026-11-21T00:00:00.000Z,",
      "",
    ].join("\r\n"),
  );
});

test("starter sees its delay and its depth, and the last level of any age", async () => {
  const store = new MemoryStore();
  const rows = rowsOf(await csvOf(store, await publishAll(store), "starter"));
  expect(rows.map((row) => `${row["contract_id"]} ${row["date"]}`)).toEqual([
    "dropped 2026-06-01",
    "a 2026-11-18",
    "delisted 2026-11-01",
    "b 2026-11-19",
    "b 2026-11-20",
    "wafer 2026-11-19",
  ]);
});

test("a tier without data has a header and no corrections", async () => {
  const store = new MemoryStore();
  const quotes = quotesOf({ a: 1 });
  const snapshot = await mustPublish(store, {
    catalog: catalogOf(["a"]),
    quotes,
    attribution: "Test",
  });
  expect(await csvOf(store, snapshot, "starter")).toBe(`${COLUMNS}\r\n`);
  expect((await headJson(store, "starter/corrections.json")).corrections).toEqual([]);
  const keys = Object.keys(await contentOf(store));
  expect(keys.filter((key) => /free\/(history|corrections)/.test(key))).toEqual([]);
});

test("corrections: the oldest snapshot first, within delay and depth, of the catalog's contracts", async () => {
  const store = new MemoryStore();
  await publishAll(store);
  const revise = (quotes: string, reason: string): Promise<string> =>
    mustPublish(store, { quotes, revise: reason, allowSparse: true, acceptMoves: true });
  const header = "id,session_utc,spot_usd";
  const late = lines(header, "b,2026-11-20T12Z,4.5", "chip,2026-11-21T00Z,12");
  await revise(late, "Late report");
  await revise(lines(header, "a,2026-08-01T12Z,1.5"), "Typing error");
  const seen = async (tier: string): Promise<unknown> =>
    (await headJson(store, `${tier}/corrections.json`)).corrections;
  const item = (contract_id: string, session_utc: string, old_usd: number, new_usd: number) => ({
    contract_id,
    session_utc,
    old_usd,
    new_usd,
    reason: contract_id === "a" ? "Typing error" : "Late report",
    corrected_in: `2026-11-21T00Z/r${contract_id === "a" ? 3 : 2}`,
  });
  const ofB = item("b", "2026-11-20T12:00:00.000Z", 4, 4.5);
  const all = [
    ofB,
    item("chip", "2026-11-21T00:00:00.000Z", 11, 12),
    item("a", "2026-08-01T12:00:00.000Z", 1, 1.5),
  ];
  expect(await seen("pro")).toEqual(all);
  expect(await seen("starter")).toEqual([ofB]);

  const catalog = CATALOG.split("\n")
    .filter((line) => !line.startsWith("b,"))
    .join("\n");
  await mustPublish(store, {
    catalog,
    session: "2026-11-21T12Z",
    quotes: quotesOf({ chip: 13 }),
    allowSparse: true,
    accept: [
      { gate: "delisting", ids: null },
      { gate: "free", ids: null },
    ],
  });
  expect(await seen("pro")).toEqual(all.slice(1));
});
