/** The files with all histories, levels and corrections: their order, and what each tier sees. */
import { constants, gunzipSync, inflateRawSync } from "node:zlib";
import { parse } from "csv-parse/sync";
import { expect, test } from "vitest";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import type { Manifest } from "../../src/snapshot/manifest.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { plainBytes } from "../store/stored-file.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { catalogOf, contentOf, headJson, lines, mustPublish, quotesOf } from "./small-market.ts";

const COLUMNS = "contract_id,date,close_usd,low_usd,high_usd,inputs,basis,session_utc,break_reason";

async function csvOf(
  store: ObjectStore,
  snapshot: string,
  tier: string,
  file = "history.csv",
): Promise<string> {
  return String(await plainBytes(store, `sessions/${snapshot}/${tier}/${file}`));
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

const filesOf = async (store: ObjectStore, snapshot: string): Promise<Manifest["files"]> =>
  (JSON.parse(String(await store.get(`sessions/${snapshot}/manifest.json`))) as Manifest).files;

test("the rows of each contract are a part of the coded file, which is read alone", async () => {
  const store = new MemoryStore();
  const snapshot = await publishAll(store);
  for (const tier of ["pro", "starter"]) {
    const csv = Buffer.from(await csvOf(store, snapshot, tier));
    const code = (await store.get(`sessions/${snapshot}/${tier}/history.csv.gz`)) as Buffer;
    const files = await filesOf(store, snapshot);
    const { parts = [] } = files.find(({ path }) => path === `${tier}/history.csv`) ?? {};
    const ids = rowsOf(String(csv)).map((row) => row["contract_id"]);
    expect(parts.map(({ id }) => id)).toEqual([...new Set(ids)]);
    let at = COLUMNS.length + 2;
    for (const [place, part] of parts.entries()) {
      const end = parts[place + 1]?.gzip_at ?? code.length - 8;
      const piece = code.subarray(part.gzip_at, end);
      const rows = inflateRawSync(piece, { finishFlush: constants.Z_SYNC_FLUSH });
      expect([part.at, part.sha256]).toEqual([at, sha256Hex(piece)]);
      expect(rows).toEqual(csv.subarray(at, at + rows.length));
      for (const row of String(rows).trimEnd().split("\r\n")) expect(row).toMatch(`${part.id},`);
      at += rows.length;
    }
    expect(at).toBe(csv.length);
  }
});

test("histories are stored coded only, other texts of a tier in both forms, the rest plain", async () => {
  const store = new MemoryStore();
  const snapshot = await publishAll(store);
  for (const { path, bytes, sha256, gzip, stored } of await filesOf(store, snapshot)) {
    const key = `sessions/${snapshot}/${path}`;
    const [plain, code] = [await store.get(key), await store.get(`${key}.gz`)];
    const isHistory =
      /^series\.json$|settlements\.(?:csv|json)$|\/(?:contracts\/|indices\/|(?:history|levels|superseded|indices|members)\.csv$)/.test(
        path,
      );
    const isText = /\/(?:board|index|indices|corrections|sparklines)\.json$|\/export\.csv$/.test(
      path,
    );
    expect([path, plain === null, code === null]).toEqual([path, isHistory, !isHistory && !isText]);
    expect([path, stored]).toEqual([path, isHistory ? "gzip" : undefined]);
    const whole = code === null ? (plain as Buffer) : gunzipSync(code);
    expect([path, bytes, sha256]).toEqual([path, whole.length, sha256Hex(whole)]);
    if (plain !== null) expect([path, plain.equals(whole)]).toEqual([path, true]);
    expect([path, gzip]).toEqual([
      path,
      code === null ? undefined : { bytes: code.length, sha256: sha256Hex(code) },
    ]);
    // One member, without a name and with time 0.
    expect(code?.toString("hex", 0, 8) ?? "1f8b080000000000").toBe("1f8b080000000000");
  }
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

const LEVEL_COLUMNS =
  "contract_id,session_utc,spot_usd,low_usd,high_usd,inputs,basis,as_of,break_reason";

test("levels of both sessions stand in the same order, each with its own break", async () => {
  const store = new MemoryStore();
  const snapshot = await publishAll(store);
  const ofB = [
    "b,2026-11-19T12:00:00.000Z,3,,,,reported,2026-11-19,",
    'b,2026-11-20T00:00:00.000Z,3.5,,,,reported,2026-11-20,"By the tray, from now on"',
    "b,2026-11-20T12:00:00.000Z,4,,,,assessed,2026-11-20,",
  ];
  const rows = [
    LEVEL_COLUMNS,
    "dropped,2026-06-01T12:00:00.000Z,7,,,,reported,2026-06-01,",
    "a,2026-08-01T12:00:00.000Z,1,,,,reported,2026-08-01,",
    "a,2026-11-18T12:00:00.000Z,2,,,,reported,2026-11-18,'=2+1",
    "delisted,2026-11-01T12:00:00.000Z,5,,,,reported,2026-11-01,",
    ...ofB,
    "wafer,2026-11-19T12:00:00.000Z,900,,,,reported,2026-11-19,",
  ];
  // Starter's first day is 2026-08-23; the level in force on that day is there.
  const ofStarter = [...rows, ""].join("\r\n");
  expect(await csvOf(store, snapshot, "starter", "levels.csv")).toBe(ofStarter);
  const [header, ...ofPro] = [...rows, "chip,2026-11-21T00:00:00.000Z,11,,,,reported,2026-11-21,"];
  expect(await csvOf(store, snapshot, "pro", "levels.csv")).toBe(
    [`${header},known_from`, ...ofPro.map((row) => `${row},1`), ""].join("\r\n"),
  );
});

test("levels begin with the one given at the first midnight of the depth, or the last one before", async () => {
  const store = new MemoryStore();
  const snapshot = await mustPublish(store, {
    session: "2026-11-21T00Z",
    catalog: catalogOf(["a", "b", "c"]),
    quotes: lines(
      "id,session_utc,spot_usd",
      "c,2026-11-21T00Z,9",
      "a,2026-08-22T12Z,1",
      "a,2026-08-23T00Z,2",
      "b,2026-08-22T00Z,3",
      "b,2026-08-22T12Z,4",
      "b,2026-08-23T12Z,5",
    ),
    attribution: "Test",
    allowSparse: true,
    acceptMoves: true,
  });
  const rows = rowsOf(await csvOf(store, snapshot, "starter", "levels.csv"));
  expect(rows.map(({ session_utc, spot_usd }) => `${session_utc} ${spot_usd}`)).toEqual([
    "2026-08-23T00:00:00.000Z 2",
    "2026-08-22T12:00:00.000Z 4",
    "2026-08-23T12:00:00.000Z 5",
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
  expect(await csvOf(store, snapshot, "starter", "levels.csv")).toBe(`${LEVEL_COLUMNS}\r\n`);
  expect(await csvOf(store, snapshot, "starter", "indices.csv")).toBe("index_id,date,close\r\n");
  expect((await headJson(store, "starter/sparklines.json")).sparklines).toEqual([]);
  expect((await headJson(store, "starter/corrections.json")).corrections).toEqual([]);
  const keys = Object.keys(await contentOf(store));
  expect(
    keys.filter((key) =>
      /free\/(history|levels|superseded|indices|sparklines|corrections)/.test(key),
    ),
  ).toEqual([]);
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
    publication: contract_id === "a" ? 3 : 2,
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
