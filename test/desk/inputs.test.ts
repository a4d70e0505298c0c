/** `snapshots inputs`, and what verify, copy and prune do with the kept inputs. */
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { copyStore } from "../../src/desk/copy-store.ts";
import { writeInputs } from "../../src/desk/write-inputs.ts";
import { prune } from "../../src/desk/prune.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import type { Manifest } from "../../src/snapshot/manifest.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { contentOf, headJson, mustPublish, quotesOf } from "../cli/small-market.ts";
import { changeHead } from "../cli/signed.ts";
import { clockAt } from "../store/begun.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { CATALOG, desk, deskJson, flip, keysOf, overwrite, RUNS, temporaryFolder } from "./desk.ts";
import { publishedFolders } from "./published-folder.ts";

const published = publishedFolders();

const BOMB = gzipSync(Buffer.alloc(10_000_000));

async function shortHistory(): Promise<MemoryStore> {
  const store = new MemoryStore();
  for (const run of RUNS) await mustPublish(store, run);
  return store;
}

const damages = async (store: ObjectStore, reference: string | null): Promise<readonly string[]> =>
  (await verifySnapshots(store, reference)).damages;
const firstInput = async (store: ObjectStore): Promise<string> =>
  ((await headJson(store, "manifest.json")) as Manifest).inputs[0]?.key as string;

describe("snapshots inputs", () => {
  test("writes the inputs of a snapshot, byte for byte, and names them", async () => {
    const folder = published();
    const out = join(temporaryFolder(), "new", "made-from");
    const { code, out: said } = await desk(`inputs head~2 --out ${out}`, folder);
    const names = ["1-catalog-catalog.csv", "2-quotes-quotes.csv", "3-closes-closes.csv"];
    expect([code, readdirSync(out).toSorted()]).toEqual([0, names]);
    expect(said).toMatch(/^Wrote 3 inputs of 2026-11-20T00Z\/r1 to /);
    expect(said).toMatch(/\n2-quotes-quotes.csv +quotes.csv +3 +\d+\n/);
    expect(readFileSync(join(out, "1-catalog-catalog.csv"), "utf8")).toBe(CATALOG);
    expect(readFileSync(join(out, "2-quotes-quotes.csv"), "utf8")).toBe(RUNS[0]?.quotes);
    const other = join(temporaryFolder(), "head");
    expect(await deskJson(`inputs --out ${other}`, folder)).toMatchObject({
      snapshot: "2026-11-21T12Z/r1",
      folder: other,
      inputs: [{ file: "1-quotes-quotes.csv", kind: "quotes", rows: 3 }],
    });
  });

  test.each([
    ["https://feed.example/a/b/quotes.json", "1-catalog-quotes.json"],
    ["https://feed.example/", "1-catalog-feed.example"],
    ["/var/feeds/../q é\u0000 .csv", "1-catalog-q----.csv"],
    ["standard input", "1-catalog-standard-input"],
    ["..", "1-catalog-.."],
    ["a\\b", "1-catalog-a-b"],
    [`${"n".repeat(300)}.csv`, `1-catalog-${"n".repeat(96)}.csv`],
  ])("an input named %j is written flat as %s", async (name, expected) => {
    const store = new MemoryStore();
    for (const run of RUNS.slice(0, 1)) await mustPublish(store, run);
    await changeHead(store, ({ inputs }) => ({
      inputs: inputs.slice(0, 1).map((input) => ({ ...input, name })),
    }));
    const out = join(temporaryFolder(), "x");
    expect((await writeInputs(store, "head", out)).inputs[0]?.file).toBe(expected);
    expect(readdirSync(out)).toEqual([expected]);
  });

  test("goes through no link and replaces no file: nothing is written then", async () => {
    const folder = published();
    const line = (out: string): string => `inputs head~2 --out ${out}`;
    const there = temporaryFolder();
    for (const name of ["2-quotes-quotes.csv", "3-closes-closes.csv"]) {
      const out = join(temporaryFolder(), "x");
      mkdirSync(out);
      const target = join(there, "target");
      if (name.startsWith("2")) symlinkSync(target, join(out, name));
      else writeFileSync(join(out, name), "mine");
      const { code, err } = await desk(line(out), folder);
      expect([code, err]).toEqual([2, expect.stringContaining(`${name} exists`)]);
      expect([readdirSync(out), readdirSync(there)]).toEqual([[name], []]);
    }
    const links = temporaryFolder();
    symlinkSync(there, join(links, "folder"));
    symlinkSync(join(there, "none"), join(links, "dangling"));
    writeFileSync(join(links, "file"), "");
    for (const name of ["folder", "folder/", "dangling", "file"]) {
      const { code, err } = await desk(line(join(links, name)), folder);
      expect([name, code, err]).toEqual([name, 2, expect.stringContaining("error: --out ")]);
    }
    expect(readdirSync(there)).toEqual([]);
  });

  test("needs --out, a snapshot that is there, and whole inputs: nothing is written otherwise", async () => {
    const store = await shortHistory();
    const out = join(temporaryFolder(), "x");
    await flip(store, await firstInput(store));
    await expect(writeInputs(store, "head", out)).rejects.toMatchObject({ exitCode: 6 });
    await expect(writeInputs(store, "head~9", out)).rejects.toMatchObject({ exitCode: 2 });
    expect((await desk("inputs", published())).code).toBe(2);
    expect(readdirSync(join(out, ".."))).toEqual([]);
  });
});

