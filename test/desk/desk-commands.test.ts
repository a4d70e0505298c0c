/** `snapshots ls|diff|verify|rollback|prune` as commands, on a folder. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FolderStore } from "../../src/store/folder-store.ts";
import { catalogOf, mustPublish, quotesOf } from "../cli/small-market.ts";
import { desk, deskJson, temporaryFolder } from "./desk.ts";
import { publishedFolders, REVISION } from "./published-folder.ts";

const published = publishedFolders();

describe("ls", () => {
  test("nothing published", async () => {
    const folder = temporaryFolder();
    expect(await desk("ls", folder)).toEqual({
      code: 0,
      out: `Nothing is published in ${folder}.\n`,
      err: "",
    });
    expect(await deskJson("ls", folder)).toEqual({ older: 0, publications: [] });
  });

  test("publish, revise, rollback, missed and due sessions, the head", async () => {
    const folder = published();
    await mustPublish(new FolderStore(folder), REVISION);
    const back = 'rollback 2026-11-21T00Z --reason "wrong feed"';
    expect((await desk(back, folder, "2026-11-21T13:00:00Z")).code).toBe(0);
    const { out } = await desk("ls", folder);
    const rows = out.split("\n").map((line) => line.trim().split(/ {2,}/));
    const [names, due, missed, head, revise, ...rest] = rows;
    expect(names?.slice(0, 4)).toEqual(["no", "snapshot", "what", "at"]);
    expect([due, missed]).toEqual([
      ["2026-11-22T12Z", "due"],
      ["2026-11-22T00Z", "missed"],
    ]);
    expect(head?.slice(0, 4)).toEqual(["head", "5", "2026-11-21T00Z/r1", "rollback"]);
    expect(head?.at(-1)).toBe("wrong feed");
    expect(revise?.slice(0, 3)).toEqual(["4", "2026-11-21T12Z/r2", "revise"]);
    expect(revise?.at(-1)).toBe("Late report");
    expect(rest.map((row) => row.slice(0, 3))).toEqual([
      ["3", "2026-11-21T12Z/r1", "publish"],
      ["2", "2026-11-21T00Z/r1", "publish"],
      ["2026-11-20T12Z", "missed"],
      ["1", "2026-11-20T00Z/r1", "publish"],
      [""],
    ]);
    expect((await deskJson("ls", folder)).publications[2]).toMatchObject({
      what: "rollback",
      head: true,
      number: 5,
      session: "2026-11-21T00Z",
      session_utc: "2026-11-21T00:00:00.000Z",
      revision: 1,
      reason: "wrong feed",
      at: expect.stringMatching(/^2026-11-21T13:00:0\d\.\d{3}Z$/),
      pruned: false,
      counts: { contracts: 4, carried: 1, dropped: 0, bytes: expect.any(Number) },
    });
  });

  test("a run of missed sessions is one row; --limit and --all", async () => {
    const folder = published();
    const later = "2026-11-24T00:30:00Z";
    expect((await deskJson("ls", folder, later)).publications.slice(0, 2)).toEqual([
      { what: "due", from: "2026-11-24T00Z", to: "2026-11-24T00Z" },
      { what: "missed", from: "2026-11-22T00Z", to: "2026-11-23T12Z" },
    ]);
    const one = await desk("ls --limit 1", folder, "2026-11-21T12:05:00Z");
    expect(one.out).toMatch(/\nhead +3 +2026-11-21T12Z\/r1 .*\nand 2 older; --all shows them\n$/);
    const all = await desk("ls --limit 1 --all", folder, "2026-11-21T12:05:00Z");
    expect(all.out).not.toContain("older");
    expect(all.out.split("\n")).toHaveLength(6);
  });

  test("a pruned snapshot is still listed, as pruned", async () => {
    const folder = published();
    expect((await desk("prune --keep-days 0", folder, "2026-11-24T00:05:00Z")).code).toBe(0);
    expect((await desk("ls", folder)).out).toMatch(
      / 1 +2026-11-20T00Z\/r1 +publish \(pruned\) .* - +- +- +-\n$/,
    );
    const { publications } = await deskJson("ls", folder);
    expect(publications.at(-1)).toMatchObject({ number: 1, pruned: true, counts: null });
  });
});

test("diff: added, removed, repriced, metadata and the level of the index", async () => {
  const folder = published();
  expect(await deskJson("diff 2026-11-20T00Z head~1", folder)).toMatchObject({
    before: "2026-11-20T00Z/r1",
    after: "2026-11-21T00Z/r1",
    added: ["d"],
    removed: [],
    repriced: [
      { id: "a", old_usd: 10, new_usd: 12, change_pct: 20 },
      { id: "b", old_usd: 11, new_usd: 10.5, change_pct: -4.55 },
    ],
    metadata: [{ id: "c", field: "basis", old: "reported", new: "carried" }],
    corrected: [],
    // The mean of 12/10, 10.5/11 and 12/12.
    index: { old_level: 100, new_level: 105.1515 },
  });
  const back = await desk("diff head~1 2026-11-20T00Z", folder);
  expect(back.out).toContain("From 2026-11-21T00Z/r1 to 2026-11-20T00Z/r1\n");
  expect(back.out).toContain("Index 105.1515 to 100\nAdded none\nRemoved d\n");
  expect(back.out).toMatch(/\nRepriced\n.*\na +12 +10 +-16\.67\nb +10\.5 +11 +4\.76\n/);
  const same = await desk("diff head head", folder);
  expect(same.out.split("\n")).toHaveLength(5);
});

test("diff: the level of the index and its series, each as its snapshot has it", async () => {
  const folder = temporaryFolder();
  const store = new FolderStore(folder);
  const run = { catalog: catalogOf(["a"]), quotes: quotesOf({ a: 12 }) };
  // The base of 00:00 is the close of the 20th, the base of 12:00 the close of the 21st.
  const closes = "id,date,close_usd\na,2025-11-20,10\na,2025-11-21,8\n";
  await mustPublish(store, { ...run, session: "2026-11-21T00Z", closes });
  await mustPublish(store, { ...run, session: "2026-11-21T12Z" });
  const moved = await desk("diff head~1 head", folder);
  expect(moved.out).toMatch(/\nIndex 120 to 150\n/);
  expect(moved.out).toMatch(/\ncomposite +80 +120 +1 +0 +0 +-\n/);
});

test("verify: whole, damaged, with --json and --all", async () => {
  const folder = published();
  expect((await desk("verify", folder)).out).toMatch(
    /^Whole: 2026-11-21T12Z\/r1, \d+ files, \d+ bytes\nLog: 3 entries, each linked to those before\n$/,
  );
  expect(await deskJson("verify --all", folder)).toMatchObject({
    whole: true,
    checked: ["2026-11-20T00Z/r1", "2026-11-21T00Z/r1", "2026-11-21T12Z/r1"],
    pruned: [],
    damages: [],
  });
  const lost = "sessions/2026-11-20T00Z/r1/pro/export.csv";
  rmSync(join(folder, lost));
  expect((await desk("verify", folder)).code).toBe(0);
  const found = await desk("verify --all", folder);
  expect(found).toEqual({
    code: 6,
    out: "",
    err: `error: ${folder} is damaged: 1 finding\n  ${folder}/${lost} is missing\n`,
  });
  expect((await deskJson("verify 2026-11-20T00Z", folder)).error).toEqual({
    exit_code: 6,
    message: `${folder} is damaged: 1 finding`,
    details: [`${folder}/${lost} is missing`],
  });
});

test.each([
  ["rollback head~1", 2, "--reason"],
  ['rollback head~1 --reason ""', 2, "--reason"],
  ['rollback head~1 --reason " "', 2, "--reason"],
  ["rollback --reason x", 2, "snapshot"],
  ["prune", 2, "--keep-days"],
  ["prune --keep-days -1", 2, "--keep-days"],
  ["prune --keep-days 1.5", 2, "--keep-days"],
  ["diff head", 2, "after"],
  ["ls --limit many", 2, "--limit"],
  ["lost", 2, "lost"],
])("%s: exit %i, naming it", async (line, code, named) => {
  const folder = published();
  const said = await desk(line, folder);
  expect([said.code, said.err]).toEqual([code, expect.stringContaining(named)]);
  expect((await deskJson("ls", folder)).publications[2].number).toBe(3);
});

test.each([
  ["--keep-days 90 --dry-run", { starter: 91, pro: 1827 }],
  ["--keep-days 91", { pro: 1827 }],
  ["--keep-days 1", { starter: 91, pro: 1827 }],
  ["--keep-days 1826 --json", { pro: 1827 }],
  ["--keep-days 1827", {}],
])("prune %s warns of what a tier may ask for and cannot have any more", async (line, tiers) => {
  const [, keepDays] = line.split(" ");
  const { code, err } = await desk(`prune ${line}`, published(), "2026-11-21T23:59:00Z");
  const warnings = Object.entries(tiers).map(
    ([tier, days]) =>
      `warning: ${tier} may ask for answers of the last ${days} days (as_of, publication): ` +
      `answers of more than ${keepDays} day${keepDays === "1" ? "" : "s"} ago will be 410\n`,
  );
  expect([code, err]).toEqual([0, warnings.join("")]);
});

test("diff: a contract that was renamed in between is one contract, in either direction", async () => {
  const folder = published();
  const store = new FolderStore(folder);
  const catalog = catalogOf([
    { id: "z", formerly: "a" },
    { id: "b" },
    { id: "c", board: "semiconductor" },
    { id: "d" },
  ]);
  const quotes = quotesOf({ z: 13, b: 10.5, d: 3.1 });
  await mustPublish(store, { session: "2026-11-22T00Z", catalog, quotes, minCoverageMicros: 0 });
  const found = await deskJson("diff head~1 head", folder);
  expect(found).toMatchObject({
    added: [],
    removed: [],
    repriced: [{ id: "z", old_usd: 12.5, new_usd: 13, change_pct: 4 }],
    metadata: [
      { id: "z", field: "id", old: "a", new: "z" },
      { id: "z", field: "ticker", old: "A", new: "Z" },
      { id: "z", field: "name", old: "Contract a", new: "Contract z" },
      { id: "z", field: "source_url" },
      { id: "z", field: "formerly", old: null, new: "a" },
    ],
    corrected: [],
  });
  const back = await deskJson("diff head head~1", folder);
  expect(back).toMatchObject({ added: [], removed: [], repriced: [{ id: "a", new_usd: 12.5 }] });
});
