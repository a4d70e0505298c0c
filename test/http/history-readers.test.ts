/** Programs that read the history files: their rows equal the JSON histories of every tier. */
import { parse } from "csv-parse/sync";
import { asyncBufferFromUrl, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Ask, withDuckDb } from "../../tools/client/sql.ts";
import { parquetTexts } from "../property/published.ts";
import { startTestProxy, type TestProxy } from "./fixture.ts";
import { testWith, testWithClients } from "./needed-tools.ts";

const API = "/api/public/v1";
/** Debian installs pandas for this one. */
const PYTHON = "/usr/bin/python3";

let proxy: TestProxy;
let folder: string;
/** By contract, as the contract files of a key's tier have them. */
let histories: (key: string) => Promise<Map<string, { date: string; close_usd: number }[]>>;
beforeAll(async () => {
  proxy = await startTestProxy();
  folder = await mkdtemp(join(tmpdir(), "chipboard-readers-"));
  histories = async (key) => {
    const { text } = await proxy.get(`${API}/history.csv`, { key });
    const ids = new Set(rowsOf(text).map((row) => row["contract_id"] as string));
    const found = new Map<string, { date: string; close_usd: number }[]>();
    for (const id of ids) {
      found.set(id, (await proxy.get(`${API}/prices/${id}`, { key })).json.history);
    }
    return found;
  };
  for (const name of ["history.parquet", "history.csv", "export.csv"]) {
    const { raw } = await proxy.get(`${API}/${name}`, { key: proxy.pro });
    await writeFile(join(folder, name), raw);
  }
});
afterAll(async () => {
  await proxy.close();
  await rm(folder, { recursive: true, force: true });
});

const rowsOf = (text: string): Record<string, string>[] => parse(text, { columns: true });

test.each(["starter", "pro"] as const)("CSV has the JSON histories of %s", async (tier) => {
  const key = proxy[tier];
  const { text } = await proxy.get(`${API}/history.csv`, { key });
  const rows = rowsOf(text).map((row) => [row["contract_id"], row["date"], row["close_usd"]]);
  const expected = [...(await histories(key))].flatMap(([id, entries]) =>
    entries.map(({ date, close_usd }) => [id, date, String(close_usd)]),
  );
  expect(rows.length).toBeGreaterThan(1_000);
  expect(rows).toEqual(expected);
});

test("hyparquet reads Parquet in parts, with the key in a header: the rows of the CSV", async () => {
  const statuses: number[] = [];
  const file = await asyncBufferFromUrl({
    url: `${proxy.url}${API}/history.parquet`,
    requestInit: { headers: { "x-api-key": proxy.pro } },
    fetch: async (...request) => {
      const answer = await fetch(...request);
      statuses.push(answer.status);
      return answer;
    },
  });
  const metadata = await parquetMetadataAsync(file, { initialFetchSize: 4_096 });
  const rows = await parquetReadObjects({ file, metadata });
  expect(statuses).toContain(206);
  expect(statuses.filter((status) => status !== 206 && status !== 200)).toEqual([]);
  const { text } = await proxy.get(`${API}/history.csv`, { key: proxy.pro });
  expect(parquetTexts(rows)).toEqual(rowsOf(text));

  // The rows of one group need a part of the file.
  const before = statuses.length;
  const some = await parquetReadObjects({ file, metadata, columns: ["date"], rowEnd: 10 });
  expect(some).toHaveLength(10);
  expect(statuses.slice(before)).toEqual([206]);
});

