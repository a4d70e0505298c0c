/** `snapshots ls|diff|verify|rollback|prune` as commands, on a folder. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FolderStore } from "../../src/store/folder-store.ts";
import { catalogOf, lines, mustPublish, quotesOf } from "../cli/small-market.ts";
import { CATALOG, desk, deskJson, temporaryFolder } from "./desk.ts";
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

test("diff: added, removed, repriced, metadata, the index and its largest contributors", async () => {
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
    // The mean of 12/10, 10.5/11 and 12/12; a adds 20/3, b takes 4.5455/3.
    index: {
      old_level: 100,
      new_level: 105.1515,
      old_base_utc: "2025-11-20T00:00:00.000Z",
      new_base_utc: "2025-11-21T00:00:00.000Z",
      price_points: 5.1515,
      base_points: 0,
      constituents_points: 0,
      entered: [],
      left: [],
      movers: [
        { id: "a", points: 6.6667 },
        { id: "b", points: -1.5152 },
      ],
    },
  });
  const back = await desk("diff head~1 2026-11-20T00Z", folder);
  expect(back.out).toContain("From 2026-11-21T00Z/r1 to 2026-11-20T00Z/r1\n");
  expect(back.out).toContain("Index 105.1515 to 100\nAdded none\nRemoved d\n");
  expect(back.out).toMatch(/\nRepriced\n.*\na +12 +10 +-16\.67\nb +10\.5 +11 +4\.76\n/);
  const same = await desk("diff head head", folder);
  expect(same.out.split("\n")).toHaveLength(5);
});

test("diff: a contract without a new price does not contribute, even if its base and its weight changed", async () => {
  const folder = temporaryFolder();
  const closes = (...rows: string[]) => lines("id,date,close_usd", ...rows);
  const store = new FolderStore(folder);
  // a's base goes from 10 to 8, d becomes a constituent: neither has another price.
  const year = ["a,2025-11-19,10", "a,2025-11-20,8", "b,2025-11-19,10", "d,2025-11-20,5"];
  const sparse = { minCoverageMicros: 0, closes: closes(...year) };
  const quotes = quotesOf({ a: 12, b: 10, d: 5 });
  await mustPublish(store, { ...sparse, session: "2026-11-20T00Z", catalog: CATALOG, quotes });
  const moved = quotesOf({ a: 12, b: 11, d: 5 });
  await mustPublish(store, { ...sparse, session: "2026-11-21T00Z", quotes: moved });
  const { index } = await deskJson("diff head~1 head", folder);
  expect(index).toEqual({
    old_level: 110,
    new_level: 120,
    old_base_utc: "2025-11-20T00:00:00.000Z",
    new_base_utc: "2025-11-21T00:00:00.000Z",
    // Of a and b, before: 12/10 and 10/10, in the mean 110. With the prices of after: 12/10 and 11/10, 115.
    price_points: 5,
    // Also with the bases of after: 12/8 and 11/10, 130.
    base_points: 15,
    // And with d, 5/5: 120.
    constituents_points: -10,
    entered: ["d"],
    left: [],
    movers: [{ id: "b", points: 5 }],
  });
  const said = await desk("diff head~1 head", folder);
  expect(said.out).toMatch(
    /\nprices +5 +of the constituents of both, against the base of 2025-11-20T00Z\n/,
  );
  expect(said.out).toMatch(/\nbase +15 +from 2025-11-20T00Z to 2025-11-21T00Z\n/);
  expect(said.out).toMatch(/\nconstituents +-10 +entered: d; left: none\n/);
  expect(said.out).toMatch(/Prices that moved the index most\nid +points\nb +5\n/);
});

test("diff: constituents that leave, that a break makes another, and none at all", async () => {
  const folder = temporaryFolder();
  const store = new FolderStore(folder);
  const catalog = catalogOf(["a", "b", "c"]);
  const closes = (...rows: string[]) => lines("id,date,close_usd", ...rows);
  const options = { allowSparse: true, acceptMoves: true, maxGapSessions: 1_000 };
  const session = "2024-11-20T00Z";
  await mustPublish(store, { ...options, session, catalog, quotes: quotesOf({ a: 10 }) });
  await mustPublish(store, {
    ...options,
    session: "2025-11-20T00Z",
    closes: closes("a,2024-11-19,10", "b,2024-11-19,10", "c,2024-11-19,10"),
    quotes: quotesOf({ a: 30, b: 11, c: 12 }),
  });
  const broken = "id,spot_usd,session_utc,break\na,4,2025-11-21T00:00:00.000Z,New unit\n";
  await mustPublish(store, {
    ...options,
    session: "2026-11-21T12Z",
    closes: closes("b,2025-11-20,8"),
    quotes: [broken, quotesOf({ a: 6, b: 12 })],
  });
  // Before: 30/10, 11/10 and 12/10. After: a 6/4 on its new base, b 12/8; c has been carried too long.
  const { index } = await deskJson("diff head~1 head", folder);
  expect(index).toMatchObject({
    old_level: 176.6667,
    new_level: 150,
    // Only b compares: 110 goes to 120, and on its new base to 150.
    price_points: 10,
    base_points: 30,
    // 150 - 150 by the new a, and 110 - 176.6667 by the old a and c.
    constituents_points: -66.6667,
    entered: ["a"],
    left: ["a", "c"],
    movers: [{ id: "b", points: 10 }],
  });
  const empty = await deskJson("diff head~2 head", folder);
  expect(empty.index).toMatchObject({
    old_level: null,
    new_level: 150,
    price_points: null,
    constituents_points: null,
    entered: ["a", "b"],
    left: [],
    movers: null,
  });
  expect((await desk("diff head~2 head", folder)).out).not.toContain("What moved the index");
});

test("diff: the base also moves within a day, and corrections change it", async () => {
  const folder = temporaryFolder();
  const store = new FolderStore(folder);
  const run = { catalog: catalogOf(["a"]), quotes: quotesOf({ a: 12 }) };
  // The base of 00:00 is the close of the 20th, the base of 12:00 the close of the 21st.
  const closes = "id,date,close_usd\na,2025-11-20,10\na,2025-11-21,8\n";
  await mustPublish(store, { ...run, session: "2026-11-21T00Z", closes });
  await mustPublish(store, { ...run, session: "2026-11-21T12Z" });
  const moved = await desk("diff head~1 head", folder);
  expect(moved.out).toMatch(/\nIndex 120 to 150\n/);
  expect(moved.out).toMatch(/\nbase +30 +from 2025-11-21T00Z to 2025-11-21T12Z\n/);
  expect(moved.out).toMatch(/\ncomposite +80 +120 +1 +0 +0 +-\n/);
  const revise = "Typing error";
  const corrected = "id,date,close_usd\na,2025-11-21,6\n";
  await mustPublish(store, { session: "2026-11-21T12Z", closes: corrected, revise });
  const said = await desk("diff head~1 head", folder);
  expect(said.out).toMatch(/\nIndex 150 to 200\n/);
  expect(said.out).toMatch(/\nbase +50 +changed levels of 2025-11-21T12Z\n$/);
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
    index: { movers: [{ id: "z" }] },
  });
  const back = await deskJson("diff head head~1", folder);
  expect(back).toMatchObject({ added: [], removed: [], repriced: [{ id: "a", new_usd: 12.5 }] });
});