describe("verify", () => {
  test("an input that is flipped, cut off, missing, more than its size, or not gzip is found and named", async () => {
    const whole = await shortHistory();
    const key = await firstInput(whole);
    const stored = (await whole.get(key)) as Buffer;
    const harms: ((store: ObjectStore) => Promise<void>)[] = [
      (store) => flip(store, key),
      (store) => store.delete(key),
      (store) => overwrite(store, key, stored.subarray(0, -9)),
      (store) => overwrite(store, key, BOMB),
      (store) => overwrite(store, key, Buffer.from("id,spot_usd\n")),
      (store) => overwrite(store, key, Buffer.alloc(0)),
    ];
    for (const harm of harms) {
      const store = await shortHistory();
      await harm(store);
      for (const reference of ["head", null]) {
        expect(await damages(store, reference)).toEqual([
          expect.stringMatching(new RegExp(`^memory:/${key} is (?:missing|damaged: )`)),
        ]);
      }
      expect(await damages(store, "head~1")).toEqual([]);
      // Inputs are not served: they do not keep anybody from going back to a whole snapshot.
      const clock = clockAt("2026-11-21T13:00:00Z");
      expect((await rollBack(store, "head~1", "Wrong feed", clock)).outcome).toBe("rolled_back");
    }
  });

  test("--all proves inputs that no snapshot names any more, and names objects that are none", async () => {
    const store = await shortHistory();
    const zeros = `inputs/${"0".repeat(64)}-9.gz`;
    for (const key of [zeros, "inputs/notes.txt"]) await store.create(key, gzipSync("x"));
    const names = (found: readonly string[]): string[] =>
      found.map((text) => text.slice("memory:/".length, text.indexOf(" is damaged"))).toSorted();
    expect(names(await damages(store, null))).toEqual([zeros, "inputs/notes.txt"]);
    expect(await damages(store, "head")).toEqual([]);
  });
});

describe("prune and copy", () => {
  test("a prune takes no input, and a copy takes all of them", async () => {
    const store = await shortHistory();
    for (const [day, usd] of [
      [22, 12],
      [23, 12.1],
      [24, 12.2],
    ] as const) {
      const quotes = quotesOf({ a: usd, b: 11, c: 12 });
      await mustPublish(store, { session: `2026-11-${day}T00Z`, quotes, minCoverageMicros: 0 });
    }
    // As a run leaves it that crashed.
    const left = "id\n";
    await store.create(`inputs/${sha256Hex(left)}-3.gz`, gzipSync(left));
    const before = await keysOf(store, "inputs/");
    const { snapshots } = await prune(store, 0, false, clockAt("2026-11-25T00:05:00Z"));
    expect([snapshots.length, await keysOf(store, "inputs/")]).toEqual([4, before]);
    const to = new MemoryStore();
    await copyStore(store, to, false, () => {});
    expect(await contentOf(to)).toEqual(await contentOf(store));
    const found = await verifySnapshots(to, null);
    expect([found.damages, found.pruned.length]).toEqual([[], 4]);
  });

  test("a copy names objects that are damaged, lost or no input, and its log stays as it was", async () => {
    for (const harm of [
      (store: ObjectStore, key: string) => flip(store, key),
      (store: ObjectStore, key: string) => store.delete(key),
      (store: ObjectStore, key: string) =>
        // More than any input has, of which nothing is read beyond that.
        overwrite(store, key, Buffer.concat(Array.from({ length: 26 }, () => BOMB))),
    ]) {
      const store = await shortHistory();
      const key = await firstInput(store);
      await harm(store, key);
      const to = new MemoryStore();
      await expect(copyStore(store, to, false, () => {})).rejects.toMatchObject({
        exitCode: 6,
        details: [expect.stringMatching(new RegExp(`^memory:/${key} is (?:missing|damaged: )`))],
      });
      expect([await keysOf(to, "publications/"), await to.get(key)]).toEqual([[], null]);
    }
  });

  test("a copy leaves out half an input that no snapshot names, says so, and is whole", async () => {
    const store = await shortHistory();
    const key = `inputs/${sha256Hex("id\n")}-3.gz`;
    await store.create(key, gzipSync("id\n").subarray(0, 9));
    const to = new MemoryStore();
    const { outcome, left_out } = await copyStore(store, to, false, () => {});
    expect(outcome).toBe("copied");
    expect(left_out).toEqual([expect.stringMatching(new RegExp(`^memory:/${key} is damaged: `))]);
    expect([await to.get(key), await damages(to, null)]).toEqual([null, []]);
    expect(await damages(store, null)).toEqual(left_out);
  });
});
