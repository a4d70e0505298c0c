/** A full disk or a crash interrupts writes to a folder: every object is whole or absent. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { EXIT, UnreachableError } from "../../src/lib/errors.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { contentOf } from "./store-content.ts";
import { runChild } from "./store-folder-writer.ts";
import { keysOf, objectsOf } from "./store.contract.ts";

let parent: string;
let folder: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "chipboard-faults-"));
  folder = join(parent, "store");
});
afterEach(() => rmSync(parent, { recursive: true }));

describe("no space", () => {
  test("with a file size limit, the objects that fit are whole and the others absent", async () => {
    const small = await runChild(folder, ["0", "20", "40000"], { fileLimitKilobytes: 64 });
    expect(small).toMatchObject({ error: null });
    expect(small.keys).toHaveLength(20);
    const large = await runChild(folder, ["100", "20", "100000"], { fileLimitKilobytes: 64 });
    expect(large.keys).toEqual([]);
    expect(large.error?.exitCode).toBe(EXIT.unreachable);
    expect(large.error?.message).toMatch(/cannot write "many\/1\d\d": file too large \(EFBIG\)$/);
    const store = new FolderStore(folder);
    expect((await keysOf(store, "")).toSorted()).toEqual(small.keys.toSorted());
    await expectWhole(store, 40_000);
    expect(hiddenIn(folder)).toEqual([]);
  });

  test("on a full disk, the objects that fit are whole, and a delete makes room again", async () => {
    mkdirSync(folder);
    if (!mountSmallDisk(folder)) {
      console.warn("not tested: a full disk (this user may not mount one)");
      return;
    }
    try {
      const store = new FolderStore(folder);
      const keys = Array.from({ length: 40 }, (_, n) => `many/${n}`);
      const outcomes = await Promise.allSettled(
        keys.map((key) => store.create(key, contentOf(key, 100_000))),
      );
      const failures = outcomes.filter((outcome) => outcome.status === "rejected");
      expect(failures.length).toBeGreaterThan(0);
      for (const { reason } of failures) {
        expect(reason).toBeInstanceOf(UnreachableError);
        expect(reason.message).toMatch(
          /: cannot write "many\/\d+": no space left on device \(ENOSPC\)$/,
        );
      }
      const there = await expectWhole(store, 100_000);
      expect(there).toHaveLength(keys.length - failures.length);
      expect(hiddenIn(folder)).toEqual([]);
      await expect(store.create("many/x", contentOf("many/x", 900_000))).rejects.toThrow(/ENOSPC/);
      for (const key of there) await store.delete(key);
      expect(await store.create("many/x", contentOf("many/x", 900_000))).toBe("created");
    } finally {
      execFileSync("umount", [folder]);
    }
  });
});

describe("a crash", () => {
  test("after a kill -9 every object is whole, and every reported one is there", async () => {
    let first = 0;
    for (const killAfter of [1, 20, 60, 150, 250]) {
      const { keys } = await runChild(folder, [String(first), "400", "30000"], { killAfter });
      expect(keys.length).toBeGreaterThanOrEqual(killAfter);
      expect(keys.length).toBeLessThan(400);
      const store = new FolderStore(folder);
      const there = new Set(await expectWhole(store, 30_000));
      expect(keys.filter((key) => !there.has(key))).toEqual([]);
      first += 400;
    }
    // The kills did interrupt writes.
    expect(hiddenIn(folder).length).toBeGreaterThan(0);
  });

  test("prove removes the leftovers of crashed runs after an hour", async () => {
    const store = new FolderStore(folder);
    await store.create("a", Buffer.from("a"));
    const hourAgo = Date.now() / 1000 - 3_600;
    for (const [name, seconds] of [
      [".tmp-old", hourAgo - 60],
      [".probe-old", hourAgo - 60],
      [".tmp-young", hourAgo + 60],
      [".gitkeep", hourAgo - 60],
    ] as const) {
      writeFileSync(join(folder, name), "half");
      utimesSync(join(folder, name), seconds, seconds);
    }
    expect(await keysOf(store, "")).toEqual(["a"]);
    await store.prove();
    expect(readdirSync(folder).toSorted()).toEqual([".gitkeep", ".tmp-young", "a"]);
  });
});

/** Compares every object below `many/` with the bytes of its key. */
async function expectWhole(store: ObjectStore, sizeBytes: number): Promise<string[]> {
  const keys: string[] = [];
  for (const object of await objectsOf(store, "many/")) {
    expect(object.sizeBytes).toBe(sizeBytes);
    const bytes = await store.get(object.key);
    expect(bytes?.equals(contentOf(object.key, sizeBytes)), object.key).toBe(true);
    keys.push(object.key);
  }
  return keys;
}

const hiddenIn = (path: string): string[] =>
  readdirSync(path).filter((name) => name.startsWith("."));

function mountSmallDisk(path: string): boolean {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "none", path], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
