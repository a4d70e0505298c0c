/** Which closes of a contract are after a break or corrected, and the chart as a file. */
import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { chartFile, levelsCsv } from "../../src/site/chart-file.js";
import { closesAmong, closesOf, levelsById } from "../../src/site/history.js";
import { drawnOf, perGigabyte, type Line } from "../../src/site/levels.js";

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

test("the closes among levels are the last of each date; breaks between them stay", () => {
  const head =
    "contract_id,session_utc,spot_usd,low_usd,high_usd,inputs,basis,as_of,break_reason\r\n";
  const row = (session: string, usd: string, day: string, reason = ""): string =>
    `a,${session}:00:00.000Z,${usd},,,,reported,${day},${reason}\r\n`;
  const csv =
    head +
    row("2026-11-19T12", "1", "2026-11-19") +
    row("2026-11-20T00", "2", "2026-11-20", "In trays") +
    row("2026-11-20T12", "3", "2026-11-20") +
    row("2026-11-21T00", "4", "2026-11-21");
  const closes = closesAmong(levelsById(csv).get("a") ?? []);
  expect(closes.map(({ session, text, breakReason }) => [session, text, breakReason])).toEqual([
    ["2026-11-19T12:00:00.000Z", "1", null],
    ["2026-11-20T12:00:00.000Z", "3", "In trays"],
    ["2026-11-21T00:00:00.000Z", "4", null],
  ]);
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

describe("the chart as CSV", () => {
  const line = { levels: closesOf(CSV, []), carryDays: 1, to: "2026-12-21T12:00:00.000Z" };
  const rowsOf = (drawn: Line, range: string): string[] =>
    levelsCsv([{ id: "a", points: drawnOf(drawn, range).points }]).split("\r\n");

  test("has the levels of the range on the scale, each up to its end", () => {
    const two = { ...line, levels: line.levels.slice(1, 3), carryDays: 30 };
    expect(rowsOf({ ...two, to: "2026-12-20T00:00:00.000Z" }, "30d")).toEqual([
      "instant_utc,a,a_low,a_high",
      "2026-11-20T00:00:00.000Z,2,1.5,2.5",
      "2026-11-20T12:00:00.000Z,3,,",
      "2026-12-20T00:00:00.000Z,3,,",
      "",
    ]);
    expect(rowsOf(perGigabyte(two, 4), "all").slice(0, 2)).toEqual([
      "instant_utc,a,a_low,a_high,a_break_reason",
      `2026-11-19T12:00:00.000Z,0.500000,0.375,0.625,"'=Now, ""in`,
    ]);
  });

  test("has the end of a level that has no next one, and reasons of breaks as texts", () => {
    const [, ...rows] = levelsCsv([{ id: "a", points: drawnOf(line, "all").points }]).split("Z,");
    expect(rows.map((row) => row.replace(/\r\n[^\r]*$/, ""))).toEqual([
      "1,,,",
      `2,1.5,2.5,"'=Now, ""in\r\nreels"""`,
      "3,,,",
      "0.000001,,,In trays",
      "0.000001,,,In trays",
    ]);
  });

  test("of several lines has those in force at each instant", () => {
    const other = { ...line, levels: line.levels.slice(3), carryDays: 3 };
    const { points } = drawnOf({ ...line, levels: line.levels.slice(0, 1), carryDays: 3 }, "all");
    const csv = levelsCsv([
      { id: "a", points },
      {
        id: "b",
        points: drawnOf(other, "all").points.map((point) => ({ ...point, breakReason: null })),
      },
    ]);
    expect(csv.split("\r\n")).toEqual([
      "instant_utc,a,b",
      "2026-11-18T12:00:00.000Z,1,",
      "2026-11-21T00:00:00.000Z,1,0.000001",
      "2026-11-21T12:00:00.000Z,1,0.000001",
      "2026-11-24T00:00:00.000Z,,0.000001",
      "",
    ]);
  });
});
