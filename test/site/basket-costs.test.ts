/** What a basket cost at each close, out of `/history.csv`. */
import { fc, test } from "@fast-check/vitest";
import { stringify } from "csv-stringify/sync";
import { describe, expect } from "vitest";
import { closesIn, costsOf, type Close } from "../../src/site/basket-costs.js";

const HEAD =
  "contract_id,date,close_usd,low_usd,high_usd,inputs,basis,session_utc,break_reason".split(",");

const fileOf = (rows: readonly (readonly [string, string, string, string])[]): string =>
  stringify(
    [
      HEAD,
      ...rows.map(([id, date, usd, reason]) => [id, date, usd, "", "", "", "reported", "", reason]),
    ],
    { record_delimiter: "windows" },
  );

describe("closes in a file", () => {
  const text = fc.string({ unit: fc.constantFrom('"', ",", "\r\n", "\n", "a", "ß", "'", " ") });
  test.prop([fc.array(text, { minLength: 1, maxLength: 6 })])(
    "come with their digits and the reasons of breaks, whatever stands in these",
    (reasons) => {
      const rows = reasons.map(
        (reason, at) => ["alpha", `2026-11-0${at + 1}`, "0.000001", reason] as const,
      );
      expect(closesIn(fileOf([...rows, ["bravo", "2026-11-21", "999999999.999999", ""]]))).toEqual(
        new Map([
          ["alpha", rows.map(([, date, usd, reason]) => ({ date, usd, reason }))],
          ["bravo", [{ date: "2026-11-21", usd: "999999999.999999", reason: "" }]],
        ]),
      );
    },
  );

  test("a file with other columns, without rows, or broken off has none", () => {
    const file = fileOf([["alpha", "2026-11-21", "1", ""]]);
    for (const other of ["", `id,${file}`, `${HEAD.join()}\r\n`, file.slice(0, -3)])
      expect(closesIn(other)).toEqual(new Map());
  });
});

describe("a basket", () => {
  const days = (from: number, ...closes: (string | null)[]): Close[] =>
    closes.flatMap((usd, at) =>
      usd === null ? [] : [{ date: `2026-11-${from + at}`, usd, reason: "" }],
    );
  const [broken, ...later] = days(11, "5", "6", "7", "8", "9") as [Close, ...Close[]];
  const closes = new Map([
    ["daily", days(10, "1", "2", "3", "4", "5", "6", "7")],
    ["gap", days(10, "10", "20", "30", null, "50", "60")],
    ["broken", [...days(10, "500"), { ...broken, reason: "Another tray" }, ...later]],
    ["large", days(10, "999999999.999999", "0.000001")],
  ]);
  const of = (parts: Record<string, string>): (readonly [string, string | undefined, unknown])[] =>
    costsOf(closes, new Map(Object.entries(parts))).map(({ date, text, breakReason }) => [
      date,
      text,
      breakReason || null,
    ]);

  test("costs something on days on which all have a close, from the last break on", () => {
    expect(of({ daily: "2", gap: "0.1" })).toEqual([
      ["2026-11-10", "3", null],
      ["2026-11-11", "6", null],
      ["2026-11-12", "9", null],
      ["2026-11-14", "15", null],
      ["2026-11-15", "18", null],
    ]);
    expect(of({ daily: "1", broken: "3" }).slice(0, 2)).toEqual([
      ["2026-11-11", "17", "Another tray"],
      ["2026-11-12", "21", null],
    ]);
    expect(of({ daily: "1", never: "1" })).toEqual([]);
    expect(of({})).toEqual([]);
  });

  test("costs what exact arithmetic gives, rounded half away from zero to six places", () => {
    expect(of({ large: "999999999.999999999" })).toEqual([
      ["2026-11-10", "999999999999998999", null],
      ["2026-11-11", "1000", null],
    ]);
    expect(of({ daily: "0.0000005" }).map(([, text]) => text)).toEqual(
      ["1", "1", "2", "2", "3", "3", "4"].map((micros) => `0.00000${micros}`),
    );
  });
});
