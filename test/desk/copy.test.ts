/** `snapshots copy`: the copy, refusals, and interruptions. */
import { existsSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { copyStore, type Copying } from "../../src/desk/copy-store.ts";
import { prune } from "../../src/desk/prune.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { UnreachableError, type ChipboardError } from "../../src/lib/errors.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { clockAt } from "../store/begun.ts";
import { MemoryStore } from "../store/memory-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { STORE_MARK } from "../../src/store/paths.ts";
import { changeHead, ENTRY } from "../cli/signed.ts";
import { contentOf, mustPublish, quotesOf } from "../cli/small-market.ts";
import { interceptWrites, InterceptedStore } from "../faults/crash-store.ts";
import { copyOf } from "../http/fixture.ts";
import { desk, deskJson, flip, keysOf, overwrite, RUNS, temporaryFolder } from "./desk.ts";
import { publishedFolders, REVISION } from "./published-folder.ts";

const published = publishedFolders();
const LATER = clockAt("2026-11-25T00:05:00Z");
const HEAD = "sessions/2026-11-21T12Z/r1";

const daily = (session: string, usd: number) => ({
  session,
  quotes: quotesOf({ a: usd, b: 11, c: 12 }),
  minCoverageMicros: 0,
});

const copied = (from: ObjectStore, to: ObjectStore, dryRun = false): Promise<Copying> =>
  copyStore(from, to, dryRun, () => {});

/** The error of a copy that fails. */
async function failed(from: ObjectStore, to: ObjectStore): Promise<ChipboardError> {
  return copied(from, to).then(
    () => expect.fail("The copy succeeded"),
    (error: unknown) => error as ChipboardError,
  );
}

/** A short history in memory. */
async function shortHistory(): Promise<MemoryStore> {
  const store = new MemoryStore();
  for (const run of RUNS) await mustPublish(store, run);
  return store;
}

/** A history with a revision, a rollback, pruned snapshots, and a crashed run that a prune removed. */
async function longHistory(): Promise<MemoryStore> {
  const store = await shortHistory();
  await mustPublish(store, REVISION);
  await rollBack(store, "2026-11-21T00Z", "check", clockAt("2026-11-21T13:00:00Z"));
  await mustPublish(store, daily("2026-11-22T00Z", 12.4));
  await store.delete("publications/0000000006.json");
  await store.create("claims/2026-11-22T00Z/r1.json", Buffer.from('{"began":5}\n'));
  await mustPublish(store, daily("2026-11-22T00Z", 12.5));
  await mustPublish(store, daily("2026-11-22T12Z", 12.6));
  await prune(store, 0, false, clockAt("2026-11-22T13:00:00Z"));
  await mustPublish(store, daily("2026-11-23T00Z", 12.7));
  // A publish is running: its claim, its files and its ledger part are not copied.
  await store.create("claims/2026-11-23T12Z/r1.json", Buffer.from('{"began":9}\n'));
  await store.create("sessions/2026-11-23T12Z/r1/catalog.json", Buffer.from("{}"));
  await store.create(`ledger/2026-12-${"0".repeat(64)}-9.ndjson`, Buffer.from(""));
  return store;
}

const UNDER_WAY = /^claims\/|^sessions\/2026-11-23T12Z\/|^ledger\/2026-12-0+-9/;

async function expectCopy(of: ObjectStore, copy: ObjectStore): Promise<void> {
  const expected = Object.entries(await contentOf(of)).filter(([key]) => !UNDER_WAY.test(key));
  expect(await contentOf(copy)).toEqual(Object.fromEntries(expected));
  expect((await verifySnapshots(copy, null)).damages).toEqual([]);
}

test("everything that the log names is copied; a second run finds nothing to do, a third copies new objects", async () => {
  const store = await longHistory();
  const to = new MemoryStore();
  const done = await copied(store, to);
  const all = await contentOf(to);
  const mark = String(await to.get(STORE_MARK));
  expect(done).toMatchObject({
    outcome: "copied",
    objects: Object.keys(all).length + 1,
    bytes: Object.values(all).reduce((sum, text) => sum + text.length, mark.length),
    there: 0,
    snapshots: 3,
    head: { number: 9, snapshot: expect.stringMatching(/\/r1$/) },
  });
  expect(Object.keys(all)).toEqual(expect.arrayContaining(["taken/2026-11-22T00Z/r1.json"]));
  await expectCopy(store, to);

  const writes: string[] = [];
  const counting = new InterceptedStore(
    to,
    interceptWrites((_step, { key }, run) => {
      writes.push(key);
      return run();
    }),
  );
  expect(await copied(store, counting)).toMatchObject({
    outcome: "unchanged",
    objects: 0,
    bytes: 0,
    there: done.objects,
  });
  expect(writes).toEqual([]);
  await mustPublish(store, daily("2026-11-24T00Z", 12.8));
  const again = await copied(store, counting);
  expect(again).toMatchObject({ outcome: "copied", there: done.objects, snapshots: 4 });
  expect(writes).toHaveLength(again.objects + 1);
  expect(writes.at(-1)).toBe("publications/0000000010.json");
  await expectCopy(store, to);
});

test("a copy can be published into, rolled back and pruned, and no snapshot name is used twice", async () => {
  const to = new MemoryStore();
  await copied(await longHistory(), to);
  // r1 was taken, r2 is published.
  const revision = { ...daily("2026-11-23T00Z", 12.9), revise: "check" };
  expect(await mustPublish(to, revision)).toBe("2026-11-23T00Z/r2");
  await rollBack(to, "2026-11-22T00Z", "check", clockAt("2026-11-23T01:00:00Z"));
  await mustPublish(to, { ...daily("2026-11-24T00Z", 13), revise: "check" });
  const { snapshots } = await prune(to, 0, false, LATER);
  expect(snapshots.map(({ name }) => name)).toEqual([
    "2026-11-22T12Z/r1",
    "2026-11-23T00Z/r1",
    "2026-11-23T00Z/r2",
  ]);
  expect((await verifySnapshots(to, null)).damages).toEqual([]);
  expect(await keysOf(to, "taken/")).toEqual(["taken/2026-11-22T00Z/r1.json"]);
});

test("entries are copied last, in their order", async () => {
  const store = await shortHistory();
  const created: string[] = [];
  const to = new InterceptedStore(new MemoryStore(), ({ kind, key }, run) => {
    if (kind === "create") created.push(key);
    return run();
  });
  await copied(store, to);
  await expectCopy(store, to);
  expect(created.slice(-3)).toEqual([1, 2, 3].map(ENTRY));
});

test("a dry run reads and checks everything, and writes nothing", async () => {
  const store = await longHistory();
  const to = new MemoryStore();
  const planned = await copied(store, to, true);
  expect([planned.outcome, await keysOf(to)]).toEqual(["planned", []]);
  expect(await copied(store, to)).toEqual({ ...planned, outcome: "copied" });
  expect(await copied(store, to, true)).toMatchObject({ outcome: "unchanged" });
  await flip(store, "sessions/2026-11-23T00Z/r1/pro/board.json");
  await expect(copied(store, new MemoryStore(), true)).rejects.toMatchObject({ exitCode: 6 });
});

describe("interrupted at any write", () => {
  test("the log names only objects that exist, and the next run completes the copy", async () => {
    const store = await shortHistory();
    const total = (await copied(store, new MemoryStore(), true)).objects + 1;
    for (let at = 1; at <= total; at += at < total - 6 ? 5 : 1) {
      const to = new MemoryStore();
      const breaks = interceptWrites((step, _operation, run) =>
        step < at ? run() : Promise.reject(new UnreachableError("the injected fault")),
      );
      const broken = copied(store, new InterceptedStore(to, breaks));
      await expect(broken).rejects.toThrow("the injected fault");
      if ((await keysOf(to, "publications/")).length > 0) {
        expect((await verifySnapshots(to, null)).damages).toEqual([]);
      }
      await copied(store, to);
      await expectCopy(store, to);
    }
  });

  test("every command reports an incomplete copy, and another run completes it", async () => {
    const [from, folder] = [published(), temporaryFolder()];
    const breaks = interceptWrites((step, _operation, run) =>
      step < 20 ? run() : Promise.reject(new UnreachableError("the injected fault")),
    );
    const to = new FolderStore(folder);
    const broken = copied(new FolderStore(from), new InterceptedStore(to, breaks));
    await expect(broken).rejects.toThrow("the injected fault");
    for (const line of [
      "ls",
      "show",
      "show 2026-11-21T12Z",
      "diff head~1 head",
      "verify",
      "verify --all",
      "rollback head~1 --reason check",
      "prune --keep-days 0",
    ]) {
      const { code, err } = await desk(line, folder);
      expect([line, code]).toEqual([line, 6]);
      expect(err).toMatch(
        /holds \S+ but no publication; if a copy .* did not end, run that again\n$/,
      );
    }
    expect((await desk(`copy ${from} ${folder}`, folder)).code).toBe(0);
    await expectCopy(new FolderStore(from), to);
  });
});

test("a log that ends at a snapshot which a later entry prunes: told, and completed", async () => {
  const to = new MemoryStore();
  const from = await longHistory();
  await copied(from, to);
  for (const entry of (await keysOf(to, "publications/")).slice(4)) await to.delete(entry);
  const { damages } = await verifySnapshots(to, "head");
  expect(damages.join()).toMatch(
    /manifest\.json is missing; if a copy .* did not end, run it again/,
  );
  await copied(from, to);
  await expectCopy(from, to);
});

describe("a target with other content: 4, and nothing is changed", () => {
  const STORIES: [string, (to: MemoryStore, from: MemoryStore) => Promise<unknown>, RegExp][] = [
    [
      "another log",
      async (to) => mustPublish(to, { ...(RUNS[0] as (typeof RUNS)[0]), attribution: "Others" }),
      /memory:\/publications\/0000000001\.json is not the publications\/0000000001\.json of memory:/,
    ],
    [
      "published upon",
      async (to, from) => {
        await copied(from, to);
        await mustPublish(to, daily("2026-11-22T00Z", 12.4));
      },
      /publications\/0000000004\.json is not in memory:: memory: was published to, rolled back or pruned/,
    ],
    [
      "a file with other bytes of the same length",
      async (to, from) => {
        await copied(from, to);
        await flip(to, `${HEAD}/pro/export.csv`);
      },
      /2026-11-21T12Z\/r1\/pro\/export\.csv has other bytes/,
    ],
    [
      "a shorter file, without a log",
      async (to) => to.create(`${HEAD}/catalog.json`, Buffer.from("{}")),
      /2026-11-21T12Z\/r1\/catalog\.json has other bytes/,
    ],
    [
      "a file that the manifest does not name",
      async (to) => to.create(`${HEAD}/pro/contracts/z.json`, Buffer.from("{}")),
      /2026-11-21T12Z\/r1\/pro\/contracts\/z\.json is not in memory:/,
    ],
  ];
  test.each(STORIES)("%s", async (_, prepare, told) => {
    const from = await shortHistory();
    const to = new MemoryStore();
    await prepare(to, from);
    const before = await contentOf(to);
    const { exitCode, message, details } = await failed(from, to);
    expect([exitCode, [message, ...details].join("\n")]).toEqual([4, expect.stringMatching(told)]);
    expect(message).toContain("nothing was changed. Expected an empty target, or an earlier copy");
    expect(await contentOf(to)).toEqual(before);
  });

  test("a snapshot name that another run uses meanwhile", async () => {
    const from = await shortHistory();
    const to = new MemoryStore();
    const between = new InterceptedStore(to, async ({ kind, key }, run) => {
      if (kind === "create") await to.create(key, Buffer.from("x"));
      return run();
    });
    const { exitCode, message } = await failed(from, between);
    expect([exitCode, message]).toEqual([4, expect.stringMatching(/was written by another run/)]);
    expect(await keysOf(to, "publications/")).toEqual([]);
  });
});

describe("a damaged source: 6, the damage is named, and the target's log stays", () => {
  test.each([
    ["a flipped file", `${HEAD}/pro/export.xlsx`, flip],
    ["a flipped history", `${HEAD}/pro/levels.csv.gz`, flip],
    [
      "a lost file",
      `${HEAD}/free/board.json`,
      (store: ObjectStore, key: string) => store.delete(key),
    ],
    [
      "a lost manifest",
      `${HEAD}/manifest.json`,
      (store: ObjectStore, key: string) => store.delete(key),
    ],
    ["a flipped manifest", "sessions/2026-11-21T00Z/r1/manifest.json", flip],
    [
      "a lost part of the ledger",
      "ledger/",
      (store: ObjectStore, key: string) => store.delete(key),
    ],
  ])("%s", async (_, prefix, harm) => {
    const whole = await shortHistory();
    const from = await copyOf(whole);
    const [key = ""] = (await keysOf(from, prefix)).reverse();
    const to = new MemoryStore();
    await copied(from, to);
    for (const entry of (await keysOf(to, "publications/")).slice(1)) await to.delete(entry);
    await to.delete(key);
    await harm(from, key);
    const { exitCode, message, details } = await failed(from, to);
    expect([exitCode, details]).toEqual([6, [expect.stringContaining(`memory:/${key} is `)]]);
    expect(message).toContain("is damaged: 1 finding; the log of memory: stays as it was");
    expect(await keysOf(to, "publications/")).toEqual(["publications/0000000001.json"]);
    expect(await to.get(key)).toBe(null);
    await overwrite(from, key, (await whole.get(key)) as Buffer);
    await copied(from, to);
    await expectCopy(from, to);
  });

  test.each([
    "publications/x.json",
    "claims/2026-11-22T00Z/r1.json",
    `${HEAD}/pro/more.json`,
    `ledger/2026-11-${"0".repeat(64)}-9.ndjson`,
    "ledger/x.ndjson",
    "../x",
  ])("a manifest that names %s as a part of the ledger: no such key is written", async (key) => {
    const from = await shortHistory();
    const bytes = Buffer.from("{}\n");
    if (!key.startsWith("..")) await from.create(key, bytes);
    const part = { key, bytes: bytes.length, sha256: sha256Hex(bytes) };
    await changeHead(from, ({ ledger }) => ({ ledger: [...ledger, part] }));
    const to = new MemoryStore();
    const { exitCode, details } = await failed(from, to);
    expect([exitCode, details]).toEqual([
      6,
      [
        `memory:/${HEAD}/manifest.json names "${key}" as a part of the ledger, ` +
          `expected ledger/MONTH-${part.sha256}-NUMBER.ndjson`,
      ],
    ]);
    expect([await to.get(key), await keysOf(to, "publications/")]).toEqual([null, []]);
    const { damages } = await verifySnapshots(from, null);
    expect(damages).toEqual(details);
  });

  test("what no run of the program names so is not copied", async () => {
    const from = await shortHistory();
    const digest = "0".repeat(64);
    for (const key of [
      "taken/x",
      "taken/.json",
      "taken/2026-11-22T00Z/r1.json.sh",
      "taken/2026-11-22T00Z/r01.json",
      "taken/2026-11-22T01Z/r1.json",
      "taken/2026-11-22T00Z/r1/r1.json",
      "taken/deep/2026-11-22T00Z/r1.json",
      "inputs/x.gz",
      `inputs/${digest}.gz`,
      `inputs/${digest}-1/x.gz`,
      `ledger/2026-11-${digest}-9.ndjson`,
      "ledger/x",
      "claims/2026-11-22T00Z/r1.json",
      "sessions/2026-11-22T00Z/r1/pro/board.json",
      `${HEAD}/pro/more.json`,
      "publications/x.json",
      "more/x",
    ]) {
      await from.create(key, Buffer.from("x")).catch(() => "no key");
    }
    const to = new MemoryStore();
    await copied(from, to);
    expect(await keysOf(to)).toEqual(await keysOf(await shortHistory()));
  });

  test("a link in the place of a file or a folder: nothing behind it is copied", async () => {
    const paths = ["pro/board.json", "manifest.json"].map((path) => `${HEAD}/${path}`);
    for (const path of [...paths, "ledger", "inputs"]) {
      const [from, aside, to] = [published(), temporaryFolder(), temporaryFolder()];
      const place = join(from, path);
      renameSync(place, join(aside, "x"));
      symlinkSync(join(aside, "x"), place);
      const { code, err } = await desk(`copy ${from} ${to}`, "");
      expect([code, err]).toEqual([
        6,
        expect.stringMatching(
          RegExp(`^  ${from}/${path}\\S* is a link, or behind one, expected a file$`, "m"),
        ),
      ]);
      for (const key of [path, "publications"]) expect(existsSync(join(to, key))).toBe(false);
    }
  });

  test("all damages are reported at once", async () => {
    const from = await shortHistory();
    await flip(from, "sessions/2026-11-20T00Z/r1/manifest.json");
    await flip(from, `${HEAD}/pro/board.json`);
    await from.delete(`${HEAD}/pro/index.json`);
    const { message, details } = await failed(from, new MemoryStore());
    expect([message, details.length]).toEqual([expect.stringContaining("3 findings"), 3]);
  });

  test("a gap in the log, and a snapshot of a newer format", async () => {
    const gap = await shortHistory();
    await gap.delete("publications/0000000002.json");
    expect(await failed(gap, new MemoryStore())).toMatchObject({
      exitCode: 6,
      message: "memory:: the log lacks publications/0000000002.json",
    });
    const newer = await shortHistory();
    await changeHead(newer, () => ({ format: 99 }));
    const { exitCode, details } = await failed(newer, new MemoryStore());
    expect([exitCode, details.join()]).toEqual([6, expect.stringMatching(/by a newer chipboard/)]);
  });
});

test("the copy is complete if the source is published to, rolled back or pruned at any moment", async () => {
  const reads = (await copied(await shortHistory(), new MemoryStore(), true)).objects;
  for (let at = 1; at <= reads; at += 4) {
    const from = await shortHistory();
    let count = 0;
    const intercepted = new InterceptedStore(from, async ({ kind }, run) => {
      if (kind === "get" && (count += 1) === at) {
        await mustPublish(from, daily("2026-11-22T00Z", 12.4));
        await rollBack(from, "2026-11-21T12Z", "check", LATER);
        await prune(from, 0, false, LATER);
      }
      return run();
    });
    const to = new MemoryStore();
    await copied(intercepted, to);
    expect((await verifySnapshots(to, null)).damages).toEqual([]);
    await copied(from, to);
    expect((await verifySnapshots(to, null)).damages).toEqual([]);
    const [content, copy] = [await contentOf(from), await contentOf(to)];
    expect(copy).toMatchObject(content);
  }
});

describe("the command", () => {
  test("in words, with --json and --dry-run", async () => {
    const [from, to] = [published(), join(temporaryFolder(), "new/place")];
    const line = `copy ${from} ${to}`;
    const plan = await desk(`${line} --dry-run`, "");
    expect(plan.out).toMatch(/^Would copy \d+ objects of \d+ bytes from \S+ to \S+; 0 were there/);
    const done = await desk(line, "");
    expect(done.out.split("\n")).toEqual([
      expect.stringMatching(
        `^Copied \\d+ objects of \\d+ bytes from ${from} to ${to}; 0 were there before$`,
      ),
      `${to} holds 3 snapshots; the head is 2026-11-21T12Z/r1, publication 3`,
      "",
    ]);
    expect(done.err).toMatch(/^Reading 3\/3\nCopying (\d+)\/\1\n$/);
    expect((await desk(line, "")).out).toBe(
      `Nothing to do: ${to} holds all of ${from}, 3 snapshots; the head is 2026-11-21T12Z/r1, publication 3\n`,
    );
    expect(await deskJson(line, "")).toEqual({
      outcome: "unchanged",
      from,
      to,
      objects: 0,
      bytes: 0,
      removed: 0,
      left_out: [],
      there: (await keysOf(new FolderStore(to))).length,
      snapshots: 3,
      head: { snapshot: "2026-11-21T12Z/r1", number: 3 },
    });
  });

  test("a source that does not exist or has no log; invalid locations", async () => {
    const [from, to] = [published(), temporaryFolder()];
    const none = await desk(`copy ${from}x ${to}`, "");
    expect([none.code, none.err]).toEqual([2, `error: ${from}x holds no publication yet\n`]);
    rmSync(join(from, "publications"), { recursive: true });
    expect(await desk(`copy ${from} ${to}`, "")).toMatchObject({ code: 6 });
    for (const [line, told] of [
      [`copy ftp://x ${to}`, 'FROM "ftp://x": expected a folder or s3://bucket/prefix'],
      [`copy ${to} s3://x/.y`, 'TO "s3://x/.y": expected s3://bucket/prefix'],
      [`copy ${to}`, "missing required argument 'to'"],
    ] as const) {
      const { code, err } = await desk(line, "");
      expect([code, err]).toEqual([2, expect.stringContaining(told)]);
    }
    expect(await keysOf(new FolderStore(to))).toEqual([]);
  });
});
