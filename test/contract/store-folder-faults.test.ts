/** What the folder store does where the file system says no, and after a crash. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, statSync, symlinkSync } from "node:fs";
import { readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { EXIT, UnreachableError } from "../../src/errors.ts";
import { folderError } from "../../src/store/folder-error.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { contentOf } from "./store-content.ts";
import { keysOf, objectsOf } from "./store.contract.ts";

const CHILD = join(import.meta.dirname, "store-folder-child.ts");
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

let parent: string;
let folder: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "chipboard-faults-"));
  folder = join(parent, "store");
});
afterEach(() => rmSync(parent, { recursive: true }));

describe("a place that is no folder", () => {
  test.for(["file", "file/below", "file/far/below"])("%s", async (path) => {
    writeFileSync(join(parent, "file"), "not a folder");
    const store = new FolderStore(join(parent, path));
    for (const failure of await failuresOf(store)) {
      expect(failure).toContain(`--store "${join(parent, path)}": cannot `);
      expect(failure).toMatch(/\((ENOTDIR|EEXIST)\)$/);
    }
    expect(readdirSync(parent)).toEqual(["file"]);
  });
});

describe("a folder without permission", () => {
  test("nothing can be written, and nothing is", async () => {
    await new FolderStore(folder).create("many/0", contentOf("many/0", 10), "text/plain");
    forbid(folder);
    const { error } = await runChild(["0", "5", "100"], { asNobody: true });
    expect(error?.exitCode).toBe(EXIT.unreachable);
    expect(error?.message).toBe(
      `--store "${folder}": cannot write to it: permission denied (EACCES)`,
    );
    chmodSync(folder, 0o755);
    expect(readdirSync(folder, { recursive: true }).toSorted()).toEqual(["many", "many/0"]);
  });

  test("prove sees that one of the folders inside cannot be written", async () => {
    mkdirSync(join(folder, "publications"), { recursive: true });
    if (isRoot) chownSync(folder, NOBODY, NOBODY);
    forbid(join(folder, "publications"));
    const { error, keys } = await runChild(["0", "5", "100"], { asNobody: true });
    expect(error?.message).toMatch(/cannot write to it: permission denied \(EACCES\)$/);
    expect(keys).toEqual([]);
    expect(readdirSync(folder)).toEqual(["publications"]);
  });

  test("a folder on another file system cannot take names of this one", async () => {
    const elsewhere = mkdtempSync("/dev/shm/chipboard-");
    try {
      expect(statSync(elsewhere).dev).not.toBe(statSync(parent).dev);
      mkdirSync(folder);
      symlinkSync(elsewhere, join(folder, "sessions"));
      const create = new FolderStore(folder).create("sessions/a", Buffer.from("a"), "text/plain");
      await expect(create).rejects.toThrow(
        /cannot write "sessions\/a": its folder is on another file system than the store \(EXDEV\)/,
      );
      expect(readdirSync(folder)).toEqual(["sessions"]);
      expect(readdirSync(elsewhere)).toEqual([]);
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });

  test("a file system without hard links is named as the cause", () => {
    for (const code of ["EPERM", "ENOTSUP", "EMLINK"]) {
      const error = Object.assign(new Error(code), { code, errno: -1, syscall: "link" });
      expect(folderError("./x", "write", "a", error)).toMatchObject({
        exitCode: EXIT.unreachable,
        message: `--store "./x": cannot write "a": hard links do not work here (${code}); expected a file system that has them`,
      });
    }
  });
});

describe("no space", () => {
  test("a file size limit: the objects that fit are whole, the others are not there", async () => {
    const small = await runChild(["0", "20", "40000"], { fileLimitKilobytes: 64 });
    expect(small).toMatchObject({ error: null });
    expect(small.keys).toHaveLength(20);
    const large = await runChild(["100", "20", "100000"], { fileLimitKilobytes: 64 });
    expect(large.keys).toEqual([]);
    expect(large.error?.exitCode).toBe(EXIT.unreachable);
    expect(large.error?.message).toMatch(/cannot write "many\/1\d\d": file too large \(EFBIG\)$/);
    const store = new FolderStore(folder);
    expect((await keysOf(store, "")).toSorted()).toEqual(small.keys.toSorted());
    await expectWhole(store, 40_000);
    expect(hiddenIn(folder)).toEqual([]);
  });

  test("a full disk: the objects that fit are whole, and there is room again after a delete", async () => {
    mkdirSync(folder);
    if (!mountSmallDisk(folder)) {
      console.warn("NOT TESTED: a full disk, for want of the right to mount one");
      return;
    }
    try {
      const store = new FolderStore(folder);
      const keys = Array.from({ length: 40 }, (_, n) => `many/${n}`);
      const outcomes = await Promise.allSettled(
        keys.map((key) => store.create(key, contentOf(key, 100_000), "text/plain")),
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
      await expect(
        store.create("many/x", contentOf("many/x", 900_000), "text/plain"),
      ).rejects.toThrow(/ENOSPC/);
      for (const key of there) await store.delete(key);
      expect(await store.create("many/x", contentOf("many/x", 900_000), "text/plain")).toBe(
        "created",
      );
    } finally {
      execFileSync("umount", [folder]);
    }
  });
});

describe("a crash", () => {
  test("kill -9 in the middle: every object is whole, every one reported is there", async () => {
    let first = 0;
    for (const killAfter of [1, 20, 60, 150, 250]) {
      const { keys } = await runChild([String(first), "400", "30000"], { killAfter });
      expect(keys.length).toBeGreaterThanOrEqual(killAfter);
      expect(keys.length).toBeLessThan(400);
      const store = new FolderStore(folder);
      const there = new Set(await expectWhole(store, 30_000));
      expect(keys.filter((key) => !there.has(key))).toEqual([]);
      first += 400;
    }
    // The kills did hit writes under way.
    expect(hiddenIn(folder).length).toBeGreaterThan(0);
  });

  test("what crashed runs left is swept after an hour, by the next prove", async () => {
    const store = new FolderStore(folder);
    await store.create("a", Buffer.from("a"), "text/plain");
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

describe("other things in the folder", () => {
  test("what is no object is neither listed nor read", async () => {
    const store = new FolderStore(folder);
    await store.create("sessions/a", Buffer.from("a"), "text/plain");
    mkdirSync(join(folder, "empty/er"), { recursive: true });
    mkdirSync(join(folder, ".git/objects"), { recursive: true });
    writeFileSync(join(folder, ".git/objects/x"), "x");
    writeFileSync(join(folder, "notes of mine~"), "x");
    symlinkSync("/etc", join(folder, "sessions/link"));
    expect(await keysOf(store, "")).toEqual(["sessions/a"]);
    expect(await store.get("sessions")).toBeNull();
    expect(await store.open("sessions")).toBeNull();
    expect(await store.get(".git/objects/x")).toBeNull();
  });

  test("a key below an object cannot be made, and says why", async () => {
    const store = new FolderStore(folder);
    await store.create("a", Buffer.from("a"), "text/plain");
    await expect(store.create("a/b", Buffer.from("b"), "text/plain")).rejects.toThrow(
      /cannot write "a\/b": not a directory \(ENOTDIR\)$/,
    );
    expect(readdirSync(folder)).toEqual(["a"]);
  });

  test("files may vanish while they are listed", async () => {
    const store = new FolderStore(folder);
    const keys = Array.from({ length: 200 }, (_, n) => `f${n % 10}/${String(n).padStart(3, "0")}`);
    await Promise.all(keys.map((key) => store.create(key, Buffer.from(key), "text/plain")));
    const seen: string[] = [];
    for await (const { key } of store.list("")) {
      seen.push(key);
      if (seen.length === 5) rmSync(join(folder, "f1"), { recursive: true });
      if (seen.length === 6) await Promise.all(keys.slice(100).map((gone) => store.delete(gone)));
    }
    expect(seen).toEqual(seen.toSorted());
    expect(seen.filter((key) => key.startsWith("f1/"))).toEqual([]);
    expect(seen).toEqual(
      expect.arrayContaining(keys.slice(0, 100).filter((key) => !key.startsWith("f1/"))),
    );
  });
});

/** The one-line messages of every operation; fails where one succeeds or throws something else. */
async function failuresOf(store: ObjectStore): Promise<string[]> {
  const operations = [
    () => store.get("a/b"),
    () => store.open("a/b"),
    () => store.create("a/b", Buffer.from("x"), "text/plain"),
    () => keysOf(store, ""),
    () => store.delete("a/b"),
    () => store.prove(),
  ];
  const messages: string[] = [];
  for (const operation of operations) {
    const error = await operation().then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(UnreachableError);
    const { message } = error as UnreachableError;
    expect(message).not.toContain("\n");
    messages.push(message);
  }
  return messages;
}

