/** Which closes of a contract are after a break or corrected, ranges, and the chart as a file. */
import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { chartFile } from "../../src/site/chart-file.js";
import { dayOf } from "../../src/site/axis.js";
import {
  closeDateOf,
  closesFrom,
  closesOf,
  rangesWithin,
  startOf,
} from "../../src/site/history.js";
import { historyFloor, TIERS } from "../../src/market/tier.ts";
import { dateText, parseSession, yearsBefore } from "../../src/market/session.ts";

const HEAD =
  "contract_id,date,close_usd,low_usd,high_usd,inputs,basis,session_utc,break_reason\r\n";

/** Closes of four days; each at 12:00 but the last. */
const CSV = `${HEAD}a,2026-11-18,1,,,,reported,2026-11-18T12:00:00.000Z,\r
a,2026-11-19,2,1.5,2.5,7,reported,2026-11-19T12:00:00.000Z,"'=Now, ""in\r
reels"""\r
a,2026-11-20,3,,,,reported,2026-11-20T12:00:00.000Z,\r
a,2026-11-21,0.000001,,,,estimated,2026-11-21T00:00:00.000Z,In trays\r
`;

describe("closes out of the file of histories", () => {
  const closes = closesOf(CSV, [{ session_utc: "2026-11-20T12:00:00.000Z" }]);

  test("each has its date, its close to the digit, and its range if there is one", () => {
    expect(closes.map(({ date, text }) => [date, text])).toEqual([
      ["2026-11-18", "1"],
      ["2026-11-19", "2"],
      ["2026-11-20", "3"],
      ["2026-11-21", "0.000001"],
    ]);
    expect(closes.map(({ low, high }) => [low, high])).toEqual([
      [undefined, undefined],
      [1.5, 2.5],
      [undefined, undefined],
      [undefined, undefined],
    ]);
  });

  test("a break has its reason as published, without the mark for spreadsheets", () => {
    expect(closes.map(({ breakReason }) => breakReason)).toEqual([
      null,
      '=Now, "in\r\nreels"',
      null,
      "In trays",
    ]);
    expect(closes.map(({ isBreak }) => isBreak)).toEqual([false, true, false, true]);
  });

  test("a corrected close belongs to the correction's session", () => {
    expect(closes.map(({ isCorrected }) => isCorrected)).toEqual([false, false, true, false]);
  });

  test("there are none in a file without rows, or in no file", () => {
    expect(closesOf(HEAD, [])).toEqual([]);
    expect(closesOf("", [])).toEqual([]);
  });
});

test("a range begins on the day that a change of its length counts from", () => {
  for (const to of ["2026-11-21", "2028-02-29", "2029-02-28", "2027-01-01"]) {
    const session = parseSession(`${to}T12Z`) as number;
    const day = Math.floor(session / 2);
    expect(startOf("90d", to)).toBe(dateText(historyFloor(TIERS.starter, session) as number));
    expect(startOf("5y", to)).toBe(dateText(historyFloor(TIERS.pro, session) as number));
    expect(startOf("1y", to)).toBe(dateText(yearsBefore(day, 1)));
  }
  // Of a Friday's close on a Sunday, not of one a week old.
  const friday = [{ date: "2026-10-16", close: 1 }];
  expect(startOf("30d", "2026-11-17", friday)).toBe("2026-10-16");
  expect(startOf("30d", "2026-11-24", friday)).toBe("2026-10-25");
});

test("at 00:00 a range counts from the day before, and begins with the close in force then", () => {
  expect(closeDateOf("2026-11-21T00:00:00.000Z")).toBe("2026-11-20");
  expect(closeDateOf("2026-11-21T12:00:00.000Z")).toBe("2026-11-21");
  const closes = [{ date: "2025-11-20", close: 1 }];
  expect(startOf("90d", "2026-11-20", closes)).toBe("2026-08-22");
  expect(startOf("90d", "2026-11-20", closes, 300)).toBe("2025-11-20");
});

test("half a year, and the year to date", () => {
  expect(startOf("6m", "2026-11-21")).toBe("2026-05-21");
  expect(startOf("6m", "2026-08-31")).toBe("2026-02-28");
  expect(startOf("6m", "2026-03-31")).toBe("2025-09-30");
  const closes = ["2025-12-28", "2025-12-30", "2026-01-02"].map((date) => ({ date, close: 1 }));
  expect(startOf("ytd", "2026-11-21", closes)).toBe("2025-12-30");
  expect(startOf("ytd", "2026-11-21", closes.slice(2))).toBe("2026-01-01");
});

test("the ranges offered begin within the closes and within the tier's depth", () => {
  const closesFor = (days: number) =>
    Array.from({ length: days }, (_, at) => ({
      date: dateText(dayOf("2026-11-21") - days + 1 + at),
      close: 1,
    }));
  const offered = (days: number, depthDays: number) =>
    rangesWithin(closesFor(days), "2026-11-21", depthDays);
  expect(offered(90, 90)).toEqual(["30d", "90d", "all"]);
  expect(offered(1826, 1825)).toEqual(["30d", "90d", "6m", "ytd", "1y", "5y", "all"]);
  expect(offered(1700, 1825)).toContain("5y");
  expect(offered(400, 1825)).toEqual(["30d", "90d", "6m", "ytd", "1y", "all"]);
  expect(offered(1826, 90)).toEqual(["30d", "90d", "all"]);
  expect(offered(12, 1825)).toEqual(["all"]);
});

test("a range always has the last close", () => {
  const closes = closesOf(CSV, []);
  expect(closesFrom(closes, "2026-11-20").map(({ text }) => text)).toEqual(["3", "0.000001"]);
  expect(closesFrom(closes, "2027-01-01").map(({ text }) => text)).toEqual(["0.000001"]);
});

describe("the chart as a file", () => {
  const OPTIONS = { title: "A contract", unit: "USD", decimals: Infinity };
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
    const file = chartFile(closesOf(CSV, []), { ...OPTIONS, title: `T ${text}` }, [text]);
    expect(file).not.toMatch(/[\0\uFFFE\uFFFF]|<b>/);
    expect(file.isWellFormed()).toBe(true);
    const lines = [...file.matchAll(/<text class="(?:title|note)"[^>]*>([^<]*)</g)].map(
      ([, line]) => line as string,
    );
    expect(lines.length).toBeLessThanOrEqual(12);
    expect(lines[0]).toMatch(/^T /);
  });

  test("has all of a text that fits, and says what its marks mean", () => {
    const note = "Illustrative levels of a test, not market data. ".repeat(6).trim();
    const file = chartFile(closesOf(CSV, []), OPTIONS, [note]);
    const lines = [...file.matchAll(/<text class="note"[^>]*>([^<]*)</g)].map(([, line]) => line);
    expect(lines.slice(-3).join("")).toBe(note);
    expect(lines).toContain("Before a break: not comparable");
    expect(lines[0]).toBe("USD, 18 November 2026 to 21 November 2026.");
  });
});
