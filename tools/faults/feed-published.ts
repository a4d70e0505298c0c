/** Checks that a snapshot says what its feeds say, in every format. */
import assert from "node:assert/strict";
import { parse } from "csv-parse/sync";
import exceljs from "exceljs";
import { verifySnapshots } from "../../src/desk/verify.ts";
import type { PublishResult } from "../../src/publish/release.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { FILES, snapshotFileKey } from "../../src/store/paths.ts";
import { plainBytes } from "../../test/store/stored-file.ts";
import { headFeed, type Feed } from "./feed-mutations.ts";
import { expectedContracts, isSameText, plainRows, type PlainRow } from "./feed-reading.ts";
import { FEED_SESSION, HEAD_SESSION } from "./feed-table.ts";

/** Throws unless the payloads equal a simple reading of the feeds. */
export async function requirePublished(
  store: ObjectStore,
  { snapshot, outcome }: PublishResult,
  feeds: readonly Feed[],
): Promise<void> {
  assert.equal(outcome, "published");
  const read = async (path: string) =>
    JSON.parse(String(await plainBytes(store, snapshotFileKey(snapshot, path))));
  const rows = new Map(feeds.map((feed) => [feed.kind, plainRows(feed)]));
  const expected = expectedContracts([
    { kind: "quotes", rows: plainRows(headFeed("quotes")), session: HEAD_SESSION },
    { kind: "closes", rows: rows.get("closes") ?? [], session: FEED_SESSION },
    { kind: "quotes", rows: rows.get("quotes") ?? [], session: FEED_SESSION },
  ]);
  const board = await read(FILES.board("pro"));
  const records = new Map<string, Record<string, unknown>>();
  for (const record of [...board.memory, ...board.semiconductor]) records.set(record.id, record);
  const isListed = ({ delisted_on: day = "" }: PlainRow): boolean =>
    day === "" || day > FEED_SESSION.slice(0, 10);
  const catalog = (rows.get("catalog") as PlainRow[]).filter(isListed);
  assert.deepEqual([...records.keys()].sort(), catalog.map(({ id }) => id).sort());
  for (const row of catalog) {
    const id = row["id"] as string;
    const contract = expected.get(id);
    assert.ok(contract, `${id} has no level`);
    const record = records.get(id);
    assert.deepEqual(
      [record?.["spot_usd"], record?.["basis"], record?.["as_of"], record?.["ai_exposure_pct"]],
      [contract.spotUsd, contract.basis, contract.asOf, Number(row["ai_exposure_pct"])],
      id,
    );
    for (const name of ["ticker", "name", "segment", "unit"]) {
      const published = record?.[name];
      const given = row[name] ?? "";
      assert.ok(isSameText(published, given), `${id} ${name}: ${String(published)}, not ${given}`);
    }
    const { history } = await read(FILES.contract("pro", id));
    const closes = history.map(({ date, close_usd }: (typeof contract.history)[number]) => ({
      date,
      close_usd,
    }));
    assert.deepEqual(closes, contract.history, id);
  }
  requireNoFormula(String(await store.get(snapshotFileKey(snapshot, FILES.csv("pro")))));
  const report = String(await store.get(snapshotFileKey(snapshot, FILES.report)));
  assert.ok(!/<img src=x|<script>alert/.test(report), "the report contains a name as HTML");
}

/** Throws unless all files verify, and no cell of a CSV or a workbook is a formula. */
export async function requireWhole(
  store: ObjectStore,
  { snapshot, manifest }: PublishResult,
): Promise<void> {
  assert.deepEqual((await verifySnapshots(store, null)).damages, []);
  for (const { path } of manifest.files) {
    const bytes = await plainBytes(store, snapshotFileKey(snapshot, path));
    if (path.endsWith(".json")) JSON.parse(bytes.toString("utf8"));
    if (path.endsWith(".csv")) requireNoFormula(bytes.toString("utf8"));
    if (path.endsWith(".xlsx")) await requirePlainCells(bytes);
  }
}

const NUMBER_COLUMNS = /_(?:usd|pct|gb)$|^usd_per_gb$/;

function requireNoFormula(csv: string): void {
  // Lenient programs also take CR and LF for line breaks.
  const rows: Record<string, string>[] = parse(csv, {
    columns: true,
    record_delimiter: ["\r\n", "\n", "\r"],
  });
  for (const [name, cell] of rows.flatMap((row) => Object.entries(row))) {
    const allowed = NUMBER_COLUMNS.test(name)
      ? /^(?:-?\d+(?:\.\d+)?)?$/
      : /^(?!\s*[=+\-@＝＋－＠]|[\t\r])/;
    assert.match(cell, allowed, `${name} is a formula`);
  }
}

async function requirePlainCells(bytes: Buffer): Promise<void> {
  const workbook = new exceljs.Workbook();
  await workbook.xlsx.load(bytes as unknown as Parameters<typeof workbook.xlsx.load>[0]);
  workbook.eachSheet((sheet) =>
    sheet.eachRow((row) =>
      row.eachCell((cell) => {
        assert.notEqual(cell.type, exceljs.ValueType.Formula, cell.address);
        assert.match(cell.hyperlink ?? "https://", /^https?:\/\//i);
      }),
    ),
  );
}