/** Checks every object below `many/` against the bytes its key stands for. */
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

/** Takes away the right to write; root has it all the same, so its children become nobody. */
function forbid(path: string): void {
  chmodSync(path, 0o555);
  chmodSync(parent, 0o755);
}

interface ChildResult {
  readonly keys: string[];
  readonly error: { readonly exitCode: number; readonly message: string } | null;
}

/** Runs store-folder-child.ts on the folder and collects what it printed. */
async function runChild(
  [first, count, sizeBytes]: [string, string, string],
  how: { asNobody?: boolean; fileLimitKilobytes?: number; killAfter?: number },
): Promise<ChildResult> {
  const command = [process.execPath, CHILD, folder, first, count, sizeBytes];
  if (how.asNobody === true && isRoot) command.push(String(NOBODY));
  const limit = how.fileLimitKilobytes === undefined ? "" : `ulimit -f ${how.fileLimitKilobytes}; `;
  const child = spawn("bash", ["-c", `${limit}exec "$@"`, "bash", ...command], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  const keys: string[] = [];
  let error: ChildResult["error"] = null;
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith("{")) error = JSON.parse(line);
    else keys.push(line);
    if (keys.length === how.killAfter) child.kill("SIGKILL");
  }
  const [exitCode, signal] = await closed;
  expect([exitCode, signal]).toEqual(how.killAfter === undefined ? [0, null] : [null, "SIGKILL"]);
  return { keys, error };
}

function mountSmallDisk(path: string): boolean {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "none", path], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
