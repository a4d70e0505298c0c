/** Terms (unit, capacity, price type): a break changes them, and earlier sessions keep their own. */
import { parse } from "csv-parse/sync";
import exceljs, { type CellValue } from "exceljs";
import { describe, expect, test } from "vitest";
import { readHead } from "../store/log-entries.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { FILES, snapshotText } from "../../src/store/paths.ts";
import { catalogOf, headJson, lines, mustPublish, quotesOf, tryPublish } from "./small-market.ts";
import type { CatalogRow } from "./small-market.ts";

const MIDNIGHT = "2026-11-21T00Z";
const NOON = "2026-11-21T12Z";
const CHIP: CatalogRow = { id: "a", unit: "USD per chip", capacity_gb: "2", price_type: "spot" };
const MODULE: CatalogRow = {
  id: "a",
  unit: "USD per module",
  capacity_gb: "16",
  price_type: "contract",
};
const BREAK = lines("id,spot_usd,break", "a,100,Sold as modules from now on", "b,5,");
const OLD = { unit: "USD per chip", capacity_gb: 2, spot_usd: 12.6, usd_per_gb: 6.3, break: null };
const NEW = { unit: "USD per module", capacity_gb: 16, spot_usd: 100, usd_per_gb: 6.25 };

/** A session at 00:00 in chips, and one at 12:00 that begins with modules. */
async function changed(): Promise<MemoryStore> {
  const store = await inChips();
  await mustPublish(store, { session: NOON, catalog: catalogOf([MODULE, "b"]), quotes: BREAK });
  return store;
}

async function inChips(): Promise<MemoryStore> {
  const store = new MemoryStore();
  const run = { catalog: catalogOf([CHIP, "b"]), quotes: quotesOf({ a: 12.6, b: 5 }) };
  await mustPublish(store, { session: MIDNIGHT, ...run });
  return store;
}

const firstOf = async (store: MemoryStore, tier: string): Promise<object> =>
  (await headJson(store, `${tier}/board.json`)).memory[0];

const csvOf = async (store: MemoryStore, tier: string): Promise<object> => {
  const head = await readHead(store);
  if (head === null) throw new Error("The store is empty");
  const csv = await store.get(`sessions/${snapshotText(head)}/${tier}/export.csv`);
  return parse(csv as Buffer, { columns: true })[0] as object;
};

/** The delayed tiers show chips for 00:00, Pro shows modules for 12:00, in every format. */
async function expectOwnTerms(store: MemoryStore, spot = NEW.spot_usd): Promise<void> {
  const now = { ...NEW, spot_usd: spot, usd_per_gb: spot / 16 };
  expect(await firstOf(store, "pro")).toMatchObject(now);
  expect(await headJson(store, "pro/contracts/a.json")).toMatchObject(now);
  for (const tier of ["starter", "free"]) {
    expect(await firstOf(store, tier)).toMatchObject(OLD);
    expect(await headJson(store, `${tier}/contracts/a.json`)).toMatchObject({ ...OLD, breaks: [] });
  }
  const { break: _break, ...columns } = OLD;
  const text = (record: object): object =>
    Object.fromEntries(Object.entries(record).map(([name, value]) => [name, String(value)]));
  expect(await csvOf(store, "starter")).toMatchObject(text(columns));
  expect(await csvOf(store, "pro")).toMatchObject(text(now));
  const head = await readHead(store);
  const workbook = new exceljs.Workbook();
  const bytes = await store.get(
    `sessions/${snapshotText(head as NonNullable<typeof head>)}/pro/export.xlsx`,
  );
  await workbook.xlsx.load(bytes as unknown as Parameters<typeof workbook.xlsx.load>[0]);
  const sheet = workbook.getWorksheet("Memory");
  const cellsOf = (row: number): CellValue[] =>
    Array.from(sheet?.getRow(row).values as CellValue[]);
  const row = cellsOf(2);
  const cells = Object.fromEntries(cellsOf(1).map((name, at) => [name, row[at]]));
  expect(cells).toMatchObject(now);
}

