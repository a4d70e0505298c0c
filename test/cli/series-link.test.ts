/** Stores of earlier releases go on: the last day of their series is a link. */
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { rollBack } from "../../src/desk/rollback.ts";
import { parseDate, type Day } from "../../src/market/session.ts";
import { rerender, type Renewal } from "../../src/publish/rerender.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { readHead } from "../store/log-entries.ts";
import { closeRows, publishAt, rowsOf, seriesOf } from "./november.ts";
import { headJson, lines, quotesOf, tryPublish } from "./small-market.ts";

const CLOCK = { now: () => Date.parse("2026-11-21T12:10:00Z") };
const NEXT = "2026-11-21T12Z";
const quotes = quotesOf({ "ddr5-16gb-spot": 3.2, "tlc-1tb": 119, "n3-wafer": 11_200 });
const OF_TODAY = { from: null, members: true };
const dayOf = (date: string): Day => parseDate(date) as Day;

interface Point {
  readonly date: string;
  readonly close: number;
}
const closeOn = (history: readonly Point[], day: string): number | undefined =>
  history.find(({ date }) => date === day)?.close;

describe.each(["0.2.0", "0.3.0"])("a store of %s", (version) => {
  async function frozen(work: (store: FolderStore) => Promise<void>): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), "chipboard-series-"));
    const stored = join(import.meta.dirname, "../released", version, "store");
    await cp(stored, join(folder, "store"), { recursive: true });
    await work(new FolderStore(join(folder, "store")));
    await rm(folder, { recursive: true });
  }
  /** A contract of 0.3.0 that is carried has part in each move. */
  const root = (product: number): number => product ** (version === "0.2.0" ? 1 / 2 : 1 / 3);
  const restate = (store: FolderStore, restates: NonNullable<Renewal["restates"]>) =>
    rerender("One method", { dryRun: false, restates }, store, CLOCK, () => {});

  test("keeps its closes and its base, and goes on from the levels that were used", () =>
    frozen(async (store) => {
      const { history, base } = await seriesOf(store);
      await publishAt(store, NEXT, { quotes });
      const series = await seriesOf(store);
      expect(series.base).toEqual(base);
      expect(series.history.slice(0, -1)).toEqual(history);
      // At noon of the 20th 3.01, 59.5 and 11000 were in force. tlc-1tb has a break, nor-old is delisted.
      const close = history.at(-1).close * root((3.2 / 3.01) * (11_200 / 11_000));
      expect(series.history.at(-1).date).toBe("2026-11-21");
      expect(series.adjustments).toEqual([]);
      const publication = (await readHead(store))?.number;
      expect(series.link).toMatchObject({ date: "2026-11-20", publication });
      expect(series.link.levels).toContainEqual({
        id: "n3-wafer",
        session_utc: "2026-11-20T00:00:00.000Z",
        usd: 11_000,
        break: false,
      });
      const { link } = await seriesOf(store, "composite", "starter");
      expect(link).toEqual({ date: "2026-11-20", publication });
      const closes = await rowsOf(store, "pro/indices.csv");
      const [entry = ""] = closes.splice(series.history.length - 1, 1);
      expect(entry.endsWith(`,${publication}`)).toBe(true);
      expect(closes[0]).toMatch(/,100,$/);
      expect(await rowsOf(store, "pro/members.csv")).toContain("composite,n3-wafer,2026-11-20,,45");
      expect(series.history.at(-1).close).toBeCloseTo(close, 4);
    }));

  test("has a correction of a level before the link in the next close", () =>
    frozen(async (store) => {
      const { history } = await seriesOf(store);
      const level = lines("id,session_utc,spot_usd", "n3-wafer,2026-11-20T00Z,5600");
      await publishAt(store, NEXT, { quotes: [level, quotes], revise: "The source corrected it" });
      const close = history.at(-1).close * root((3.2 / 3.01) * (11_200 / 11_000));
      expect((await seriesOf(store)).history.at(-1).close).toBeCloseTo(close, 4);
    }));

  test("takes no relative from a kept level whose break has come since", () =>
    frozen(async (store) => {
      const { history } = await seriesOf(store);
      const row = "n3-wafer,2026-11-20T00Z,11000,Other wafers";
      const told = lines("id,session_utc,spot_usd,break", row);
      await publishAt(store, NEXT, { quotes: [told, quotes], revise: "The source told it" });
      const close = history.at(-1).close * (3.2 / 3.01) ** (version === "0.2.0" ? 1 : 1 / 2);
      expect((await seriesOf(store)).history.at(-1).close).toBeCloseTo(close, 4);
      await publishAt(store, "2026-11-22T12Z", { quotes: quotesOf({ "n3-wafer": 11_300 }) });
      const after = close * (11_300 / 11_200) ** (version === "0.2.0" ? 1 / 3 : 1 / 4);
      expect((await seriesOf(store)).history.at(-1).close).toBeCloseTo(after, 3);
    }));

  test("keeps the closes of its last session through a revision", () =>
    frozen(async (store) => {
      const before = await headJson(store, "pro/indices/composite.json");
      const revise = "The source corrected it";
      const run = { quotes, closes: closeRows("tlc-1tb,2026-11-11,50"), revise };
      await publishAt(store, "2026-11-21T00Z", run);
      const after = await headJson(store, "pro/indices/composite.json");
      expect(after.series.history).toEqual(before.series.history);
      const again = await rerender("New program", { dryRun: false }, store, CLOCK, () => {});
      expect(again.outcome).toBe("unchanged");
    }));

  test("is restated from its link on, or with its members given anew", () =>
    frozen(async (store) => {
      const { base, history } = await seriesOf(store, "dram");
      expect((await restate(store, { from: null, members: false })).outcome).toBe("unchanged");
      const { publication } = await restate(store, OF_TODAY);
      const series = await seriesOf(store, "dram");
      expect(series.base).toEqual(base);
      const from = base.date;
      const reason = "One method";
      const last = { publication, reason, from, members: true };
      expect(series.restatements.at(-1)).toEqual(last);
      if (version !== "0.2.0") return;
      // It dropped the move from 2 to 2.4 over eleven months.
      expect(closeOn(history, "2026-10-12")).toBe(100);
      expect(closeOn(series.history, "2026-10-12")).toBe(120);
    }));

  test("has its link moved by a restatement that begins before it", () =>
    frozen(async (store) => {
      const { history } = await seriesOf(store, "dram");
      const level = "ddr5-16gb-spot,2026-11-11,2.5";
      await publishAt(store, NEXT, { quotes, closes: closeRows(level), revise: "Corrected" });
      const from = dayOf("2026-11-01");
      await expect(restate(store, { from, members: false })).rejects.toMatchObject({ exitCode: 2 });
      await restate(store, { from, members: true });
      const series = await seriesOf(store, "dram");
      const kept = closeOn(history, "2026-10-31") as number;
      expect(closeOn(series.history, "2026-10-31")).toBe(kept);
      expect(series.history.find(({ date }: Point) => date > "2026-11-01").close).toBe(kept);
      // 0.3.0 has a contract more, which stands still.
      const moved = (2.5 / 2.4) ** (version === "0.2.0" ? 1 : 1 / 2);
      expect(closeOn(series.history, "2026-11-11")).toBeCloseTo(kept * moved, 4);
      expect(series.restatements.at(-1)).toMatchObject({ from: "2026-11-01", members: true });
    }));

  test("can be rolled back to, and goes on from there", () =>
    frozen(async (store) => {
      const { history: before } = await seriesOf(store, "dram");
      await publishAt(store, NEXT, { quotes });
      const closes = (await seriesOf(store, "dram")).history;
      await rollBack(store, "2026-11-21T00Z/r1", "back to the older release", CLOCK);
      const { code } = await tryPublish(store, { session: NEXT, quotes });
      expect(code).toBe(4);
      await publishAt(store, NEXT, { quotes, revise: "again" });
      const { history } = await seriesOf(store, "dram");
      expect(history).toEqual(closes);
      expect(history.slice(0, -1)).toEqual(before);
    }));
});
