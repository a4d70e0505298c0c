/** `prune`: the snapshots that it removes and keeps, and the store verifies afterwards. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { prune, type Pruning } from "../../src/desk/prune.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { NO_KEYS } from "../../src/snapshot/log/sign.ts";
import { readLog } from "../../src/snapshot/log/walk.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { clockAt } from "../store/begun.ts";
import { ANY_TIME } from "../store/log-entries.ts";
import { MemoryStore } from "../store/memory-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { catalogOf, contentOf, mustPublish, quotesOf } from "../cli/small-market.ts";
import { desk, deskJson, keysOf, RUNS, temporaryFolder } from "./desk.ts";

const names = ({ snapshots }: Pruning): string[] => snapshots.map(({ name }) => name);

/** A store whose objects are as old as the entries of its log. */
function storeAt(instant: string): { store: MemoryStore; clock: { ms: number; now(): number } } {
  const clock = { ms: Date.parse(instant), now: () => clock.ms };
  return { store: new MemoryStore(), clock };
}

async function published(store: ObjectStore): Promise<void> {
  for (const run of RUNS) await mustPublish(store, run);
}

const daily = (session: string, usd: number) => ({
  session,
  quotes: quotesOf({ a: usd, b: 11, c: 12 }),
  minCoverageMicros: 0,
});

