/** A rollback or a publish while a prune removes the snapshot or the parts that it needs. */
import { expect, test } from "vitest";
import { prune } from "../../src/desk/prune.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { publicationKey, snapshotText } from "../../src/store/paths.ts";
import { readEntries, readHead } from "../store/log-entries.ts";
import { mustPublish, quotesOf } from "../cli/small-market.ts";
import { InterceptedStore, type Operation } from "../faults/crash-store.ts";
import { keysOf, RUNS } from "./desk.ts";

const OLDEST = "2026-11-20T00Z";
const NEXT = {
  session: "2026-11-22T00Z",
  quotes: quotesOf({ a: 12.4, b: 11, c: 12 }),
  minCoverageMicros: 0,
};

/** The three runs of RUNS, and one that crashed before its publication, all long ago. */
async function storeWithLeftovers(): Promise<{ store: MemoryStore; clock: { now(): number } }> {
  const clock = { ms: Date.parse("2026-11-20T00:00:00Z"), now: () => clock.ms };
  const store = new MemoryStore();
  for (const run of RUNS) await mustPublish(store, run);
  await mustPublish(store, NEXT);
  await store.delete("publications/0000000004.json");
  await store.create(`claims/${NEXT.session}/r1.json`, Buffer.from('{"began":3}\n'));
  clock.ms = Date.parse("2026-11-22T00:05:00Z");
  return { store, clock };
}

