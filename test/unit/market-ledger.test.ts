/** The ledger gives back the stored levels, and a look-up finds the same as a plain loop. */
import { createHash } from "node:crypto";
import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { DamageError } from "../../src/lib/errors.ts";
import { countLevels, type Ledger } from "../../src/ledger/ledger.ts";
import { decodeMonth, encodeMonth, monthsOf } from "../../src/ledger/months.ts";
import { PRICE_TYPES } from "../../src/market/contract.ts";
import { BASES, dateOf, Levels, Series, type Level } from "../../src/market/series.ts";
import { dayOf, parseSession, sessionKey, type Session } from "../../src/market/session.ts";
import { ledgerMonthKey } from "../../src/store/paths.ts";
import { runs } from "../property/runs.ts";

const FIRST = parseSession("2023-12-25T00Z") as Session;

const text = fc.string({ minLength: 1, maxLength: 12, unit: "grapheme" });
const level = fc.record(
  {
    session: fc.integer({ min: FIRST, max: FIRST + 180 }),
    usd: fc.oneof(
      fc.integer({ min: 1, max: 10 ** 15 }),
      fc.constantFrom(1, 10 ** 15, 10 ** 15 - 1, 100_000, 300_000),
    ),
    basis: fc.constantFrom(...BASES),
    lagDays: fc.constantFrom(0, 0, 0, 1, 40),
    lowUsd: fc.integer({ min: 1, max: 10 ** 15 }),
    highUsd: fc.constantFrom(1, 10 ** 15 - 1, 300_000),
    inputs: fc.integer({ min: 1, max: 1_000_000 }),
    rationale: text,
    source: text,
    sourceUrl: fc.constant("https://example.com/a"),
    breakReason: text,
    termsBefore: fc.record(
      {
        unit: text,
        capacityGb: fc.constantFrom("2", "0.001", "1000000", "0.333333"),
        priceType: fc.constantFrom(...PRICE_TYPES),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ["session", "usd", "basis", "lagDays"] },
);

const levelLists: fc.Arbitrary<Level[]> = fc
  .uniqueArray(level, { minLength: 1, maxLength: 80, selector: ({ session }) => session })
  .map((items) =>
    items
      .sort((a, b) => a.session - b.session)
      .map(({ lagDays, ...item }) =>
        lagDays === 0 ? item : { ...item, asOf: dayOf(item.session) - lagDays },
      ),
  );

const ledgers = fc
  .dictionary(fc.stringMatching(/^[a-z0-9]{1,6}(-[a-z0-9]{1,4})?$/), levelLists, { maxKeys: 4 })
  .map(
    (lists) =>
      new Map(Object.entries(lists).map(([id, levels]) => [id, new Series(new Levels(levels))])),
  );

describe("ledger parts", () => {
  test.prop([ledgers], runs(200))("give back every level", (ledger) => {
    expect(levelsOf(restored(ledger))).toEqual(levelsOf(ledger));
  });

  test.prop([ledgers])("depend only on the levels, not on the order of the contracts", (ledger) => {
    const turned: Ledger = new Map([...ledger].reverse());
    expect(partsOf(turned)).toEqual(partsOf(ledger));
  });

  test.prop([ledgers])("exist for exactly the months with levels", (ledger) => {
    const months = [...ledger.values()].flatMap(({ levels }) =>
      [...levels].map(({ session }) => sessionKey(session).slice(0, 7)),
    );
    expect(partsOf(ledger).map(([month]) => month)).toEqual([...new Set(months)].sort());
    expect(countLevels(ledger)).toBe(months.length);
  });

  it.each([
    ["no header", '{"id":"a","at":[0],"usd":[1]}\n'],
    ["another month", '{"ledger":1,"month":"2024-02"}\n'],
    ["a cut end", '{"ledger":1,"month":"2024-01"}\n{"id":"a","at":[0],"us'],
    ["a line that is no JSON", '{"ledger":1,"month":"2024-01"}\n{"id":"a"\n'],
    ["a price of zero", '{"ledger":1,"month":"2024-01"}\n{"id":"a","at":[0],"usd":[0]}\n'],
    [
      "a low of zero",
      '{"ledger":1,"month":"2024-01"}\n{"id":"a","at":[0,1],"usd":[1,1],"low":[null,0]}\n',
    ],
    ["nothing", ""],
  ])("with %s are damage", (_what, bytes) => {
    const key = ledgerMonthKey("2024-01", "0".repeat(64), 0);
    expect(() => decodeMonth(Buffer.from(bytes), key, new Map())).toThrow(DamageError);
  });
});

describe("a series of levels", () => {
  test.prop([levelLists, fc.integer({ min: FIRST - 5, max: FIRST + 190 }), fc.nat(200)], {
    ...runs(1_000),
  })("finds what a plain loop finds", (levels, session, span) => {
    const series = new Series(new Levels(levels));
    expect(series.at(session)).toEqual(levels.findLast((item) => item.session <= session) ?? null);
    expect(series.given(session)).toEqual(levels.find((item) => item.session === session) ?? null);

    const broken = levels.filter(({ breakReason }) => breakReason !== undefined);
    const latest = broken.findLast((item) => item.session <= session);
    expect(series.latestBreak(session)).toEqual(
      latest === undefined ? null : { session: latest.session, reason: latest.breakReason },
    );
    const later = session + span;
    expect(series.hasBreakBetween(session, later)).toBe(
      broken.some((item) => item.session > session && item.session <= later),
    );

    const terms: Record<string, string> = {};
    for (const item of levels.toReversed()) {
      if (item.session > session) Object.assign(terms, item.termsBefore);
    }
    expect(series.termsAt(session)).toEqual(terms);
  });
});

/** The parts as text, by month. */
const partsOf = (ledger: Ledger): [month: string, text: string][] =>
  monthsOf(ledger).flatMap((month): [string, string][] => {
    const part = encodeMonth(ledger, month);
    return part === null ? [] : [[month, part.toString()]];
  });

function restored(ledger: Ledger): Ledger {
  const levels = new Map<string, Levels>();
  for (const [month, text] of partsOf(ledger)) {
    const sha256 = createHash("sha256").update(text).digest("hex");
    decodeMonth(Buffer.from(text), ledgerMonthKey(month, sha256, 0), levels);
  }
  return new Map([...levels].map(([id, ofContract]) => [id, new Series(ofContract)]));
}

/** With what a level leaves out. */
const levelsOf = (ledger: Ledger): object =>
  Object.fromEntries(
    [...ledger]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, { levels }]) => [
        id,
        [...levels].map((level) => ({ basis: "reported", ...level, asOf: dateOf(level) })),
      ]),
  );
