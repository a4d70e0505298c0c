/** Many callers ask for random vintages of a store that is larger than the memory for them. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { seedOf, uniformAt } from "../../src/demo/random.ts";
import { sessionUtc } from "../../src/market/session.ts";
import { API } from "../../src/public/routes.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import { type Publication } from "../../src/snapshot/log/entry.ts";
import { readPublications } from "../store/log-entries.ts";
import { readManifest } from "../../src/snapshot/stored-snapshot.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { FILES, snapshotText } from "../../src/store/paths.ts";
import { appendRollbacks } from "../../tools/bench/vintage-store.ts";
import type { Received } from "./client.ts";
import {
  FREE_IDS,
  KEYED_IDS,
  publishSession,
  SESSION,
  startTestProxy,
  TestClock,
  sessionsMs,
  type TestProxy,
} from "./fixture.ts";

const SNAPSHOTS = 6;
const ROLLBACKS = 54;
const CALLERS = 24;
const CALLS_EACH = 30;
const READ_MS = 10;
/** An eighth of it is for vintages: less than one snapshot takes. */
const CACHE_BYTES = 2_000_000;

const AS_PUBLISHED = "as published";
const BUSY = "busy";

const IDS = [...FREE_IDS, ...KEYED_IDS];
const BASKET = `${API}/index?ids=${IDS.slice(0, 3).join(",")}&weights=1,2,3.5`;

/** Path and file; null: a basket, which has none. */
const ASKED: readonly (readonly [path: string, file: string | null])[] = [
  [`${API}/prices`, FILES.board("pro")],
  ...IDS.map((id) => [`${API}/prices/${id}`, FILES.contract("pro", id)] as const),
  [`${API}/index`, FILES.index("pro")],
  [BASKET, null],
  [`${API}/export.csv`, FILES.csv("pro")],
  [`${API}/export.xlsx`, FILES.xlsx("pro")],
  [`${API}/history.csv`, FILES.historyCsv("pro")],
  [`${API}/history.parquet`, FILES.historyParquet("pro")],
];

/** A store so slow that reads overlap, as in S3. */
class SlowStore extends MemoryStore {
  readMs = 0;

  override async get(key: string): Promise<Buffer | null> {
    await delay(this.readMs);
    return super.get(key);
  }
}

let proxy: TestProxy;
let publications: readonly Publication[];
/** SHA-256 of each file, by snapshot and path. */
const digests = new Map<string, string>();

beforeAll(async () => {
  const clock = new TestClock();
  const store = new SlowStore();
  for (let ahead = 0; ahead < SNAPSHOTS; ahead += 1) {
    const usd = 11 + ahead;
    await publishSession(store, clock, SESSION + ahead, { first: ahead === 0, usd });
    clock.ms += sessionsMs(1);
  }
  await appendRollbacks(store, ROLLBACKS, 1_000);
  publications = await readPublications(store);
  for (const publication of publications) {
    const { files } = await readManifest(store, publication, publication.manifest_sha256);
    for (const { path, sha256 } of files) {
      digests.set(`${snapshotText(publication)} ${path}`, sha256);
    }
  }
  // The head is overdue: a live board says so, no vintage does.
  clock.ms += sessionsMs(2);
  store.readMs = READ_MS;
  proxy = await startTestProxy({ store, clock, cacheBytes: CACHE_BYTES });
});
afterAll(() => proxy.close());

test("each answer is the published file or `busy`, live ones come, memory is bounded", async () => {
  const head = publications.at(-1) as Publication;
  const live: Received[] = [];
  const heldBytes: number[] = [];
  let isOver = false;
  const watch = async (): Promise<void> => {
    while (!isOver || live.length < CALLS_EACH) {
      live.push(await proxy.get(`${API}/prices`, { key: proxy.pro }));
      heldBytes.push(await vintageBytes());
    }
  };
  const load = Promise.all(Array.from({ length: CALLERS }, (_, caller) => askRandomly(caller)));
  const [answers] = await Promise.all([load.finally(() => (isOver = true)), watch()]);
  const wrong = answers.flat().filter((answer) => answer !== AS_PUBLISHED && answer !== BUSY);
  expect(wrong).toEqual([]);
  expect(answers.flat()).toContain(AS_PUBLISHED);
  for (const { status, headers } of live) {
    expect([status, headers["x-publication"]]).toEqual([200, String(head.number)]);
  }
  expect(Math.max(...heldBytes)).toBeGreaterThan(0);
  expect(Math.max(...heldBytes)).toBeLessThanOrEqual(CACHE_BYTES / 8);
});

/** Asks for random files of random entries. Returns what `judge` says of each answer. */
async function askRandomly(caller: number): Promise<string[]> {
  const seed = seedOf(`caller ${caller}`);
  const found: string[] = [];
  for (let place = 0; found.length < CALLS_EACH; place += 3) {
    const pick = <T>(all: readonly T[], at: number): T =>
      all[Math.floor(uniformAt(seed, place + at) * all.length)] as T;
    const publication = pick(publications, 0);
    const [path, file] = pick(ASKED, 1);
    const { number, at } = publication;
    const vintage = pick([`publication=${number}`, `as_of=${at}`], 2);
    const target = `${path}${path.includes("?") ? "&" : "?"}${vintage}`;
    found.push(judge(await proxy.get(target, { key: proxy.pro }), publication, file));
  }
  return found;
}

/** AS_PUBLISHED, BUSY, or the fault. */
function judge(received: Received, publication: Publication, file: string | null): string {
  const { status, headers, raw, json } = received;
  if (status === 503 && json.code === "busy") {
    return Number(headers["retry-after"]) > 0 ? BUSY : "busy without retry-after";
  }
  if (status !== 200) return `status ${status}`;
  const number = String(headers["x-publication"]);
  if (number !== String(publication.number)) return `publication ${number}`;
  if (file === null) {
    const isOfSession = json.session_utc === sessionUtc(publication.session);
    return isOfSession && json.delayed_sessions === 0 ? AS_PUBLISHED : "another basket";
  }
  const sha256 = digests.get(`${snapshotText(publication)} ${file}`);
  return sha256Hex(raw) === sha256 ? AS_PUBLISHED : "other bytes";
}

/** The memory that the proxy says vintages take. */
async function vintageBytes(): Promise<number> {
  const text = await (await fetch(proxy.metricsUrl)).text();
  return Number(/^chipboard_archive_bytes (\d+)$/m.exec(text)?.[1]);
}