/** The store of one actor, with an action before the first matching operation. */
function interrupted(
  store: MemoryStore,
  isMoment: (operation: Operation) => boolean,
  act: () => Promise<void>,
): InterceptedStore {
  let acted: Promise<void> | null = null;
  return new InterceptedStore(store, async (operation, run) => {
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

test("a rollback to a snapshot that a prune names first is refused, and the head stays", async () => {
  const { store, clock } = await storeWithLeftovers();
  const rolledBack = interrupted(store, isAppend, async () => {
    await prune(store, 0, false, clock);
  });
  await expect(rollBack(rolledBack, OLDEST, "check", clock)).rejects.toMatchObject({ exitCode: 4 });
  expect(snapshotText((await readHead(store)) ?? never())).toBe("2026-11-21T12Z/r1");
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

test("a prune does not stop a publish if it removes nothing that the publish needs", async () => {
  const { store, clock } = await storeWithLeftovers();
  const acting = interrupted(store, isAppend, async () => {
    expect((await prune(store, 0, false, clock)).snapshots).toHaveLength(1);
  });
  expect(await mustPublish(acting, NEXT)).toBe(`${NEXT.session}/r2`);
  const actions = (await readEntries(store)).map(({ action }) => action);
  expect(actions.slice(3)).toEqual(["prune", "publish"]);
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

test("a rollback that appends its entry before a prune keeps its snapshot", async () => {
  const { store, clock } = await storeWithLeftovers();
  const pruned = interrupted(store, isAppend, async () => {
    await rollBack(store, OLDEST, "check", clock);
  });
  const { snapshots } = await prune(pruned, 0, false, clock);
  expect(snapshots).toEqual([{ name: "2026-11-21T00Z/r1", orphan: false }]);
  expect(snapshotText((await readHead(store)) ?? never())).toBe(`${OLDEST}/r1`);
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

test("clocks two hours apart: a prune removes nothing of a publish that succeeds", async () => {
  const { store, clock } = await storeWithLeftovers();
  const ahead = { now: () => clock.now() + 2 * 3_600_000 };
  const published = interrupted(store, isAppend, async () => {
    await prune(store, 0, false, ahead);
  });
  await mustPublish(published, NEXT);
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

test("prune removes the leftovers of a crashed run after two more heads; its name and its parts are not used again", async () => {
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
    ledger_parts: part,
  });
  expect(await keysOf(store, "claims/")).toEqual([]);
  expect(await mustPublish(store, NEXT)).toBe(`${NEXT.session}/r2`);
  // The same levels in the same month have the same content and another name.
  const content = String(part[0]).replace(/-3\.ndjson$/, "-");
  const named = (await keysOf(store, "ledger/")).filter((key) => key.startsWith(content));
  expect(named).toEqual([expect.not.stringMatching(/-3\.ndjson$/)]);
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

test("a publish whose files a prune takes, because two heads came first, starts again", async () => {
  const { store, clock } = await storeWithLeftovers();
  const isManifest = ({ kind, key }: Operation): boolean =>
    kind === "create" && key === `sessions/${NEXT.session}/r2/manifest.json`;
  const acting = interrupted(store, isManifest, async () => {
    for (const reason of ["once", "twice"]) await rollBack(store, "head~1", reason, clock);
    const { snapshots } = await prune(store, 0, false, clock);
    expect(snapshots).toContainEqual({ name: `${NEXT.session}/r2`, orphan: true });
  });
  expect(await mustPublish(acting, NEXT)).toBe(`${NEXT.session}/r3`);
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

test("a publish whose head is pruned while it reads it goes on from the new head", async () => {
  const { store, clock } = await storeWithLeftovers();
  const isHead = ({ kind, key }: Operation): boolean =>
    kind === "get" && key === "sessions/2026-11-21T12Z/r1/manifest.json";
  const acting = interrupted(store, isHead, async () => {
    for (const older of [OLDEST, "2026-11-21T00Z"]) await rollBack(store, older, "check", clock);
    await prune(store, 0, false, clock);
    expect(await keysOf(store, "sessions/2026-11-21T12Z/")).toEqual([]);
  });
  await mustPublish(acting, NEXT);
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

test("the files of a run that begins while a prune lists the store stay", async () => {
  const { store, clock } = await storeWithLeftovers();
  const file = "sessions/2026-11-22T12Z/r1/catalog.json";
  const isListing = ({ kind, key }: Operation): boolean => kind === "list" && key === "sessions/";
  const pruned = interrupted(store, isListing, async () => {
    await store.create("claims/2026-11-22T12Z/r1.json", Buffer.from('{"began":3}\n'));
    await store.create(file, Buffer.from("[]\n"));
  });
  const { snapshots } = await prune(pruned, 0, false, clock);
  expect(snapshots.filter(({ orphan }) => orphan)).toEqual([]);
  expect(await keysOf(store, "sessions/2026-11-22T12Z/")).toEqual([file]);
});

test("the next prune completes one that crashed after its entry", async () => {
  const { store, clock } = await storeWithLeftovers();
  const crashing = new InterceptedStore(store, async ({ kind, key }, run) => {
    if (kind === "delete" && key.endsWith("report.html")) throw new Error("The run crashed here");
    return run();
  });
  await expect(prune(crashing, 0, false, clock)).rejects.toThrow("crashed here");
  expect(await keysOf(store, `sessions/${OLDEST}/`)).not.toEqual([]);
  expect(await verifySnapshots(store, null)).toMatchObject({ damages: [], pruned: { length: 1 } });
  const length = (await readEntries(store)).length;
  const next = await prune(store, 9999, false, clock);
  expect(next.snapshots).toEqual([{ name: `${OLDEST}/r1`, orphan: false }]);
  expect(await keysOf(store, `sessions/${OLDEST}/`)).toEqual([]);
  expect((await readEntries(store)).length).toBe(length);
});

test("a prune of more names than fit into 60,000 bytes writes several entries", async () => {
  const { store, clock } = await storeWithLeftovers();
  const keys = Array.from(
    { length: 1_500 },
    (_, at) => `ledger/2026-01-${String(at).padStart(64, "0")}-0.ndjson`,
  );
  for (const key of keys) await store.create(key, Buffer.from("x"));
  await prune(store, 0, false, clock);
  const entries = (await readEntries(store)).filter(({ action }) => action === "prune");
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
