/** Which closes of a contract are after a break or corrected, ranges, CSV, and the chart as a file. */
import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { chartFile } from "../../src/site/chart-file.js";
import { closesFrom, closesOf, historyCsv, startOf } from "../../src/site/history.js";
import type { ContractBody } from "../../src/site/record.js";
import { historyFloor, TIERS } from "../../src/market/tier.ts";
import { dateText, parseSession, yearsBefore } from "../../src/market/session.ts";

/** The fields that a history is read from. */
const bodyOf = (fields: Partial<ContractBody>): ContractBody => ({
  session_utc: "2026-11-21T00:00:00.000Z",
  delayed_sessions: 0,
  license: "Internal use only.",
  attribution: "Illustrative",
  id: "a",
  ticker: "A",
  name: "A contract",
  segment: "DRAM",
  unit: "USD per piece",
  spot_usd: 4,
  chg_24h_pct: null,
  chg_30d_pct: null,
  chg_yoy_pct: null,
  ai_exposure_pct: 0,
  basis: "reported",
  as_of: "2026-11-21",
  age_days: 0,
  source: "Source",
  source_url: "https://example.com/",
  capacity_gb: null,
  usd_per_gb: null,
  break: null,
  history: [
    { date: "2026-11-18", close_usd: 1 },
    { date: "2026-11-19", close_usd: 2 },
    { date: "2026-11-20", close_usd: 3 },
    { date: "2026-11-21", close_usd: 4 },
  ],
  breaks: [],
  corrections: [],
  ...fields,
});

const breakAt = (session: string, reason = "Other packaging") => ({
  session_utc: `${session}:00:00.000Z`,
  reason,
});
const correctionAt = (session: string, new_usd: number | null) => ({
  session_utc: `${session}:00:00.000Z`,
  old_usd: 9,
  new_usd,
  reason: "Mistyped",
  corrected_in: "2026-11-21T00Z/r1",
});

describe("marks of closes", () => {
  const broken = (fields: Partial<ContractBody>) =>
    closesOf(bodyOf(fields)).flatMap(({ date, isBreak }) => (isBreak ? [date] : []));
  const corrected = (fields: Partial<ContractBody>) =>
    closesOf(bodyOf(fields)).flatMap(({ date, isCorrected }) => (isCorrected ? [date] : []));

  test("a break is at the close of its session's day", () => {
    expect(broken({ breaks: [breakAt("2026-11-19T12"), breakAt("2026-11-21T00")] })).toEqual([
      "2026-11-19",
      "2026-11-21",
    ]);
  });

  test("a break is earlier where levels are dated before their session", () => {
    // The level in force is of 00:00 and dated the day before.
    const lagging = { as_of: "2026-11-20", history: bodyOf({}).history.slice(0, 3) };
    expect(broken({ ...lagging, breaks: [breakAt("2026-11-20T00")] })).toEqual(["2026-11-19"]);
    expect(corrected({ ...lagging, corrections: [correctionAt("2026-11-20T00", 2)] })).toEqual([
      "2026-11-19",
    ]);
  });

  test("a break between days with a close is at the last close before", () => {
    const history = [
      { date: "2026-09-30", close_usd: 1 },
      { date: "2026-10-31", close_usd: 4 },
    ];
    const fields = { history, as_of: "2026-10-31", age_days: 21 };
    expect(broken({ ...fields, breaks: [breakAt("2026-11-04T12")] })).toEqual(["2026-10-31"]);
  });

  test("a carried level does not count as a lag", () => {
    const fields = { as_of: "2026-11-20", age_days: 1, history: bodyOf({}).history.slice(0, 3) };
    expect(broken({ ...fields, breaks: [breakAt("2026-11-20T00")] })).toEqual(["2026-11-20"]);
  });

  test("a correction is at the close that it gave, if that still stands", () => {
    expect(corrected({ corrections: [correctionAt("2026-11-19T12", 2)] })).toEqual(["2026-11-19"]);
    expect(corrected({ corrections: [correctionAt("2026-11-19T00", 2.5)] })).toEqual([]);
    expect(corrected({ corrections: [correctionAt("2026-11-19T00", null)] })).toEqual([]);
    expect(corrected({ corrections: [correctionAt("2026-11-01T00", 2)] })).toEqual([]);
  });

  test("answers of older snapshots have no age", () => {
    const { age_days: _, ...older } = bodyOf({ breaks: [breakAt("2026-11-20T00")] });
    expect(closesOf(older).map(({ isBreak }) => isBreak)).toEqual([false, false, true, false]);
  });
});

