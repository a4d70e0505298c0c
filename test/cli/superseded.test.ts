/** Since when Pro's levels have stood, and the rows that no longer stand, as runs one after another write them. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { rollBack } from "../../src/desk/rollback.ts";
import { prune } from "../../src/desk/prune.ts";
import { rerender } from "../../src/publish/rerender.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { snapshotText } from "../../src/store/paths.ts";
import { copyOf } from "../http/fixture.ts";
import { readHead } from "../store/log-entries.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { plainBytes } from "../store/stored-file.ts";
import { catalogOf, lines, mustPublish, tryPublish, type Run } from "./small-market.ts";

const COLUMNS =
  "contract_id,session_utc,spot_usd,low_usd,high_usd,inputs,basis,as_of,break_reason,known_from";
const CATALOG = catalogOf(["a", "b"]);
const NOW = { now: () => Date.parse("2026-11-26T00:00:00Z") };

/** The rows of a file of the head in short: id, session, level, the numbers of entries, and `true` of one that left. */
async function headRows(store: ObjectStore, name: string): Promise<string[]> {
  const head = await readHead(store);
  if (head === null) throw new Error("The store is empty");
  const bytes = await plainBytes(store, `sessions/${snapshotText(head)}/pro/${name}.csv`);
  const [header, ...rows] = String(bytes).trimEnd().split("\r\n");
  expect(header).toBe(name === "levels" ? COLUMNS : `${COLUMNS},known_to,left`);
  return rows.map((row) => {
    const [id, session = "", usd, ...others] = row.replace(/,false$/, "").split(",");
    return [
      id,
      session.slice(5, 13),
      usd,
      ...others.slice("low_usd to break_reason".split(" ").length + 3),
    ].join(" ");
  });
}

const levels = (store: ObjectStore) => headRows(store, "levels");
const superseded = (store: ObjectStore) => headRows(store, "superseded");

const quotes = (...rows: readonly string[]): string =>
  lines("id,session_utc,spot_usd,basis", ...rows);

const publish = (store: ObjectStore, session: string, run: Run): Promise<string> =>
  mustPublish(store, {
    session,
    minCoverageMicros: 0,
    allowSparse: true,
    acceptMoves: true,
    ...run,
  });

/** Two entries: two contracts, and a session more. */
async function begun(): Promise<MemoryStore> {
  const store = new MemoryStore();
  const first = quotes("a,2026-11-20T12Z,1,", "a,2026-11-21T00Z,2,", "b,2026-11-21T00Z,5,");
  await publish(store, "2026-11-21T00Z", { catalog: CATALOG, quotes: first });
  await publish(store, "2026-11-21T12Z", { quotes: quotes("a,,3,") });
  return store;
}
const FIRST = ["a 11-20T12 1 1", "a 11-21T00 2 1", "a 11-21T12 3 2", "b 11-21T00 5 1"];

test("a new row has the number of its entry; the first snapshot gives all its own", async () => {
  const store = await begun();
  expect(await levels(store)).toEqual(FIRST);
  expect(await superseded(store)).toEqual([]);
});

test("corrected and withdrawn rows end, also in a revision; one that comes back is a row of its own", async () => {
  const store = await begun();
  const changed = quotes("a,2026-11-20T12Z,1.5,", "a,2026-11-21T00Z,,withdrawn");
  await publish(store, "2026-11-21T12Z", { quotes: changed, revise: "Misprint" });
  expect(await levels(store)).toEqual(["a 11-20T12 1.5 3", "a 11-21T12 3 2", "b 11-21T00 5 1"]);
  expect(await superseded(store)).toEqual(["a 11-20T12 1 1 3", "a 11-21T00 2 1 3"]);
  const back = quotes("a,2026-11-20T12Z,1,", "a,2026-11-21T00Z,2,");
  await publish(store, "2026-11-22T00Z", { quotes: back, revise: "It was right" });
  expect(await levels(store)).toEqual([
    "a 11-20T12 1 4",
    "a 11-21T00 2 4",
    "a 11-21T12 3 2",
    "b 11-21T00 5 1",
  ]);
  expect(await superseded(store)).toEqual([
    "a 11-20T12 1 1 3",
    "a 11-20T12 1.5 3 4",
    "a 11-21T00 2 1 3",
  ]);
});

