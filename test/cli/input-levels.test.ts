/** Levels in the input: numbers, sessions, dates, and levels that are given twice. */
import { describe, expect, test } from "vitest";
import { MemoryStore } from "../store/memory-store.ts";
import { complaints, SPARSE } from "./complaint-table.ts";
import { headJson, lines, mustPublish, quotesOf, tryPublish, type Run } from "./small-market.ts";

describe("levels", () => {
  test.each([
    ["0.000001", 0.000001],
    ["12.50", 12.5],
    ["1000000000", 1_000_000_000],
    ["999999999.999999", 999_999_999.999999],
  ])("%s is accepted unchanged", async (text, usd) => {
    const store = new MemoryStore();
    await mustPublish(store, { ...SPARSE, quotes: quotesOf({ a: text }) });
    expect((await headJson(store, "pro/board.json")).memory[0].spot_usd).toBe(usd);
  });

  test.each(
    (
      "0 -0 0.000000 -1 0.0000001 1000000000.000001 1000000001 Infinity -Infinity " +
      "0x10 1_000 1.2.3 5. .5 +5 ١٢"
    ).split(" "),
  )("%s is refused", async (text) => {
    expect(await complaints({ ...SPARSE, quotes: quotesOf({ a: text }) })).toEqual([
      "1 error in the input; nothing was written",
      `quotes.csv:2 spot_usd "${text}": expected a number above 0, at most 1000000000, with at most 6 decimals`,
    ]);
    const close = lines("id,date,close_usd", `a,2026-11-19,${text}`);
    expect((await complaints({ ...SPARSE, closes: close }))[1]).toMatch(/^closes.csv:2 close_usd /);
  });

  test.each(["", " 5", "5 ", '"1,000"'])("%j is refused in CSV", async (text) => {
    const [, complaint] = await complaints({ ...SPARSE, quotes: quotesOf({ a: text }) });
    expect(complaint).toMatch(/^quotes\.csv:2 spot_usd ".*": expected a number above 0/);
  });

  test.each([
    ["8,5978", "no commas, decimals after a point: write 8.5978"],
    ["$5", "no currency sign: write 5"],
    ["5%", "no unit"],
    ["1e3", "plain digits, no exponent"],
    ["1.5E-5", "plain digits, no exponent"],
    ["1.1234567", "--round rounds levels with more"],
    ["0.0000005", "--round rounds levels with more"],
    [" 5", "no spaces"],
    ["1 000", "no spaces: write 1000"],
  ])("the message for %j names the slip, or the way on", async (text, slip) => {
    expect(await complaints({ ...SPARSE, quotes: quotesOf({ a: `"${text}"` }) })).toEqual([
      "1 error in the input; nothing was written",
      `quotes.csv:2 spot_usd "${text}": expected a number above 0, at most 1000000000, with at most 6 decimals; ${slip}`,
    ]);
  });

  test.each(
    ["", " ", "NaN", "nan", "null", "None", "NA", "N/A", "n.a.", "#N/A", "#NUM!", "#DIV/0!"].concat(
      ["-", "--", "–", ".", "..", ":", "?"],
    ),
  )("%j is no level, and the message names the option that leaves it out", async (text) => {
    const told = `expected a number above 0, at most 1000000000, with at most 6 decimals; no level: --hold-invalid leaves such rows out`;
    const run = { ...SPARSE, quotes: lines("id,spot_usd", "b,1", `a,"${text}"`) };
    const expected = ["1 error in the input; nothing was written"];
    expect(await complaints(run)).toEqual([
      ...expected,
      `quotes.csv:3 spot_usd "${text}": ${told}`,
    ]);
    await mustPublish(new MemoryStore(), { ...run, holdInvalid: true });
    const rounded = await complaints({ ...run, round: true });
    expect(rounded[1]).toMatch(/; no level: --hold-invalid leaves such rows out$/);
    const json = await complaints({ ...SPARSE, quotes: '[{"id":"a","spot_usd":null}]' });
    expect(json[1]).toBe(`quotes.json[0] spot_usd null: ${told}`);
  });

  test.each([
    ["2,000", "no thousands separators: write 2000"],
    ["2.000", "ambiguous: 2 if .000 are decimals, 2000 if the point separates thousands"],
    ["2.000.000", "no thousands separators"],
    ["2 000", "no spaces: write 2000"],
  ])("the message for the whole number %j names the slip", async (text, slip) => {
    const quotes = lines("id,spot_usd,inputs", `a,1,"${text}"`);
    expect(await complaints({ ...SPARSE, quotes })).toEqual([
      "1 error in the input; nothing was written",
      `quotes.csv:2 inputs "${text}": expected a whole number from 1 to 1000000; ${slip}`,
    ]);
  });

  test("the findings of a file come by line, then by column", async () => {
    const quotes = lines(
      "session_utc,id,basis,spot_usd",
      ",ghost,,1",
      "yesterday,a,guessed,0",
      ",b,,2",
      ",b,,3",
      ",a,,-1",
    );
    const told = await complaints({ ...SPARSE, quotes });
    expect(told.slice(1).map((line) => /^\S+ \S+/.exec(line)?.[0])).toEqual([
      "quotes.csv:2 id",
      "quotes.csv:3 spot_usd",
      "quotes.csv:3 session_utc",
      "quotes.csv:3 basis",
      "quotes.csv:5 level",
      "quotes.csv:6 spot_usd",
    ]);
  });

  test.each([
    ["null", null],
    ['""', ""],
    ["true", "true"],
    ["-0", "-0"],
    ["1e-7", "0.0000001"],
    ["[5]", "[5]"],
    ["{}", "{}"],
  ])("the JSON value %s is refused", async (json, shown) => {
    const quotes = `[{"id":"b","spot_usd":1},{"id":"a","spot_usd":${json}}]`;
    const [, complaint = ""] = await complaints({ ...SPARSE, quotes });
    const value = /^quotes\.json\[1\] spot_usd (".*"|null): expected /.exec(complaint)?.[1];
    expect(JSON.parse(value ?? "")).toBe(shown);
  });

  test.each([
    ["1e3", 1000],
    ["12.50", 12.5],
    ["1.5E-5", 0.000015],
    ['"7.25"', 7.25],
  ])("the JSON value %s is a level", async (json, usd) => {
    const store = new MemoryStore();
    await mustPublish(store, { ...SPARSE, quotes: `[{"id":"a","spot_usd":${json}}]` });
    expect((await headJson(store, "pro/board.json")).memory[0].spot_usd).toBe(usd);
  });
});