test("a range begins where a tier's history of that depth does", () => {
  for (const to of ["2026-11-21", "2028-02-29", "2029-02-28", "2027-01-01"]) {
    const session = parseSession(`${to}T12Z`) as number;
    const day = Math.floor(session / 2);
    expect(startOf("90 d", to)).toBe(
      dateText((historyFloor(TIERS.starter, session) as number) + 1),
    );
    expect(startOf("5 y", to)).toBe(dateText((historyFloor(TIERS.pro, session) as number) + 1));
    expect(startOf("1 y", to)).toBe(dateText(yearsBefore(day, 1) + 1));
  }
});

test("a range always has the last close", () => {
  const closes = closesOf(bodyOf({}));
  expect(closesFrom(closes, "2026-11-20").map(({ close }) => close)).toEqual([3, 4]);
  expect(closesFrom(closes, "2027-01-01").map(({ close }) => close)).toEqual([4]);
});

describe("the CSV", () => {
  test("has each close as given, and the break's reason on the first close after it", () => {
    const breaks = [
      breakAt("2026-11-19T00", "In trays"),
      breakAt("2026-11-19T12", '=Now, "in reels"'),
    ];
    const history = [
      ...bodyOf({}).history.slice(0, 3),
      { date: "2026-11-21", close_usd: 0.000001 },
    ];
    expect(historyCsv(bodyOf({ history, breaks }))).toBe(
      "contract_id,date,close_usd,break_reason\r\n" +
        "a,2026-11-18,1,\r\n" +
        `a,2026-11-19,2,"'=Now, ""in reels"""\r\n` +
        "a,2026-11-20,3,\r\n" +
        "a,2026-11-21,0.000001,\r\n",
    );
  });
});

describe("the chart as a file", () => {
  const OPTIONS = { title: "A contract", unit: "USD" };
  const texts = fc
    .array(
      fc.constantFrom(
        "word ",
        "unbroken",
        "<b>&amp;",
        "\u{1F600}",
        "価格",
        "\uD800",
        "\uFFFF",
        "\0",
      ),
      {
        maxLength: 60,
      },
    )
    .map((parts) => parts.join(""));

  test.prop([texts])("holds any text, in a few lines of what fits", (text) => {
    const file = chartFile(closesOf(bodyOf({})), { ...OPTIONS, title: `T ${text}` }, [text]);
    expect(file).not.toMatch(/[\0\uFFFE\uFFFF]|<b>/);
    expect(file.isWellFormed()).toBe(true);
    const lines = [...file.matchAll(/<text class="(?:title|note)"[^>]*>([^<]*)</g)].map(
      ([, line]) => line as string,
    );
    expect(lines.length).toBeLessThanOrEqual(8);
    expect(lines[0]).toMatch(/^T /);
  });

  test("has all of a text that fits", () => {
    const note = "Illustrative levels of a test, not market data. ".repeat(6).trim();
    const file = chartFile(closesOf(bodyOf({})), OPTIONS, [note]);
    const lines = [...file.matchAll(/<text class="note"[^>]*>([^<]*)</g)].map(([, line]) => line);
    expect(lines).toHaveLength(3);
    expect(lines.join("")).toBe(note);
  });
});
