/** `repair`: the objects that it puts back, from where, and the ones that it cannot. */
import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { prune } from "../../src/desk/prune.ts";
import { repairSnapshots } from "../../src/desk/repair.ts";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { UnreachableError, type ChipboardError } from "../../src/lib/errors.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { contentOf, mustPublish, quotesOf } from "../cli/small-market.ts";
import { interceptWrites, InterceptedStore } from "../faults/crash-store.ts";
import { copyOf } from "../http/fixture.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { desk, deskJson, flip, keysOf, overwrite, RUNS, temporaryFolder } from "./desk.ts";
import { publishedFolders } from "./published-folder.ts";

const folders = publishedFolders();
const HEAD = "sessions/2026-11-21T12Z/r1/";
const OLD = "sessions/2026-11-20T00Z/r1/";

let whole: MemoryStore;
beforeAll(async () => {
  whole = new MemoryStore();
  for (const run of RUNS) await mustPublish(whole, run);
});

const failed = (store: ObjectStore, from: ObjectStore, reference: string | null = "head") =>
  repairSnapshots(store, from, reference).then(
    () => expect.fail("The repair succeeded"),
    (error: unknown) => error as ChipboardError,
  );

test("each file of the head, damaged or missing, is put back with the same bytes, and nothing else is written", async () => {
  const { inputs, ledger } = JSON.parse(String(await whole.get(`${HEAD}manifest.json`)));
  const others = [...inputs, ...ledger].map(({ key }: { key: string }) => key);
  const files = (await keysOf(whole, HEAD)).filter(
    (key, at) => at % 5 === 0 || /manifest/.test(key),
  );
  for (const [at, key] of [...files, ...others].entries()) {
    const store = await copyOf(whole);
    if (at % 2 === 0) await flip(store, key);
    else await store.delete(key);
    const writes: string[] = [];
    const noting = interceptWrites((_step, operation, run) => {
      writes.push(operation.key);
      return run();
    });
    const done = await repairSnapshots(new InterceptedStore(store, noting), whole, "head");
    expect(done).toEqual({ whole: true, from: whole.location, put_back: [key] });
    expect(new Set(writes)).toEqual(new Set([key]));
    expect(await contentOf(store)).toEqual(await contentOf(whole));
  }
});

test("a store that is whole stays as it is, and nothing is written", async () => {
  const refusing = interceptWrites(() => Promise.reject(new UnreachableError("a write")));
  const store = new InterceptedStore(await copyOf(whole), refusing);
  for (const reference of ["head", "head~1", "2026-11-20T00Z", null]) {
    expect(await repairSnapshots(store, new MemoryStore(), reference)).toMatchObject({
      whole: true,
      put_back: [],
    });
  }
});

test("many at once: a whole snapshot, also of an old one, and all that the log names", async () => {
  const store = await copyOf(whole);
  const lost = [...(await keysOf(whole, OLD)), ...(await keysOf(whole, "inputs/"))];
  for (const key of lost) await store.delete(key);
  await flip(store, `${HEAD}pro/board.json`);
  expect((await verifySnapshots(store, null)).damages.length).toBeGreaterThan(2);
  const { put_back } = await repairSnapshots(await copyOf(store), whole, "head");
  expect(put_back).toContain(`${HEAD}pro/board.json`);
  expect(put_back.filter((key) => key.startsWith(OLD))).toEqual([]);
  const all = await repairSnapshots(store, whole, null);
  expect(all.put_back).toEqual([...lost, `${HEAD}pro/board.json`].sort());
  expect(await contentOf(store)).toEqual(await contentOf(whole));
});

test("a pruned object is not put back", async () => {
  const store = await copyOf(whole);
  await prune(store, 0, false, { now: () => Date.parse("2026-11-25T00:05:00Z") });
  await flip(store, `${HEAD}pro/export.csv`);
  const { put_back } = await repairSnapshots(store, whole, null);
  expect(put_back).toEqual([`${HEAD}pro/export.csv`]);
  expect(await keysOf(store, OLD)).toEqual([]);
  expect(await failed(store, whole, "2026-11-20T00Z")).toMatchObject({
    exitCode: 2,
    message: expect.stringContaining("it was pruned"),
  });
});

