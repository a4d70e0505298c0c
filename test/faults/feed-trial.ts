/** Throws one feed at publish, and proves what became of it: published right, or refused by line. */
import assert from "node:assert/strict";
import { parse } from "csv-parse/sync";
import exceljs from "exceljs";
import type { Source } from "../../src/feed/source.ts";
import { verifySnapshots } from "../../src/inspect/verify.ts";
import { parseSession, sessionStartMs, type Session } from "../../src/market/session.ts";
import type { publish as realPublish, PublishResult } from "../../src/publish/publish.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { FILES, snapshotFileKey } from "../../src/store/paths.ts";
import type { Feed } from "./feed-mutations.ts";
import type { FeedRandom } from "./feed-random.ts";
import { expectedContracts, isSameText, plainRows, type PlainRow } from "./feed-reading.ts";
import { requireRefusal } from "./feed-refusal.ts";
import { FEED_KINDS, FEED_SESSION, HEAD_SESSION, PLAIN_WRITING } from "./feed-table.ts";
import { validTable, written, type FeedKind } from "./feed-table.ts";

export type Publish = typeof realPublish;

/** A store that knows which keys were touched since `touched` was last emptied. */
class WatchedStore extends MemoryStore {
  readonly touched = new Set<string>();

  override create(key: string, bytes: Uint8Array, type: string): Promise<"created" | "taken"> {
    this.touched.add(key);
    return super.create(key, bytes, type);
  }

  override delete(key: string): Promise<void> {
    this.touched.add(key);
    return super.delete(key);
  }
}

/** Every so many snapshots are verified whole, workbook and all. */
const VERIFIED_ONE_IN = 20;

export class FeedTrials {
  readonly #publish: Publish;
  readonly #random: FeedRandom;
  readonly #head: ReadonlyMap<string, Buffer>;
  #published = 0;

  private constructor(publish: Publish, random: FeedRandom, head: ReadonlyMap<string, Buffer>) {
    this.#publish = publish;
    this.#random = random;
    this.#head = head;
  }

