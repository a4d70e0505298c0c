/** Settlements, calculated by hand: when months settle, with which figures, and what changes them no more. */
import { parse } from "csv-parse/sync";
import { describe, expect, test } from "vitest";
import { rollBack } from "../../src/desk/rollback.ts";
import { rerender } from "../../src/publish/rerender.ts";
import { snapshotText } from "../../src/store/paths.ts";
import { NO_KEYS } from "../../src/snapshot/log/sign.ts";
import { ANY_TIME, readHead } from "../store/log-entries.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { plainBytes } from "../store/stored-file.ts";
import { catalogOf, headJson, lines, mustPublish, quotesOf, type Run } from "./small-market.ts";

const OPEN: Run = {
  acceptMoves: true,
  allowSparse: true,
  maxUnchangedSessions: 99_999,
  maxGapSessions: 99_999,
};
/** A unit that CSV quotes, and that spreadsheets would run. */
const UNIT_CELL = '"=USD, per chip"';
const CATALOG = catalogOf([
  { id: "d", capacity_gb: "2", unit: UNIT_CELL },
  { id: "e", segment: "NAND" },
]);
const CLOSES = lines("id,date,close_usd", "d,2026-10-01,10", "d,2026-10-11,12", "e,2026-10-16,7");

/** Later than every session. */
const NOW = { now: () => Date.parse("2032-01-01") };

const put = (store: MemoryStore, session: string, run: Run = {}): Promise<string> =>
  mustPublish(store, { ...OPEN, nowMs: NOW.now(), session, ...run });

/** The last noon of October, and the session after it, which settles the month as publication 2. */
async function october(run: Run = {}): Promise<MemoryStore> {
  const store = new MemoryStore();
  await put(store, "2026-10-31T12Z", { catalog: CATALOG, closes: CLOSES, ...run });
  await put(store, "2026-11-01T00Z", { quotes: quotesOf({ d: 12, e: 7 }) });
  return store;
}

type Row = Readonly<Record<string, string>>;

async function rowsOf(store: MemoryStore, tier = "pro"): Promise<Row[]> {
  const head = snapshotText((await readHead(store)) as never);
  const bytes = await plainBytes(store, `sessions/${head}/${tier}/settlements.csv`);
  return parse(bytes, { columns: true });
}

const rowOf = async (store: MemoryStore, id: string, month: string, kind = "contract") =>
  (await rowsOf(store)).find(
    (row) => row["id"] === id && row["month"] === month && row["kind"] === kind,
  );

/** Ten days at 10 and 21 at 12. */
const OF_D = { average: "11.354839", last: "12", high: "12", low: "10", days: "31" };
const SETTLED = { ...OF_D, unit: "'=USD, per chip", capacity_gb: "2", settled_by: "2", reason: "" };
const NOTHING = { average_now: "", last_now: "", high_now: "", low_now: "" };

