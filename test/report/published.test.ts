/** The report as a file of the snapshot: it has the numbers of the other files, and a replay gives the same bytes. */
import { describe, expect, test } from "vitest";
import { readHead } from "../store/log-entries.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { snapshotText } from "../../src/store/paths.ts";
import { catalogOf, headJson, mustPublish, tryPublish } from "../cli/small-market.ts";
import { textOf } from "./markets.ts";

const IDS = ["a-1", "b-2", "c-3", "d-4", "e-5"];
const CATALOG = catalogOf(
  IDS.map((id, at) => ({ id, board: at > 2 ? "semiconductor" : "memory" })),
);

/** A year of levels, every ten days and twice on the last two; c-3 breaks, e-5 is listed late. */
const ROWS: readonly (readonly [session: string, id: string, usd: string, reason: string])[] = [
  ...Array.from({ length: 37 }, (_, step) => {
    const day = new Date(Date.UTC(2025, 10, 20 + step * 10)).toISOString().slice(0, 10);
    return IDS.slice(0, 4).map((id, at) => {
      const usd = (1.25 + at * 7 + Math.abs((step % 12) - 6) / (at + 8)).toFixed(4);
      return [`${day}T12Z`, id, usd, id === "c-3" && step === 30 ? "New unit" : ""] as const;
    });
  }).flat(),
  ["2026-11-20T12Z", "a-1", "1.5", ""],
  ["2026-11-20T12Z", "b-2", "8.5", ""],
  ["2026-11-21T00Z", "a-1", "1.75", ""],
  ["2026-11-21T00Z", "b-2", "8.123456", ""],
  ["2026-11-21T00Z", "d-4", "22.5", ""],
  ["2026-11-21T00Z", "e-5", "900", ""],
];
const quotes = (rows: typeof ROWS): string =>
  [
    "id,session_utc,spot_usd,break",
    ...rows.map(([at, id, usd, why]) => `${id},${at},${usd},${why}`),
  ]
    .join("\n")
    .concat("\n");

async function headReport(store: ObjectStore): Promise<string> {
  const head = await readHead(store);
  if (head === null) throw new Error("The store is empty");
  return String(await store.get(`sessions/${snapshotText(head)}/report.html`));
}

async function published(): Promise<MemoryStore> {
  const store = new MemoryStore();
  await mustPublish(store, {
    catalog: CATALOG,
    quotes: quotes(ROWS),
    attribution: 'Levels by "A & B"',
  });
  return store;
}

