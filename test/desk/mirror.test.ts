/** `copy --mirror`: the objects that it removes and leaves; and a prune of a copy. */
import { beforeAll, describe, expect, test } from "vitest";
import { copyStore, type Copying } from "../../src/desk/copy-store.ts";
import { prune } from "../../src/desk/prune.ts";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { UnreachableError } from "../../src/lib/errors.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { contentOf, mustPublish, quotesOf } from "../cli/small-market.ts";
import { interceptWrites, InterceptedStore } from "../faults/crash-store.ts";
import { copyOf } from "../http/fixture.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { desk, deskJson, keysOf, RUNS, temporaryFolder } from "./desk.ts";
import { publishedFolders } from "./published-folder.ts";

const folders = publishedFolders();
const LATER = { now: () => Date.parse("2026-11-25T00:05:00Z") };
const OLDEST = "sessions/2026-11-20T00Z/r1/";

const mirrored = (from: ObjectStore, to: ObjectStore, dryRun = false): Promise<Copying> =>
  copyStore(from, to, dryRun, () => {}, true);

/** A store, its copy from before a prune, and what the prune took. */
let pruned: MemoryStore;
let copied: MemoryStore;
let gone: readonly string[];
beforeAll(async () => {
  pruned = new MemoryStore();
  for (const run of RUNS) await mustPublish(pruned, run);
  copied = new MemoryStore();
  await copyStore(pruned, copied, false, () => {});
  const before = await keysOf(pruned);
  await prune(pruned, 0, false, LATER);
  const after = new Set(await keysOf(pruned));
  gone = before.filter((key) => !after.has(key));
  expect(gone.some((key) => key.startsWith("ledger/"))).toBe(true);
});

test("what a prune took goes, and the target holds what the source does", async () => {
  const to = await copyOf(copied);
  const plan = await mirrored(pruned, to, true);
  expect(plan).toMatchObject({ outcome: "planned", objects: 1, removed: gone.length });
  expect(await contentOf(to)).toEqual(await contentOf(copied));
  expect(await mirrored(pruned, to)).toEqual({ ...plan, outcome: "copied" });
  expect(await contentOf(to)).toEqual(await contentOf(pruned));
  expect((await verifySnapshots(to, null)).damages).toEqual([]);
  expect(await mirrored(pruned, to)).toMatchObject({
    outcome: "unchanged",
    objects: 0,
    removed: 0,
  });
});

test("without --mirror it stays, and a later mirror removes it", async () => {
  const to = await copyOf(copied);
  expect(await copyStore(pruned, to, false, () => {})).toMatchObject({ objects: 1, removed: 0 });
  expect(await keysOf(to, OLDEST)).not.toEqual([]);
  const plan = await mirrored(pruned, to, true);
  expect(plan).toMatchObject({ outcome: "planned", objects: 0, removed: gone.length });
  expect(await mirrored(pruned, to)).toMatchObject({ outcome: "copied", removed: gone.length });
  expect(await contentOf(to)).toEqual(await contentOf(pruned));
});

test("nothing goes that no prune entry names: strangers, unpublished folders, claims, inputs", async () => {
  const to = await copyOf(copied);
  const strangers = [
    "sessions/2026-12-01T00Z/r1/catalog.json",
    "sessions/2026-11-20T00Z/r2/catalog.json",
    "sessions/notes.txt",
    `ledger/2026-11-${"0".repeat(64)}-3.ndjson`,
    `inputs/${"0".repeat(64)}-3.gz`,
    "claims/2026-12-01T00Z/r1.json",
    "other/file.txt",
  ];
  for (const key of strangers) await to.create(key, Buffer.from("x"));
  await mirrored(pruned, to);
  const expected = [...(await keysOf(pruned)), ...strangers].sort();
  expect((await keysOf(to)).sort()).toEqual(expected);
});

test("a source that lost files without a prune, or has none of them: nothing goes", async () => {
  const [from, to] = [new MemoryStore(), await copyOf(copied)];
  await copyStore(copied, from, false, () => {});
  for (const key of gone) await from.delete(key);
  const before = await contentOf(to);
  await expect(mirrored(from, to)).rejects.toMatchObject({ exitCode: 6 });
  await expect(mirrored(new MemoryStore(), to)).rejects.toMatchObject({ exitCode: 2 });
  expect(await contentOf(to)).toEqual(before);
});