describe("an object that the other store lacks: 6, it is named, and the rest is put back", () => {
  const [LOST, BAD] = [`${HEAD}pro/board.json`, `${HEAD}pro/export.csv`];
  test.each<[string, (from: ObjectStore) => Promise<unknown>, RegExp]>([
    ["it is also missing there", (from) => from.delete(LOST), /board\.json is missing/],
    ["it is also damaged there", (from) => flip(from, LOST), /board\.json is damaged/],
    [
      "it is larger there",
      (from) => overwrite(from, LOST, Buffer.alloc(1_000_000)),
      /board\.json has 1000000 bytes, expected \d+ or less/,
    ],
  ])("%s", async (_, harm, told) => {
    const [store, from] = [await copyOf(whole), await copyOf(whole)];
    await store.delete(LOST);
    await flip(store, BAD);
    await harm(from);
    const { exitCode, message, details } = await failed(store, from);
    expect(exitCode).toBe(6);
    expect(message).toBe("memory: is still damaged: 1 finding; 1 object put back from memory:");
    expect(details[0]).toBe(`memory:/${LOST} is missing`);
    expect(details.at(-2)).toMatch(told);
    expect(details.at(-1)).toBe(`memory:/${BAD} was put back`);
    expect(await store.get(LOST)).toBe(null);
    expect(await store.get(BAD)).toEqual(await whole.get(BAD));
  });

  test("a damaged file is not removed before its bytes are there", async () => {
    const store = await copyOf(whole);
    await flip(store, LOST);
    const before = await contentOf(store);
    expect((await failed(store, new MemoryStore())).exitCode).toBe(6);
    expect(await contentOf(store)).toEqual(before);
  });

  test("a file too many stays, and is named", async () => {
    const store = await copyOf(whole);
    await store.create(`${HEAD}notes.txt`, Buffer.from("x"));
    const { details } = await failed(store, whole);
    expect(details).toEqual([`memory:/${HEAD}notes.txt is not named by the manifest`]);
  });

  test("both manifests are lost, the log is damaged, the snapshot was never published", async () => {
    const [store, from] = [await copyOf(whole), await copyOf(whole)];
    for (const each of [store, from]) await each.delete(`${HEAD}manifest.json`);
    expect((await failed(store, from)).exitCode).toBe(6);
    const broken = await copyOf(whole);
    await flip(broken, "publications/0000000002.json");
    expect((await failed(broken, whole, null)).exitCode).toBe(6);
    expect((await failed(whole, whole, "2026-11-25T00Z")).exitCode).toBe(2);
    expect((await failed(new MemoryStore(), whole)).exitCode).toBe(2);
  });
});

describe("gzip forms", () => {
  const path = `${HEAD}pro/history.csv.gz`;
  /** The same plain bytes, as another machine's zlib may write them. */
  const recoded = (bytes: Buffer | null): Buffer =>
    gzipSync(gunzipSync(bytes as Buffer), { level: 9 });

  test("other bytes of the same content will not do: the manifest also names the coded ones", async () => {
    const [store, from] = [await copyOf(whole), await copyOf(whole)];
    await store.delete(path);
    await overwrite(from, path, recoded(await whole.get(path)));
    const { exitCode, details } = await failed(store, from);
    expect([exitCode, details.join("\n")]).toEqual([6, expect.stringMatching(/history\.csv\.gz/)]);
    expect(await store.get(path)).toBe(null);
  });

  test("an input is proven by its content, and one that is whole stays as it is", async () => {
    const [store, from] = [await copyOf(whole), await copyOf(whole)];
    const inputs = await keysOf(whole, "inputs/");
    const [first = "", second = ""] = inputs;
    for (const key of inputs) await overwrite(from, key, recoded(await whole.get(key)));
    await store.delete(first);
    expect((await repairSnapshots(store, from, null)).put_back).toEqual([first]);
    expect(await store.get(first)).toEqual(await from.get(first));
    expect(await store.get(second)).toEqual(await whole.get(second));
    await flip(from, second);
    await store.delete(second);
    expect((await failed(store, from, null)).exitCode).toBe(6);
  });
});

test("a store that lies: nothing of it is written that the log does not prove", async () => {
  const [store, from] = [await copyOf(whole), new MemoryStore()];
  for (const run of RUNS) await mustPublish(from, { ...run, attribution: "Others" });
  for (const key of await keysOf(whole, HEAD)) await store.delete(key);
  const { exitCode } = await failed(store, from);
  expect([exitCode, await keysOf(store, HEAD)]).toEqual([6, []]);
  const extra = `inputs/${"0".repeat(64)}-1.gz`;
  const added = await copyOf(whole);
  await added.create(extra, gzipSync("x"));
  await added.create("taken/2026-12-01T00Z/r1.json", Buffer.from("{}\n"));
  await repairSnapshots(store, added, null);
  expect(await contentOf(store)).toEqual(await contentOf(whole));
});