  /** Publishes HEAD_SESSION, on which every feed of FEED_SESSION is then tried. */
  static async begin(publish: Publish, random: FeedRandom): Promise<FeedTrials> {
    const store = new MemoryStore();
    const trials = new FeedTrials(publish, random, new Map());
    await trials.#run(
      store,
      HEAD_SESSION,
      ["catalog", "quotes"].map((kind) => headFeed(kind as FeedKind)),
    );
    return new FeedTrials(publish, random, await contentOf(store));
  }

  /** The store as it is before each feed. */
  async store(): Promise<WatchedStore> {
    const store = new WatchedStore();
    for (const [key, bytes] of this.#head) await store.create(key, bytes, "");
    store.touched.clear();
    return store;
  }

  /** Throws where the feed was neither published right nor refused by line. */
  async throw(feed: Feed, { verified = false } = {}): Promise<"published" | "refused"> {
    const store = await this.store();
    const feeds = FEED_KINDS.map((kind) => (kind === feed.kind ? feed : validFeed(kind)));
    let result: PublishResult;
    try {
      result = await this.#run(store, FEED_SESSION, feeds);
    } catch (error) {
      requireRefusal(error, feeds);
      assert.notEqual(feed.outcome, "published", `refused: ${String(error)} ${detailsOf(error)}`);
      assert.deepEqual([...store.touched], [], "something was written");
      return "refused";
    }
    assert.notEqual(feed.outcome, "refused", "published");
    await requirePublished(store, result, feeds);
    this.#published += 1;
    if (verified || this.#published % VERIFIED_ONE_IN === 0) await requireWhole(store, result);
    return "published";
  }

  #run(store: ObjectStore, sessionText: string, feeds: readonly Feed[]): Promise<PublishResult> {
    const session = parseSession(sessionText) as Session;
    const of = (kind: FeedKind): Source[] =>
      feeds.filter((feed) => feed.kind === kind).map((feed) => sourceOf(feed, this.#random));
    return this.#publish(
      {
        catalog: of("catalog")[0] ?? null,
        quotes: of("quotes"),
        closes: of("closes"),
        session,
        attribution: "Levels made up by a test",
        revise: null,
        dryRun: false,
        gates: {
          maxMoveMicros: 50_000_000,
          minCoverageMicros: 80_000_000,
          maxCarryDays: 45,
          acceptMoves: !this.#random.oneIn(4),
          allowSparse: !this.#random.oneIn(4),
        },
      },
      store,
      { now: () => sessionStartMs(session) + 300_000 },
      () => {},
    );
  }
}

/** The feed as it is sent when nothing is wrong with it. */
export function validFeed(kind: FeedKind): Feed {
  const bytes = Buffer.from(written(validTable(kind), "csv", PLAIN_WRITING));
  return { kind, format: "csv", bytes, story: "", outcome: "published" };
}

/** The same for HEAD_SESSION: what quotes name belongs to that one. */
function headFeed(kind: FeedKind): Feed {
  const feed = validFeed(kind);
  const text = feed.bytes
    .toString()
    .replaceAll(FEED_SESSION, HEAD_SESSION)
    .replace("Sold by the tray", "");
  return { ...feed, bytes: Buffer.from(text) };
}

/** Every object of the store. */
export async function contentOf(store: ObjectStore): Promise<Map<string, Buffer>> {
  const content = new Map<string, Buffer>();
  for await (const { key } of store.list("")) {
    content.set(key, (await store.get(key)) as Buffer);
  }
  return content;
}

/** In pieces, as a stream brings them: where they end tells nothing. */
function sourceOf({ kind, format, bytes }: Feed, random: FeedRandom): Source {
  const cuts = Array.from({ length: random.below(4) }, () => random.below(bytes.length + 1));
  const ends = [...cuts.sort((a, b) => a - b), bytes.length];
  return {
    name: `${kind}.${format}`,
    format,
    async *open() {
      let from = 0;
      for (const to of ends) {
        yield bytes.subarray(from, to);
        from = to;
      }
    },
  };
}

/** The payloads say what a plain reading of the feeds says. */
async function requirePublished(
  store: ObjectStore,
  { snapshot, outcome }: PublishResult,
  feeds: readonly Feed[],
): Promise<void> {
  assert.equal(outcome, "published");
  const read = async (path: string) =>
    JSON.parse(String(await store.get(snapshotFileKey(snapshot, path))));
  const rows = new Map(feeds.map((feed) => [feed.kind, plainRows(feed)]));
  const expected = expectedContracts([
    { kind: "quotes", rows: plainRows(headFeed("quotes")), session: HEAD_SESSION },
    { kind: "closes", rows: rows.get("closes") ?? [], session: FEED_SESSION },
    { kind: "quotes", rows: rows.get("quotes") ?? [], session: FEED_SESSION },
  ]);
  const board = await read(FILES.board("pro"));
  const records = new Map<string, Record<string, unknown>>();
  for (const record of [...board.memory, ...board.semiconductor]) records.set(record.id, record);
  const catalog = rows.get("catalog") as PlainRow[];
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
      const [published, given] = [record?.[name], row[name] ?? ""];
      assert.ok(isSameText(published, given), `${id} ${name}: ${String(published)}, not ${given}`);
    }
    assert.deepEqual((await read(FILES.contract("pro", id))).history, contract.history, id);
  }
  requireNoFormula(String(await store.get(snapshotFileKey(snapshot, FILES.csv("pro")))));
  const report = String(await store.get(snapshotFileKey(snapshot, FILES.report)));
  assert.ok(!/<img src=x|<script>alert/.test(report), "the report runs a name");
}

/** Every file is what the manifest says, the formats agree, and no cell of the workbook is run. */
async function requireWhole(
  store: ObjectStore,
  { snapshot, manifest }: PublishResult,
): Promise<void> {
  assert.deepEqual((await verifySnapshots(store, null)).damages, []);
  for (const { path } of manifest.files) {
    const bytes = (await store.get(snapshotFileKey(snapshot, path))) as Buffer;
    if (path.endsWith(".json")) JSON.parse(bytes.toString("utf8"));
    if (path.endsWith(".csv")) requireNoFormula(bytes.toString("utf8"));
    if (path.endsWith(".xlsx")) await requirePlainCells(bytes);
  }
}

const NUMBER_COLUMNS = /_(?:usd|pct|gb)$|^usd_per_gb$/;

function requireNoFormula(csv: string): void {
  // As lenient programs read it, to which any line break is one.
  const rows: Record<string, string>[] = parse(csv, {
    columns: true,
    record_delimiter: ["\r\n", "\n", "\r"],
  });
  for (const [name, cell] of rows.flatMap((row) => Object.entries(row))) {
    const allowed = NUMBER_COLUMNS.test(name) ? /^(?:-?\d+(?:\.\d+)?)?$/ : /^(?![=+\-@\t\r])/;
    assert.match(cell, allowed, `${name} would be run`);
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

const detailsOf = (error: unknown): string =>
  error instanceof Error && "details" in error ? JSON.stringify(error.details) : "";