describe("one level twice", () => {
  const twice = (first: string, second: string): Run => ({ ...SPARSE, quotes: [first, second] });

  test("the same value is one level", async () => {
    const store = new MemoryStore();
    const noon = lines(
      "id,spot_usd,session_utc",
      "a,5,2026-11-20T12Z",
      "a,5.0,2026-11-20T12:00:00.000Z",
    );
    await mustPublish(store, {
      ...SPARSE,
      quotes: [noon, noon],
      closes: lines("id,date,close_usd", "a,2026-11-20,5"),
    });
    expect((await headJson(store, "manifest.json")).counts.ledger_levels).toBe(1);
  });

  test("different values are an error: in one file, in two, in closes and quotes", async () => {
    const conflict = (where: string, first: string) =>
      `${where} level "6": expected 5 as in ${first}: a has one level for 2026-11-21T00Z`;
    expect(
      await complaints({ ...SPARSE, quotes: lines("id,spot_usd", "a,5", "b,1", "a,6") }),
    ).toContain(conflict("quotes.csv:4", "quotes.csv:2"));
    expect(await complaints(twice(quotesOf({ a: 5 }), quotesOf({ a: 6 })))).toContain(
      conflict("quotes-2.csv:2", "quotes.csv:2"),
    );
    const run = { ...SPARSE, quotes: lines("id,spot_usd,session_utc", "a,5,2026-11-20T12Z") };
    const said = await complaints({ ...run, closes: lines("id,date,close_usd", "a,2026-11-20,6") });
    expect(said[1]).toMatch(
      /^closes\.csv:2 level "6": expected 5 as in quotes\.csv:2: a has one level/,
    );
    const basis = lines("id,spot_usd,basis", "a,5,assessed", "a,5,estimated");
    expect((await complaints({ ...SPARSE, quotes: basis }))[1]).toMatch(
      /^quotes\.csv:3 basis "estimated"/,
    );
  });
});

