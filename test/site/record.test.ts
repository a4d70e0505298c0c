/** A contract's record as HTML, where the answer lacks fields or holds a text that is no link. */
import { describe, expect, test } from "vitest";
import { fieldOf, RECORD_COLUMNS } from "../../src/public/columns.ts";
import {
  closesTable,
  detailsHtml,
  levelHtml,
  othersHtml,
  type ContractBody,
} from "../../src/site/record.js";

/** Without the fields that may be null. */
const OLDER: ContractBody = {
  session_utc: "2026-11-20T12:00:00.000Z",
  delayed_sessions: 1,
  license: "Internal use only.",
  attribution: "Illustrative levels",
  id: "a",
  ticker: "A",
  name: "A contract",
  segment: "DRAM",
  unit: "USD per piece",
  spot_usd: 1234.5,
  chg_24h_pct: -0.5,
  chg_30d_pct: 0,
  chg_yoy_pct: null,
  ai_exposure_pct: 40,
  basis: "carried",
  as_of: "2026-11-18",
  source: "A source",
  source_url: "https://example.com/?a=1&b=2",
  capacity_gb: null,
  usd_per_gb: null,
  chg_7d_pct: null,
  chg_60d_pct: null,
  chg_90d_pct: null,
  chg_180d_pct: null,
  low_52w_usd: null,
  high_52w_usd: null,
  low_usd: null,
  high_usd: null,
  inputs: null,
  price_type: null,
  prev_as_of: null,
  age_days: 3,
  rationale: null,
  max_carry_days: 45,
  delisted_on: null,
  break: null,
  references: [],
  history_from: "2026-08-24",
  history: [],
  breaks: [],
  corrections: [],
};

const valuesOf = (html: string): Record<string, string> =>
  Object.fromEntries(
    [...html.matchAll(/data-field="(\w+)"[^>]*>(.*?)<\/(?:dd|dt|time)>/g)].map(
      ([, field, value = ""]) => [field, value.replaceAll(/<[^>]*>/g, "")],
    ),
  );

const STARTER = { delaySessions: 1, depthDays: 90 };

describe("a record", () => {
  test("says n/a where a change is missing, and leaves other missing fields out", () => {
    const level = valuesOf(levelHtml(OLDER, STARTER, null));
    expect(level).toMatchObject({
      spot_usd: "1,234.50",
      chg_24h_pct: "−0.50",
      chg_7d_pct: "n/a",
      chg_30d_pct: "0.00",
      chg_yoy_pct: "n/a",
    });
    expect(level["unit"]).toBe("USD per piece");
    expect(valuesOf(detailsHtml(OLDER))).toEqual({
      source: "A source",
      ai_exposure_pct: "40",
      age_days: "3",
    });
  });

  test("leaves out what says nothing, and rounds the price per gigabyte", () => {
    const values = valuesOf(
      detailsHtml({
        ...OLDER,
        session_utc: "2026-11-20T12:00:00.000Z",
        age_days: 0,
        prev_as_of: "2026-11-19",
        usd_per_gb: 11.216944,
      }),
    );
    expect(Object.keys(values)).toEqual(["source", "usd_per_gb", "ai_exposure_pct"]);
    expect(values["usd_per_gb"]).toBe("11.217");
    const [even, carried] = [
      { usd_per_gb: 33.165 },
      { prev_as_of: "2026-11-17", usd_per_gb: 0.9 },
    ].map((fields) => valuesOf(detailsHtml({ ...OLDER, ...fields })));
    expect(even?.["usd_per_gb"]).toBe("33.165");
    expect(carried).toMatchObject({ prev_as_of: "2026-11-17", usd_per_gb: "0.90" });
  });

  test("shows every column, but for those that stand in the title of the page, or as a link", () => {
    const values = RECORD_COLUMNS.map((column) => [
      fieldOf(column),
      column.kind === "decimal" ? 1 : column.kind === "text" ? "Text" : "2026-11-18",
    ]);
    const body = { ...OLDER, ...Object.fromEntries(values) };
    const html = levelHtml(body, STARTER, null) + detailsHtml(body);
    const shown = [...html.matchAll(/data-field="(\w+)"/g)].map(([, field]) => field as string);
    const elsewhere = ["id", "ticker", "name", "segment", "source_url"];
    expect([...shown, ...elsewhere]).toEqual(expect.arrayContaining(RECORD_COLUMNS.map(fieldOf)));
  });

  test("says why a change is missing: a break since, or a first level that the tier can see", () => {
    const whys = (fields: Partial<ContractBody>, tier = STARTER) =>
      [
        ...levelHtml({ ...OLDER, ...fields }, tier, null).matchAll(/class="sub">([a-z][^<]*)</g),
      ].map(([, why]) => why);
    const broken = { break: { session_utc: "2026-06-01T00:00:00.000Z", reason: "5600 MT/s" } };
    expect(whys({ ...broken, chg_180d_pct: null })).toEqual(Array(2).fill("break on 1 June 2026"));
    const from = (date: string) => ({ history: [{ date, close_usd: 1 }] });
    expect(whys(from("2026-11-01"))).toEqual(Array(4).fill("first level on 1 November 2026"));
    // It may have had levels before those that the tier sees.
    expect(whys(from("2026-08-23"))).toEqual([]);
    expect(whys({})).toEqual([]);
  });

  test("is late by the sessions that it is behind beyond its tier's delay", () => {
    expect(levelHtml(OLDER, STARTER, null)).not.toContain("Late:");
    const late = levelHtml({ ...OLDER, delayed_sessions: 3 }, STARTER, null);
    expect(late).toContain("Late: 2 sessions overdue.");
    expect(levelHtml(OLDER, { ...STARTER, delaySessions: 0 }, null)).toContain(
      "Late: 1 session overdue.",
    );
  });

  test("links web addresses only", () => {
    expect(detailsHtml(OLDER)).toContain(
      '<a href="https://example.com/?a=1&amp;b=2" rel="noopener noreferrer"><bdi>A source</bdi></a>',
    );
    for (const source_url of ["javascript:alert(1)", "data:text/html,x", "//example.com", ""]) {
      const html = detailsHtml({ ...OLDER, source_url });
      expect(html).not.toContain("rel=");
      expect(html).toContain("A source");
    }
  });

  test("lists the latest break where the tier has no others", () => {
    const reason = "<i>Sold by the tray</i>";
    const html = detailsHtml({
      ...OLDER,
      break: { session_utc: "2026-10-20T12:00:00.000Z", reason },
    });
    expect(html).toContain("<bdi>&lt;i&gt;Sold by the tray&lt;/i&gt;</bdi></li>");
    expect(html).not.toContain("drawn");
    expect(detailsHtml(OLDER)).not.toContain('<h2 id="breaks-title"');
  });
});

