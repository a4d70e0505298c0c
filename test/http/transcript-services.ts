/** The services that transcripts ask: each file has its own, started when its first test needs it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rollBack } from "../../src/desk/rollback.ts";
import { sessionKey } from "../../src/market/session.ts";
import { linkAddress } from "../../src/core/find/link-target.ts";
import { API } from "../../src/public/routes.ts";
import { createLinkToken } from "../../src/state/api-keys.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { FILES } from "../../src/store/paths.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { changeHead } from "../cli/signed.ts";
import { catalogOf, lines, mustPublish, quotesOf, type CatalogRow } from "../cli/small-market.ts";
import { digestField } from "./client.ts";
import {
  DROPPED_AS_OF,
  publishedStore,
  publishSession,
  SESSION,
  sessionsMs,
  TestClock,
  type TestProxy,
  type TestProxyOptions,
} from "./fixture.ts";

/** Starts what transcripts ask: a proxy, or the core without a socket. */
export type Start = (options?: TestProxyOptions) => Promise<TestProxy>;

export interface TranscriptService {
  readonly proxy: TestProxy;
  /** Names of keys and of other values. */
  readonly values: ReadonlyMap<string, string>;
  close(): Promise<void>;
}

/** No key of any account. */
const UNKNOWN = "cbk_0000000000000000000000000000000000000000000000000";

const of = (
  proxy: TestProxy,
  values: Readonly<Record<string, string>> = {},
): TranscriptService => ({
  proxy,
  values: new Map(
    Object.entries({
      pro: proxy.pro,
      starter: proxy.starter,
      unknown: UNKNOWN,
      dropped: DROPPED_AS_OF,
      ...values,
    }),
  ),
  close: () => proxy.close(),
});

/** One session of seventeen contracts, the first ten of which are free, at five past midnight. */
async function usual(start: Start): Promise<TranscriptService> {
  const proxy = await start();
  const ids = Array.from({ length: 101 }, (_, at) => `c${at}`).join(",");
  return of(proxy, { "101-ids": ids, "pro-but-one": proxy.pro.slice(0, -1) });
}

/** Nothing is published. */
async function empty(start: Start): Promise<TranscriptService> {
  return of(await start({ store: new MemoryStore() }));
}

/** The same as `usual`, a day later; one account is suspended, and the trial of another is over. */
async function dayLater(start: Start): Promise<TranscriptService> {
  const proxy = await start();
  const { registry, clock } = proxy;
  await registry.addAccount("asleep", "pro", null);
  const suspended = (await registry.createKey("asleep", null)).key;
  await registry.setAccount("asleep", { suspended: true });
  await registry.addAccount("tried", "pro", 1);
  const lapsed = (await registry.createKey("tried", null)).key;
  clock.ms += 24 * 3_600_000;
  return of(proxy, { suspended, lapsed });
}

/** The same as `usual`; the address has used the calls that it has without a key. */
async function usedUp(start: Start): Promise<TranscriptService> {
  const proxy = await start();
  const ask = async () => {
    const answer = await proxy.get(`${API}/prices`);
    // Without it, a refusal for another reason would leave the quota as it is, for ever.
    if (answer.status !== 200 && answer.headers["x-ratelimit-remaining"] !== "0")
      throw new Error(`Expected 200 until no call is left, got ${answer.status}: ${answer.text}`);
    return answer;
  };
  const { headers } = await ask();
  while (Number((await ask()).headers["x-ratelimit-remaining"]) > 0) {
    await Promise.all(Array.from({ length: 50 }, ask));
  }
  return of(proxy, { "tag-without-key": headers.etag as string });
}

/** The same as `usual`; each paid account has a link to its export. */
async function links(start: Start): Promise<TranscriptService> {
  const proxy = await start();
  const linkOf = (account: string) => proxy.registry.createLink(account, "/export.csv", null);
  const { token, path } = await linkOf("large");
  const ofStarter = await linkOf("small");
  return of(proxy, {
    token,
    link: linkAddress(token, path),
    "of-starter": linkAddress(ofStarter.token, ofStarter.path),
    "unknown-link": linkAddress(createLinkToken(), path),
    "token-in-lower-case": token.toLowerCase(),
    "token-but-one": token.slice(0, -1),
    "token-escaped": token.replace("_", "%5F"),
  });
}

/**
 * Three sessions. `twice` is called `once` in the second and `first` in the first one; `keyed`, outside the free
 * slice, is called `keyed-first` before the third; in the third `gone` and `keyed-gone` are delisted. An account has
 * a link to its history by the id of the first session.
 */
