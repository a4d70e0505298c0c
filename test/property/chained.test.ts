/** The continuous series of indices: against roots of big integers, and by what must hold of them. */
import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { chainedCloses, type IndexClose } from "../../src/market/chained.ts";
import { formatMicros } from "../../src/market/decimal.ts";
import { indicesOf, type MarketIndex } from "../../src/market/indices.ts";
import { logRatio, exponential } from "../../src/market/logarithm.ts";
import { closeSessionOf, dateText, sessionUtc, type Session } from "../../src/market/session.ts";
import { TIERS } from "../../src/market/tier.ts";
import { tierView, type Market } from "../../src/market/view.ts";
import { freshSeries, HEAD, marketOf, type Listing } from "../unit/market-fixture.ts";
import { expectCloses } from "./against-naive.ts";
import { naiveSeries } from "./naive-indices.ts";
import type { RawContract, RawLevel, RawMarket } from "./naive-levels.ts";
import { runs } from "./runs.ts";

const SPAN = 400;

/** Levels at some sessions before HEAD: contracts enter, break, pause, are carried too long, and leave. */
const listing: fc.Arbitrary<Listing> = fc
  .record({
    start: fc.integer({ min: 0, max: SPAN }),
    end: fc.integer({ min: 0, max: SPAN }),
    every: fc.constantFrom(1, 1, 2, 7, 61),
    usd: fc.integer({ min: 1_000, max: 1_000_000_000 }),
    steps: fc.array(fc.integer({ min: -90_000, max: 110_000 }), { minLength: 3, maxLength: 9 }),
    breaks: fc.array(fc.nat(SPAN), { maxLength: 3 }),
    gap: fc.tuple(fc.nat(SPAN), fc.constantFrom(0, 3, 95)),
    maxCarryDays: fc.constantFrom(null, null, 0, 1, 20),
    delistedAfter: fc.constantFrom(null, null, null, 1, 30, 150),
    segment: fc.constantFrom("DRAM", "NAND"),
  })
  .map(({ start, end, every, usd, steps, breaks, gap, maxCarryDays, delistedAfter, segment }) => {
    const levels: Listing["levels"][number][] = [];
    const [from, to] = [HEAD - Math.max(start, end), HEAD - Math.min(start, end)];
    const delistedOn = delistedAfter === null ? null : Math.floor(HEAD / 2) - delistedAfter;
    let price = usd;
    for (let session = from; session <= to; session += every) {
      const step = steps[levels.length % steps.length] as number;
      price = Math.max(1, Math.round((price * (1_000_000 + step)) / 1_000_000));
      const isInGap = session >= HEAD - gap[0] && session < HEAD - gap[0] + gap[1];
      if (isInGap || (delistedOn !== null && session >= delistedOn * 2)) continue;
      const isBreak = breaks.includes(HEAD - session);
      levels.push({ session, usd: price, ...(isBreak && { breakReason: "New unit" }) });
    }
    return { contract: { maxCarryDays, delistedOn, segment }, levels };
  })
  .filter(({ levels }) => levels.length > 0);
const listings = fc.array(listing, { minLength: 1, maxLength: 8 });

/** The rows that a feed would have given. */
function rawOf({ catalog, maxCarryDays, seriesOf }: Market): RawMarket {
  const contracts = catalog.map(({ id, segment, maxCarryDays: own, delistedOn }) => ({
    id,
    segment,
    max_carry_days: own,
    delisted_on: delistedOn === null ? null : dateText(delistedOn),
  }));
  const levels = catalog.flatMap(({ id }) =>
    [...(seriesOf(id)?.levels ?? [])].map(({ session, usd, breakReason }) => ({
      id,
      session_utc: sessionUtc(session),
      spot_usd: formatMicros(usd),
      break: breakReason ?? null,
    })),
  );
  return {
    contracts: contracts as unknown as RawContract[],
    levels: levels as RawLevel[],
    max_carry_days: maxCarryDays,
  };
}

const closesOf = (market: Market, index: MarketIndex, head: Session): IndexClose[] =>
  chainedCloses(
    tierView(market, TIERS.pro, head),
    freshSeries(market, head).get(index.id)?.chained ?? null,
  );

