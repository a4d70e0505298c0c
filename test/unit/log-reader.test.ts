/** What the proxy keeps of the log: made once for each entry, not for each request. */
import { expect, test } from "vitest";
import { findVintage } from "../../src/core/find/vintage.ts";
import { LogReader } from "../../src/served/log-reader.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import { FULLEST } from "../../src/market/tier.ts";
import { type Entry, type Publication } from "../../src/snapshot/log/entry.ts";
import { renderEntry } from "../../src/snapshot/log/entry-bytes.ts";
import { publicationKey, snapshotText } from "../../src/store/paths.ts";
import { replace } from "../cli/signed.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { publishOf, rollbackTo } from "./publications.ts";

/** Stores the entries, each linked to the one before. */
async function storeOf(entries: readonly Entry[]): Promise<MemoryStore> {
  const store = new MemoryStore();
  let previous: string | null = null;
  for (const entry of entries) {
    const bytes = renderEntry({ ...entry, previous });
    await store.create(publicationKey(entry.number), bytes);
    previous = sha256Hex(bytes);
  }
  return store;
}

const FIRST = publishOf(1, "2026-11-20T00Z");
const SECOND = publishOf(2, "2026-11-20T12Z");
const NAMES = [FIRST, SECOND].map(snapshotText) as [string, string];
const THIRD = publishOf(3, "2026-11-21T00Z");
const LOG = [FIRST, SECOND, THIRD, rollbackTo(4, SECOND, THIRD)];

const numbersIn = ({ entries }: LogReader): number[] => entries.map(({ number }) => number);

test("a snapshot is published by its first entry", async () => {
  const reader = new LogReader(await storeOf(LOG), null);
  expect(await reader.follow()).toBeNull();
  const published = (name: string) =>
    [0, 1, 2, 4].map((after) => reader.isPublishedBy(name, after));
  expect(published(NAMES[0])).toEqual([false, true, true, true]);
  expect(published(NAMES[1])).toEqual([false, false, true, true]);
  expect(published("2026-11-20T12Z/r2")).toEqual([false, false, false, false]);
});

test("a damaged entry is missing, and stands in its place when it is whole again", async () => {
  const store = await storeOf(LOG);
  const key = publicationKey(2);
  const whole = (await store.get(key)) as Buffer;
  await replace(store, key, Buffer.from("{"));
  const reader = new LogReader(store, null);
  expect(await reader.follow()).not.toBeNull();
  expect([numbersIn(reader), reader.newestNumber]).toEqual([[1, 3, 4], 4]);
  expect(() => reader.get(2)).toThrow(key);
  // By a rollback, as long as nobody knows what the second entry published.
  expect([3, 4].map((after) => reader.isPublishedBy(NAMES[1], after))).toEqual([false, true]);
  await replace(store, key, whole);
  await expect
    .poll(async () => [await reader.follow(), numbersIn(reader)])
    .toEqual([null, [1, 2, 3, 4]]);
  expect([1, 2].map((after) => reader.isPublishedBy(NAMES[1], after))).toEqual([false, true]);
  expect(reader.head?.number).toBe(4);
});

test("an instant in a long log is found by reading a few entries, and copying none", async () => {
  const startMs = Date.parse("2016-01-01T00:00:00.000Z");
  const sessionOf = (at: number): string =>
    new Date(startMs + at * 43_200_000).toISOString().slice(0, 13).concat("Z");
  const log = Array.from({ length: 2_000 }, (_, at) => publishOf(at + 1, sessionOf(at)));
  const reader = new LogReader(await storeOf(log), null);
  await reader.follow();
  expect(reader.entries).toBe(reader.entries);
  let reads = 0;
  for (const entry of reader.entries) {
    const { at } = entry;
    Object.defineProperty(entry, "at", { get: () => ((reads += 1), at) });
  }
  for (const place of [0, 1, 777, 1_998, 1_999]) {
    reads = 0;
    const asOfMs = Date.parse((log[place] as Publication).at);
    const found = findVintage({ kind: "instant", asOfMs, isFixed: true }, reader, FULLEST);
    expect(found).toMatchObject({ publication: { number: place + 1 }, isSettled: place < 1_999 });
    expect(reads).toBeLessThan(15);
  }
});