async function renamed(start: Start): Promise<TranscriptService> {
  const store = new MemoryStore();
  const segment = "Enterprise SSD / U.2";
  const free = Array.from({ length: 8 }, (_, at) => `free-${at}`);
  const rows = (...[twice, keyed, gone]: CatalogRow[][]): string =>
    catalogOf([...free, ...(twice ?? []), ...(gone ?? []), ...(keyed ?? [])]);
  const sessions = [
    [
      "2026-11-20T00Z",
      rows(
        [{ id: "first", segment }],
        [{ id: "keyed-first" }, { id: "keyed-gone" }],
        [{ id: "gone" }],
      ),
      ["first", "keyed-first", "gone", "keyed-gone"],
    ],
    [
      "2026-11-20T12Z",
      rows(
        [{ id: "once", formerly: "first", segment }],
        [{ id: "keyed-first" }, { id: "keyed-gone" }],
        [{ id: "gone" }],
      ),
      ["once", "keyed-first", "gone", "keyed-gone"],
    ],
    [
      "2026-11-21T00Z",
      rows(
        [{ id: "twice", formerly: "once", segment }],
        [
          { id: "keyed", formerly: "keyed-first" },
          { id: "keyed-gone", delisted_on: "2026-11-21" },
        ],
        [{ id: "gone", delisted_on: "2026-11-21" }],
      ),
      ["twice", "keyed"],
    ],
  ] as const;
  const closes = ["first", "keyed-first", ...free].map((id) => `${id},2025-11-18,10`);
  for (const [at, [session, catalog, ids]] of sessions.entries()) {
    const levels = [...free, ...ids].map((id): [string, number] => [id, 10 + at]);
    await mustPublish(store, {
      session,
      catalog,
      quotes: quotesOf(Object.fromEntries(levels)),
      closes: at === 0 ? lines("id,date,close_usd", ...closes) : [],
      attribution: 'Of "A\\B"',
    });
  }
  const proxy = await start({ store });
  const query = "/history.csv?ids=first,keyed-first";
  const { token, path } = await proxy.registry.createLink("large", query, null);
  return of(proxy, { link: linkAddress(token, path) });
}

/** The same as `usual` with other bytes as the export of Pro, in memory or streamed from a folder. */
const exporting = (bytes: Buffer, isStreamed: boolean) => async (start: Start) => {
  const folder = await mkdtemp(join(tmpdir(), "chipboard-export-"));
  const store = new FolderStore(folder);
  await publishSession(store, new TestClock(), SESSION, { first: true });
  await changeHead(store, () => ({}), { [FILES.csv("pro")]: bytes });
  const proxy = await start({ store, cacheBytes: isStreamed ? 0 : 64_000_000 });
  return {
    ...of(proxy, { digest: digestField(bytes) }),
    close: async () => {
      await proxy.close();
      await rm(folder, { recursive: true });
    },
  };
};

/**
 * Five entries. The third corrects the second, of 21 November, 12:00 UTC; the last is a rollback to it, on the day
 * after, from the session of 22 November.
 */
async function severalEntries(start: Start): Promise<TranscriptService> {
  const store = await publishedStore();
  const clock = new TestClock();
  const after = (sessions: number): TestClock => {
    clock.ms += sessionsMs(sessions);
    return clock;
  };
  await publishSession(store, after(1), SESSION + 1, { usd: 12 });
  await publishSession(store, clock, SESSION + 1, { usd: 13, revise: "Typing error" });
  await publishSession(store, after(1), SESSION + 2, { usd: 14 });
  await rollBack(store, `${sessionKey(SESSION + 1)}/r2`, "Wrong feed", clock);
  return of(await start({ store, clock }));
}

/**
 * Four entries: the last noon of October; the session after it, with a level; a correction of October; and a session in
 * which `d` is called `nand`, as an index is.
 */
async function settled(start: Start): Promise<TranscriptService> {
  const store = new MemoryStore();
  const catalog = (row: CatalogRow) => catalogOf([row, { id: "e", segment: "NAND" }, "never"]);
  const gates = { acceptMoves: true, allowSparse: true, maxUnchangedSessions: 99 };
  const run = { ...gates, catalog: catalog({ id: "d" }) };
  const closes = ["d,2026-10-01,10", "d,2026-10-11,12", "e,2026-10-16,7"];
  const csv = (...rows: string[]): string => lines("id,date,close_usd", ...rows);
  await mustPublish(store, { ...run, session: "2026-10-31T12Z", closes: csv(...closes) });
  const quotes = quotesOf({ d: 12, e: 7 });
  await mustPublish(store, { ...run, session: "2026-11-01T00Z", quotes });
  const misprint = { closes: csv("d,2026-10-11,13"), revise: "Misprint" };
  await mustPublish(store, { ...run, session: "2026-11-01T00Z", ...misprint });
  const renamed = catalog({ id: "nand", formerly: "d" });
  const levels = quotesOf({ nand: 12, e: 7 });
  await mustPublish(store, { ...run, catalog: renamed, session: "2026-11-01T12Z", quotes: levels });
  return of(await start({ store }));
}

/** Several pieces of a stream from a folder (64 kB each), and none of them like another. */
const LONG = Buffer.from(
  Array.from({ length: 30_000 }, (_, line) => `row ${line}\r\n`).join(""),
  "latin1",
);
const EMPTY = Buffer.alloc(0);

export const TRANSCRIPT_SERVICES: Readonly<
  Record<string, (start: Start) => Promise<TranscriptService>>
> = {
  usual,
  empty,
  "a day later": dayLater,
  "no calls left": usedUp,
  links,
  renamed,
  "several entries": severalEntries,
  settled,
  "a long export": exporting(LONG, false),
  "a long export, streamed": exporting(LONG, true),
  "an empty export": exporting(EMPTY, false),
  "an empty export, streamed": exporting(EMPTY, true),
};
