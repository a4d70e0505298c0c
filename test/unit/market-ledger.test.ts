/** The ledger: what is stored comes back, and a look-up finds what a plain loop finds. */
import { createHash } from "node:crypto";
import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { DamageError } from "../../src/errors.ts";
import {
  countLevels,
  monthEnd,
  monthOf,
  monthStart,
  monthsOf,
  type Ledger,
} from "../../src/ledger/ledger.ts";
import { decodePart, encodePart } from "../../src/ledger/parts.ts";
import { LevelSeriesBuilder } from "../../src/market/level-series-builder.ts";
import { BASES, type Level, type LevelSeries } from "../../src/market/level-series.ts";
import { dayOf, parseSession, type Session } from "../../src/market/session.ts";
import { ledgerPartKey } from "../../src/store/paths.ts";

const FIRST = parseSession("2023-12-25T00Z") as Session;

const text = fc.string({ minLength: 1, maxLength: 12, unit: "grapheme" });
const level = fc.record({
  session: fc.integer({ min: FIRST, max: FIRST + 180 }),
  usd: fc.oneof(
    fc.integer({ min: 1, max: 10 ** 15 }),
    fc.constantFrom(1, 10 ** 15, 10 ** 15 - 1, 100_000, 300_000),
  ),
  basis: fc.constantFrom(...BASES),
  lagDays: fc.constantFrom(0, 0, 0, 1, 40),
  source: fc.option(text, { freq: 5 }),
  sourceUrl: fc.option(fc.constant("https://example.com/a"), { freq: 5 }),
  breakReason: fc.option(text, { freq: 5 }),
});

const levelLists: fc.Arbitrary<Level[]> = fc
  .uniqueArray(level, { minLength: 1, maxLength: 80, selector: ({ session }) => session })
  .map((items) =>
    items
      .sort((a, b) => a.session - b.session)
      .map(({ lagDays, ...item }) => ({ ...item, asOf: dayOf(item.session) - lagDays })),
  );

const ledgers = fc
  .dictionary(fc.stringMatching(/^[a-z0-9]{1,6}(-[a-z0-9]{1,4})?$/), levelLists, { maxKeys: 4 })
  .map((lists) => new Map(Object.entries(lists).map(([id, levels]) => [id, seriesOf(levels)])));

describe("ledger parts", () => {
  test.prop([ledgers], { numRuns: 200 })("give every level back", (ledger) => {
    expect(levelsOf(restored(ledger))).toEqual(levelsOf(ledger));
  });

  test.prop([ledgers])(
    "depend on the levels alone, not on the order of the contracts",
    (ledger) => {
      const turned: Ledger = new Map([...ledger].reverse());
      for (const month of monthsOf(ledger)) {
        expect(encodePart(turned, month).equals(encodePart(ledger, month))).toBe(true);
      }
    },
  );

  test.prop([ledgers])("lie in the months that hold levels", (ledger) => {
    const months = [...ledger.values()].flatMap((series) => [...series.sessions].map(monthOf));
    expect(monthsOf(ledger)).toEqual([...new Set(months)].sort());
    expect(countLevels(ledger)).toBe(months.length);
    for (const series of ledger.values()) {
      for (const session of series.sessions) {
        expect(monthStart(monthOf(session))).toBeLessThanOrEqual(session);
        expect(monthEnd(monthOf(session))).toBeGreaterThan(session);
      }
    }
  });

  it.each([
    ["no header", '{"id":"a","at":[0],"usd":[1]}\n'],
    ["another month", '{"ledger":1,"month":"2024-02"}\n'],
    ["a cut end", '{"ledger":1,"month":"2024-01"}\n{"id":"a","at":[0],"us'],
    ["a line that is no JSON", '{"ledger":1,"month":"2024-01"}\n{"id":"a"\n'],
    ["a price of zero", '{"ledger":1,"month":"2024-01"}\n{"id":"a","at":[0],"usd":[0]}\n'],
    ["nothing", ""],
  ])("with %s are damage", (_what, bytes) => {
    const key = ledgerPartKey("2024-01", "0".repeat(64));
    expect(() => decodePart(Buffer.from(bytes), key, new Map())).toThrow(DamageError);
  });
});

describe("a series of levels", () => {
  test.prop([levelLists, fc.integer({ min: FIRST - 5, max: FIRST + 190 }), fc.nat(200)], {
    numRuns: 1_000,
  })("finds what a plain loop finds", (levels, session, span) => {
    const series = seriesOf(levels);
    let last = -1;
    levels.forEach((item, at) => {
      if (item.session <= session) last = at;
    });
    expect(series.length).toBe(levels.length);
    expect(series.indexAt(session)).toBe(last);
    if (last >= 0) expect(series.level(last)).toEqual(levels[last]);
    expect(series.given(session)).toEqual(levels.find((item) => item.session === session) ?? null);

    const broken = levels.filter(({ breakReason }) => breakReason !== null);
    const latest = broken.findLast((item) => item.session <= session);
    expect(series.latestBreak(session)).toEqual(
      latest === undefined ? null : { session: latest.session, reason: latest.breakReason },
    );
    const later = session + span;
    expect(series.hasBreakBetween(session, later)).toBe(
      broken.some((item) => item.session > session && item.session <= later),
    );
  });
});

function seriesOf(levels: readonly Level[]): LevelSeries {
  const builder = new LevelSeriesBuilder();
  levels.forEach((item) => builder.pushLevel(item));
  return builder.build();
}

function restored(ledger: Ledger): Ledger {
  const builders = new Map<string, LevelSeriesBuilder>();
  for (const month of monthsOf(ledger)) {
    const bytes = encodePart(ledger, month);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    decodePart(bytes, ledgerPartKey(month, sha256), builders);
  }
  return new Map([...builders].map(([id, builder]) => [id, builder.build()]));
}

const levelsOf = (ledger: Ledger): object =>
  Object.fromEntries(
    [...ledger]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, series]) => [
        id,
        Array.from({ length: series.length }, (_, index) => series.level(index)),
      ]),
  );
