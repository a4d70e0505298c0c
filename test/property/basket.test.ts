/** Compares every figure of a basket with fractions of big integers, also at ties. */
import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import { composite, type Constituent } from "../../src/market/composite.ts";
import { fractionOf, HUNDRED, minus, over, plus, rounded, times, ZERO } from "./naive-fraction.ts";

/** Round numbers make ties; long numbers make long fractions. */
const micros = fc.oneof(
  fc.integer({ min: 1, max: 60 }).map((units) => units * 1_000_000),
  fc.integer({ min: 1, max: 9_999 }).map((cents) => cents * 10_000),
  fc.integer({ min: 1, max: 1_000_000_000_000_000 }),
  fc.integer({ min: 1, max: 50 }),
);
const constituent: fc.Arbitrary<Constituent> = fc
  .record({ now: micros, base: micros, then24h: micros, then30d: micros, isFlat: fc.boolean() })
  .map(({ isFlat, ...levels }) => ({
    id: "a",
    ticker: "A",
    segment: "S",
    ...levels,
    then24h: isFlat ? levels.now : levels.then24h,
  }));
const weight = fc.oneof(
  fc.constant(1n),
  fc.bigInt({ min: 1n, max: 16n }),
  fc.bigInt({ min: 1n, max: 999_999_999_999_999_999n }),
);
const basket = fc.array(fc.tuple(constituent, weight), { minLength: 1, maxLength: 12 });

/** The naive calculation's form of a number. */
const marked = (decimal: string | null): string => `#${decimal}`;

test.prop([basket], { numRuns: 2_000 })("every figure is exact and rounded once", (items) => {
  const whole = (value: number | bigint): ReturnType<typeof fractionOf> => fractionOf(`${value}`);
  const weights = items.map(([, value]) => whole(value));
  const total = weights.reduce(plus, ZERO);
  const sumOf = (price: (item: Constituent) => number): ReturnType<typeof fractionOf> =>
    items
      .map(([item], at) => over(times(weights[at] ?? ZERO, whole(price(item))), whole(item.base)))
      .reduce(plus, ZERO);
  const now = sumOf((item) => item.now);
  const before = sumOf((item) => item.then24h);
  const monthBefore = sumOf((item) => item.then30d);
  const changePct = (then: typeof now): string =>
    rounded(over(times(minus(now, then), HUNDRED), then), 2);

  const result = composite(
    items.map(([item]) => item),
    items.map(([, value]) => value),
  );
  expect(marked(result.level)).toBe(rounded(over(times(now, HUNDRED), total), 4));
  expect(marked(result.chg24hPct)).toBe(changePct(before));
  expect(marked(result.chg30dPct)).toBe(changePct(monthBefore));
  result.contributions.forEach((contribution, at) => {
    const [item] = items[at] as (typeof items)[number];
    const share = times(weights[at] ?? ZERO, HUNDRED);
    const moved = (then: number): ReturnType<typeof fractionOf> =>
      over(minus(whole(item.now), whole(then)), whole(item.base));
    expect(marked(contribution.weightPct)).toBe(rounded(over(share, total), 4));
    expect(marked(contribution.relative)).toBe(rounded(over(whole(item.now), whole(item.base)), 6));
    expect(marked(contribution.contribution)).toBe(
      rounded(over(times(share, moved(item.base)), total), 4),
    );
    expect(marked(contribution.contribution24hPct)).toBe(
      rounded(over(times(share, moved(item.then24h)), before), 4),
    );
  });
});
