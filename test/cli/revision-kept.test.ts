/**
 * A publish that fails before it has written anything leaves its revision to the next run; and no fault at any
 * write lets two runs write different bytes to one place.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { prune } from "../../src/desk/prune.ts";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { UnreachableError } from "../../src/lib/errors.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { interceptWrites, InterceptedStore, type Operation } from "../faults/crash-store.ts";
import { copyOf } from "../http/fixture.ts";
import { keysOf, RUNS, temporaryFolder } from "../desk/desk.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { mustPublish, quotesOf, type Run } from "./small-market.ts";

const SESSION = "2026-11-22T00Z";
const FOLDER = `sessions/${SESSION}/`;
const runOf = (usd: number): Run => ({
  session: SESSION,
  quotes: quotesOf({ a: usd, b: 11, c: 12 }),
  minCoverageMicros: 0,
});
const [FIRST, OTHER] = [runOf(12.4), runOf(12.6)];

let published: MemoryStore;
let writes: Operation[];
beforeAll(async () => {
  published = new MemoryStore();
  for (const run of RUNS) await mustPublish(published, run);
  writes = [];
  const noting = interceptWrites((_step, operation, run) => {
    writes.push(operation);
    return run();
  });
  await mustPublish(new InterceptedStore(await copyOf(published), noting), FIRST);
});

/** The store, noting each created key; throws if a key is created with other bytes than before. */
function witnessed(store: ObjectStore, created: Map<string, string>): ObjectStore {
  return new InterceptedStore(store, async ({ kind, key, bytes = Buffer.of() }, run) => {
    const result = await run();
    if (kind === "create" && result === "created") {
      const before = created.get(key) ?? sha256Hex(bytes);
      expect([key, before]).toEqual([key, sha256Hex(bytes)]);
      created.set(key, before);
    }
    return result;
  });
}

type Fault = <T>(isStruck: boolean, run: () => Promise<T>) => Promise<T>;
const broken = new UnreachableError("the injected fault");

/** The store, with the fault at its write number `at`. */
const struck = (store: ObjectStore, at: number, fault: Fault): ObjectStore =>
  new InterceptedStore(
    store,
    interceptWrites((step, _operation, run) => fault(step === at, run)),
  );

/** Whether a run has put anything into the snapshot's folder. */
const hasWritten = async (store: ObjectStore): Promise<boolean> =>
  (await keysOf(store, FOLDER)).length > 0;

async function expectNext(
  store: ObjectStore,
  created: Map<string, string>,
  at: number,
): Promise<void> {
  const revision = (await hasWritten(store)) ? "r2" : "r1";
  expect([at, await mustPublish(witnessed(store, created), OTHER)]).toEqual([
    at,
    `${SESSION}/${revision}`,
  ]);
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
}

test("the first write of a publish, after the proof of the store, is a file of the snapshot", () => {
  expect(writes.slice(0, 3).map(({ kind, key }) => [kind, key])).toEqual([
    ["prove", ""],
    ["create", `${FOLDER}r1/catalog.json`],
    ["create", `claims/${SESSION}/r1.json`],
  ]);
});

describe("a fault at any write, and another run with other levels", () => {
  const FAULTS: [string, () => Fault][] = [
    ["fails", () => async (isStruck, run) => (isStruck ? Promise.reject(broken) : run())],
    [
      "fails after it took effect",
      () => async (isStruck, run) => {
        const result = await run();
        if (isStruck) throw broken;
        return result;
      },
    ],
    [
      "and all after it fail",
      () => {
        let isBroken = false;
        return async (isStruck, run) => {
          isBroken ||= isStruck;
          return isBroken ? Promise.reject(broken) : run();
        };
      },
    ],
  ];
  test.each(FAULTS)("%s", async (_, faultOf) => {
    for (let at = 1; at < writes.length - 1; at += at < 5 ? 1 : 31) {
      const store = await copyOf(published);
      const created = new Map<string, string>();
      const run = mustPublish(struck(witnessed(store, created), at, faultOf()), FIRST);
      await expect(run).rejects.toThrow("the injected fault");
      await expectNext(store, created, at);
    }
  });

  test("hangs, and takes effect after the other run", async () => {
    for (let at = 1; at < writes.length; at += at < 5 ? 1 : 31) {
      const store = await copyOf(published);
      const created = new Map<string, string>();
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const { promise: hung, resolve: hang } = Promise.withResolvers<void>();
      const late = struck(witnessed(store, created), at, async (isStruck, run) => {
        if (isStruck) {
          hang();
          await released;
        }
        return run();
      });
      const first = mustPublish(late, FIRST).catch((error: unknown) => error);
      await hung;
      await expectNext(store, created, at);
      release();
      // It finds the other one's levels published, and says so.
      expect(String(await first)).toContain("--revise");
      expect((await verifySnapshots(store, null)).damages).toEqual([]);
    }
  });
});

test("a run that fails before its first file leaves nothing, in a folder", async () => {
  const folder = new FolderStore(temporaryFolder());
  for (const run of RUNS) await mustPublish(folder, run);
  const before = await keysOf(folder);
  for (const at of [1, 2]) {
    const fails: Fault = async (isStruck, run) => (isStruck ? Promise.reject(broken) : run());
    await expect(mustPublish(struck(folder, at, fails), FIRST)).rejects.toThrow("injected");
    expect(await keysOf(folder)).toEqual(before);
  }
  expect(await mustPublish(folder, OTHER)).toBe(`${SESSION}/r1`);
});

test("a prune between the first file and the claim takes the name, and the run starts again", async () => {
  const store = await copyOf(published);
  const later = { now: () => Date.parse("2026-11-22T02:00:00Z") };
  let hasPruned = false;
  const between = new InterceptedStore(store, async ({ kind, key }, run) => {
    if (kind === "create" && key === `claims/${SESSION}/r1.json` && !hasPruned) {
      hasPruned = true;
      const { snapshots } = await prune(store, 9999, false, later);
      expect(snapshots).toEqual([{ name: `${SESSION}/r1`, orphan: true }]);
    }
    return run();
  });
  expect(await mustPublish(between, { ...FIRST, nowMs: later.now() })).toBe(`${SESSION}/r2`);
  expect(await keysOf(store, `${FOLDER}r1/`)).toEqual([]);
  expect((await verifySnapshots(store, null)).damages).toEqual([]);
});