testWithClients()("DuckDB reads Parquet: types, sums, and a join with the board", () =>
  withDuckDb(async (duck) => {
    const ask: Ask = (sql) => duck(sql.replaceAll("FOLDER", folder));
    await ask("set TimeZone = 'UTC'");
    expect(
      await ask("select column_name, column_type from (describe from 'FOLDER/history.parquet')"),
    ).toEqual([
      ["contract_id", "VARCHAR"],
      ["date", "DATE"],
      ["close_usd", "DOUBLE"],
      ["low_usd", "DOUBLE"],
      ["high_usd", "DOUBLE"],
      ["inputs", "INTEGER"],
      ["basis", "VARCHAR"],
      ["session_utc", "TIMESTAMP WITH TIME ZONE"],
      ["break_reason", "VARCHAR"],
    ]);
    const expected = await histories(proxy.pro);
    const sums = await ask(
      "select contract_id, count(*)::int, sum(close_usd * 1000000)::bigint::varchar, " +
        "min(date)::varchar, max(date)::varchar from 'FOLDER/history.parquet' " +
        "group by contract_id order by contract_id",
    );
    const sumOf = (entries: readonly { close_usd: number }[]): number =>
      entries.reduce((sum, { close_usd }) => sum + Math.round(close_usd * 1e6), 0);
    expect(sums).toEqual(
      [...expected]
        .map(([id, entries]) => [
          id,
          entries.length,
          String(sumOf(entries)),
          entries[0]?.date,
          entries.at(-1)?.date,
        ])
        .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    );

    // The newest entry is the level on the board, also by its date and by a break's reason.
    const joined = await ask(
      "select b.contract_id, b.spot_usd = h.close_usd, b.as_of = h.date " +
        "from read_csv('FOLDER/export.csv') b join 'FOLDER/history.parquet' h " +
        "on h.contract_id = b.contract_id " +
        "qualify row_number() over (partition by h.contract_id order by h.date desc) = 1 " +
        "order by 1",
    );
    const { json } = await proxy.get(`${API}/prices`, { key: proxy.pro });
    const ids = [...json.memory, ...json.semiconductor].map(({ id }: { id: string }) => id);
    expect(joined).toEqual(ids.toSorted().map((id) => [id, true, true]));

    const breaks = await ask(
      "select contract_id, break_reason, session_utc::varchar from 'FOLDER/history.parquet' " +
        "where break_reason is not null",
    );
    expect(breaks).toEqual([
      ["new-unit", "Sold by the tray from now on", "2026-10-22 12:00:00+00"],
    ]);
  }),
);

testWith(PYTHON, "pandas")("pandas reads both CSV files: types, dates and sums", async () => {
  const script = [
    "import json, pandas",
    "dates = ['date', 'session_utc']",
    "history = pandas.read_csv('history.csv', parse_dates=dates)",
    "board = pandas.read_csv('export.csv', parse_dates=['session_utc', 'as_of'])",
    "types = lambda frame, names: [str(frame[name].dtype) for name in names]",
    "print(json.dumps({",
    "  'history': types(history, ['contract_id', 'close_usd', 'low_usd', 'inputs'] + dates),",
    "  'board': types(board, ['spot_usd', 'chg_30d_pct', 'capacity_gb', 'session_utc', 'as_of']),",
    "  'days': [history['date'].min().isoformat(), history['date'].max().isoformat()],",
    "  'counts': history.groupby('contract_id')['close_usd'].count().to_dict(),",
    "  'levels': board.set_index('contract_id')['spot_usd'].to_dict(),",
    "}))",
  ].join("\n");
  const { stdout } = await promisify(execFile)(PYTHON, ["-c", script], { cwd: folder });
  const found = JSON.parse(stdout);
  const expected = await histories(proxy.pro);
  const dates = [...expected.values()].flat().map(({ date }) => date);
  expect(found).toMatchObject({
    history: ["object", "float64", "float64", "float64", "datetime64[ns]", "datetime64[ns, UTC]"],
    board: ["float64", "float64", "float64", "datetime64[ns, UTC]", "datetime64[ns]"],
    days: [dates.toSorted()[0], dates.toSorted().at(-1)].map((date) => `${date}T00:00:00`),
    counts: Object.fromEntries([...expected].map(([id, entries]) => [id, entries.length])),
  });
  const { json } = await proxy.get(`${API}/prices`, { key: proxy.pro });
  expect(found.levels).toEqual(
    Object.fromEntries(
      [...json.memory, ...json.semiconductor].map(({ id, spot_usd }) => [id, spot_usd]),
    ),
  );
});