const HOSTILE = `<img src=x onerror="alert(1)">&amp;`;

test("the last 30 closes are a table with changes and marks, the newest first", () => {
  const points = Array.from({ length: 40 }, (_, at) => ({
    date: `2026-10-${String(at).padStart(2, "0")}`,
    close: 100 + at,
    text: `${100 + at}`,
    ...(at === 35 && { isBreak: true, breakReason: HOSTILE }),
    ...(at === 36 && { isCorrected: true }),
  }));
  const rows = [...closesTable(points).matchAll(/<tr>(<th scope="row">.*)<\/tr>/g)].map(
    ([, row = ""]) => row.split(/<\/t[hd]>/).map((cell) => cell.replaceAll(/<[^>]*>/g, "")),
  );
  expect(rows).toHaveLength(30);
  expect(rows[0]).toEqual(["2026-10-39", "139.00", "", ""]);
  expect(rows[3]?.[2]).toBe("corrected");
  expect(rows[4]).toEqual([
    "2026-10-35",
    "135.00",
    "break: &lt;img src=x onerror=&quot;alert(1)&quot;&gt;&amp;amp;",
    "",
  ]);
  expect(rows[29]?.slice(0, 2)).toEqual(["2026-10-10", "110.00"]);
  expect(closesTable(points)).toContain("Mark");
  expect(closesTable(points.slice(0, 30))).not.toContain("Mark");
});

test("others in the segment: those near, the one before and the one after, never itself", () => {
  const rows = Array.from({ length: 30 }, (_, at) => ({
    ...OLDER,
    id: `c-${at}`,
    name: at === 16 ? HOSTILE : `Contract ${at}`,
  }));
  rows.splice(15, 0, { ...OLDER, id: "of-nand", segment: "NAND" });
  const html = othersHtml(rows, "c-15", "DRAM");
  const ids = [...html.matchAll(/data-id="([^"]*)"/g)].map(([, id]) => id);
  expect(ids).toEqual([9, 10, 11, 12, 13, 14, 16, 17, 18, 19, 20, 21].map((at) => `c-${at}`));
  expect(html).toContain('<a href="c-14" rel="prev">');
  expect(html).toContain('<a href="c-16" rel="next">');
  expect(html).not.toContain("<img");
  expect(html).toContain('<a href="../?segment=DRAM">Show all 30 in <bdi>DRAM</bdi></a>');
  expect(othersHtml(rows.slice(0, 13), "c-0", "DRAM")).not.toContain("Show all");
  expect(othersHtml(rows, "c-0", "DRAM")).not.toContain("Previous");
  expect(othersHtml(rows, "off-board", "DRAM")).not.toMatch(/Previous|Next/);
  expect(othersHtml(rows.slice(0, 1), "c-0", "DRAM")).toBe("");
});