describe("a month settles", () => {
  test("with the first session after its last noon, for both tiers", async () => {
    const store = new MemoryStore();
    await put(store, "2026-10-31T12Z", { catalog: CATALOG, closes: CLOSES });
    expect(await rowsOf(store)).toEqual([]);
    await put(store, "2026-11-01T00Z", { quotes: quotesOf({ d: 12.5, e: 7 }) });
    const rows = await rowsOf(store);
    expect(rows.map(({ kind, id, month }) => [kind, id, month])).toEqual([
      ["index", "composite", "2026-10"],
      ["index", "dram", "2026-10"],
      ["index", "nand", "2026-10"],
      ["contract", "d", "2026-10"],
      ["contract", "e", "2026-10"],
    ]);
    // The level of the 1st, 00:00, is after the month's last noon.
    expect(rows[3]).toMatchObject(SETTLED);
    expect(rows[4]).toMatchObject({ average: "7", days: "16", unit: "USD per piece", reason: "" });
    // 100 on ten days, and 120 from the 11th on: the second contract enters without a move.
    const index = { average: "113.5484", last: "120", high: "120", low: "100", days: "31" };
    expect(rows[0]).toMatchObject({ ...index, unit: "", capacity_gb: "" });
    expect(await rowsOf(store, "starter")).toEqual(rows);
  });

  test("also with a later session, and when this program first publishes", async () => {
    const store = new MemoryStore();
    await put(store, "2026-12-15T00Z", { catalog: CATALOG, closes: CLOSES });
    // Carried for 45 days: up to 25 November.
    expect(await rowOf(store, "d", "2026-10")).toMatchObject({ ...OF_D, settled_by: "1" });
    expect(await rowOf(store, "d", "2026-11")).toMatchObject({ average: "12", days: "25" });
  });

  test("with the first entry that has a day of it, if it had none when it was due", async () => {
    const store = await october();
    const late = lines("id,date,close_usd", "e,2026-09-21,6", "e,2026-09-29,8");
    await put(store, "2026-11-01T12Z", { closes: late, revise: "Late" });
    // Eight days at 6, and two at 8.
    const september = { average: "6.4", last: "8", days: "10", settled_by: "3" };
    expect(await rowOf(store, "e", "2026-09")).toMatchObject(september);
    // A month that was settled with 16 days keeps them.
    const row = {
      average: "7",
      days: "16",
      days_now: "31",
      average_now: "7.483871",
      settled_by: "2",
    };
    expect(await rowOf(store, "e", "2026-10")).toMatchObject(row);
  });

  test("for a tier while it ends within the tier's history", async () => {
    const store = await october();
    const months = async (tier: string) => [
      ...new Set((await rowsOf(store, tier)).map((row) => row["month"])),
    ];
    // Starter's session is of 28 January, and then of 29 January: 90 days after 31 October.
    await put(store, "2027-01-29T00Z", { quotes: quotesOf({ d: 12, e: 7 }) });
    expect(await months("starter")).toEqual(["2026-10", "2026-11", "2026-12"]);
    await put(store, "2027-01-29T12Z", { quotes: quotesOf({ d: 12, e: 7 }) });
    expect(await months("starter")).toEqual(["2026-11", "2026-12"]);
    await put(store, "2031-10-30T12Z", { quotes: quotesOf({ d: 12, e: 7 }) });
    expect((await months("pro"))[0]).toBe("2026-10");
    await put(store, "2031-10-31T00Z", { quotes: quotesOf({ d: 12, e: 7 }) });
    expect((await months("pro"))[0]).toBe("2026-11");
  });
});

