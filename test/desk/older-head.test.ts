/** Every command with heads that lack files, tiers or columns, or that a newer version published. */
import { describe, expect, test } from "vitest";
import { FORMAT } from "../../src/snapshot/manifest.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { mustPublish, quotesOf, tryPublish } from "../cli/small-market.ts";
import { withoutFiles, withoutTier } from "../cli/older-head.ts";
import { changeHead } from "../cli/signed.ts";
import { CATALOG, desk, deskJson, overwrite } from "./desk.ts";
import { publishedFolders } from "./published-folder.ts";

const published = publishedFolders();
const NEXT = {
  session: "2026-11-22T00Z",
  quotes: quotesOf({ a: 12, b: 11, c: 12, d: 3 }),
  minCoverageMicros: 0,
};

describe("a head that lacks", () => {
  test("Pro's board and indices: show and diff have null for the missing values", async () => {
    const folder = published();
    await withoutFiles(new FolderStore(folder), /^pro\/(board|index|indices)\.json$/);
    expect(await deskJson("show", folder)).toMatchObject({
      snapshot: "2026-11-21T12Z/r1",
      index: null,
      indices: null,
      largest_moves: null,
      breaks: null,
    });
    const { code, out } = await desk("show", folder);
    expect(code).toBe(0);
    expect(out).toMatch(/\nIndex +not in the snapshot\n/);
    expect(out).toMatch(/\nIndices\nnot in the snapshot\b/);
    expect(out).toMatch(/\nLargest moves in 24 hours\nnot in the snapshot\b/);
    const old = await deskJson("show head~1", folder);
    expect(await deskJson("diff head~1 head", folder)).toMatchObject({
      added: null,
      removed: null,
      repriced: null,
      metadata: [],
      corrected: [],
      index: { old_level: old.index.level, new_level: null },
    });
    const compared = await desk("diff head~1 head", folder);
    expect(compared.code).toBe(0);
    expect(compared.out).toMatch(/\nAdded not in the snapshot\nRemoved not in the snapshot\n/);
    expect(compared.out).toMatch(/\nRepriced\nnot in the snapshot\b/);
    expect((await desk("diff head head~1", folder)).code).toBe(0);
  });

  test("catalog and corrections: diff has null, and the next publish needs a catalog", async () => {
    const folder = published();
    await withoutFiles(new FolderStore(folder), /^(catalog|corrections)\.json$/);
    const found = await deskJson("diff head~1 head", folder);
    expect([found.metadata, found.corrected, found.added]).toEqual([null, null, []]);
    expect((await desk("show", folder)).code).toBe(0);
    const { code, said } = await tryPublish(new FolderStore(folder), NEXT);
    expect([code, said.join("\n")]).toEqual([2, expect.stringContaining("give --catalog")]);
    await mustPublish(new FolderStore(folder), { ...NEXT, catalog: CATALOG });
    expect((await desk("verify --all", folder)).code).toBe(0);
  });

  test.each(["free", "starter", "pro"])(
    "the tier %s: verify, show, rollback from and to it, and publish work",
    async (tier) => {
      const folder = published();
      const store = new FolderStore(folder);
      await withoutTier(store, tier);
      for (const line of [
        "verify --all",
        "show",
        "show --json",
        "diff head~1 head",
        "ls",
        "rollback head~1 --reason back",
        "rollback 2026-11-21T12Z --reason again",
      ]) {
        const { code, err } = await desk(line, folder);
        expect([line, code, err]).toEqual([line, 0, ""]);
      }
      await mustPublish(store, NEXT);
      expect((await desk("verify --all", folder)).code).toBe(0);
    },
  );
});

test("another version's snapshot is verified like one of this version", async () => {
  const folder = published();
  const store = new FolderStore(folder);
  await changeHead(store, ({ program }) => ({ program: { ...program, version: "0.0.9" } }));
  expect((await desk("verify head", folder)).code).toBe(0);
  const key = "sessions/2026-11-21T12Z/r1/pro/export.csv";
  const text = String(await store.get(key));
  await overwrite(store, key, Buffer.from(text.replace(",12.5,", ",13.5,")));
  const { code, err } = await desk("verify head", folder);
  expect([code, err]).toEqual([6, expect.stringContaining(`${key} is damaged`)]);
});

const COMMANDS = ["show head", "verify head", "rollback head --reason again", "verify --all"];

test("a head of a later format: 6, and who published it", async () => {
  const folder = published();
  const store = new FolderStore(folder);
  await changeHead(store, () => ({ format: FORMAT + 1, tiers: "elsewhere" }));
  for (const line of [...COMMANDS, "diff head~1 head"]) {
    const { code, err } = await desk(line, folder);
    expect([line, code]).toEqual([line, 6]);
    expect(err).toContain(
      `was published by a newer chipboard: its format is ${FORMAT + 1}, expected at most ${FORMAT}`,
    );
  }
  expect(await tryPublish(store, NEXT)).toMatchObject({
    code: 6,
    said: [expect.stringContaining("was published by a newer chipboard: its format is")],
  });
});

test("an entry with an unknown action: 6, and who wrote it", async () => {
  const folder = published();
  const store = new FolderStore(folder);
  const entry = '{"number":4,"action":"archive"}\n';
  await store.create("publications/0000000004.json", Buffer.from(entry));
  for (const line of [...COMMANDS, "prune --keep-days 0", "ls"]) {
    const { code, err } = await desk(line, folder);
    expect([line, code]).toEqual([line, 6]);
    expect(err).toContain('was published by a newer chipboard: its action is "archive"');
  }
  expect(await tryPublish(store, NEXT)).toMatchObject({
    code: 6,
    said: [expect.stringContaining("was published by a newer chipboard: its action is")],
  });
});