describe("a unit, a capacity and a price type that a break at 12:00 changes", () => {
  test("hold from 12:00 on; the delayed tiers show the level of 00:00 in its own", async () => {
    const store = await changed();
    await expectOwnTerms(store);
    expect(await headJson(store, FILES.catalog)).toMatchObject([
      { id: "a", unit: "USD per module", capacity_gb: 16, price_type: "contract" },
      { id: "b" },
    ]);
    // Twelve hours later every tier has them.
    await mustPublish(store, { session: "2026-11-22T00Z", quotes: quotesOf({ a: 101, b: 5 }) });
    expect(await firstOf(store, "starter")).toMatchObject({ ...NEW, basis: "reported" });
  });

  test("are in the ledger beside the break, each under its name in the catalog", async () => {
    const store = await changed();
    const { ledger } = await headJson(store, FILES.manifest);
    const part = String(await store.get(ledger.at(-1).key)).split("\n");
    expect(JSON.parse(part[1] as string).notes).toEqual({
      1: {
        break: "Sold as modules from now on",
        terms_before: { unit: "USD per chip", capacity_gb: 2, price_type: "spot" },
      },
    });
  });

  test("stay with the break when a correction changes its level", async () => {
    const store = await changed();
    const quotes = quotesOf({ a: 104 });
    await mustPublish(store, { session: NOON, quotes, revise: "Late report" });
    await expectOwnTerms(store, 104);
    // And when the catalog changes once more in a revision of the same session.
    const boxes = catalogOf([{ ...MODULE, capacity_gb: "32" }, "b"]);
    const again = lines("id,spot_usd,break", "a,104,Sold as larger modules");
    await mustPublish(store, { session: NOON, catalog: boxes, quotes: again, revise: "Larger" });
    expect(await firstOf(store, "starter")).toMatchObject(OLD);
    expect(await firstOf(store, "pro")).toMatchObject({ capacity_gb: 32, usd_per_gb: 3.25 });
  });

  test("are as before when the break is withdrawn, together with the catalog as before", async () => {
    const store = await changed();
    const before = await readHead(store);
    const quotes = lines("id,spot_usd,basis", "a,,withdrawn");
    const run = { session: NOON, quotes, revise: "Not sold as modules yet", allowSparse: true };
    expect(await tryPublish(store, run)).toMatchObject({
      code: 3,
      said: expect.arrayContaining([expect.stringContaining("the run withdraws the one")]),
    });
    expect(await readHead(store)).toEqual(before);
    await mustPublish(store, { ...run, catalog: catalogOf([CHIP, "b"]) });
    const { break: _break, ...chips } = OLD;
    for (const tier of ["pro", "starter", "free"]) {
      expect(await firstOf(store, tier)).toMatchObject({ ...chips, break: null });
    }
  });

  describe("when the break is withdrawn after later levels in the new terms", () => {
    const NEXT = "2026-11-22T00Z";
    const withdraw = { session: NEXT, revise: "The break was a session later" };

    async function withLaterLevel(): Promise<MemoryStore> {
      const store = await changed();
      await mustPublish(store, { session: NEXT, quotes: quotesOf({ a: 101, b: 5.1 }) });
      return store;
    }

    test("is refused: no level before it takes the new terms", async () => {
      const store = await withLaterLevel();
      const quotes = lines("id,spot_usd,session_utc,basis", `a,,${NOON},withdrawn`);
      const refused = await tryPublish(store, { ...withdraw, quotes, acceptMoves: true });
      expect(refused).toMatchObject({
        code: 3,
        said: expect.arrayContaining([expect.stringContaining("Give a later level with that")]),
      });
    });

    test("a later level with the break keeps the terms before it", async () => {
      const store = await withLaterLevel();
      const quotes = lines(
        "id,spot_usd,session_utc,basis,break",
        `a,,${NOON},withdrawn,`,
        `a,101,${NEXT},,Sold as modules from now on`,
      );
      await mustPublish(store, { ...withdraw, quotes });
      expect(await firstOf(store, "pro")).toMatchObject({
        ...NEW,
        spot_usd: 101,
        usd_per_gb: 6.3125,
      });
      expect(await firstOf(store, "starter")).toMatchObject({ ...OLD, basis: "carried" });
    });
  });

  test("change again with the next break", async () => {
    const store = await changed();
    const session = "2026-11-22T00Z";
    const quotes = lines("id,spot_usd,break", "a,400,By the tray", "b,5,");
    const catalog = catalogOf([{ ...MODULE, unit: "USD per tray" }, "b"]);
    await mustPublish(store, { session, catalog, quotes });
    expect(await firstOf(store, "starter")).toMatchObject(NEW);
    expect(await firstOf(store, "pro")).toMatchObject({ unit: "USD per tray", capacity_gb: 16 });
  });

  test("that were empty need no break, and hold for all sessions", async () => {
    const ids = Array.from({ length: 120 }, (_, at) => `c${at}`);
    const store = new MemoryStore();
    const quotes = quotesOf(Object.fromEntries(ids.map((id) => [id, 5])));
    await mustPublish(store, { session: MIDNIGHT, catalog: catalogOf(ids), quotes });
    const typed = catalogOf(ids.map((id) => ({ id, price_type: "spot" })));
    const moved = quotesOf(Object.fromEntries(ids.map((id) => [id, 5.1])));
    await mustPublish(store, { session: NOON, catalog: typed, quotes: moved });
    const { ledger } = await headJson(store, FILES.manifest);
    expect(String(await store.get(ledger.at(-1).key))).not.toContain("terms_before");
    const types = (await headJson(store, FILES.catalog)) as { price_type: string }[];
    expect(new Set(types.map((row) => row.price_type))).toEqual(new Set(["spot"]));
  });
});