test("its numbers equal the board's, the index's and the manifest's", async () => {
  const store = await published();
  const report = await headReport(store);
  const board = await headJson(store, "pro/board.json");
  const manifest = await headJson(store, "manifest.json");
  const { indices } = await headJson(store, "pro/indices.json");

  const rows = [...report.matchAll(/<tr data-segment[^]*?<\/tr>/g)].map(([row]) => {
    const cells = row.match(/<t[dh][^>]*>[^]*?<\/t[dh]>/g) ?? [];
    const text = (at: number): string => (cells[at] ?? "").replace(/<[^>]*>/g, "");
    const value = (at: number): number | null => {
      const given = /data-value="([^"]*)"/.exec(cells[at] ?? "")?.[1];
      // The visible number is the same.
      const seen = text(at).replace("\u{2212}", "-");
      if (given === undefined) expect(seen).toBe("n/a");
      else expect(Number(seen)).toBe(Number(given));
      return given === undefined ? null : Number(given);
    };
    return {
      id: /<code>([^<]*)</.exec(row)?.[1],
      name: /<bdi>([^<]*)</.exec(row)?.[1],
      segment: text(1),
      spot_usd: value(2),
      chg_24h_pct: value(3),
      chg_30d_pct: value(4),
      chg_yoy_pct: value(5),
      basis: text(6),
      as_of: text(7),
    };
  });
  expect(rows).toHaveLength(5);
  const records = [...board.memory, ...board.semiconductor];
  expect(rows).toEqual(
    records.map((record) =>
      Object.fromEntries(
        Object.keys(rows[0] ?? {}).map((field) => [
          field,
          (record as (typeof rows)[0])?.[field as "id"],
        ]),
      ),
    ),
  );
  expect(rows.some((row) => row.chg_yoy_pct === null)).toBe(true);
  expect(rows.some((row) => row.chg_yoy_pct !== null)).toBe(true);

  const figures = Object.fromEntries(
    [...report.matchAll(/<dt>([^<]*)<\/dt>\s*<dd>([^<]*)<\/dd>/g)].map(([, name, value]) => [
      name,
      Number(value),
    ]),
  );
  const { counts } = manifest;
  expect(figures).toEqual({
    "Composite, points": Number(indices[0].series_close.toFixed(2)),
    Contracts: counts.contracts,
    Memory: counts.memory,
    Semiconductor: counts.semiconductor,
    Given: counts.given,
    "Given unchanged": manifest.movement.unchanged,
    Carried: counts.carried,
    Dropped: counts.dropped,
    Delisted: counts.delisted,
    "No level so far": counts.without_level,
  });
  expect(indices.map(({ id }: { id: string }) => id)).toContain("composite");
  const shown = [...report.matchAll(/<tr data-id="[^]*?<\/tr>/g)].map(([row]) => ({
    id: /data-id="([^"]*)"/.exec(row)?.[1],
    values: [...row.matchAll(/data-value="([^"]*)"/g)].map(([, value]) => value),
  }));
  const listed = indices.map((index: Record<string, number | null>) => ({
    id: index["id"],
    // Changes are of the series, as on the pages.
    values: [`${index["series_close"] ?? ""}`],
  }));
  expect(shown).toEqual(listed);
  // People see two decimals, as on the pages.
  expect(textOf(report, "indices")).toContain(`|${indices[0].series_close.toFixed(2)}|`);
  expect(report).toContain("<bdi>Levels by &quot;A &amp; B&quot;</bdi>");
  expect(report).toContain(board.license);
  expect(manifest.files.find(({ path }: { path: string }) => path === "report.html")).toMatchObject(
    { media_type: "text/html; charset=utf-8", tier: null },
  );
});

test("a replay session by session makes the same page", async () => {
  const store = new MemoryStore();
  const sessions = [...new Set(ROWS.map(([session]) => session))].sort();
  for (const session of sessions) {
    await mustPublish(store, {
      catalog: CATALOG,
      quotes: quotes(ROWS.filter((row) => row[0] === session)),
      session,
      attribution: 'Levels by "A & B"',
      allowSparse: true,
      acceptMoves: true,
      maxGapSessions: 1_000,
    });
  }
  // What this run did to the series is another thing.
  const withoutRun = (report: string): string =>
    report.replace(/<p>The series (?:are new|go on from)[^\n]*\n/, "");
  expect(withoutRun(await headReport(store))).toBe(withoutRun(await headReport(await published())));
});

describe("a correction", () => {
  test("is marked, and the same publish again finds nothing to do", async () => {
    const store = await published();
    const run = {
      catalog: CATALOG,
      quotes: quotes([["2026-11-20T12Z", "a-1", "1.6", ""]]),
      revise: "Typing error",
      acceptMoves: true,
    };
    expect((await tryPublish(store, run)).result?.outcome).toBe("published");
    const report = await headReport(store);
    expect(textOf(report, "corrections")).toContain(
      "a-1|2026-11-20 12:00 UTC|1.50|1.60|Typing error|2026-11-21T00Z/r2 this session|",
    );
    expect((await tryPublish(store, run)).result?.outcome).toBe("unchanged");

    await mustPublish(store, {
      session: "2026-11-21T12Z",
      quotes: "id,spot_usd\na-1,1.7\nb-2,8.2\nc-3,15\nd-4,22\ne-5,901\n",
    });
    const next = textOf(await headReport(store), "corrections");
    expect(next).toContain("|Typing error|2026-11-21T00Z/r2|");
    expect(next).not.toContain("this session");
  });
});