test("a target with entries of its own is refused, and nothing goes", async () => {
  for (const spoil of [
    (to: ObjectStore) => prune(to, 0, false, { now: () => LATER.now() + 1 }),
    (to: ObjectStore) =>
      mustPublish(to, {
        session: "2026-11-22T00Z",
        quotes: quotesOf({ a: 12, b: 11, c: 12, d: 3 }),
      }),
  ]) {
    const to = await copyOf(copied);
    await spoil(to);
    const before = await contentOf(to);
    await expect(mirrored(pruned, to)).rejects.toMatchObject({
      exitCode: 4,
      message: expect.stringContaining("nothing was changed. Expected an empty target"),
    });
    expect(await contentOf(to)).toEqual(before);
  }
});

test("stopped at any write, the entry is there before anything goes, and the next run ends it", async () => {
  const total = gone.length + 2;
  for (let at = 1; at <= total; at += at < 4 || at > total - 4 ? 1 : 17) {
    const to = await copyOf(copied);
    const removed: string[] = [];
    const breaks = interceptWrites((step, { kind, key }, run) => {
      if (step >= at) return Promise.reject(new UnreachableError("the injected fault"));
      if (kind === "delete") removed.push(key);
      return run();
    });
    const broken = mirrored(pruned, new InterceptedStore(to, breaks));
    await expect(broken).rejects.toThrow("the injected fault");
    const isNamed = (await to.get("publications/0000000004.json")) !== null;
    expect([removed.length > 0 && !isNamed, removed.every((key) => gone.includes(key))]).toEqual([
      false,
      true,
    ]);
    expect((await verifySnapshots(to, null)).damages).toEqual([]);
    await mirrored(pruned, to);
    expect(await contentOf(to)).toEqual(await contentOf(pruned));
  }
});

test("the manifest of a snapshot goes last, as in a prune", async () => {
  const to = await copyOf(copied);
  const removed: string[] = [];
  const noting = interceptWrites((_step, { kind, key }, run) => {
    if (kind === "delete") removed.push(key);
    return run();
  });
  await mirrored(pruned, new InterceptedStore(to, noting));
  const ofOldest = removed.filter((key) => key.startsWith(OLDEST));
  expect(ofOldest.at(-1)).toBe(`${OLDEST}manifest.json`);
});

describe("the command", () => {
  test("in words, with --json and --dry-run", async () => {
    const [from, to] = [folders(), temporaryFolder()];
    await desk(`copy ${from} ${to}`, "");
    expect((await desk("prune --keep-days 0", from, "2026-11-25T00:05:00Z")).code).toBe(0);
    const plan = await desk(`copy ${from} ${to} --mirror --dry-run`, "");
    expect(plan.out).toMatch(
      /^Would copy 1 object .*\nWould remove \d+ objects that prunes took\n/,
    );
    const { removed, outcome } = await deskJson(`copy ${from} ${to} --mirror`, "");
    expect([outcome, removed]).toEqual(["copied", expect.any(Number)]);
    expect(plan.out).toContain(`Would remove ${removed} objects`);
    const again = await desk(`copy ${from} ${to} --mirror`, "");
    expect(again.out).toMatch(/^Nothing to do: /);
    expect(await contentOf(new FolderStore(to))).toEqual(await contentOf(new FolderStore(from)));
  });

  test("a prune of a copy of the store that the environment names is refused before it forks it", async () => {
    const [from, to] = [folders(), temporaryFolder()];
    await desk(`copy ${from} ${to}`, "");
    const before = await contentOf(new FolderStore(to));
    for (const more of ["", " --dry-run", ' --store "PLACE/"', " --keep-days 90"]) {
      const line = `prune --keep-days 0 --store ${to}${more.replace("PLACE", to)}`;
      const { code, err, out } = await desk(line, from, "2026-11-25T00:05:00Z");
      expect([code, out]).toEqual([4, ""]);
      expect(err.split("\n").at(-2)).toBe(
        `error: ${to}${more.includes("PLACE") ? "/" : ""} is a copy of ${from}, and a prune of its own would end that: prune ${from}, then copy with --mirror`,
      );
    }
    expect(await contentOf(new FolderStore(to))).toEqual(before);
    // The way on that it names.
    await desk("prune --keep-days 0", from, "2026-11-25T00:05:00Z");
    expect((await desk(`copy ${from} ${to} --mirror`, from)).code).toBe(0);
    expect(await contentOf(new FolderStore(to))).toEqual(await contentOf(new FolderStore(from)));
    // The store itself, under another spelling, is no copy; and neither is one that was published to.
    expect((await desk(`prune --keep-days 0 --store ${from}/../x`, from)).code).toBe(0);
    await mustPublish(new FolderStore(to), {
      session: "2026-11-22T00Z",
      quotes: quotesOf({ a: 12, b: 11, c: 12, d: 3 }),
    });
    expect((await desk(`prune --keep-days 0 --store ${to}`, from)).code).toBe(0);
    expect((await desk("prune --help", from)).out).toContain(
      "Do not prune a copy of another store",
    );
  });
});