test("after a rollback the rows are compared with the head's", async () => {
  const store = await begun();
  const changed = quotes("a,2026-11-20T12Z,1.5,", "b,2026-11-22T00Z,6,");
  await publish(store, "2026-11-22T00Z", { quotes: changed, revise: "Misprint" });
  await rollBack(store, "2026-11-21T12Z", "The feed was wrong", NOW);
  expect(await levels(store)).toEqual(FIRST);
  const right = quotes("a,2026-11-20T12Z,1.5,", "b,2026-11-22T00Z,7,");
  await publish(store, "2026-11-22T00Z", { quotes: right, revise: "The right feed" });
  expect(await levels(store)).toEqual(["a 11-20T12 1.5 5", ...FIRST.slice(1), "b 11-22T00 7 5"]);
  expect(await superseded(store)).toEqual(["a 11-20T12 1 1 5"]);
});

test("a prune takes a number, and no row", async () => {
  const store = await begun();
  await publish(store, "2026-11-22T00Z", { quotes: quotes("a,,4,") });
  expect((await prune(store, 0, false, NOW)).snapshots).toHaveLength(1);
  await publish(store, "2026-11-22T12Z", { quotes: quotes("a,,5,") });
  expect(await levels(store)).toEqual([
    ...FIRST.slice(0, 3),
    "a 11-22T00 4 3",
    "a 11-22T12 5 5",
    "b 11-21T00 5 1",
  ]);
});

test("a rename is no change; a contract out of the catalog stands last, under its last id", async () => {
  const store = await begun();
  const changed = { quotes: quotes("a,2026-11-20T12Z,1.5,"), revise: "Misprint" };
  await publish(store, "2026-11-21T12Z", changed);
  const renamed = catalogOf(["b", { id: "z", formerly: "a" }]);
  await publish(store, "2026-11-22T00Z", {
    catalog: renamed,
    quotes: quotes("b,,6,"),
  });
  expect(await levels(store)).toEqual([
    "b 11-21T00 5 1",
    "b 11-22T00 6 4",
    "z 11-20T12 1.5 3",
    "z 11-21T00 2 1",
    "z 11-21T12 3 2",
  ]);
  expect(await superseded(store)).toEqual(["z 11-20T12 1 1 3"]);
  await publish(store, "2026-11-22T12Z", {
    catalog: catalogOf(["new", "z"]),
    quotes: quotes("new,,9,"),
    accept: ["delisting" as const, "free" as const].map((gate) => ({ gate, ids: null })),
  });
  expect(await superseded(store)).toEqual([
    "z 11-20T12 1 1 3",
    "b 11-21T00 5 1 5 true",
    "b 11-22T00 6 4 5 true",
  ]);
});

test("the same input, and the same content rendered anew, are nothing to do", async () => {
  const store = await begun();
  const again = await tryPublish(store, {
    session: "2026-11-21T12Z",
    quotes: quotes("a,,3,"),
    allowSparse: true,
  });
  expect(again.result?.outcome).toBe("unchanged");
  const anew = await rerender("As it is", { dryRun: false }, store, NOW, () => {});
  expect(anew.outcome).toBe("unchanged");
});

test.each(["levels", "superseded"])(
  "a head with a damaged %s.csv is not built upon",
  async (name) => {
    const store = await begun();
    const key = `sessions/2026-11-21T12Z/r1/pro/${name}.csv.gz`;
    const bytes = (await store.get(key)) as Buffer;
    await store.delete(key);
    await store.create(key, bytes.fill(0, 12, 14));
    const { code, said } = await tryPublish(store, {
      session: "2026-11-22T00Z",
      quotes: quotes("a,,4,", "b,,5,"),
    });
    expect([code, said[0]]).toEqual([6, expect.stringContaining(`${key} is damaged`)]);
  },
);

test("upon an older program's snapshot all rows are new, and go on from there", async () => {
  const released = join(import.meta.dirname, "../released/0.2.0/store");
  const store = await copyOf(new FolderStore(released));
  const before = await readHead(store);
  const number = (before?.number ?? 0) + 1;
  const run = { nowMs: Date.parse("2026-11-22T12:05:00Z"), maxUnchangedSessions: 100 };
  await publish(store, "2026-11-21T12Z", { ...run, quotes: quotes("ddr5-16gb-spot,,3.1,") });
  const first = await levels(store);
  expect(first.length).toBeGreaterThan(10);
  expect(first.filter((row) => !row.endsWith(` ${number}`))).toEqual([]);
  expect(await superseded(store)).toEqual([]);
  await publish(store, "2026-11-22T00Z", { ...run, quotes: quotes("ddr5-16gb-spot,,3.2,") });
  const next = await levels(store);
  expect(next.filter((row) => !first.includes(row))).toEqual([
    `ddr5-16gb-spot 11-22T00 3.2 ${number + 1}`,
  ]);
});
