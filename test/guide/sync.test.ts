/** The copy that `sync` of /client.py keeps equals /history.csv, byte for byte, whatever is published. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect } from "vitest";
import { prune } from "../../src/desk/prune.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import {
  dateText,
  dayOf,
  sessionKey,
  sessionStartMs,
  type Session,
} from "../../src/market/session.ts";
import { KEY_TIER_NAMES, type KeyTierName } from "../../src/market/tier.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { publicationKey } from "../../src/store/paths.ts";
import { at, catalogOf, lines, type CatalogRow, type Run } from "../cli/small-market.ts";
import { EXPECTED } from "../golden/golden-market.ts";
import { copyOf, eventually, startTestProxy, TestClock, type TestProxy } from "../http/fixture.ts";
import { testWith } from "../http/needed-tools.ts";
import { publishInto } from "../http/vintage-market.ts";
import { readHead } from "../store/log-entries.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { ALL, catalog, closes, FIRST, idOf, quotes, RENAMED, restated } from "./many-contracts.ts";
import { PythonClient, type Synced } from "./python-client.ts";

const API = "/api/public/v1";
const GOLDEN = new FolderStore(EXPECTED);

let store: MemoryStore;
let clock: TestClock;
let proxy: TestProxy;
let copies: Record<KeyTierName, PythonClient>;
beforeEach(() => {
  store = new MemoryStore();
  clock = new TestClock(Date.parse("2026-12-31T00:00:00Z"));
});
afterEach(async () => {
  await proxy.close();
  await Promise.all(Object.values(copies).map((copy) => copy.remove()));
});

async function start(): Promise<void> {
  proxy = await startTestProxy({ store, clock, pollMs: 5 });
  const downloads = KEY_TIER_NAMES.map(
    async (tier) => [tier, await PythonClient.download(proxy.url, proxy[tier])] as const,
  );
  copies = Object.fromEntries(await Promise.all(downloads)) as typeof copies;
}

/** Starts over the golden store as it was when this entry of the log was new. */
async function startGolden(last: number): Promise<void> {
  store = await copyOf(GOLDEN);
  for (let number = 10; number > last; number -= 1) await store.delete(publicationKey(number));
  await start();
}

async function append(number: number): Promise<void> {
  const key = publicationKey(number);
  await store.create(key, (await GOLDEN.get(key)) as Buffer);
}

interface Followed extends Synced {
  /** Of the whole file, gzip-coded and plain. */
  readonly wholeBytes: number;
  readonly plainBytes: number;
}

/** Waits until the head is served, runs `sync` for each tier, and compares. */
async function follow(what: string): Promise<Record<KeyTierName, Followed>> {
  const head = await readHead(store);
  await eventually(async () => (await proxy.get("/readyz")).json.publication === head?.number);
  const told = await Promise.all(
    KEY_TIER_NAMES.map(async (tier) => {
      const headers = { "accept-encoding": "gzip" };
      const coded = await proxy.get(`${API}/history.csv`, { key: proxy[tier], headers });
      const whole = await proxy.get(`${API}/history.csv`, { key: proxy[tier] });
      const [said, written] = await copies[tier].sync();
      expect([tier, what, String(written)]).toEqual([tier, what, whole.text]);
      expect([tier, what, said.publication]).toEqual([tier, what, head?.number]);
      const [wholeBytes, plainBytes] = [coded.raw.length, whole.raw.length];
      return [tier, { ...said, wholeBytes, plainBytes }] as const;
    }),
  );
  return Object.fromEntries(told) as Record<KeyTierName, Followed>;
}

testWith("python3")("a wrong copy is noticed by the next publication, and repaired", async () => {
  await startGolden(4);
  await follow("entry 4");
  const database = new DatabaseSync(join(copies.pro.home, "history.sqlite"));
  database.exec("update history set close_usd = 1 where date = '2026-01-13'");
  expect(database.prepare("select changes() as rows").get()).not.toEqual({ rows: 0 });
  database.close();
  await append(5);
  const { starter, pro } = await follow("entry 5");
  expect([starter.is_whole, pro.is_whole]).toEqual([false, true]);
});

testWith("python3")("follows the first day of the histories over the end of February", async () => {
  const days = [...Array(20).keys()].map((day) => dateText(dayOf(at("2024-02-20T00Z")) + day));
  const recent = [...Array(60).keys()].map((day) => dateText(dayOf(at("2028-12-28T00Z")) + day));
  const rows = ["a", "b", "c"].flatMap((id) => [...days, ...recent].map((day) => `${id},${day},5`));
  const first = at("2029-02-26T12Z");
  const publish = (session: Session, run: Run = {}): Promise<string> =>
    publishInto(store, session, sessionStartMs(session) + 300_000, {
      quotes: lines("id,spot_usd", "a,5.5", "b,6", "c,7"),
      ...run,
    });
  clock.ms = sessionStartMs(first + 10);
  await publish(first, {
    catalog: catalogOf(["a", "b", "c"]),
    closes: lines("id,date,close_usd", ...rows),
    attribution: "Test levels, not market data",
  });
  await start();
  await follow("the first run");
  for (let session = first + 1; session < first + 8; session += 1) {
    await publish(session);
    expect((await follow(sessionKey(session))).pro.is_whole).toBe(false);
  }
  await rollBack(store, sessionKey(first + 2), "The feed was wrong", {
    now: () => sessionStartMs(first + 9),
  });
  expect((await follow("a rollback")).pro.is_whole).toBe(false);
});

testWith("python3")("over the golden log, entry by entry", async () => {
  await startGolden(1);
  await follow("entry 1");
  for (let number = 2; number <= 10; number += 1) {
    await append(number);
    await follow(`entry ${number}`);
  }
});

