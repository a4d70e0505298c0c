/** A contract's record as HTML, where the answer lacks fields or holds what is no link. */
import { describe, expect, test } from "vitest";
import { recordHtml, type ContractBody } from "../../src/site/record.js";

/** As published by the first format, which has fewer fields. */
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
  break: null,
  history: [],
  breaks: [],
  corrections: [],
};

const valuesOf = (html: string): Record<string, string> =>
  Object.fromEntries(
    [...html.matchAll(/data-field="(\w+)"[^>]*>(.*?)<\/(?:dd|time)>/g)].map(
      ([, field, value = ""]) => [field, value.replaceAll(/<[^>]*>/g, "")],
    ),
  );

describe("a record", () => {
  test("has n/a where an older snapshot has no field", () => {
    expect(valuesOf(recordHtml(OLDER, 1))).toMatchObject({
      spot_usd: "1,234.50",
      chg_24h_pct: "−0.50",
      chg_7d_pct: "n/a",
      chg_30d_pct: "0.00",
      chg_yoy_pct: "n/a",
      age_days: "n/a",
      price_type: "n/a",
      inputs: "n/a",
      ai_exposure_pct: "40",
    });
  });

  test("is late by what it is behind beyond its tier's delay", () => {
    expect(recordHtml(OLDER, 1)).not.toContain("Late:");
    expect(recordHtml({ ...OLDER, delayed_sessions: 3 }, 1)).toContain("Late: 2 sessions overdue.");
    expect(recordHtml(OLDER, 0)).toContain("Late: 1 session overdue.");
  });

  test("links web addresses only", () => {
    expect(recordHtml(OLDER, 1)).toContain(
      '<a href="https://example.com/?a=1&amp;b=2" rel="noopener noreferrer"><bdi>A source</bdi></a>',
    );
    for (const source_url of ["javascript:alert(1)", "data:text/html,x", "//example.com", ""]) {
      const html = recordHtml({ ...OLDER, source_url }, 1);
      expect(html).not.toContain("rel=");
      expect(html).toContain("A source");
    }
  });

  test("lists the latest break where the tier has no others", () => {
    const reason = "<i>Sold by the tray</i>";
    const html = recordHtml(
      { ...OLDER, break: { session_utc: "2026-10-20T12:00:00.000Z", reason } },
      1,
    );
    expect(html).toContain("<bdi>&lt;i&gt;Sold by the tray&lt;/i&gt;</bdi></li>");
    expect(html).not.toContain("The chart marks");
    expect(recordHtml(OLDER, 1)).not.toContain('<h2 id="breaks-title"');
  });
});
