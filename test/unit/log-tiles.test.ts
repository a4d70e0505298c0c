/** Tiles of the log: who writes them and when, with how few reads a long log is read, and what a wrong one changes. */
import { expect, test } from "vitest";
import { copyStore } from "../../src/desk/copy-store.ts";
import { repairSnapshots } from "../../src/desk/repair.ts";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { LogReader } from "../../src/served/log-reader.ts";
import { appendEntry } from "../../src/snapshot/log/append.ts";
import type { StoredEntry } from "../../src/snapshot/log/entry.ts";
import { DamageError, UnreachableError } from "../../src/lib/errors.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { NO_KEYS } from "../../src/snapshot/log/sign.ts";
import { readLog } from "../../src/snapshot/log/walk.ts";
import { publicationKey, TILES } from "../../src/store/paths.ts";
import { InterceptedStore } from "../faults/crash-store.ts";
import { GOLDEN_KEY } from "../golden/golden-key.ts";
import { ANY_TIME, EMPTY_PRUNE } from "../store/log-entries.ts";
import { MemoryStore } from "../store/memory-store.ts";

const NOW_MS = Date.parse("2026-11-21T00:05:00Z");

/** Appends entries until the log has so many. */
async function grown(store: ObjectStore, length: number, log: StoredEntry[] = []) {
  while (log.length < length) {
    const newest = log.at(-1) ?? null;
    const stored = await appendEntry(store, EMPTY_PRUNE, newest, NOW_MS, ANY_TIME, NO_KEYS);
    log.push(stored as StoredEntry);
  }
  return log;
}

const tilesOf = async (store: MemoryStore): Promise<string[]> =>
  (await Array.fromAsync(store.list(TILES), ({ key }) => key)).map((key) => key.replace(TILES, ""));

/** The store, and a list of its reads: of objects, and of lists. */
function counted(store: MemoryStore): { store: InterceptedStore; reads: string[] } {
  const reads: string[] = [];
  return {
    reads,
    store: new InterceptedStore(store, ({ kind, key }, run) => {
      if (kind === "get" || kind === "open" || kind === "list") reads.push(`${kind} ${key}`);
      return run();
    }),
  };
}

const LARGE = "256/0000000000";
const FIRST = "16/0000000000";

test("a tile is written by the run that appends the entry after it, once", async () => {
  const store = new MemoryStore();
  const log = await grown(store, 16);
  expect(await tilesOf(store)).toEqual([]);
  await grown(store, 17, log);
  expect(await tilesOf(store)).toEqual([FIRST]);
  const bytes = Buffer.concat(log.slice(0, 16).map((each) => each.bytes));
  expect(await store.get(`${TILES}${FIRST}`)).toEqual(bytes);
  await grown(store, 256, log);
  expect(await tilesOf(store)).toHaveLength(15);
  await grown(store, 257, log);
  expect(await tilesOf(store)).toHaveLength(17);
  expect(await store.get(`${TILES}${LARGE}`)).toEqual(
    Buffer.concat(log.slice(0, 256).map((each) => each.bytes)),
  );
});

test("a run fills in the tiles that are missing, and works where it cannot", async () => {
  const store = new MemoryStore();
  const log = await grown(store, 40);
  const tiles = await tilesOf(store);
  expect(tiles).toHaveLength(2);
  for (const tile of tiles) await store.delete(`${TILES}${tile}`);
  await grown(store, 41, log);
  expect(await tilesOf(store)).toEqual(tiles);
});

class Crash extends Error {}

test.each([16, 256])(
  "a run that crashes at any write around tile %i loses nothing",
  async (size) => {
    const whole = new MemoryStore();
    const log = await grown(whole, size + 2);
    const tiles = await tilesOf(whole);
    for (const effect of ["none", "done"] as const) {
      for (let crashAt = 1; crashAt <= 4; crashAt += 1) {
        const store = new MemoryStore();
        const before = await grown(store, size);
        let writes = 0;
        const crashing = new InterceptedStore(store, async ({ kind }, run) => {
          const isLast = kind === "create" && (writes += 1) >= crashAt;
          if (!isLast) return run();
          if (effect === "done" && writes === crashAt) await run();
          throw new Crash();
        });
        await grown(crashing, size + 1, before).catch((error: unknown) => {
          if (!(error instanceof Crash)) throw error;
        });
        const stored = await readLog(store);
        expect(stored.map(({ sha256 }) => sha256)).toEqual(
          log.slice(0, stored.length).map(({ sha256 }) => sha256),
        );
        expect((await verifySnapshots(store, null)).damages).toEqual([]);
        await grown(store, size + 2, stored);
        expect(await tilesOf(store)).toEqual(tiles);
      }
    }
  },
);