describe("settled figures stay", () => {
  test("through a correction, which the figures as known now have", async () => {
    const store = await october();
    const corrected = lines("id,date,close_usd", "d,2026-10-11,13");
    await put(store, "2026-11-01T00Z", { closes: corrected, revise: "Misprint" });
    // 373 / 31, and (10 × 100 + 21 × 130) / 31.
    const now = {
      average_now: "12.032258",
      last_now: "13",
      high_now: "13",
      low_now: "10",
      days_now: "31",
    };
    expect(await rowOf(store, "d", "2026-10")).toMatchObject({ ...SETTLED, ...now });
    const index = { average: "113.5484", average_now: "120.3226", last: "120", last_now: "130" };
    expect(await rowOf(store, "dram", "2026-10", "index")).toMatchObject(index);
    // A restatement changes published closes, and no settlement.
    const restates = { from: null, members: false };
    await rerender("Wrong", { dryRun: false, timeGates: ANY_TIME, restates }, store, NOW, () => {});
    expect(await rowOf(store, "dram", "2026-10", "index")).toMatchObject(index);
  });

  test("but not through a rollback that withdraws their entry", async () => {
    const store = await october();
    await rollBack(store, "2026-10-31T12Z", "Wrong", NOW, NO_KEYS, ANY_TIME);
    expect(await rowsOf(store)).toEqual([]);
    const closes = lines("id,date,close_usd", "d,2026-10-31,43");
    await put(store, "2026-11-01T12Z", { closes, revise: "Late" });
    const again = { average: "12.354839", last: "43", high: "43", settled_by: "4" };
    expect(await rowOf(store, "d", "2026-10")).toMatchObject(again);
  });

  test("when a contract is renamed, and when it leaves the catalog", async () => {
    const store = await october();
    const renamed = catalogOf([{ id: "z", formerly: "d", capacity_gb: "2", unit: UNIT_CELL }, "e"]);
    await put(store, "2026-11-01T12Z", { catalog: renamed, quotes: quotesOf({ z: 12, e: 7 }) });
    expect(await rowOf(store, "z", "2026-10")).toMatchObject(SETTLED);
    expect(await rowOf(store, "d", "2026-10")).toBeUndefined();
    const accept = (["delisting", "free"] as const).map((gate) => ({ gate, ids: null }));
    await put(store, "2026-11-02T00Z", {
      catalog: catalogOf(["e"]),
      quotes: quotesOf({ e: 8 }),
      accept,
    });
    const rows = await rowsOf(store);
    // DRAM and NAND are no segments any more, and e is of another one.
    expect(rows.map(({ kind, id }) => `${kind} ${id}`)).toEqual([
      "index composite",
      "index dram",
      "contract e",
      "index nand",
      "contract z",
    ]);
    expect(rows.at(-1)).toMatchObject({ ...SETTLED, average_now: "11.354839", days_now: "31" });
    expect(
      (await headJson(store, "manifest.json")).files.map(({ path }: { path: string }) => path),
    ).not.toContain("pro/settlements/contracts/z.json");
  });

  test("also with a unit that changed since", async () => {
    const store = await october();
    const changed = catalogOf([
      { id: "d", capacity_gb: "4", unit: "USD per pair" },
      { id: "e", segment: "NAND" },
    ]);
    const closes = lines("id,date,close_usd,break", "d,2026-11-10,24,Sold in pairs");
    await put(store, "2026-11-10T12Z", { catalog: changed, closes });
    await put(store, "2026-12-01T00Z", { quotes: quotesOf({ d: 24, e: 7 }) });
    expect(await rowOf(store, "d", "2026-10")).toMatchObject({
      ...SETTLED,
      average_now: "11.354839",
    });
    const november = {
      unit: "USD per pair",
      capacity_gb: "4",
      average: "",
      last: "",
      days: "30",
      reason: "break",
    };
    expect(await rowOf(store, "d", "2026-11")).toMatchObject({
      ...november,
      ...NOTHING,
      days_now: "30",
    });
  });
});

test("a break leaves a month without figures, and one that is told later leaves none as known now", async () => {
  const store = await october();
  const told = lines("id,date,close_usd,break", "d,2026-10-11,12,New mask");
  await put(store, "2026-11-01T12Z", { closes: told, revise: "A break" });
  expect(await rowOf(store, "d", "2026-10")).toMatchObject({
    ...SETTLED,
    ...NOTHING,
    days_now: "31",
  });
  // At the month's first noon in force it breaks nothing.
  const first = lines(
    "id,date,close_usd,break",
    "d,2026-10-01,10,New mask",
    "d,2026-10-11,12,",
    "e,2026-10-16,7,",
  );
  const begun = await october({ closes: first });
  expect(await rowOf(begun, "d", "2026-10")).toMatchObject(SETTLED);
  const middle = lines(
    "id,date,close_usd,break",
    "d,2026-10-01,10,",
    "d,2026-10-11,12,New mask",
    "e,2026-10-16,7,",
  );
  const broken = await october({ closes: middle });
  const none = {
    average: "",
    last: "",
    high: "",
    low: "",
    days: "31",
    reason: "break",
    ...NOTHING,
  };
  expect(await rowOf(broken, "d", "2026-10")).toMatchObject(none);
  expect((await headJson(broken, "pro/settlements/contracts/d.json")).settlements[0]).toMatchObject(
    {
      average: null,
      days: 31,
      reason: "break",
      settled_by: 2,
    },
  );
});

test("a level at the limit counts exactly, and its mean is rounded half up", async () => {
  const store = new MemoryStore();
  const closes = lines(
    "id,date,close_usd",
    "d,2026-10-30,999999999.999999",
    "d,2026-10-31,1000000000",
    "e,2026-10-30,0.000001",
    "e,2026-10-31,0.000002",
  );
  await put(store, "2026-11-01T00Z", { catalog: CATALOG, closes });
  expect(await rowOf(store, "d", "2026-10")).toMatchObject({ average: "1000000000", days: "2" });
  expect(await rowOf(store, "e", "2026-10")).toMatchObject({
    average: "0.000002",
    low: "0.000001",
  });
});