describe("over publications of many contracts", () => {
  const publish = (ahead: number, run: Run = {}, minutes = 5): Promise<string> => {
    const nowMs = sessionStartMs(FIRST + ahead) + minutes * 60_000;
    return publishInto(store, FIRST + ahead, nowMs, { quotes: quotes(ahead), ...run });
  };
  const back = (to: number, ahead: number, minutes: number): Promise<unknown> =>
    rollBack(store, sessionKey(FIRST + to), "The feed was wrong", {
      now: () => sessionStartMs(FIRST + ahead) + minutes * 60_000,
    });
  const NAMED = { 5: RENAMED };
  const GONE = { ...NAMED, 7: null };
  const renamed = { 5: { id: RENAMED, formerly: idOf(5) } };
  const delisted = { ...renamed, 7: { delisted_on: "2026-11-24" } };
  const USUAL = "a usual session";
  /** Only after this one new or corrected days are not all that differs. */
  const UNDONE = "a rollback over a correction";
  const listed: CatalogRow = { id: "part-new", name: "Contract new" };

  /** The publications, in order. */
  const STEPS: readonly (readonly [what: string, happens: () => Promise<unknown>])[] = [
    ["a session", () => publish(1)],
    ["another day", () => publish(2)],
    ["nothing for some contracts", () => publish(3, { quotes: quotes(3, { 1: null, 2: null }) })],
    [
      "a correction of yesterday",
      () =>
        publish(3, { quotes: restated(`${idOf(4)},2026-11-21T12Z,77.5`), revise: "Restated" }, 20),
    ],
    [
      "a correction of long ago",
      () =>
        publish(4, {
          quotes: quotes(4),
          closes: lines(
            "id,date,close_usd",
            `${idOf(8)},2026-03-02,3.25`,
            `${idOf(6)},2026-11-01,8.125`,
          ),
          revise: "Restated",
        }),
    ],
    ["the wrong levels", () => publish(5)],
    ["their rollback", () => back(4, 5, 30)],
    ["the right levels", () => publish(5, { quotes: quotes(18), revise: "The right feed" }, 60)],
    ["another id", () => publish(6, { catalog: catalog(renamed), quotes: quotes(6, NAMED) })],
    ["a delisting", () => publish(7, { catalog: catalog(delisted), quotes: quotes(7, GONE) })],
    ["a prune", () => prune(store, 0, false, { now: () => sessionStartMs(FIRST + 7) + 3_600_000 })],
    [
      "a new contract with its closes",
      () =>
        publish(8, {
          catalog: catalog(delisted, [listed]),
          closes: closes([["part-new", 31]], 300),
          quotes: quotes(8, GONE),
        }),
    ],
    ["a session after two that nobody published", () => publish(11, { quotes: quotes(11, GONE) })],
    ["one day more", () => publish(12, { quotes: quotes(12, GONE) })],
    ["a rollback over two sessions", () => back(8, 12, 60)],
    [
      "two publications at once",
      async () => {
        await publish(11, { quotes: quotes(30, GONE), revise: "Again" }, 900);
        await publish(12, { quotes: quotes(31, GONE), revise: "Again" }, 400);
      },
    ],
    [
      "a level for a session that nobody published",
      () =>
        publish(13, {
          quotes: [quotes(13, GONE), restated(`${idOf(1)},2026-11-25T12Z,2.125`)],
          revise: "Found later",
        }),
    ],
    [
      "a correction",
      () =>
        publish(13, { quotes: restated(`${idOf(2)},2026-11-24T00Z,4.5`), revise: "Restated" }, 60),
    ],
    ["a day", () => publish(14, { quotes: quotes(14, GONE) })],
    [UNDONE, () => back(12, 14, 60)],
    [
      "the id that it had before",
      () =>
        publish(15, {
          catalog: catalog({ 7: delisted[7], 5: { formerly: RENAMED } }, [listed]),
          quotes: quotes(15, { 7: null }),
        }),
    ],
    [
      "another prune, and a session",
      async () => {
        await prune(store, 0, false, { now: () => sessionStartMs(FIRST + 15) + 3_600_000 });
        await publish(16, { quotes: quotes(16, { 7: null }) });
      },
    ],
    ...Array.from({ length: 18 }, (_, at) => {
      const ahead = 17 + at;
      const happens = () => publish(ahead, { quotes: quotes(ahead, { 7: null }) });
      return [USUAL, happens] as const;
    }),
  ];

  testWith("python3")(
    "equals the file after each of forty, and loads the whole only where it must",
    async ({ annotate }) => {
      await publish(0, {
        catalog: catalog({}),
        closes: closes(ALL, 300),
        attribution: "Test levels, not market data",
      });
      await start();
      await follow("the first run");
      const followed = new Set([1]);
      const costs: string[] = [];
      for (const [what, happens] of STEPS) {
        await happens();
        const told = await follow(what);
        for (const tier of KEY_TIER_NAMES) {
          const { is_whole: isWhole, bytes_received: bytes, wholeBytes } = told[tier];
          followed.add(told[tier].publication);
          costs.push(`${what}, ${tier}: ${bytes} bytes; the whole: ${wholeBytes}`);
          if (what !== UNDONE) {
            expect([what, tier, isWhole]).toEqual([what, tier, false]);
            expect(bytes).toBeLessThan(wholeBytes);
          }
        }
        // Most of what starter gets is the list of sums.
        const { bytes_received: bytes, plainBytes } = told.pro;
        if (what === USUAL) expect(bytes).toBeLessThan(plainBytes / 20);
      }
      expect(followed.size).toBe(40);
      // `--reporter=verbose` shows them.
      await annotate(costs.join("\n"));
    },
  );
});
