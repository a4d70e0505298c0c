/** Corrections: how they differ from backfill, and what a revision keeps. */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FolderStore } from "../../src/store/folder-store.ts";
import { publicationKey, snapshotText, type SnapshotName } from "../../src/store/paths.ts";
import { copyOf } from "../http/fixture.ts";
import { InterceptedStore } from "../faults/crash-store.ts";
import { append, EMPTY_PRUNE, readHead } from "../store/log-entries.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { headJson, lines, mustPublish, quotesOf, tryPublish } from "./small-market.ts";
import { failure, NOON, published, QUOTES } from "./two-sessions.ts";

const levelsOf = async (store: ObjectStore, id: string): Promise<unknown> =>
  (await headJson(store, `pro/contracts/${id}.json`)).history;

describe("corrections", () => {
  test.each([
    ["a changed level", lines(QUOTES, "a,11.5,2026-11-20T12Z"), "11 would become 11.5"],
    [
      "a level added after the first one",
      lines(QUOTES, "a,11,2026-11-20T00Z"),
      "none would become 11",
    ],
    [
      "a changed basis",
      lines(`${QUOTES},basis`, "a,11,2026-11-20T12Z,estimated"),
      "11 would become 11",
    ],
    [
      "a changed break",
      lines(`${QUOTES},break`, "a,10,2026-11-19T12Z,Since"),
      "10 would become 10",
    ],
    [
      "a level taken back",
      lines(`${QUOTES},basis`, "a,,2026-11-20T12Z,withdrawn"),
      "11 would become none",
    ],
    ["a changed close", undefined, "11 would become 11.5"],
  ])("%s needs --revise", async (_, quotes, change) => {
    const closes = quotes === undefined ? lines("id,date,close_usd", "a,2026-11-20,11.5") : [];
    const run = {
      session: NOON,
      quotes: [quotesOf({ a: 12, b: 5 }), ...(quotes === undefined ? [] : [quotes])],
      closes,
    };
    const store = await published();
    const { code, said } = await failure(store, run);
    expect(code).toBe(4);
    expect(said[0]).toBe(
      'The input changes 1 published level; if it is right, publish with --revise "reason"',
    );
    expect(said[1]).toMatch(
      new RegExp(`^(quotes-2|closes)\\.csv:2: a at 2026-11-\\S+: ${change}$`),
    );
    expect(await mustPublish(store, { ...run, revise: "Source corrected" })).toBe(`${NOON}/r1`);
    const corrections = await headJson(store, "corrections.json");
    expect(corrections).toMatchObject([
      { contract: "a", reason: "Source corrected", corrected_in: `${NOON}/r1` },
    ]);
  });

  test("levels that equal the ledger's change nothing", async () => {
    const store = await published();
    const again = lines(QUOTES, "a,10.0,2026-11-19T12:00:00.000Z", "a,11,2026-11-20T12Z");
    await mustPublish(store, { session: NOON, quotes: [quotesOf({ a: 12, b: 5 }), again] });
    expect(await headJson(store, "corrections.json")).toEqual([]);
  });

  test("levels before the contract's first one are backfill", async () => {
    const store = await published();
    await mustPublish(store, {
      session: NOON,
      quotes: quotesOf({ a: 12, b: 5 }),
      closes: lines("id,date,close_usd", "a,2026-11-18,9", "b,2026-11-19,4", "b,2026-11-20,4.5"),
    });
    expect(await headJson(store, "corrections.json")).toEqual([]);
    expect(await levelsOf(store, "b")).toEqual([
      { date: "2026-11-19", close_usd: 4 },
      { date: "2026-11-20", close_usd: 4.5 },
      { date: "2026-11-21", close_usd: 5 },
    ]);
  });

  test("a revision keeps the levels that it does not name", async () => {
    const store = await published();
    await mustPublish(store, {
      quotes: lines(QUOTES, "a,11.5,2026-11-20T12Z"),
      revise: "Typing error",
    });
    const a = await headJson(store, "pro/contracts/a.json");
    expect(a.breaks).toEqual([
      {
        session_utc: "2026-11-20T12:00:00.000Z",
        reason: "New mask",
        unit: "USD per piece",
        capacity_gb: null,
      },
    ]);
    expect(a.history.map((close: { close_usd: number }) => close.close_usd)).toEqual([
      10, 11.5, 12,
    ]);
    expect(a.corrections).toEqual([
      {
        session_utc: "2026-11-20T12:00:00.000Z",
        old_usd: 11,
        new_usd: 11.5,
        reason: "Typing error",
        corrected_in: "2026-11-21T00Z/r2",
        publication: 3,
      },
    ]);
    // Starter sees the session before, with the correction and the basis of the old level.
    const record = (await headJson(store, "starter/board.json")).memory[0];
    expect(record).toMatchObject({ spot_usd: 11.5, basis: "assessed" });
    expect((await headJson(store, "pro/board.json")).counts.memory).toBe(2);
  });

  test("a withdrawn level is replaced by the one before, counts once, and can come back", async () => {
    const store = await published();
    const run = {
      quotes: lines("id,spot_usd,basis", "a,,withdrawn"),
      revise: "Wrong contract",
      allowSparse: true,
    };
    expect(await mustPublish(store, run)).toBe("2026-11-21T00Z/r2");
    expect((await headJson(store, "pro/board.json")).memory[0]).toMatchObject({
      spot_usd: 11,
      basis: "carried",
      as_of: "2026-11-20",
    });
    expect((await tryPublish(store, run)).result?.outcome).toBe("unchanged");
    const back = { quotes: quotesOf({ a: 12 }) };
    expect((await failure(store, back)).code).toBe(4);
    await mustPublish(store, { ...back, revise: "It was right" });
    const changes = await headJson(store, "corrections.json");
    expect(
      changes.map((item: Record<string, unknown>) => [item["old_usd"], item["new_usd"]]),
    ).toEqual([
      [12, null],
      [null, 12],
    ]);
  });

  test("a run whose number is taken names the number that it gets", async () => {
    const inner = await published();
    let isRaced = false;
    const store = new InterceptedStore(inner, async ({ kind, key }, run) => {
      if (kind === "create" && key === publicationKey(3) && !isRaced) {
        isRaced = true;
        await append(inner, EMPTY_PRUNE);
      }
      return run();
    });
    const quotes = lines(QUOTES, "a,11.5,2026-11-20T12Z");
    await mustPublish(store, { quotes, revise: "Typing error" });
    expect((await readHead(inner))?.number).toBe(4);
    for (const path of ["corrections.json", "pro/corrections.json"]) {
      const file = await headJson(inner, path);
      const [{ publication, corrected_in }] = file.corrections ?? file;
      expect([isRaced, path, publication]).toEqual([true, path, 4]);
      expect(corrected_in).toBe(snapshotText((await readHead(inner)) as SnapshotName));
    }
  });

  test("corrections of an older program have no number, and new ones have", async () => {
    const released = join(import.meta.dirname, "../released/0.2.0/store");
    const store = await copyOf(new FolderStore(released));
    const older = await headJson(store, "corrections.json");
    expect(older.length).toBeGreaterThan(1);
    const number = ((await readHead(store))?.number ?? 0) + 1;
    await mustPublish(store, {
      quotes: lines(QUOTES, "ddr5-16gb-spot,3.02,2026-11-20T00Z"),
      revise: "Typing error",
      nowMs: Date.parse("2026-11-21T00:20:00Z"),
    });
    const all = await headJson(store, "corrections.json");
    const added = all.slice(older.length);
    expect(all.slice(0, older.length)).toEqual(
      older.map((item: object) => ({ ...item, publication: null })),
    );
    expect(added).toMatchObject([{ contract: "ddr5-16gb-spot", publication: number }]);
    const listed = (await headJson(store, "pro/corrections.json")).corrections;
    expect(listed.map((item: { publication: number | null }) => item.publication)).toEqual([
      ...older.map(() => null),
      number,
    ]);
  });

  test("withdrawing a level that does not exist, or with a level or a break, is an error", async () => {
    const store = await published();
    const none = lines(
      `${QUOTES},basis,break`,
      "a,,2026-11-20T00Z,withdrawn,",
      "b,5,,withdrawn,",
      "b,,,withdrawn,New unit",
    );
    const { code, said } = await failure(store, { quotes: none, revise: "x" });
    expect([code, said.slice(1)]).toEqual([
      2,
      [
        "quotes.csv:2: a has no level for 2026-11-20T00Z that could be withdrawn",
        'quotes.csv:3 spot_usd "5": expected an empty cell beside basis withdrawn',
        'quotes.csv:4 break "New unit": expected an empty cell beside basis withdrawn',
      ],
    ]);
  });

  test("a contract whose only level is withdrawn leaves the board", async () => {
    const store = await published();
    const quotes = lines("id,spot_usd,basis", "b,,withdrawn");
    await mustPublish(store, { quotes, revise: "Never traded", allowSparse: true });
    expect((await headJson(store, "pro/board.json")).counts.memory).toBe(1);
    expect((await headJson(store, "manifest.json")).counts.without_level).toBe(1);
  });
});