const compositeOf = ({ catalog }: Market): MarketIndex => indicesOf(catalog)[0] as MarketIndex;

const points = (closes: readonly IndexClose[]): { date: string; close: string }[] =>
  closes.map(({ date, close }) => ({ date: dateText(date), close: `#${close}` }));

describe("a continuous series", () => {
  test.prop([listings, fc.constantFrom(0, 1)], runs(60))(
    "equals the naive calculation",
    (items, before) => {
      const market = marketOf(items);
      const raw = rawOf(market);
      const head = HEAD - before;
      for (const index of indicesOf(market.catalog)) {
        const ids = new Set(index.contracts.map(({ id }) => id));
        const part = { ...raw, contracts: raw.contracts.filter(({ id }) => ids.has(id)) };
        const expected = naiveSeries(part, Date.parse(sessionUtc(head)));
        expectCloses(points(closesOf(market, index, head)), expected);
      }
    },
  );

  test.prop([listings, fc.nat(SPAN)], runs(100))(
    "never changes when levels of later sessions come",
    (items, back) => {
      const until = HEAD - back;
      const earlier = items
        .map((item) => ({ ...item, levels: item.levels.filter((one) => one.session <= until) }))
        .filter(({ levels }) => levels.length > 0);
      const before = marketOf(
        earlier.map((item, at) => ({ ...item, contract: { ...item.contract, id: `c-${at}` } })),
      );
      const closes = closesOf(before, compositeOf(before), until);
      const now = marketOf(items);
      expect(closesOf(now, compositeOf(now), HEAD).slice(0, closes.length)).toEqual(closes);
    },
  );

  const constant = fc.array(
    fc.array(fc.integer({ min: 100, max: 900_000 }), { minLength: 60, maxLength: 60 }),
    { minLength: 1, maxLength: 6 },
  );
  const fixed = (prices: readonly (readonly number[])[]): Market =>
    marketOf(
      prices.map((row) => ({
        levels: row.map((usd, at) => ({ session: HEAD - 1 - 2 * (row.length - 1 - at), usd })),
      })),
    );
  test.prop([constant])("moves by the geometric mean of each day's relatives", (prices) => {
    const market = fixed(prices);
    const closes = closesOf(market, compositeOf(market), HEAD).map(({ close }) => Number(close));
    expect(closes).toHaveLength(60);
    closes.forEach((close, day) => {
      const logs = prices.map((row) => Math.log((row[day] as number) / (row[0] as number)));
      const exact = 100 * Math.exp(logs.reduce((a, b) => a + b) / logs.length);
      expect(Math.abs(close - exact)).toBeLessThan(0.00005 + exact * 1e-12);
    });
  });

  test("rounds the middle between two closes up", () => {
    const day = HEAD / 2 - 1;
    const path = [2_000_000, 3_000_000, 700_001];
    const levels = path.map((usd, at) => ({ session: closeSessionOf(day - 2 + at), usd }));
    const market = marketOf([{ levels }]);
    expect(closesOf(market, compositeOf(market), HEAD).map(({ close }) => close)).toEqual([
      "100",
      "150",
      "35.0001",
    ]);
  });

  test("has no exponent however far it rises", () => {
    const levels = Array.from({ length: 44 }, (_, at) => ({
      session: closeSessionOf(HEAD / 2 - 44 + at),
      usd: at % 2 === 0 ? 1 : 10 ** 15,
      ...(at % 2 === 0 && { breakReason: "New unit" }),
    }));
    const market = marketOf([{ levels }]);
    for (const { close } of closesOf(market, compositeOf(market), HEAD)) {
      expect(close).toMatch(/^\d+(?:\.\d{1,4})?$/);
    }
  });
});

test.prop([fc.integer({ min: 1, max: 10 ** 15 }), fc.integer({ min: 1, max: 10 ** 15 })])(
  "logarithm and exponential function agree with the platform's",
  (now, then) => {
    const log = logRatio(now, then);
    expect(Math.abs(log - Math.log(now / then))).toBeLessThanOrEqual(
      1e-15 * Math.max(1, Math.abs(log)),
    );
    expect(Math.abs(exponential(log) / Math.exp(log) - 1)).toBeLessThan(1e-14);
  },
);
