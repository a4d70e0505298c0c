/** `rollback`: references to snapshots, the next publish, and what needs --revise. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { rollBack } from "../../src/desk/rollback.ts";
import { prune } from "../../src/desk/prune.ts";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { clockAt } from "../store/begun.ts";
import { readHead } from "../store/log-entries.ts";
import { NO_KEYS } from "../../src/snapshot/log/sign.ts";
import { MemoryStore } from "../store/memory-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { snapshotText } from "../../src/store/paths.ts";
import {
  catalogOf,
  contentOf,
  headJson,
  mustPublish,
  quotesOf,
  tryPublish,
} from "../cli/small-market.ts";
import { InterceptedStore } from "../faults/crash-store.ts";
import { STRICT } from "../golden/golden-key.ts";
import { eventually, startTestProxy, TestClock } from "../http/fixture.ts";
import { desk, keysOf, RUNS } from "./desk.ts";
import { publishedFolders } from "./published-folder.ts";

const CLOCK = clockAt("2026-11-21T13:00:00Z");
const LATER = clockAt("2026-11-25T00:05:00Z");

const folders = publishedFolders();

async function published(): Promise<MemoryStore> {
  const store = new MemoryStore();
  for (const run of RUNS) await mustPublish(store, run);
  return store;
}

const back = (store: ObjectStore, reference: string, reason = "wrong feed") =>
  rollBack(store, reference, reason, CLOCK);
const head = async (store: ObjectStore): Promise<string> => {
  const entry = await readHead(store);
  return entry === null ? "none" : `${entry.number} ${snapshotText(entry)} ${entry.action}`;
};

test("appends one entry and touches nothing else", async () => {
  const store = await published();
  const before = await contentOf(store);
  const done = await back(store, "2026-11-20T00Z");
  expect(done.outcome).toBe("rolled_back");
  const after = await contentOf(store);
  const added = "publications/0000000004.json";
  const { [added]: entry, ...rest } = after;
  expect(rest).toEqual(before);
  const first = JSON.parse(before["publications/0000000001.json"] as string);
  expect(JSON.parse(entry as string)).toEqual({
    number: 4,
    action: "rollback",
    session: "2026-11-20T00Z",
    revision: 1,
    reason: "wrong feed",
    at: "2026-11-21T13:00:00.000Z",
    manifest_sha256: first.manifest_sha256,
    corrections: 0,
    previous: createHash("sha256")
      .update(before["publications/0000000003.json"] as string, "latin1")
      .digest("hex"),
    roots: first.roots,
  });
  expect((await back(store, "head")).outcome).toBe("unchanged");
  expect(await contentOf(store)).toEqual(after);
  expect((await back(store, "head~1")).snapshot).toBe("2026-11-21T12Z/r1");
  expect(await head(store)).toBe("5 2026-11-21T12Z/r1 rollback");
});

test("a session names its last published revision, not the one of a rollback", async () => {
  const store = await published();
  const revise = { session: "2026-11-21T12Z", minCoverageMicros: 0 };
  await mustPublish(store, { ...revise, quotes: quotesOf({ b: 10.75 }), revise: "once" });
  await mustPublish(store, { ...revise, quotes: quotesOf({ b: 10.8 }), revise: "twice" });
  await back(store, "2026-11-21T12Z/r1");
  expect(await head(store)).toBe("6 2026-11-21T12Z/r1 rollback");
  await back(store, "2026-11-20T00Z");
  await back(store, "2026-11-21T12Z");
  expect(await head(store)).toBe("8 2026-11-21T12Z/r3 rollback");
});

test("a stored snapshot that no publication names can be the head", async () => {
  const store = await published();
  await store.delete("publications/0000000003.json");
  await back(store, "2026-11-21T12Z/r1");
  expect(await head(store)).toBe("3 2026-11-21T12Z/r1 rollback");
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

test("it names the withdrawn sessions, also of earlier rollbacks, and those to come", async () => {
  const store = await published();
  const next = { session: "2026-11-22T00Z", quotes: quotesOf({ a: 12, b: 11, c: 12 }) };
  expect(await back(store, "2026-11-21T00Z")).toMatchObject({
    withdrawn: ["2026-11-21T12Z"],
    not_begun: [],
  });
  await mustPublish(store, { ...next, minCoverageMicros: 0 });
  expect(await back(store, "2026-11-20T00Z")).toMatchObject({
    withdrawn: ["2026-11-21T00Z", "2026-11-21T12Z", "2026-11-22T00Z"],
    // The clock of `back` is in 2026-11-21T12Z.
    not_begun: ["2026-11-22T00Z"],
  });
  for (const [session, code] of [
    ["2026-11-21T00Z", 4],
    ["2026-11-21T12Z", 4],
    // It was published before it began.
    ["2026-11-22T00Z", 0],
  ] as const) {
    const run = { ...next, session, minCoverageMicros: 0, dryRun: true };
    expect((await tryPublish(store, run)).code).toBe(code);
  }
  expect(await back(store, "2026-11-22T00Z")).toMatchObject({
    withdrawn: [],
    not_begun: ["2026-11-22T00Z"],
  });
  expect(await back(store, "head")).toMatchObject({ outcome: "unchanged", withdrawn: [] });
});

test("in words: which sessions need --revise, and which have not begun", async () => {
  const folder = folders();
  const { out } = await desk(
    'rollback 2026-11-20T00Z --reason "x"',
    folder,
    "2026-11-21T11:00:00Z",
  );
  expect(out.split("\n").slice(2)).toEqual([
    "To publish a withdrawn session again, give --revise: 2026-11-21T00Z, 2026-11-21T12Z",
    "Not begun yet by the clock: 2026-11-21T12Z",
    "",
  ]);
});

test("an orphan without a manifest, a pruned snapshot and an unknown one: 2", async () => {
  const store = await published();
  await store.create("sessions/2026-11-21T12Z/r2/catalog.json", Buffer.from("[]\n"));
  await prune(store, 0, false, LATER);
  for (const [reference, message] of [
    ["2026-11-20T00Z", "memory: does not hold 2026-11-20T00Z/r1; it was pruned"],
    ["2026-11-21T12Z/r2", "memory: does not hold 2026-11-21T12Z/r2; it was pruned"],
    ["2026-11-19T00Z", "memory: has no publication of 2026-11-19T00Z"],
  ] as const) {
    await expect(back(store, reference)).rejects.toEqual(
      expect.objectContaining({ exitCode: 2, message }),
    );
  }
});

test("the next publish continues from that snapshot's ledger, catalog and corrections", async () => {
  const store = await published();
  await mustPublish(store, {
    session: "2026-11-21T12Z",
    quotes: "id,spot_usd,session_utc\na,11,2026-11-20T00Z\n",
    revise: "source corrected a",
    minCoverageMicros: 0,
  });
  await back(store, "2026-11-20T00Z");
  await mustPublish(store, {
    session: "2026-11-22T00Z",
    quotes: quotesOf({ a: 10.5, b: 11, c: 12 }),
    minCoverageMicros: 0,
  });
  const manifest = await headJson(store, "manifest.json");
  expect(manifest.parent).toMatchObject({ session_utc: "2026-11-20T00:00:00.000Z", revision: 1 });
  expect(await headJson(store, "corrections.json")).toEqual([]);
  const { history } = await headJson(store, "pro/contracts/a.json");
  // Neither the corrected 11 nor the withdrawn session's 12.5 is left.
  expect(history.slice(-2)).toEqual([
    { date: "2026-11-20", close_usd: 10, session_utc: "2026-11-20T00:00:00.000Z" },
    { date: "2026-11-22", close_usd: 10.5, session_utc: "2026-11-22T00:00:00.000Z" },
  ]);
  expect((await headJson(store, "pro/board.json")).counts).toEqual({ memory: 2, semiconductor: 1 });
});

test("a withdrawn session needs --revise, which makes a new revision", async () => {
  const store = await published();
  await back(store, "2026-11-20T00Z", "levels of another day");
  for (const run of [RUNS[2], { ...RUNS[2], quotes: quotesOf({ a: 11, b: 11, c: 12 }) }]) {
    for (const dryRun of [true, false]) {
      const { code, said } = await tryPublish(store, { ...run, dryRun });
      expect([code, said[0]]).toEqual([4, expect.stringContaining("(levels of another day)")]);
    }
  }
  expect(await mustPublish(store, { ...RUNS[2], revise: "checked" })).toBe("2026-11-21T12Z/r2");
  expect(await headJson(store, "manifest.json")).toMatchObject({
    parent: { session_utc: "2026-11-20T00:00:00.000Z" },
    reason: "checked",
  });
  expect((await tryPublish(store, { ...RUNS[2] })).result?.outcome).toBe("unchanged");
});

test("after a rollback and a prune neither the session nor its revision number can be used again", async () => {
  const store = new MemoryStore();
  await mustPublish(store, { ...RUNS[0], session: "2026-11-21T00Z" });
  await mustPublish(store, { ...RUNS[1], session: "2026-11-21T12Z" });
  await back(store, "2026-11-21T00Z", "levels of another day");
  await mustPublish(store, { ...RUNS[2], session: "2026-11-22T00Z" });
  await back(store, "2026-11-21T00Z", "again");
  const pruned = await prune(store, 0, false, LATER);
  expect(pruned.snapshots).toEqual([{ name: "2026-11-21T12Z/r1", orphan: false }]);
  const again = { ...RUNS[1], session: "2026-11-21T12Z" };
  const refused = await tryPublish(store, again);
  expect([refused.code, refused.said[0]]).toEqual([4, expect.stringContaining("another day")]);
  expect(await mustPublish(store, { ...again, revise: "checked" })).toBe("2026-11-21T12Z/r2");
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});

test("another publish at the same time: 4, and its head stays", async () => {
  const store = await published();
  const racing = new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name, target);
      if (typeof method !== "function") return method;
      if (name !== "prove") return method.bind(target);
      return async () => {
        await mustPublish(target, {
          session: "2026-11-22T00Z",
          quotes: quotesOf({ a: 12, b: 11, c: 12 }),
          minCoverageMicros: 0,
        });
      };
    },
  });
  await expect(back(racing, "2026-11-20T00Z")).rejects.toEqual(
    expect.objectContaining({ exitCode: 4 }),
  );
  expect(await head(store)).toBe("4 2026-11-22T00Z/r1 publish");
});

test("a running proxy follows", async () => {
  const store = await published();
  const proxy = await startTestProxy({ store, clock: new TestClock(CLOCK.now()) });
  try {
    const prices = () => proxy.get("/api/public/v1/prices", { key: proxy.pro });
    expect((await prices()).headers["x-snapshot"]).toBe("2026-11-21T12Z/r1");
    await back(store, "2026-11-20T00Z");
    await eventually(async () => (await prices()).headers["x-snapshot"] === "2026-11-20T00Z/r1");
    const { json, headers } = await prices();
    expect(json.session_utc).toBe("2026-11-20T00:00:00.000Z");
    // Two sessions have begun since and the grace of the third has not passed.
    expect([json.delayed_sessions, headers["x-delayed-sessions"]]).toEqual([3, "3"]);
  } finally {
    await proxy.close();
  }
});

test("the catalog of that snapshot is valid again", async () => {
  const store = await published();
  await mustPublish(store, {
    session: "2026-11-22T00Z",
    catalog: catalogOf(["a", "b", { id: "c", board: "semiconductor" }, "d", "e"]),
    quotes: quotesOf({ a: 12, e: 1 }),
    minCoverageMicros: 0,
    accept: [{ gate: "free", ids: ["e"] }],
  });
  await back(store, "head~1");
  const { code, said } = await tryPublish(store, {
    session: "2026-11-22T12Z",
    quotes: quotesOf({ a: 12, e: 1 }),
  });
  expect([code, said.join(" ")]).toEqual([2, expect.stringContaining('id "e"')]);
  expect(await keysOf(store, "publications/")).toHaveLength(5);
});

test.each([
  ["without keys", NO_KEYS],
  ["with keys", STRICT],
])("%s: another head after the log was read is a conflict", async (_, keys) => {
  const store = new MemoryStore();
  for (const run of RUNS) await mustPublish(store, { ...run, keys });
  let reads = 0;
  const overtaken = new InterceptedStore(store, async ({ kind, key }, run) => {
    const result = await run();
    // The newest entry; the next read is of an older one.
    if (kind === "get" && key === "publications/0000000003.json" && (reads += 1) === 1) {
      await rollBack(store, "2026-11-20T00Z", "first", CLOCK, keys);
    }
    return result;
  });
  await expect(rollBack(overtaken, "2026-11-20T00Z", "second", CLOCK, keys)).rejects.toMatchObject({
    exitCode: 4,
    message: expect.stringContaining("Another publish, rollback or prune came first"),
  });
  expect(await head(store)).toBe("4 2026-11-20T00Z/r1 rollback");
});
