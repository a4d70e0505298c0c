/** A rollback or a publish that comes at the very moment when prune removes what it goes on from. */
import { expect, test } from "vitest";
import { prune } from "../../src/inspect/prune.ts";
import { rollBack } from "../../src/inspect/rollback.ts";
import { verifySnapshots } from "../../src/inspect/verify.ts";
import { readHead, readLog } from "../../src/snapshot/publication-log.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { snapshotText } from "../../src/store/paths.ts";
import { mustPublish, quotesOf } from "../cli/market.ts";
import { AttendedStore, type Operation } from "../faults/crash-store.ts";
import { keysOf, RUNS } from "./desk.ts";

const OLDEST = "2026-11-20T00Z";
const NEXT = {
  session: "2026-11-22T00Z",
  quotes: quotesOf({ a: 12.4, b: 11, c: 12 }),
  minCoverageMicros: 0,
};

/** The three runs of the desk, and one that crashed before its publication; all of it long ago. */
async function storeWithLeftovers(): Promise<{ store: MemoryStore; clock: { now(): number } }> {
  const clock = { ms: Date.parse("2026-11-20T00:00:00Z"), now: () => clock.ms };
  const store = new MemoryStore(clock);
  for (const run of RUNS) await mustPublish(store, run);
  await mustPublish(store, NEXT);
  await store.delete("publications/0000000004.json");
  clock.ms = Date.parse("2026-11-22T00:05:00Z");
  return { store, clock };
}

/** The store as one actor sees it, with something done once before any such operation. */
function interrupted(
  store: MemoryStore,
  isMoment: (operation: Operation) => boolean,
  act: () => Promise<void>,
): AttendedStore {
  let acted: Promise<void> | null = null;
  return new AttendedStore(store, async (operation, run) => {
    if (isMoment(operation)) await (acted ??= act());
    return run();
  });
}

const isDeleteOf =
  (prefix: string) =>
  ({ kind, key }: Operation): boolean =>
    kind === "delete" && key.startsWith(prefix);

test("a rollback to a snapshot that prune is removing is refused, and the head stays", async () => {
  const { store, clock } = await storeWithLeftovers();
  let refusal: unknown = null;
  const pruned = interrupted(store, isDeleteOf(`sessions/${OLDEST}/`), async () => {
    refusal = await rollBack(store, OLDEST, "check", clock).catch((error: unknown) => error);
  });
  await prune(pruned, 0, false, clock);
  expect(refusal).toMatchObject({ exitCode: 4, message: expect.stringContaining("by a prune") });
  expect(snapshotText((await readHead(store)) ?? never())).toBe("2026-11-21T12Z/r1");
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

test("a snapshot that a rollback has verified is not removed before its publication is there", async () => {
  const { store, clock } = await storeWithLeftovers();
  const isAppend = ({ kind, key }: Operation): boolean =>
    kind === "create" && key.startsWith("publications/");
  const rolledBack = interrupted(store, isAppend, async () => {
    const { snapshots } = await prune(store, 0, false, clock);
    expect(snapshots.map(({ name }) => name)).toEqual(["2026-11-22T00Z/r1"]);
  });
  await rollBack(rolledBack, OLDEST, "check", clock);
  expect(snapshotText((await readHead(store)) ?? never())).toBe(`${OLDEST}/r1`);
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
  expect(await keysOf(store, "rollbacks/")).toEqual([]);
  expect(await keysOf(store, "pruning/")).toEqual([]);
});

test.fails("clocks two hours apart: a publish that ends well has lost nothing to a prune", async () => {
  const { store, clock } = await storeWithLeftovers();
  const ahead = { now: () => clock.now() + 2 * 3_600_000 };
  const isAppend = ({ kind, key }: Operation): boolean =>
    kind === "create" && key.startsWith("publications/");
  const published = interrupted(store, isAppend, async () => {
    await prune(store, 0, false, ahead);
  });
  await mustPublish(published, NEXT);
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

test("the number of a snapshot is not given again before prune has removed its last file", async () => {
  const { store, clock } = await storeWithLeftovers();
  const folder = `sessions/${NEXT.session}/r1/`;
  const files = await keysOf(store, folder);
  // As another prune leaves it: nothing of the folder is there, and this one goes on removing.
  const pruned = interrupted(store, isDeleteOf(folder), async () => {
    for (const key of files) await store.delete(key);
    expect(await mustPublish(store, NEXT)).toBe(`${NEXT.session}/r2`);
  });
  await prune(pruned, 0, false, clock);
  expect((await readLog(store)).length).toBe(4);
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

test("a publish waits for a prune that is removing the part of the ledger that it will name", async () => {
  const { store, clock } = await storeWithLeftovers();
  const published = Promise.withResolvers<string>();
  const pruned = interrupted(store, isDeleteOf("ledger/"), async () => {
    const polled = Promise.withResolvers<void>();
    const polls = new AttendedStore(store, async ({ kind, key }, run) => {
      const result = await run();
      if (kind === "get" && key.startsWith("pruning/")) polled.resolve();
      return result;
    });
    const publishing = mustPublish(polls, NEXT);
    published.resolve(publishing);
    // It may end by itself too, and then what it counts on is about to go.
    await Promise.race([polled.promise, publishing]);
  });
  const { ledgerParts } = await prune(pruned, 0, false, clock);
  expect(await published.promise).toBe(`${NEXT.session}/r1`);
  const head = (await readHead(store)) ?? never();
  expect(snapshotText(head)).toBe(`${NEXT.session}/r1`);
  const { damages } = await verifySnapshots(store, null);
  expect(damages).toEqual([]);
  // The very part that prune has removed: else this would prove nothing.
  const after = await keysOf(store, "ledger/");
  expect(ledgerParts.filter((key) => after.includes(key))).toHaveLength(1);
});

function never(): never {
  throw new Error("The store is empty");
}

test("a prune that takes too long for its mark stops; another goes on", async () => {
  const { store } = await storeWithLeftovers();
  const clock = { ms: Date.parse("2026-11-22T00:05:00Z"), now: () => clock.ms };
  // The process sleeps in the middle of a folder.
  const asleep = interrupted(store, isDeleteOf(`sessions/${OLDEST}/`), async () => {
    clock.ms += 3_600_000;
  });
  await expect(prune(asleep, 0, false, clock)).rejects.toMatchObject({
    exitCode: 4,
    message: expect.stringContaining("run it again"),
  });
  expect(await keysOf(store, `sessions/${OLDEST}/`)).toContainEqual(
    expect.stringContaining("manifest.json"),
  );
  clock.ms += 3_600_000;
  await prune(store, 0, false, clock);
  expect(await keysOf(store, `sessions/${OLDEST}/`)).toEqual([]);
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});
