/** The demonstration: its contracts, its times of publication, and its notice. */
import { readFileSync } from "node:fs";
import { parse } from "csv-parse/sync";
import { describe, expect, it } from "vitest";
import { demoCatalogPath, readDemoContracts, readDemoEvents } from "../../src/demo/demo-catalog.ts";
import { DEMO_NOTICE, isOfDemo } from "../../src/demo/notice.ts";
import { publishDemo } from "../../src/demo/publish-demo.ts";
import { readCatalog } from "../../src/feed/catalog.ts";
import { Complaints } from "../../src/feed/complaints.ts";
import { sourceOf } from "../../src/feed/source.ts";
import { createClock } from "../../src/lib/clock.ts";
import { sessionKey } from "../../src/market/session.ts";
import type { Session } from "../../src/market/session.ts";
import { judgementText } from "../../src/snapshot/judgement.ts";
import { isPublication } from "../../src/snapshot/log/entry.ts";
import { readLogBackwards } from "../../src/snapshot/log/walk.ts";
import { readManifest } from "../../src/snapshot/stored-snapshot.ts";
import { MemoryStore } from "../store/memory-store.ts";

const GIGABYTES: Readonly<Record<string, number>> = { K: 1e-6, M: 1e-3, G: 1, T: 1e3 };

const eventsOf = (what: string) => readDemoEvents().filter((event) => event.what === what);

describe("the demonstration catalog", () => {
  const rows: Record<string, string>[] = parse(readFileSync(demoCatalogPath), { columns: true });

  it("has the columns of a catalog, and at least 110 rows in board order", () => {
    expect(Object.keys(rows[0] ?? {})).toEqual(
      (
        "id,ticker,name,board,segment,unit,ai_exposure_pct,source,source_url," +
        "capacity_gb,max_carry_days,free,price_type,delisted_on,formerly,cadence_days"
      ).split(","),
    );
    expect(rows.length).toBeGreaterThanOrEqual(110);
    expect(rows.map((row) => row["board"])).toEqual(rows.map((row) => row["board"]).toSorted());
    expect(new Set(rows.map((row) => row["board"]))).toEqual(new Set(["memory", "semiconductor"]));
  });

  it("is a valid input of publish", async () => {
    const complaints = new Complaints();
    const { contracts } = await readCatalog(sourceOf(demoCatalogPath), complaints);
    complaints.raise();
    expect(contracts.map(({ id }) => id)).toEqual(rows.map((row) => row["id"]));
  });

  it("has exactly the segments of the memory board there", () => {
    const segments = rows.filter((row) => row["board"] === "memory").map((row) => row["segment"]);
    expect([...new Set(segments)].toSorted()).toEqual(
      ["DRAM", "HBM", "NAND", "LPDDR", "NOR", "eMMC", "SSD"].toSorted(),
    );
  });

  it.each(["id", "ticker", "name"])("has unique values of %s", (column) => {
    expect(new Set(rows.map((row) => row[column])).size).toBe(rows.length);
  });

  it.each(rows)("$id is valid", (row) => {
    expect(row["id"]).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
    expect(row["ticker"]).toMatch(/^[A-Z0-9]+(-[A-Z0-9]+)*$/);
    expect(row["unit"]).toMatch(/^USD per /);
    expect(row["ai_exposure_pct"]).toMatch(/^(100|\d{1,2})$/);
    expect(row["source"]).toMatch(
      /^Illustrative, (?:anchored at |by the price of its (?:chips|dies)$)/,
    );
    expect(["http:", "https:"]).toContain(new URL(row["source_url"] as string).protocol);
    expect(row["free"]).toMatch(/^(true)?$/);
    if (row["capacity_gb"] !== "") {
      // A die of 256 Mbit is 32 MB: the capacity belongs to the unit.
      const [, amount, prefix = "", kind] =
        /\((\d+) ([KMGT])(bit|B)\)$/.exec(row["unit"] as string) ?? [];
      const gigabytes = Number(amount) * (GIGABYTES[prefix] ?? Number.NaN);
      expect(Number(row["capacity_gb"])).toBeCloseTo(kind === "bit" ? gigabytes / 8 : gigabytes, 9);
    }
  });

  it("says the renaming and the delisting of events.csv", () => {
    const told = rows.flatMap(({ id, delisted_on: day, formerly }) => [
      ...(formerly === "" ? [] : [[id, "renaming", formerly]]),
      ...(day === "" ? [] : [[id, "delisting", `${day}T00Z`]]),
    ]);
    const events = [...eventsOf("renaming"), ...eventsOf("delisting")];
    const expected = events.map(({ id, what, text, session: at }) => [
      id,
      what,
      what === "renaming" ? text : sessionKey(at as Session),
    ]);
    expect(told.toSorted()).toEqual(expected.toSorted());
    expect(readDemoEvents().map(({ what }) => what)).toEqual(
      "break renaming delisting break misprint".split(" "),
    );
  });

  it("has the price type of each source", () => {
    for (const { id, source, price_type: type } of rows) {
      if (/by the price of its/.test(source ?? "")) continue;
      const expected = /spot|CFM/.test(source ?? "")
        ? "spot"
        : (/contract|other/.exec(source ?? "")?.[0] ??
          (/press/.test(source ?? "") ? "other" : "retail"));
      expect([id, type]).toEqual([id, expected]);
    }
    expect(new Set(rows.map((row) => row["price_type"])).size).toBe(4);
  });

  it("marks exactly ten contracts as free, over several segments, eight of them priced at least on weekdays", () => {
    const free = rows.filter((row) => row["free"] === "true");
    expect(free).toHaveLength(10);
    expect(new Set(free.map((row) => row["segment"])).size).toBeGreaterThanOrEqual(6);
    const schedules = new Map(readDemoContracts().map(({ id, schedule }) => [id, schedule]));
    const often = free.filter(
      (row) => schedules.get(row["id"] as string)?.endsWith("ly") === false,
    );
    expect(often.length).toBeGreaterThanOrEqual(8);
  });
});

