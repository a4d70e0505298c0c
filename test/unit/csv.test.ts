import { parse } from "csv-parse/sync";
import { describe, expect, it } from "vitest";
import { TIERS } from "../../src/market/tier.ts";
import { recordsOf } from "../../src/market/view.ts";
import { COLUMNS } from "../../src/public/columns.ts";
import { renderCsv } from "../../src/render/board-csv.ts";
import { HEAD, VARIED, listing, viewOf, type Listing } from "./market-fixture.ts";

/** The export.csv in test/golden spells it out. */
const HEADER = COLUMNS.map(({ name }) => name).join(",");

const rowsOf = (text: string): Record<string, string>[] =>
  parse(text, { columns: true, record_delimiter: "\r\n" });

const nameCell = (name: string): string | undefined =>
  rowsOf(renderCsv(viewOf([listing({ name })])))[0]?.["name"];

describe("renderCsv", () => {
  it("writes a header and one row per contract, each with CRLF", () => {
    const text = renderCsv(viewOf([listing({ capacityGb: "2" }), listing({ name: "A, B" })]));
    const [header, first, second, ...rest] = text.split("\r\n");
    expect(header).toBe(HEADER);
    expect(first).toMatch(/^2026-11-21T00:00:00\.000Z,contract-0,T0,Contract 0,DRAM,.*,Source$/);
    expect(second).toMatch(/^2026-11-21T00:00:00\.000Z,contract-1,T1,"A, B",DRAM,.*,Source$/);
    expect(rest).toEqual([""]);
  });

  it.each(["starter", "pro"] as const)("has every value of every record (%s)", (tier) => {
    const view = viewOf(VARIED, TIERS[tier]);
    const expected = recordsOf(view).map((record) =>
      Object.fromEntries(COLUMNS.map(({ name, value }) => [name, value(record) ?? ""])),
    );
    expect(rowsOf(renderCsv(view))).toEqual(expected);
  });

  it("shows nulls, negative changes, carried levels and breaks", () => {
    const rows = rowsOf(renderCsv(viewOf(VARIED)));
    expect(rows.map((row) => row["contract_id"])).toEqual([
      "contract-0",
      "contract-1",
      "contract-2",
      "contract-3",
      "chip-1",
    ]);
    expect(rows[0]).toMatchObject({
      spot_usd: "12.5",
      chg_24h_pct: "1.25",
      chg_30d_pct: "-16.67",
      chg_yoy_pct: "56.25",
      ai_exposure_pct: "37.5",
      usd_per_gb: "6.25",
      low_52w_usd: "12.345678",
      high_52w_usd: "15",
      prev_as_of: "2026-11-20",
      age_days: "0",
      price_type: "spot",
      low_usd: "12",
      high_usd: "13.25",
      inputs: "17",
      break_session_utc: "",
      break_reason: "",
    });
    expect(rows[1]).toMatchObject({ spot_usd: "1000000000", usd_per_gb: "1000000000000" });
    expect(rows[2]).toMatchObject({
      chg_24h_pct: "-50",
      chg_30d_pct: "",
      capacity_gb: "",
      break_session_utc: "2026-11-14T12:00:00.000Z",
      break_reason: 'New unit, "per tray"\nof ten',
      basis: "estimated",
      source: "Other, Ltd",
      source_url: "https://example.org/a?b=1&c=2",
    });
    expect(rows[3]).toMatchObject({
      spot_usd: "0.000002",
      break_session_utc: "2026-11-19T00:00:00.000Z",
      break_reason: "Second",
      basis: "carried",
      as_of: "2026-11-19",
      age_days: "2",
      low_52w_usd: "0.000002",
    });
    expect(rows[4]).toMatchObject({ board: "semiconductor", spot_usd: "0.999999" });
  });

  it("is only the header for empty boards", () => {
    expect(renderCsv(viewOf([]))).toBe(`${HEADER}\r\n`);
  });

  it.each(["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", '=HYPERLINK("http://a","b")', "-"])(
    "makes %j harmless",
    (name) => expect(nameCell(name)).toBe(`'${name}`),
  );

  it.each(["＝1+1", "＋1", "－1", "＠SUM(A1)"])("makes the full-width %j harmless", (name) =>
    expect(nameCell(name)).toBe(`'${name}`),
  );

  it.each([" =1", "  +1", "\u00a0-1", "\u3000＝1", "\n@x", " \t=1"])(
    "makes %j harmless, whose blanks a spreadsheet trims",
    (name) => expect(nameCell(name)).toBe(`'${name}`),
  );

  it.each(["a=1", "'=1", "\nx", "1-2", " a=1", "　1", "\u2212 1"])("leaves %j alone", (name) =>
    expect(nameCell(name)).toBe(name),
  );

  it("neutralises formulas in every text column, and changes no number", () => {
    const free = {
      ticker: "=t",
      name: "=n",
      segment: "=s",
      unit: "=u",
      source: "=o",
      sourceUrl: "=r",
    };
    const fallen: Listing = {
      contract: free,
      levels: [
        { session: HEAD - 3, usd: 2_000_000, breakReason: "=b" },
        { session: HEAD, usd: 1_000_000 },
      ],
    };
    const row = rowsOf(renderCsv(viewOf([fallen])))[0] ?? {};
    expect(row).toMatchObject({
      ticker: "'=t",
      name: "'=n",
      segment: "'=s",
      unit: "'=u",
      source: "'=o",
      source_url: "'=r",
      break_reason: "'=b",
      chg_24h_pct: "-50",
    });
  });

  it.each([
    'quotes " and ""',
    "a\r\nb\rc\nd",
    " spaces around ",
    "\u202eright to left\u202c, \u05d0\u05d1",
    "\u{1f4c8} \u{1f468}\u200d\u{1f469}\u200d\u{1f467} 漢字 é e\u0301",
    "x".repeat(1_000),
    "\ufeffa mark at the start of a cell",
  ])("gives %j back", (name) => expect(nameCell(name)).toBe(name));

  it("has no byte order mark", () => {
    expect(renderCsv(viewOf(VARIED)).slice(0, 3)).toBe("ses");
  });
});
