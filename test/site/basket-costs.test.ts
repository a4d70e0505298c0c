/** What a basket cost on each day, out of `/history.csv`. */
import { fc, test } from "@fast-check/vitest";
import { stringify } from "csv-stringify/sync";
import { describe, expect } from "vitest";
import { costsOf } from "../../src/site/basket-costs.js";
import { closesById } from "../../src/site/history.js";
import type { Level } from "../../src/site/levels.js";

const HEAD =
  "contract_id,date,close_usd,low_usd,high_usd,inputs,basis,session_utc,break_reason".split(",");

const noonOf = (date: string): string => `${date}T12:00:00.000Z`;
const fileOf = (rows: readonly (readonly [string, string, string, string])[]): string =>
  stringify(
    [
      HEAD,
      ...rows.map(([id, date, usd, reason]) => [
        id,
        date,
        usd,
        "",
        "",
        "",
        "reported",
        noonOf(date),
        reason,
      ]),
    ],
    { record_delimiter: "windows", quoted_match: /[\r\n]/ },
  );
const closeOf = (date: string, text: string, breakReason: string | null = null): Level => ({
  date,
  close: Number(text),
  text,
  session: noonOf(date),
  breakReason,
  isBreak: breakReason !== null,
});

describe("closes in a file", () => {
  // A file has a ' before a line break only as the mark of a text that is no formula. The page removes it.
  const text = fc
    .string({ unit: fc.constantFrom('"', ",", "\r\n", "\n", "a", "ß", "'", " ") })
    .filter((reason) => !reason.startsWith("'\r"));
  test.prop([fc.array(text, { minLength: 1, maxLength: 6 })])(
    "come with their digits and the reasons of breaks, whatever stands in these",
    (reasons) => {
      const rows = reasons.map(
        (reason, at) => ["alpha", `2026-11-0${at + 1}`, "0.000001", reason] as const,
      );
      expect(
        closesById(fileOf([...rows, ["bravo", "2026-11-21", "999999999.999999", ""]])),
      ).toEqual(
        new Map([
          ["alpha", rows.map(([, date, usd, reason]) => closeOf(date, usd, reason || null))],
          ["bravo", [closeOf("2026-11-21", "999999999.999999")]],
        ]),
      );
    },
  );

  test("a file without rows, or broken off, has none", () => {
    const file = fileOf([["alpha", "2026-11-21", "1", ""]]);
    for (const other of ["", `${HEAD.join()}\r\n`, file.slice(0, -3)]) {
      expect(closesById(other)).toEqual(new Map());
    }
  });
});

describe("a basket", () => {
  const days = (from: number, ...closes: (string | null)[]): Level[] =>
    closes.flatMap((usd, at) => (usd === null ? [] : [closeOf(`2026-11-${from + at}`, usd)]));
  const closes = new Map([
    ["daily", days(10, "1", "2", "3", "4", "5", "6", "7")],
    ["rare", days(10, "10", null, null, null, null, "60")],
    ["broken", [...days(10, "500"), closeOf("2026-11-11", "5", "Another tray"), ...days(12, "6")]],
    ["large", days(10, "999999999.999999", "0.000001")],
    ["late", [{ ...closeOf("2026-11-10", "1"), session: "2026-11-11T00:00:00.000Z" }]],
    ["early", [{ ...closeOf("2026-11-10", "1"), session: "2026-11-10T00:00:00.000Z" }]],
  ]);
  const of = (
    parts: Record<string, string>,
    carryDays: Record<string, number> = {},
    session = "2026-11-16T12:00:00.000Z",
  ): (readonly [string, string | undefined, unknown])[] =>
    costsOf(closes, new Map(Object.entries(parts)), (id) => carryDays[id] ?? 45, session).map(
      ({ date, text, breakReason }) => [date, text, breakReason || null],
    );

  test("costs something on each day, at the level in force of each part", () => {
    expect(of({ daily: "2", rare: "0.1" })).toEqual([
      ["2026-11-10", "3", null],
      ["2026-11-11", "5", null],
      ["2026-11-12", "7", null],
      ["2026-11-13", "9", null],
      ["2026-11-14", "11", null],
      ["2026-11-15", "18", null],
      ["2026-11-16", "20", null],
    ]);
    expect(of({ never: "1", daily: "1" })).toEqual([]);
  });

  test("costs nothing on a day on which a part is over its carry limit", () => {
    const dates = (carryDays: number, id = "rare", session?: string): unknown[] =>
      of({ [id]: "1" }, { [id]: carryDays }, session).map(([date]) => date);
    const inForce = ["10", "11", "12", "15", "16"].map((day) => `2026-11-${day}`);
    expect(dates(2)).toEqual(inForce);
    // A level of midnight is two days old at midnight, and older at noon.
    expect(dates(2, "early", "2026-11-12T00:00:00.000Z")).toHaveLength(3);
    expect(dates(2, "early", "2026-11-12T12:00:00.000Z")).toHaveLength(2);
  });

  test("costs nothing at noon from a level of the midnight after it", () => {
    expect(of({ late: "1" }).map(([date]) => date)[0]).toBe("2026-11-11");
  });

  test("a break of the noon before the session is marked once", () => {
    const marked = of({ broken: "1" }, {}, "2026-11-12T00:00:00.000Z");
    expect(marked).toEqual([
      ["2026-11-11", "5", "Another tray"],
      ["2026-11-12", "5", null],
    ]);
  });

  test("begins at the last break of its parts", () => {
    expect(of({ daily: "1", broken: "3" }).slice(0, 2)).toEqual([
      ["2026-11-11", "17", "Another tray"],
      ["2026-11-12", "21", null],
    ]);
  });

  test("costs what exact arithmetic gives, rounded half away from zero to six places", () => {
    expect(of({ large: "999999999.999999999" }).slice(0, 2)).toEqual([
      ["2026-11-10", "999999999999998999", null],
      ["2026-11-11", "1000", null],
    ]);
    expect(of({ daily: "0.0000005" }).map(([, text]) => text)).toEqual(
      ["1", "1", "2", "2", "3", "3", "4"].map((micros) => `0.00000${micros}`),
    );
  });
});