describe("sessions and dates", () => {
  test.each(["2026-11-21", "2026-11-21T06Z", "2026-11-21T00:00:00Z", "2026-02-30T00Z", "x"])(
    "session_utc %s",
    async (text) => {
      const quotes = lines("id,spot_usd,session_utc", `a,5,${text}`);
      expect((await complaints({ ...SPARSE, quotes }))[1]).toBe(
        `quotes.csv:2 session_utc "${text}": expected a session such as 2026-11-21T00Z or 2026-11-21T12:00:00.000Z, from 1900-01-01 on`,
      );
    },
  );

  test("a level later than the published session is an error", async () => {
    const run = {
      ...SPARSE,
      quotes: lines("id,spot_usd,session_utc", "a,5,2026-11-21T12Z"),
      closes: lines("id,date,close_usd", "a,2026-11-20,5", "a,2026-11-21,5", "a,2026-02-30,5"),
    };
    expect((await complaints(run)).slice(1)).toEqual([
      'quotes.csv:2 session_utc "2026-11-21T12Z": expected a session not later than the one published, 2026-11-21T00Z',
      'closes.csv:3 date "2026-11-21": expected a date whose 12:00 session is not later than the one published, 2026-11-21T00Z',
      'closes.csv:4 date "2026-02-30": expected a date such as 2026-11-21, from 1900-01-01 on',
    ]);
    const noon = {
      ...run,
      session: "2026-11-21T12Z",
      closes: lines("id,date,close_usd", "a,2026-11-21,5"),
    };
    await mustPublish(new MemoryStore(), noon);
  });

  test("dates start at 1900-01-01, also before 1970", async () => {
    const store = new MemoryStore();
    const closes = lines("id,date,close_usd", "a,1900-01-01,5", "a,1969-12-31,6", "a,1970-01-01,7");
    await mustPublish(store, { ...SPARSE, session: "1970-01-01T12Z", closes });
    expect((await headJson(store, "pro/contracts/a.json")).history).toEqual([
      { date: "1969-12-31", close_usd: 6 },
      { date: "1970-01-01", close_usd: 7 },
    ]);
    expect((await headJson(store, "pro/board.json")).memory[0]).toMatchObject({
      low_52w_usd: 6,
      high_52w_usd: 7,
      prev_as_of: "1969-12-31",
    });
    // A revision reads the stored months before 1970.
    const more = lines("id,date,close_usd", "a,1968-12-31,4");
    await mustPublish(store, { ...SPARSE, session: "1970-01-02T00Z", closes: more, revise: "x" });
    expect((await headJson(store, "pro/contracts/a.json")).history.slice(0, 2)).toEqual([
      { date: "1968-12-31", close_usd: 4 },
      { date: "1969-12-31", close_usd: 6 },
    ]);
    const early = lines("id,date,close_usd", "a,1899-12-31,5");
    expect((await complaints({ ...SPARSE, closes: early }))[1]).toBe(
      'closes.csv:2 date "1899-12-31": expected a date such as 2026-11-21, from 1900-01-01 on',
    );
  });

  test("as_of is not after the session, and not before the previous level's", async () => {
    const columns = "id,spot_usd,session_utc,as_of";
    expect((await complaints({ ...SPARSE, quotes: lines(columns, "a,5,,2026-11-22") }))[1]).toMatch(
      /^quotes\.csv:2 as_of "2026-11-22": expected a date not after the session's, 2026-11-21$/,
    );
    const back = lines(columns, "a,5,,2026-11-18", "a,5,2026-11-20T12Z,2026-11-19");
    expect((await complaints({ ...SPARSE, quotes: back }))[1]).toBe(
      'quotes.csv:2 as_of "2026-11-18": expected a date not before 2026-11-19, the date of the previous level',
    );
    const store = new MemoryStore();
    const same = lines(columns, "a,5,,2026-11-19", "a,4,2026-11-20T12Z,2026-11-19");
    await mustPublish(store, { ...SPARSE, quotes: same });
    const contract = await headJson(store, "pro/contracts/a.json");
    expect(contract.history).toEqual([
      { date: "2026-11-19", close_usd: 5, session_utc: "2026-11-21T00:00:00.000Z" },
    ]);
    // Also compared with the published levels.
    const { code, said } = await tryPublish(store, {
      ...SPARSE,
      session: "2026-11-21T12Z",
      quotes: lines(columns, "a,5,,2026-11-18"),
    });
    expect([code, said[1]]).toEqual([
      2,
      expect.stringContaining("2026-11-19, the date of the previous level"),
    ]);
  });
});
