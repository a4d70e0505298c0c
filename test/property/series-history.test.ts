/**
 * Index series, their members, and what readers need for the next close: over random histories of a store, compared
 * after each publication with the naive calculation.
 */
import { test } from "@fast-check/vitest";
import { expect } from "vitest";
import { rerender } from "../../src/publish/rerender.ts";
import { catalogOf, headJson, mustPublish } from "../cli/small-market.ts";
import { ANY_TIME } from "../store/log-entries.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { runs } from "./runs.ts";
import { histories, History } from "./series-steps.ts";

test.prop([histories], runs(600))(
  "series are as the naive calculation has them",
  async (wanted) => {
    await new History().go(wanted);
  },
);

test("an index that a restatement leaves without closes lists it", async () => {
  const store = new MemoryStore();
  const [first, next] = ["2026-11-21T00Z", "2026-11-22T12Z"];
  const [between, last] = ["2026-11-23T00Z", "2026-11-23T12Z"];
  const nowMs = Date.parse("2026-11-23T12:05:00.000Z");
  const run = { nowMs, allowSparse: true, accept: [] };
  const catalog = catalogOf(["a", "b"]);
  const closes = "id,date,close_usd\na,2026-11-20,1\n";
  await mustPublish(store, { ...run, session: first, catalog, closes });
  const accept = (["delisting", "free"] as const).map((gate) => ({ gate, ids: null }));
  await mustPublish(store, { ...run, session: next, catalog: catalogOf(["b"]), accept });
  const series = async (id = "composite") =>
    (await headJson(store, `pro/indices/${id}.json`)).series;
  expect((await series()).history).toHaveLength(3);

  const renewal = { dryRun: false, timeGates: ANY_TIME, restates: { from: null, members: true } };
  const { outcome } = await rerender("Taken out", renewal, store, { now: () => nowMs }, () => {});
  expect(outcome).toBe("published");
  const restatements = [{ publication: 3, reason: "Taken out" }];
  for (const id of ["composite", "dram"]) {
    expect(await series(id), id).toMatchObject({ base: null, history: [], restatements });
  }
  // For a session the catalog has no contract of the index.
  const moved = catalogOf([{ id: "b", segment: "NAND" }]);
  await mustPublish(store, { ...run, session: between, catalog: moved });
  const quotes = "id,spot_usd\nb,2\n";
  await mustPublish(store, { ...run, session: last, catalog: catalogOf(["b"]), quotes });
  const base = { date: "2026-11-23", level: 100 };
  for (const id of ["composite", "dram"]) {
    expect(await series(id), id).toMatchObject({ base, restatements });
  }
});

test("days before a restatement that no session has published have the present members", async () => {
  const step = { kind: "publish", gap: 0, changes: [], catalog: [] as unknown[], restates: null };
  const usual = { ...step, withdrawn: null, limitDays: 45, asCloses: false };
  const b = { row: null, contract: 1, back: 2, usd: "1.1", text: "" };
  const moved = (kind: string, contract: number, segment: string) => [
    { kind, contract, id: "a", segment, session: -6, cadence: "", limit: "" },
  ];
  // An index without contracts for a while returns with a contract that is away on the restatement's first day.
  await new History().go({
    start: null,
    contracts: 2,
    levels: [{ id: "a", session: 41_556, usd: "1", text: "" }],
    steps: [
      { ...usual, changes: [b] },
      { ...usual, gap: 100, catalog: moved("rename-segment", 1, "One") },
      { ...usual, changes: [{ ...b, contract: 0, back: 0, usd: "2" }] },
      { ...usual, gap: 2 },
      {
        ...usual,
        gap: 2,
        catalog: moved("segment", 0, "Two"),
        restates: { back: 3, members: true },
      },
    ],
  } as Parameters<History["go"]>[0]);
});
