/** A rollback or a publish that comes at the very moment when prune removes what it goes on from. */
import { expect, test } from "vitest";
import { prune } from "../../src/desk/prune.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { readHead, readLog } from "../../src/snapshot/publication-log.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { publicationKey, snapshotText } from "../../src/store/paths.ts";
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
  await store.create(`claims/${NEXT.session}/r1.json`, Buffer.from('{"began":3}\n'), "");
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

test("a rollback to a snapshot that a prune is removing is refused, and the head stays", async () => {
  const { store, clock } = await storeWithLeftovers();
  let refusal: unknown = null;
  const pruned = interrupted(store, isDeleteOf(`sessions/${OLDEST}/`), async () => {
    refusal = await rollBack(store, OLDEST, "check", clock).catch((error: unknown) => error);
  });
  await prune(pruned, 0, false, clock);
  expect(refusal).toMatchObject({ exitCode: 2, message: expect.stringContaining("was pruned") });
  expect(snapshotText((await readHead(store)) ?? never())).toBe("2026-11-21T12Z/r1");
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

const isAppend = ({ kind, key }: Operation): boolean =>
  kind === "create" && key.startsWith("publications/");

test("a rollback whose snapshot a prune takes before it is named is refused, and the head stays", async () => {
  const { store, clock } = await storeWithLeftovers();
  const rolledBack = interrupted(store, isAppend, async () => {
    await prune(store, 0, false, clock);
  });
  await expect(rollBack(rolledBack, OLDEST, "check", clock)).rejects.toMatchObject({ exitCode: 4 });
  expect(snapshotText((await readHead(store)) ?? never())).toBe("2026-11-21T12Z/r1");
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

test("a prune that takes nothing of a publish does not stop it", async () => {
  const { store, clock } = await storeWithLeftovers();
  const acting = interrupted(store, isAppend, async () => {
    expect((await prune(store, 0, false, clock)).snapshots).toHaveLength(1);
  });
  expect(await mustPublish(acting, NEXT)).toBe(`${NEXT.session}/r2`);
  const actions = (await readLog(store)).map(({ action }) => action);
  expect(actions.slice(3)).toEqual(["prune", "publish"]);
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

test("a rollback that is named before a prune appends keeps its snapshot", async () => {
  const { store, clock } = await storeWithLeftovers();
  const pruned = interrupted(store, isAppend, async () => {
    await rollBack(store, OLDEST, "check", clock);
  });
  const { snapshots } = await prune(pruned, 0, false, clock);
  expect(snapshots).toEqual([{ name: "2026-11-21T00Z/r1", orphan: false }]);
  expect(snapshotText((await readHead(store)) ?? never())).toBe(`${OLDEST}/r1`);
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

test("clocks two hours apart: a publish that ends well has lost nothing to a prune", async () => {
  const { store, clock } = await storeWithLeftovers();
  const ahead = { now: () => clock.now() + 2 * 3_600_000 };
  const published = interrupted(store, isAppend, async () => {
    await prune(store, 0, false, ahead);
  });
  await mustPublish(published, NEXT);
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

test("what a crashed run left goes when two heads came after it; its name and parts stay taken", async () => {
  const { store, clock } = await storeWithLeftovers();
  const leftover = `${NEXT.session}/r1`;
  const part = (await keysOf(store, "ledger/")).filter((key) => key.endsWith("-3.ndjson"));
  expect(part).toHaveLength(1);
  for (const reason of ["once", "twice"]) {
    const { snapshots } = await prune(store, 0, false, clock);
    expect(snapshots.filter(({ orphan }) => orphan)).toEqual([]);
    await rollBack(store, "head~1", reason, clock);
  }
  const pruned = await prune(store, 0, false, clock);
  expect(pruned).toMatchObject({
    snapshots: [{ name: leftover, orphan: true }],
    ledgerParts: part,
  });
  expect(await keysOf(store, "claims/")).toEqual([]);
  expect(await mustPublish(store, NEXT)).toBe(`${NEXT.session}/r2`);
  // The same levels in the same month: the same content, under another name.
  const content = String(part[0]).replace(/-3\.ndjson$/, "-");
  const named = (await keysOf(store, "ledger/")).filter((key) => key.startsWith(content));
  expect(named).toEqual([expect.not.stringMatching(/-3\.ndjson$/)]);
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

test("a prune that crashes after its entry is finished by the next one", async () => {
  const { store, clock } = await storeWithLeftovers();
  const crashing = new AttendedStore(store, async ({ kind, key }, run) => {
    if (kind === "delete" && key.endsWith("report.html")) throw new Error("The run crashed here");
    return run();
  });
  await expect(prune(crashing, 0, false, clock)).rejects.toThrow("crashed here");
  expect(await keysOf(store, `sessions/${OLDEST}/`)).not.toEqual([]);
  expect(await verifySnapshots(store, null)).toMatchObject({ damages: [], pruned: { length: 1 } });
  const length = (await readLog(store)).length;
  const next = await prune(store, 9999, false, clock);
  expect(next.snapshots).toEqual([{ name: `${OLDEST}/r1`, orphan: false }]);
  expect(await keysOf(store, `sessions/${OLDEST}/`)).toEqual([]);
  expect((await readLog(store)).length).toBe(length);
});

test("a prune of more names than fit into 60,000 bytes writes several entries", async () => {
  const { store, clock } = await storeWithLeftovers();
  const keys = Array.from(
    { length: 1_500 },
    (_, at) => `ledger/2026-01-${String(at).padStart(64, "0")}-0.ndjson`,
  );
  for (const key of keys) await store.create(key, Buffer.from("x"), "");
  await prune(store, 0, false, clock);
  const entries = (await readLog(store)).filter(({ action }) => action === "prune");
  expect(entries.length).toBeGreaterThan(1);
  for (const { number } of entries) {
    expect((await store.get(publicationKey(number)))?.length).toBeLessThanOrEqual(60_000);
  }
  expect((await keysOf(store, "ledger/")).filter((key) => keys.includes(key))).toEqual([]);
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

function never(): never {
  throw new Error("The store is empty");
}
