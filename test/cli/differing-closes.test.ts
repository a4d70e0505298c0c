/** Closes that corrections have overtaken: the manifest, the summary, `diff` and the report tell them. */
import { expect, test } from "vitest";
import { compareSnapshots } from "../../src/desk/compare.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { plainBytes } from "../store/stored-file.ts";
import { summaryLines, summaryMarkdown } from "../../src/publish/summary.ts";
import { catalogOf, headJson, lines, mustPublish, quotesOf, tryPublish } from "./small-market.ts";

const NOTE =
  "the next close brings these corrections; earlier closes stay unless you publish with --restate-series";

/** Contract a had a misprint on the 17th, contract b of another index did not. */
async function misprinted(): Promise<MemoryStore> {
  const store = new MemoryStore();
  const catalog = catalogOf(["a", { id: "b", segment: "NAND" }]);
  const moves = { acceptMoves: true };
  await mustPublish(store, {
    session: "2026-11-16T12Z",
    catalog,
    quotes: quotesOf({ a: 10, b: 5 }),
  });
  await mustPublish(store, {
    session: "2026-11-17T12Z",
    quotes: quotesOf({ a: 1000, b: 5 }),
    ...moves,
  });
  expect((await headJson(store, "manifest.json")).differing_closes).toEqual([]);
  return store;
}

const CORRECTION = {
  closes: lines("id,date,close_usd", "a,2026-11-17,10"),
  revise: "A misprint",
  acceptMoves: true,
};

test("a correction without a close: the last close is told with its value", async () => {
  const store = await misprinted();
  const run = { session: "2026-11-18T00Z", quotes: quotesOf({ a: 10, b: 5 }), ...CORRECTION };
  const { result } = await tryPublish(store, run);
  const composite = {
    index: "composite",
    from: "2026-11-17",
    largest_pct: -90,
    last: "2026-11-17",
    close: "1000",
    value: "100",
  };
  const dram = { ...composite, index: "dram", largest_pct: -99, close: "10000" };
  expect((await headJson(store, "manifest.json")).differing_closes).toEqual([composite, dram]);
  if (result === null) throw new Error("not published");
  expect(summaryLines(result, "x").filter((line) => line.startsWith("Series"))).toEqual([
    "Series     composite: closes from 2026-11-17 on differ by up to -90 percent from the values as known now; the close of 2026-11-17 is 1000, its value 100",
    "Series     dram: closes from 2026-11-17 on differ by up to -99 percent from the values as known now; the close of 2026-11-17 is 10000, its value 100",
    `Series     ${NOTE}`,
  ]);
  expect(summaryMarkdown(result, "x")).toContain(
    `| dram | 2026-11-17 | -99 | 2026-11-17 | 10000 | 100 |\n\n${NOTE}.\n`,
  );
  const { series } = await compareSnapshots(store, "head~1", "head");
  expect(series.differing).toEqual([composite, dram]);
  const report = String(await plainBytes(store, "sessions/2026-11-18T00Z/r1/report.html"));
  expect(report.replaceAll(/<[^>]*>/g, "")).toContain(
    "dram: published closes from 2026-11-17 on differ by up to -99 percent from the values as known now. The close of 2026-11-17 is 10000, its value 100.",
  );
});

test("the next close brings it, the earlier one is told until a restatement", async () => {
  const store = await misprinted();
  const quotes = quotesOf({ a: 10, b: 5 });
  await mustPublish(store, { session: "2026-11-18T12Z", quotes, ...CORRECTION });
  const told = async () => (await headJson(store, "manifest.json")).differing_closes;
  expect((await told())[1]).toEqual({
    index: "dram",
    from: "2026-11-17",
    largest_pct: -99,
    last: "2026-11-18",
    close: "100",
    value: "100",
  });
  await mustPublish(store, { session: "2026-11-19T00Z", quotes });
  expect(await told()).toHaveLength(2);
  await mustPublish(store, { session: "2026-11-19T12Z", quotes, restateSeries: "A misprint" });
  expect(await told()).toEqual([]);
});