test("keeps the head, the publication before it, publications of the last N days, and the whole log", async () => {
  const { store } = storeAt("2026-11-20T00:00:00Z");
  await published(store);
  for (const [day, usd] of [
    [23, 12],
    [24, 12.1],
    [25, 12.2],
  ] as const) {
    await mustPublish(store, daily(`2026-11-${day}T00Z`, usd));
  }
  const now = clockAt("2026-11-25T00:05:00Z");
  const before = await contentOf(store);
  const dry = await prune(store, 2, true, now);
  expect(await contentOf(store)).toEqual(before);
  const done = await prune(store, 2, false, now);
  expect(done).toEqual({ ...dry, dry_run: false });
  expect(names(done)).toEqual(["2026-11-20T00Z/r1", "2026-11-21T00Z/r1", "2026-11-21T12Z/r1"]);
  const after = await contentOf(store);
  const gone = Object.keys(before).filter((key) => !(key in after));
  expect([done.objects, done.kept]).toEqual([gone.length, 3]);
  expect(done.bytes).toBe(gone.reduce((sum, key) => sum + (before[key]?.length ?? 0), 0));
  expect(await keysOf(store, "publications/")).toHaveLength(7);
  expect(await verifySnapshots(store, null)).toMatchObject({ damages: [], pruned: { length: 3 } });
  // Snapshots share the parts of earlier months, so these stay.
  expect(gone.filter((key) => /^ledger\/(?!2026-11)/.test(key))).toEqual([]);

  expect(names(await prune(store, 0, false, now))).toEqual(["2026-11-23T00Z/r1"]);
  // With more days than there are, and a second time: nothing to do.
  for (const days of [90, 0]) expect((await prune(store, days, false, now)).objects).toBe(0);
  await rollBack(store, "2026-11-24T00Z", "check", now);
  await mustPublish(store, { ...daily("2026-11-25T00Z", 12.3), revise: "check" });
  await mustPublish(store, daily("2026-11-25T12Z", 12.4));
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

test("a clock far ahead removes no recent history: days count back from the newest entry", async () => {
  const { store } = storeAt("2026-11-20T00:00:00Z");
  await published(store);
  await mustPublish(store, daily("2026-11-25T00Z", 12));
  const before = await contentOf(store);
  await prune(store, 30, false, clockAt("2099-01-01T00:00:00Z"));
  expect(await contentOf(store)).toEqual(before);
  const pruned = await prune(store, 3, false, clockAt("2099-01-01T00:00:00Z"), NO_KEYS, ANY_TIME);
  expect(names(pruned)).toEqual(["2026-11-20T00Z/r1", "2026-11-21T00Z/r1"]);
});

test("a prune is dated by the clock, however long ago the head is, and never before the newest entry", async () => {
  const { store } = storeAt("2026-11-20T00:00:00Z");
  await published(store);
  const newest = async () => (await readLog(store)).at(-1)?.entry;
  await prune(store, 0, false, clockAt("2026-11-28T07:30:00Z"));
  expect(await newest()).toMatchObject({ action: "prune", at: "2026-11-28T07:30:00.000Z" });
  await mustPublish(store, daily("2026-11-22T00Z", 12));
  await prune(store, 0, false, clockAt("2026-11-25T00:00:00Z"));
  expect(await newest()).toMatchObject({ number: 6, at: "2026-11-28T07:30:00.000Z" });
});

test("the snapshot of a rollback and the one before it are kept at any age", async () => {
  const { store } = storeAt("2026-11-20T00:00:00Z");
  await published(store);
  const now = clockAt("2027-11-25T01:00:00Z");
  await rollBack(store, "2026-11-20T00Z", "check", now, NO_KEYS, ANY_TIME);
  expect(names(await prune(store, 0, false, now))).toEqual(["2026-11-21T00Z/r1"]);
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

test("orphans without a claim are removed", async () => {
  const orphan = [
    "sessions/2026-11-22T00Z/r1/catalog.json",
    "sessions/2026-11-22T00Z/r1/pro/board.json",
  ];
  const part = `ledger/2026-12-${"0".repeat(64)}-0.ndjson`;
  const folder = temporaryFolder();
  const store = new FolderStore(folder);
  await published(store);
  for (const key of [...orphan, part]) await store.create(key, Buffer.from("x"));
  const later = clockAt("2026-11-25T00:05:00Z");
  const dry = await desk("prune --keep-days 9999 --dry-run", folder);
  expect(dry.out).toMatch(
    /^Would remove 0 snapshots, 1 unpublished folder, 1 ledger part, in all 3 objects of 3 bytes; 3 snapshots stay\n\nWould be removed\nsnapshot +why\n2026-11-22T00Z\/r1 +no publication names it\n$/,
  );
  expect(await prune(store, 9999, false, later)).toMatchObject({
    snapshots: [{ name: "2026-11-22T00Z/r1", orphan: true }],
    ledger_parts: [part],
    objects: 3,
    bytes: 3,
    kept: 3,
  });
  expect((await keysOf(store)).filter((key) => [...orphan, part].includes(key))).toEqual([]);
  expect((await desk("verify --all", folder)).code).toBe(0);
});

test("a kept snapshot that cannot be read, a claim that is none, or a lost log: 6, and nothing is removed", async () => {
  const harms = [
    async (store: MemoryStore) => store.delete("sessions/2026-11-21T12Z/r1/manifest.json"),
    ...["{", '{"began":9007199254740993}', " ".repeat(10_000)].map(
      (text) => async (store: MemoryStore) => {
        await store.create("claims/2026-11-22T00Z/r1.json", Buffer.from(text));
      },
    ),
    async (store: MemoryStore) => {
      for (const key of await keysOf(store, "publications/")) await store.delete(key);
    },
  ];
  for (const harm of harms) {
    const { store } = storeAt("2026-11-20T00:00:00Z");
    await published(store);
    await harm(store);
    const before = await contentOf(store);
    await expect(prune(store, 0, false, clockAt("2099-01-01T00:00:00Z"))).rejects.toEqual(
      expect.objectContaining({ exitCode: 6 }),
    );
    expect(await contentOf(store)).toEqual(before);
  }
});

test("during a publish: at whatever write a prune runs, the result is complete", async () => {
  let writes = Number.POSITIVE_INFINITY;
  for (let at = 1; at <= writes; at += 5) {
    const { store, clock } = storeAt("2026-11-20T00:00:00Z");
    await published(store);
    // A crashed run of the same input has left the parts that this one needs.
    const next = daily("2026-11-22T00Z", 12.4);
    await mustPublish(store, next);
    await store.delete("publications/0000000004.json");
    clock.ms = Date.parse("2026-11-22T00:05:00Z");
    let count = 0;
    const between = new Proxy(store, {
      get(target, name) {
        if (name === "location") return target.location;
        const method: unknown = Reflect.get(target, name, target);
        if (typeof method !== "function") return method;
        if (name !== "create") return method.bind(target);
        return async (...args: Parameters<ObjectStore["create"]>) => {
          count += 1;
          if (count === at) await prune(target, 0, false, clock);
          return target.create(...args);
        };
      },
    });
    expect(await mustPublish(between, next)).toMatch(/^2026-11-22T00Z\/r[12]$/);
    expect((await verifySnapshots(store, null)).damages).toEqual([]);
    writes = count;
  }
});

test("a publish during a prune that needs a part which the prune is about to remove", async () => {
  const { store, clock } = storeAt("2026-11-20T00:00:00Z");
  await published(store);
  const next = daily("2026-11-22T00Z", 12.4);
  await mustPublish(store, next);
  // As after a crash: no snapshot names its ledger part.
  await store.delete("publications/0000000004.json");
  clock.ms = Date.parse("2026-11-22T00:05:00Z");
  let isFirst = true;
  const between = new Proxy(store, {
    get(target, name) {
      if (name === "location") return target.location;
      const method: unknown = Reflect.get(target, name, target);
      if (typeof method !== "function") return method;
      if (name !== "delete") return method.bind(target);
      return async (key: string) => {
        if (isFirst) {
          isFirst = false;
          expect(await mustPublish(target, next)).toBe("2026-11-22T00Z/r2");
        }
        return target.delete(key);
      };
    },
  });
  const pruned = await prune(between, 0, false, clock);
  expect(names(pruned)).toEqual(["2026-11-20T00Z/r1", "2026-11-22T00Z/r1"]);
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

test.each(["2021-06-01", "2096-06-01"])(
  "on a clock set to %s, published snapshots are as old as the log says",
  async (start) => {
    const [folder, inputs] = [temporaryFolder(), temporaryFolder()];
    const store = new FolderStore(folder);
    const first = Date.parse(`${start}T00:00:00Z`);
    const session = (day: number): string =>
      `${new Date(first + day * 86_400_000).toISOString().slice(0, 10)}T00Z`;
    for (const [day, usd] of [10, 10.1, 10.2, 10.3].entries()) {
      writeFileSync(join(inputs, "catalog.csv"), catalogOf([{ id: "a" }]));
      writeFileSync(join(inputs, "quotes.csv"), quotesOf({ a: usd }));
      const files = `--catalog ${inputs}/catalog.csv --quotes ${inputs}/quotes.csv`;
      const at = new Date(first + day * 86_400_000 + 300_000).toISOString();
      expect(await desk(`publish ${files}`, folder, at)).toMatchObject({ code: 0 });
    }
    const now = (minutes: number): string =>
      new Date(first + 3 * 86_400_000 + minutes * 60_000).toISOString();
    const pruned = await deskJson("prune --keep-days 0", folder, now(30));
    expect(pruned.snapshots.map(({ name }: { name: string }) => name)).toEqual([
      `${session(0)}/r1`,
      `${session(1)}/r1`,
    ]);
    expect(pruned.ledger_parts).toHaveLength(2);
    expect((await verifySnapshots(store, null)).damages).toEqual([]);
  },
);