describe("publishing the demonstration", () => {
  /** Publishes up to `now`, or only `most` sessions; gives the log: number, session, time, corrections. */
  async function log(store: MemoryStore, now: string, most = 99): Promise<string[]> {
    let count = 0;
    const sessions = publishDemo(store, createClock(now), () => {});
    while (count < most && (await sessions.next()).done !== true) count += 1;
    const entries = await Array.fromAsync(readLogBackwards(store), ({ entry }) => entry);
    return entries.reverse().map((entry) => {
      if (!isPublication(entry)) throw new Error("a publication was expected");
      const { number, session: at, corrections, reason } = entry;
      expect(reason).toBe(
        corrections === 0 ? null : "Illustrative: the source corrected a misprint",
      );
      return `${number} ${sessionKey(at)} ${entry.at.slice(0, 16)} ${corrections}`;
    });
  }

  it("takes place five minutes into each session, or now if that is earlier", async () => {
    expect(await log(new MemoryStore(), "2021-11-20T00:02:00Z")).toEqual([
      "1 2021-11-18T12Z 2021-11-18T12:05 0",
      "2 2021-11-19T00Z 2021-11-19T00:05 0",
      "3 2021-11-19T12Z 2021-11-19T12:05 1",
      "4 2021-11-20T00Z 2021-11-20T00:02 0",
    ]);
  });

  it("goes on after a long rest: only the first session lets the gap through", async () => {
    const store = new MemoryStore();
    await log(store, "2021-11-20T00:07:00Z", 1);
    await log(store, "2021-12-20T00:07:00Z", 3);
    const found = [];
    for await (const { entry } of readLogBackwards(store)) {
      if (!isPublication(entry)) throw new Error("a publication was expected");
      const { judgements, options } = await readManifest(store, entry, entry.manifest_sha256);
      found.push([judgements.map(judgementText), options["max_gap_sessions"]]);
    }
    expect(found).toEqual([
      [[], 14],
      [["gap: 60 sessions, limit 14"], 14],
      [[], 14],
    ]);
  });

  it("corrects the misprint once, also if it was stopped before", async () => {
    const store = new MemoryStore();
    const begun = ["1 2021-11-18T12Z 2021-11-18T12:05 0", "2 2021-11-19T00Z 2021-11-19T00:05 0"];
    expect(await log(store, "2021-11-20T00:07:00Z", 2)).toEqual(begun);
    const days = await log(store, "2021-11-24T13:00:00Z");
    expect(days).toEqual([
      ...begun,
      "3 2021-11-23T00Z 2021-11-23T00:05 1",
      "4 2021-11-23T12Z 2021-11-23T12:05 0",
      "5 2021-11-24T00Z 2021-11-24T00:05 0",
      "6 2021-11-24T12Z 2021-11-24T12:05 0",
    ]);
    expect(await log(store, "2021-11-25T00:05:00Z")).toEqual([
      ...days,
      "7 2021-11-25T00Z 2021-11-25T00:05 0",
    ]);
  });
});

describe("the notice", () => {
  it("says in one sentence that the prices are made up; the sentence of 0.2.0 is also known", () => {
    expect(DEMO_NOTICE).toBe("Illustrative data: real contracts, made-up prices.");
    expect(isOfDemo(DEMO_NOTICE)).toBe(true);
    expect(isOfDemo("Demonstration data, not market data: the contracts are real")).toBe(true);
    expect(isOfDemo("Example Prices")).toBe(false);
    for (const { what, text } of readDemoEvents())
      if (what === "break" || what === "misprint") expect(text).toMatch(/^Illustrative: /);
  });
});
