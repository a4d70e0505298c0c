import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import {
  closeSessionOf,
  dateText,
  dayOf,
  parseDate,
  parseSession,
  sessionAt,
  sessionKey,
  sessionStartMs,
  sessionUtc,
  sessionYearBefore,
  yearsBefore,
  type Day,
  type Session,
} from "../../src/market/session.ts";
import { runs } from "../property/runs.ts";

/** 9999-12-31. */
const LAST_DAY = 2_932_896;
/** 1900-01-01. */
const FIRST_DAY = -25_567;
const days = fc.integer({ min: FIRST_DAY, max: LAST_DAY });
const sessions = fc.integer({ min: FIRST_DAY * 2, max: LAST_DAY * 2 + 1 });

const dayNamed = (text: string): Day => parseDate(text) as Day;
const sessionNamed = (text: string): Session => parseSession(text) as Session;

describe("sessions", () => {
  test.prop([sessions], runs(1_000))("survive being written and read in both forms", (session) => {
    expect(parseSession(sessionKey(session))).toBe(session);
    expect(parseSession(sessionUtc(session))).toBe(session);
    expect(sessionKey(session)).toBe(`${sessionUtc(session).slice(0, 13)}Z`);
    expect(dateText(dayOf(session))).toBe(sessionUtc(session).slice(0, 10));
  });

  test.prop([sessions, fc.integer({ min: 0, max: 43_199_999 })])(
    "contain every instant from their start to the next one",
    (session, laterMs) => {
      expect(sessionAt(sessionStartMs(session) + laterMs)).toBe(session);
      expect(new Date(sessionStartMs(session)).toISOString()).toBe(sessionUtc(session));
    },
  );

  test.prop([days])("of closes start at noon", (day) => {
    expect(sessionUtc(closeSessionOf(day))).toBe(`${dateText(day)}T12:00:00.000Z`);
  });

  it.each([
    "2026-11-21",
    "2026-11-21T06Z",
    "2026-11-21T0Z",
    "2026-11-21T24Z",
    "2026-11-21T00",
    "2026-11-21T00:00Z",
    "2026-11-21T00:00:00Z",
    "2026-11-21T00:00:00.001Z",
    "2026-11-21T00:00:00.000+00:00",
    "2026-11-21t00z",
    " 2026-11-21T00Z",
    "2026-11-21T00Z\n",
    "2026-02-29T00Z",
    "2026-13-01T00Z",
    "1899-12-31T12Z",
    "",
  ])("%j is none", (text) => expect(parseSession(text)).toBeNull());
});

describe("dates", () => {
  test.prop([days], runs(1_000))("survive being written and read", (day) => {
    expect(parseDate(dateText(day))).toBe(day);
  });

  test.prop([
    fc.integer({ min: 1900, max: 2400 }),
    fc.integer({ min: 1, max: 14 }),
    fc.integer({ min: 0, max: 33 }),
  ])("are exactly the calendar's", (year, month, day) => {
    const two = (number: number): string => String(number).padStart(2, "0");
    const text = `${year}-${two(month)}-${two(day)}`;
    const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
    const lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    expect(parseDate(text) !== null).toBe(day >= 1 && day <= (lengths[month - 1] ?? 0));
  });
});

describe("years before", () => {
  it.each([
    ["2024-02-29", 1, "2023-02-28"],
    ["2024-02-29", 4, "2020-02-29"],
    ["2024-02-29", 5, "2019-02-28"],
    ["2025-02-28", 1, "2024-02-28"],
    ["2025-03-01", 1, "2024-03-01"],
    ["2104-02-29", 4, "2100-02-28"],
    ["2000-02-29", 4, "1996-02-29"],
    ["2024-12-31", 1, "2023-12-31"],
    ["2024-01-01", 1, "2023-01-01"],
  ])("%s, %s earlier, is %s", (text, years, expected) =>
    expect(dateText(yearsBefore(dayNamed(text), years))).toBe(expected),
  );

  test.prop([fc.integer({ min: 4_000, max: 800_000 }), fc.integer({ min: 1, max: 9 })])(
    "keep month and day, except for 29 February",
    (day, years) => {
      const [year, month, date] = dateText(day).split("-").map(Number) as [number, number, number];
      const [thenYear, thenMonth, thenDate] = dateText(yearsBefore(day, years))
        .split("-")
        .map(Number);
      expect([thenYear, thenMonth]).toEqual([year - years, month]);
      const mayDiffer = month === 2 && date === 29 && (year - years) % 4 !== 0;
      if (mayDiffer) expect(thenDate).toBe(28);
      else if (month !== 2 || date !== 29) expect(thenDate).toBe(date);
    },
  );

  it.each([
    ["2024-02-29T12Z", "2023-02-28T12Z"],
    ["2024-02-29T00Z", "2023-02-28T00Z"],
    ["2024-03-01T00Z", "2023-03-01T00Z"],
    ["2026-11-21T12Z", "2025-11-21T12Z"],
    ["1950-06-01T12Z", "1949-06-01T12Z"],
    ["1970-06-01T12Z", "1969-06-01T12Z"],
  ])("one year before session %s is %s", (text, expected) =>
    expect(sessionKey(sessionYearBefore(sessionNamed(text)))).toBe(expected),
  );
});
