/** `verify` finds all damage, and no command continues from a damaged snapshot. */
import { createHash } from "node:crypto";
import { renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { createClock } from "../../src/lib/clock.ts";
import { copyStore } from "../../src/desk/copy-store.ts";
import { writeInputs } from "../../src/desk/write-inputs.ts";
import { listPublications, type Listing } from "../../src/desk/list.ts";
import { prune } from "../../src/desk/prune.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import { describeSnapshot } from "../../src/desk/show.ts";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { identityOf, type FileEntry, type Manifest } from "../../src/snapshot/manifest.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { MemoryStore } from "../store/memory-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { contentOf, mustPublish, quotesOf, tryPublish } from "../cli/small-market.ts";
import { changeHead, pointHeadTo } from "../cli/signed.ts";
import { InterceptedStore } from "../faults/crash-store.ts";
import { copyOf } from "../http/fixture.ts";
import { CATALOG, desk, flip, keysOf, overwrite, RUNS, temporaryFolder } from "./desk.ts";

const OLD = "sessions/2026-11-20T00Z/r1/";
const HEAD = "sessions/2026-11-21T12Z/r1/";
const CLOCK = createClock("2026-11-22T00:05:00Z");

const NEXT = {
  session: "2026-11-22T00Z",
  quotes: quotesOf({ a: 12, b: 11, c: 12 }),
  minCoverageMicros: 0,
};

let whole: MemoryStore;
beforeAll(async () => {
  whole = new MemoryStore();
  for (const run of RUNS) await mustPublish(whole, run);
});

const damages = async (store: ObjectStore, reference: string | null): Promise<readonly string[]> =>
  (await verifySnapshots(store, reference)).damages;

test("a whole store: every file and part of every snapshot is read, parts once", async () => {
  const found = await verifySnapshots(whole, null);
  expect([found.damages, found.pruned, found.checked.length]).toEqual([[], [], 3]);
  const proven = (await keysOf(whole)).filter(
    (key) => !/publications|manifest|^store\.json$/.test(key),
  );
  expect(found.files).toBe(proven.length);
});

test("one bit flipped in any file of a snapshot is found, and named once", async () => {
  for (const key of await keysOf(whole, HEAD)) {
    const store = await copyOf(whole);
    await flip(store, key);
    for (const reference of ["head", null]) {
      expect(await damages(store, reference)).toEqual([expect.stringContaining(`/${key} is `)]);
    }
    expect(await damages(store, "head~1")).toEqual([]);
  }
});

test("a missing file is found, and named once, the head's manifest too", async () => {
  for (const key of await keysOf(whole, HEAD)) {
    const store = await copyOf(whole);
    await store.delete(key);
    for (const reference of ["head", null]) {
      const found = await damages(store, reference);
      expect(found).toHaveLength(1);
      expect(found[0]).toMatch(new RegExp(`^${store.location}/${key} is missing(; if a copy|$)`));
    }
  }
});

test.each(["pro/board.json.orig", "notes.txt", "pro/contracts/zz.json"])(
  "a file too many: %s",
  async (path) => {
    const store = await copyOf(whole);
    await store.create(HEAD + path, Buffer.from("{}"));
    const expected = [`${store.location}/${HEAD}${path} is not named by the manifest`];
    expect(await damages(store, "head")).toEqual(expected);
    expect(await damages(store, null)).toEqual(expected);
  },
);

test("a ledger part: flipped, cut off, missing", async () => {
  const parts = await keysOf(whole, "ledger/");
  expect(parts.length).toBeGreaterThan(2);
  for (const key of parts) {
    const harms: ((store: ObjectStore) => Promise<void>)[] = [
      (store) => flip(store, key),
      (store) => store.delete(key),
      async (store) => overwrite(store, key, ((await store.get(key)) as Buffer).subarray(1)),
    ];
    for (const harm of harms) {
      const store = await copyOf(whole);
      await harm(store);
      expect(await damages(store, null)).toEqual([expect.stringContaining(`/${key} `)]);
    }
  }
});

describe("the log", () => {
  test.each([
    ["a gap", 2, null, "the log lacks publications/0000000002.json"],
    ["a first entry missing", 1, null, "the log lacks publications/0000000001.json"],
    ["no JSON", 2, "{", "publications/0000000002.json is not an entry of the log"],
    ["empty", 3, "", "publications/0000000003.json is not an entry of the log"],
  ])("%s", async (_name, number, text, expected) => {
    const store = await copyOf(whole);
    const key = `publications/000000000${number}.json`;
    if (text === null) await store.delete(key);
    else await overwrite(store, key, Buffer.from(text));
    for (const reference of [null, "2026-11-20T00Z/r1"]) {
      expect(await damages(store, reference)).toEqual([expect.stringContaining(expected)]);
    }
    // Commands that list the log see a gap; commands that read the entry see damage.
    expect(await damages(store, "head")).toEqual([expect.stringContaining(expected)]);
    const before = await contentOf(store);
    const damaged = expect.objectContaining({ exitCode: 6 });
    await expect(prune(store, 0, false, CLOCK)).rejects.toEqual(damaged);
    await expect(rollBack(store, "2026-11-20T00Z/r1", "x", CLOCK)).rejects.toEqual(damaged);
    await expect(listPublications(store, CLOCK, null)).rejects.toEqual(damaged);
    if (text === null) expect((await tryPublish(store, NEXT)).code).toBe(6);
    expect(await contentOf(store)).toEqual(before);
  });

  test("if it is lost or a symbolic link: 6; verify of an empty store: 2", async () => {
    const folder = temporaryFolder();
    for (const run of RUNS) await mustPublish(new FolderStore(folder), run);
    const aside = join(temporaryFolder(), "publications");
    renameSync(join(folder, "publications"), aside);
    const lost = await desk("verify --all", folder);
    expect([lost.code, lost.out]).toEqual([6, ""]);
    expect(lost.err).toContain("but no publication");
    symlinkSync(aside, join(folder, "publications"));
    expect(await desk("verify --all", folder)).toMatchObject({ code: 6, out: "" });
    expect(await desk("verify --all", temporaryFolder())).toMatchObject({ code: 2, out: "" });
  });

  test("is read from its end, and only as far as needed", async () => {
    const store = new MemoryStore();
    const days = Array.from(
      { length: 12 },
      (_, at) => `2026-12-${String(at + 1).padStart(2, "0")}`,
    );
    for (const [at, day] of days.entries()) {
      const first = at === 0 ? { catalog: CATALOG } : {};
      const quotes = quotesOf({ a: 10 + at / 10, b: 11, c: 12, d: 3 });
      await mustPublish(store, { session: `${day}T00Z`, quotes, ...first });
    }
    const read = async (work: (store: ObjectStore) => Promise<unknown>): Promise<number> => {
      let entries = 0;
      const intercepted = new InterceptedStore(store, ({ kind, key }, run) => {
        if (kind === "get" && /^publications\/.*json$/.test(key)) entries += 1;
        return run();
      });
      await work(intercepted);
      return entries;
    };
    expect(await read((of) => describeSnapshot(of, "head"))).toBe(1);
    expect(await read((of) => describeSnapshot(of, "head~1"))).toBeLessThanOrEqual(3);
    expect(await read((of) => describeSnapshot(of, "2026-12-12T00Z"))).toBe(1);
    const clock = { now: () => Date.parse("2026-12-12T00:05:00Z") };
    let listed: Listing | null = null;
    expect(
      await read(async (of) => (listed = await listPublications(of, clock, 2))),
    ).toBeLessThanOrEqual(7);
    expect(listed).toMatchObject({ older: 10, publications: { length: 3 } });
  });

  test("an entry with another number, another action, another manifest", async () => {
    for (const [from, to, expected] of [
      ['"number":2', '"number":7', "carries another number"],
      ['"publish"', '"pubLish"', "was published by a newer chipboard"],
      ['"revision":1', '"revision":0', "is not an entry of the log"],
      ["2026-11-21T00Z", "2026-11-21T01Z", "is not an entry of the log"],
      ['"manifest_sha256":"', '"manifest_sha256":"0', "is not an entry of the log"],
      ["2026-11-21T00Z", "2026-11-20T00Z", "names another manifest than"],
      ['"publish"', '"rollback"', "3.json does not follow the log before it"],
    ] as const) {
      const store = await copyOf(whole);
      const key = "publications/0000000002.json";
      const text = String(await store.get(key));
      await overwrite(store, key, Buffer.from(text.replace(from, to)));
      expect(await damages(store, null)).toContainEqual(expect.stringContaining(expected));
    }
  });
});

/** Changes a file and makes all else agree with it, like a faulty publisher. */
async function forge(store: ObjectStore, path: string, change: (text: string) => string) {
  const bytes = Buffer.from(change(String(await store.get(HEAD + path))));
  await changeHead(store, () => ({}), { [path]: bytes });
}

test("a coded form that holds other bytes or more of them, and a part that is another", async () => {
  const path = "pro/history.csv";
  const where = `${HEAD}${path}.gz`;
  const code = (await whole.get(where)) as Buffer;
  const text = gunzipSync(code);
  const changed = Buffer.from(String(text).replace("a,", "z,"));
  const size = text.length;
  const part = { id: "a", at: 0, gzip_at: 10, sha256: "0".repeat(64) };
  const stories: readonly (readonly [Buffer, Partial<FileEntry>, string])[] = [
    [gzipSync(changed), {}, "is damaged: its inflated bytes have another SHA-256"],
    [gzipSync(Buffer.alloc(50_000_000)), {}, `does not inflate to ${size} bytes`],
    [gzipSync(text.subarray(1)), {}, `inflates to ${size - 1} bytes, expected ${size}`],
    [gzipSync(text), { parts: [part] }, "is damaged: part a is not the manifest's"],
  ];
  for (const [form, more, expected] of stories) {
    const store = await copyOf(whole);
    await overwrite(store, where, form);
    const gzip = { bytes: form.length, sha256: createHash("sha256").update(form).digest("hex") };
    await changeHead(store, ({ files }) => ({
      files: files.map((file) => {
        if (file.path !== path) return file;
        const changed = { ...file, gzip, ...more };
        if (more.parts === undefined) delete changed.parts;
        return changed;
      }),
    }));
    expect(await damages(store, "head")).toEqual([expect.stringContaining(expected)]);
  }
});

test.each<readonly [string, (parts: Parts, bytes: number) => Parts]>([
  ["beyond the end", (parts, bytes) => parts.map((part) => ({ ...part, at: part.at + bytes }))],
  ["descending", (parts) => parts.toReversed()],
  ["equal", (parts) => parts.flatMap((part) => [part, part])],
])("no command reads a snapshot with parts %s", async (_name, lie) => {
  const store = await copyOf(whole);
  await changeHead(store, ({ files }) => ({
    files: files.map((file) =>
      file.path === "pro/levels.csv"
        ? { ...file, parts: lie(file.parts as Parts, file.bytes) }
        : file,
    ),
  }));
  const before = await contentOf(store);
  const said =
    /manifest\.json names part "\w" of pro\/levels\.csv at \d+ .*, expected one part for/;
  expect(await damages(store, "head")).toEqual([expect.stringMatching(said)]);
  expect(await damages(store, null)).toEqual([expect.stringMatching(said)]);
  expect(await tryPublish(store, NEXT)).toMatchObject({
    code: 6,
    said: [expect.stringMatching(said)],
  });
  for (const read of [
    () => rollBack(store, "head", "x", CLOCK),
    () => describeSnapshot(store, "head"),
    () => writeInputs(store, "head", temporaryFolder()),
    () => prune(store, 0, false, CLOCK),
  ]) {
    await expect(read()).rejects.toMatchObject({
      exitCode: 6,
      message: expect.stringMatching(said),
    });
  }
  await expect(copyStore(store, new MemoryStore(), false, () => {})).rejects.toMatchObject({
    exitCode: 6,
    details: [expect.stringMatching(said)],
  });
  expect(await contentOf(store)).toEqual(before);
});
type Parts = NonNullable<FileEntry["parts"]>;

describe("a manifest that contradicts itself or the log", () => {
  test("a SHA256SUMS that lists other files than the manifest, or is not the root in the log", async () => {
    const store = await copyOf(whole);
    const sums = Buffer.from(`${"0".repeat(64)}  board.json\n`);
    const sha256 = createHash("sha256").update(sums).digest("hex");
    const key = `${HEAD}pro/SHA256SUMS`;
    await overwrite(store, key, sums);
    const { files, ledger, ...rest } = JSON.parse(String(await store.get(`${HEAD}manifest.json`)));
    const changed = files.map((file: { path: string }) =>
      file.path === "pro/SHA256SUMS" ? { ...file, bytes: sums.length, sha256 } : file,
    );
    const identity = identityOf(changed, ledger);
    const manifest = { ...rest, files: changed, ledger, identity };
    await pointHeadTo(store, Buffer.from(JSON.stringify(manifest)));
    const where = `${store.location}/${key}`;
    expect(await damages(store, "head")).toEqual([
      `${where} does not list the files of the manifest`,
    ]);
    const entry = "publications/0000000003.json";
    const text = String(await store.get(entry));
    await overwrite(store, entry, Buffer.from(text.replace(sha256, "1".repeat(64))));
    for (const reference of ["head", null]) {
      expect(await damages(store, reference)).toEqual([
        `${where} does not list the files of the manifest`,
        `${where} is not the root of pro in ${store.location}/${entry}`,
      ]);
    }
  });

  test("an identity that does not match the files", async () => {
    const store = await copyOf(whole);
    await forge(store, "report.html", (text) => text);
    expect(await damages(store, "head")).toEqual([]);
    const key = `${HEAD}manifest.json`;
    const manifest = JSON.parse(String(await store.get(key))) as Manifest;
    const changed = { ...manifest, identity: "0".repeat(64) };
    await pointHeadTo(store, Buffer.from(JSON.stringify(changed)));
    expect(await damages(store, "head")).toEqual([
      "2026-11-21T12Z/r1: the identity does not match the files named",
    ]);
  });
});

test("no rollback to a damaged snapshot; the log stays as it is", async () => {
  for (const key of await keysOf(whole, OLD)) {
    for (const harm of [flip, (store: ObjectStore) => store.delete(key)]) {
      const store = await copyOf(whole);
      await harm(store, key);
      for (const reference of ["2026-11-20T00Z", "head~2"]) {
        await expect(rollBack(store, reference, "x", CLOCK)).rejects.toEqual(
          expect.objectContaining({ exitCode: 6 }),
        );
      }
      expect(await keysOf(store, "publications/")).toHaveLength(3);
    }
  }
});
