/** The folder store when the file system refuses, or when the folder has other content. */
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, statSync, symlinkSync } from "node:fs";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DamageError, EXIT, UnreachableError } from "../../src/lib/errors.ts";
import { folderError } from "../../src/store/folder-error.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { contentOf } from "./store-content.ts";
import { isRoot, NOBODY, runChild } from "./store-folder-writer.ts";
import { keysOf } from "./store.contract.ts";

let parent: string;
let folder: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "chipboard-faults-"));
  folder = join(parent, "store");
});
afterEach(() => rmSync(parent, { recursive: true }));

describe("a path that is not a folder", () => {
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

describe("a folder without write permission", () => {
  test("every write fails, and nothing is written", async () => {
    await new FolderStore(folder).create("many/0", contentOf("many/0", 10));
    forbid(folder);
    const { error } = await runChild(folder, ["0", "5", "100"], { asNobody: true });
    expect(error?.exitCode).toBe(EXIT.unreachable);
    expect(error?.message).toBe(
      `--store "${folder}": cannot write to it: permission denied (EACCES)`,
    );
    chmodSync(folder, 0o755);
    expect(readdirSync(folder, { recursive: true }).toSorted()).toEqual(["many", "many/0"]);
  });

  test("prove finds a folder inside without write permission", async () => {
    mkdirSync(join(folder, "publications"), { recursive: true });
    if (isRoot) chownSync(folder, NOBODY, NOBODY);
    forbid(join(folder, "publications"));
    const { error, keys } = await runChild(folder, ["0", "5", "100"], { asNobody: true });
    expect(error?.message).toMatch(/cannot write to it: permission denied \(EACCES\)$/);
    expect(keys).toEqual([]);
    expect(readdirSync(folder)).toEqual(["publications"]);
  });

  test("a folder inside on another file system is an error that says so", async () => {
    const isOther = (place: string): boolean => statSync(place).dev !== statSync(parent).dev;
    const place = ["/dev/shm", "/var/tmp"].find(isOther) as string;
    const elsewhere = mkdtempSync(`${place}/chipboard-`);
    try {
      mkdirSync(folder);
      symlinkSync(elsewhere, join(folder, "sessions"));
      const create = new FolderStore(folder).create("sessions/a", Buffer.from("a"));
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
      expect(folderError('--store "./x"', "write", "a", error)).toMatchObject({
        exitCode: EXIT.unreachable,
        message: `--store "./x": cannot write "a": hard links do not work here (${code}); expected a file system with hard links`,
      });
    }
  });
});

describe("other content of the folder", () => {
  test("files that are not objects are neither listed nor read", async () => {
    const store = new FolderStore(folder);
    await store.create("sessions/a", Buffer.from("a"));
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

  test("a pipe that nobody writes to is not read, and its key is taken", async () => {
    const store = new FolderStore(folder);
    await store.create("b", Buffer.from("b"));
    execFileSync("mkfifo", [join(folder, "a")]);
    for (const read of [() => store.get("a"), () => store.get("a", 10), () => store.open("a")]) {
      await expect(read()).rejects.toEqual(
        new DamageError(`${folder}/a is a pipe or a device, expected a file`),
      );
    }
    expect(await keysOf(store, "")).toEqual(["b"]);
    expect(await store.create("a", Buffer.from("a"))).toBe("taken");
    await store.delete("a");
    expect(await store.create("a", Buffer.from("a"))).toBe("created");
  });

  test("a key below an object cannot be created, and the error says why", async () => {
    const store = new FolderStore(folder);
    await store.create("a", Buffer.from("a"));
    await expect(store.create("a/b", Buffer.from("b"))).rejects.toThrow(
      /cannot write "a\/b": not a directory \(ENOTDIR\)$/,
    );
    expect(readdirSync(folder)).toEqual(["a"]);
  });

  test("files can vanish while they are listed", async () => {
    const store = new FolderStore(folder);
    const keys = Array.from({ length: 200 }, (_, n) => `f${n % 10}/${String(n).padStart(3, "0")}`);
    await Promise.all(keys.map((key) => store.create(key, Buffer.from(key))));
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

describe("links", () => {
  const PATH = "sessions/a/b.json";
  /** Another place than the store, with a file under the same path. */
  let elsewhere: string;
  let store: ObjectStore;
  beforeEach(async () => {
    elsewhere = join(parent, "elsewhere");
    store = new FolderStore(folder);
    for (const place of [store, new FolderStore(elsewhere)]) {
      await place.create(PATH, Buffer.from("secret"));
    }
  });

  /** Puts a link in the place of a file or folder of the store. */
  function linkTo(target: string, path: string): void {
    rmSync(join(folder, path), { recursive: true });
    symlinkSync(target, join(folder, path));
  }

  const expectRefused = async (): Promise<void> => {
    for (const read of [() => store.get(PATH), () => store.get(PATH, 10), () => store.open(PATH)]) {
      await expect(read()).rejects.toEqual(
        new DamageError(`${folder}/${PATH} is a link, or behind one, expected a file`),
      );
    }
    for (const prefix of ["", "sessions/", PATH]) expect(await keysOf(store, prefix)).toEqual([]);
  };

  test.for([PATH, "sessions/a", "sessions"])(
    "one in the place of %s is not followed",
    async (path) => {
      linkTo(join(elsewhere, path), path);
      await expectRefused();
    },
  );

  test.for([
    ["nothing", "nowhere"],
    ["a device without end", "/dev/zero"],
    ["itself", "b.json"],
    ["a copy beside it", ".copy"],
  ] as const)("one to %s is not followed", async ([, target]) => {
    writeFileSync(join(folder, "sessions/a/.copy"), "secret");
    linkTo(target, PATH);
    await expectRefused();
  });

  test("the folder of the store may be one, or lie behind one", async () => {
    symlinkSync(folder, join(parent, "link"));
    symlinkSync(parent, join(parent, "above"));
    for (const path of ["link", "above/store"]) {
      const linked = new FolderStore(join(parent, path));
      expect(String(await linked.get(PATH))).toBe("secret");
      expect(await keysOf(linked, "")).toEqual([PATH]);
      expect(await linked.create(`new/${path}`, Buffer.from("x"))).toBe("created");
      await (await linked.open(PATH))?.stream.cancel();
      await linked.delete(`new/${path}`);
    }
  });
});

/** The one-line message of every operation. Fails if one succeeds or throws another error. */
async function failuresOf(store: ObjectStore): Promise<string[]> {
  const operations = [
    () => store.get("a/b"),
    () => store.open("a/b"),
    () => store.create("a/b", Buffer.from("x")),
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

/** Removes the write permission. Root can write anyway, so its children become nobody. */
function forbid(path: string): void {
  chmodSync(path, 0o555);
  chmodSync(parent, 0o755);
}