test("stopped at any write, the next run puts back the rest", async () => {
  const harmed = await copyOf(whole);
  const keys = [`${HEAD}manifest.json`, `${HEAD}pro/board.json`, `${HEAD}pro/levels.csv.gz`];
  for (const key of keys) await flip(harmed, key);
  for (let at = 1; at <= 2 * keys.length; at += 1) {
    for (const moment of at < 3 ? ["before", "after"] : ["before"]) {
      const store = await copyOf(harmed);
      const breaks = interceptWrites(async (step, _operation, run) => {
        if (step === at && moment === "after") await run();
        if (step >= at) throw new UnreachableError("the injected fault");
        return run();
      });
      const broken = repairSnapshots(new InterceptedStore(store, breaks), whole, "head");
      await expect(broken).rejects.toThrow("the injected fault");
      await repairSnapshots(store, whole, "head");
      expect(await contentOf(store)).toEqual(await contentOf(whole));
    }
  }
});

test("links in a folder: nothing behind them is read, removed or written", async () => {
  for (const path of ["pro/board.json", "pro", "manifest.json"]) {
    const [store, from, aside] = [folders(), folders(), temporaryFolder()];
    const place = join(store, HEAD, path);
    renameSync(place, join(aside, "x"));
    if (path === "pro") rmSync(join(aside, "x/board.json"));
    symlinkSync(join(aside, "x"), place);
    const before = readdirSync(aside, { recursive: true });
    const { code, err } = await desk(`repair --from ${from}`, store);
    expect([code, err]).toEqual([6, expect.stringContaining("is a link, or behind one")]);
    const told = err.trimEnd().split("\n");
    expect(told).toEqual([...new Set(told)]);
    expect(readdirSync(aside, { recursive: true })).toEqual(before);
    // Without the link it is repaired.
    rmSync(place);
    expect((await desk(`repair --from ${from}`, store)).code).toBe(0);
  }
});

describe("the command", () => {
  test("in words and with --json; the exit code equals verify's afterwards", async () => {
    const [store, from] = [folders(), folders()];
    const key = `${HEAD}free/board.json`;
    await flip(new FolderStore(store), key);
    expect((await desk("verify", store)).code).toBe(6);
    expect(await desk(`repair --from ${from}`, store)).toEqual({
      code: 0,
      out: `Whole again: 1 object put back from ${from}\n${key}\n`,
      err: "",
    });
    expect((await desk("verify", store)).code).toBe(0);
    expect((await desk(`repair --from ${from} --all`, store)).out).toBe(
      "Nothing to do: all is whole\n",
    );
    rmSync(join(store, key));
    expect(await deskJson(`repair head --from ${from}`, store)).toEqual({
      whole: true,
      from,
      put_back: [key],
    });
    rmSync(join(store, key));
    rmSync(join(from, key));
    const { error } = await deskJson(`repair --from ${from}`, store);
    expect(error).toMatchObject({ exit_code: 6, details: expect.any(Array) });
    await mustPublish(new FolderStore(from), {
      session: "2026-11-22T00Z",
      quotes: quotesOf({ a: 12, b: 11, c: 12, d: 3 }),
    });
    mkdirSync(join(store, key));
    expect((await desk(`repair --from ${from}`, store)).code).toBe(6);
    const inTheWay = await desk(`repair --from ${folders()}`, store);
    expect([inTheWay.code, inTheWay.err]).toEqual([
      6,
      expect.stringContaining("still damaged: 1 finding; 0 objects put back from"),
    ]);
    expect(inTheWay.err).not.toContain("was put back");
  });

  test("a wrong place, or none", async () => {
    const store = folders();
    for (const [line, told] of [
      ["repair", "required option '--from <store>' not specified"],
      ["repair --from ftp://x", '--from "ftp://x": expected a folder or s3://bucket/prefix'],
    ] as const) {
      const { code, err } = await desk(line, store);
      expect([code, err]).toEqual([2, expect.stringContaining(told)]);
    }
    rmSync(join(store, HEAD, "report.html"));
    const { code, err } = await desk("repair --from no-such-folder", store);
    expect([code, err]).toEqual([
      6,
      expect.stringContaining("put back from no-such-folder, which holds no publication\n"),
    ]);
  });
});