test("4,000 entries are read with at most 50 reads", async () => {
  const store = new MemoryStore();
  // As an older program wrote it: without tiles, which the next run fills in.
  const older = new InterceptedStore(store, ({ kind }, run) => {
    if (kind === "list") throw new UnreachableError("no list");
    return run();
  });
  const log = await grown(older, 3_999);
  expect(await tilesOf(store)).toEqual([]);
  await grown(store, 4_000, log);
  const whole = counted(store);
  expect((await readLog(whole.store)).map(({ sha256 }) => sha256)).toEqual(
    log.map(({ sha256 }) => sha256),
  );
  expect(whole.reads.length).toBeLessThanOrEqual(50);
  const started = counted(store);
  const reader = new LogReader(started.store, null);
  expect(await reader.follow()).toBeNull();
  expect(reader.newestNumber).toBe(4_000);
  expect(started.reads.length).toBeLessThanOrEqual(50);
});

test.each([
  ["a byte changed", (bytes: Buffer) => Buffer.from(String(bytes).replace(/"at":"20/, '"at":"21'))],
  [
    "a byte of the last entry changed",
    (bytes: Buffer) => Buffer.from(String(bytes).replace(/"at":"20([^}]*\}\n)$/, '"at":"21$1')),
  ],
  ["cut off", (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
  ["longer", (bytes: Buffer) => Buffer.concat([bytes, bytes])],
  ["empty", () => Buffer.alloc(0)],
])("a tile with %s is not used, verify names it, and repair makes it anew", async (_, damaged) => {
  const store = new MemoryStore();
  const log = await grown(store, 300);
  for (const tile of [LARGE, FIRST, "16/0000000016"]) {
    const key = `${TILES}${tile}`;
    const right = (await store.get(key)) as Buffer;
    const wrong = damaged(right);
    expect(wrong).not.toEqual(right);
    await store.delete(key);
    await store.create(key, wrong);
    expect((await readLog(store)).map(({ sha256 }) => sha256)).toEqual(
      log.map(({ sha256 }) => sha256),
    );
    const reader = new LogReader(store, null);
    expect(await reader.follow()).toBeNull();
    expect(reader.get(300).sha256).toBe(log[299]?.sha256);
    const { damages } = await verifySnapshots(store, null);
    expect(damages).toEqual([expect.stringContaining(`${tile} is not the entries`)]);
    const { put_back: putBack } = await repairSnapshots(
      store,
      new MemoryStore("memory:other"),
      null,
    );
    expect(putBack).toEqual([key]);
    expect(await store.get(key)).toEqual(right);
  }
});

test("a damaged entry is found although its tile is whole", async () => {
  const store = new MemoryStore();
  await grown(store, 40);
  const key = publicationKey(5);
  await store.delete(key);
  await store.create(key, Buffer.from("{}\n"));
  const { damages } = await verifySnapshots(store, null);
  expect(damages).toEqual([expect.stringContaining(key)]);
});

test("a copy has the tiles after its entries", async () => {
  const store = new MemoryStore();
  await grown(store, 40);
  const copy = new MemoryStore("memory:copy");
  await copyStore(store, copy, false, () => {});
  expect(await tilesOf(copy)).toEqual(await tilesOf(store));
});

test("a log that no key accepts stays refused, poll after poll", async () => {
  const store = new MemoryStore();
  await grown(store, 40);
  const reader = new LogReader(store, null, [GOLDEN_KEY.verifyKey]);
  const refusals = [await reader.follow(), await reader.follow(), await reader.follow()];
  expect(refusals).toEqual([1, 2, 3].map(() => expect.any(DamageError)));
});
