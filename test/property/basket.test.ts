/** Compares every figure of a basket with fractions of big integers, also at ties. */
import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import {
  composite,
  quantityComposite,
  type BasketItem,
  type Constituent,
} from "../../src/market/composite.ts";
import {
  fractionOf,
  HUNDRED,
  minus,
  over,
  percentChange,
  plus,
  rounded,
  times,
  ZERO,
  type Fraction,
} from "./naive-fraction.ts";
import { runs } from "./runs.ts";

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
    basis: "reported",
    asOf: 0,
    baseAsOf: 0,
    reason: null,
  }));
const weight = fc.oneof(
  fc.constant(1n),
  fc.bigInt({ min: 1n, max: 16n }),
  fc.bigInt({ min: 1n, max: 999_999_999_999_999_999n }),
);
const ONE = 1_000_000_000n;
/** In units of 10⁻⁹: whole ones, and the smallest and the largest. */
const quantity = fc.oneof(
  fc.bigInt({ min: 1n, max: 64n }).map((whole) => whole * ONE),
  weight,
  fc.constantFrom(1n, 999_999_999n * ONE, 999_999_999n * ONE + 999_999_999n),
);
const basket = fc.array(fc.tuple(constituent, weight), { minLength: 1, maxLength: 12 });

/** A contract on the board that may lack each of the earlier levels by itself. */
const part: fc.Arbitrary<BasketItem> = fc
  .tuple(constituent, ...["base", "24h", "30d"].map(() => fc.integer({ min: 0, max: 4 })))
  .map(([item, base, then24h, then30d]) => ({
    ...item,
    ...(base === 0 && { base: null, baseAsOf: null, reason: "no_base_level" as const }),
    ...(then24h === 0 && { then24h: null }),
    ...(then30d === 0 && { then30d: null }),
  }));
const purchase = fc.array(fc.tuple(part, quantity), { minLength: 1, maxLength: 6 });

const whole = (value: number | bigint): Fraction => fractionOf(`${value}`);
/** The naive calculation's form of a number. */
const marked = (decimal: string | null): string | null => decimal && `#${decimal}`;

test.prop([basket], runs(2_000))("every figure is exact and rounded once", (items) => {
  const weights = items.map(([, value]) => whole(value));
  const total = weights.reduce(plus, ZERO);
  const sumOf = (price: (item: Constituent) => number): Fraction =>
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
    const moved = (then: number): Fraction =>
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

test.prop([purchase], runs(2_000))("quantities are weighted by their costs", (items) => {
  const [unit, dollar] = [whole(ONE), whole(1_000_000)];
  /** Null: the contract has no such level. */
  const spent = ([item, quantity]: (typeof items)[number], price: Price): Fraction | null => {
    const level = item[price];
    return level === null ? null : times(over(whole(quantity), unit), over(whole(level), dollar));
  };
  const sum = (costs: readonly (Fraction | null)[]): Fraction | null =>
    costs.reduce((one, other) => one && other && plus(one, other), ZERO);
  const cost = (price: Price): Fraction | null => sum(items.map((item) => spent(item, price)));
  const [now, base, before] = [cost("now") as Fraction, cost("base"), cost("then24h")];
  const percentOf = (share: Fraction | null, total: Fraction | null): string | null =>
    share && total && rounded(over(times(share, HUNDRED), total), 4);
  const changeSince = (then: Fraction | null): string | null => then && percentChange(now, then);
  const text = (amount: Fraction | null): string | null => amount && rounded(amount, 6);

  const { level, chg24hPct, chg30dPct, contributions, costs } = quantityComposite(
    items.map(([item]) => item),
    items.map(([, value]) => value),
  );
  expect(marked(level)).toBe(percentOf(now, base));
  expect(marked(chg24hPct)).toBe(changeSince(before));
  expect(marked(chg30dPct)).toBe(changeSince(cost("then30d")));
  for (const price of PRICES) expect(marked(costs?.[price] ?? null)).toBe(text(cost(price)));
  const based = items.filter(([item]) => item.reason === null);
  const [nowOfBased, baseOfBased] = (["now", "base"] as const).map((price) =>
    sum(based.map((item) => spent(item, price))),
  ) as [Fraction, Fraction];
  const found = costs?.likeForLike ?? null;
  expect(found?.parts ?? 0).toBe(based.length);
  if (found !== null) {
    expect(marked(found.now)).toBe(text(nowOfBased));
    expect(marked(found.base)).toBe(text(baseOfBased));
    expect(marked(found.level)).toBe(percentOf(nowOfBased, baseOfBased));
  }
  contributions.forEach((contribution, at) => {
    const item = items[at] as (typeof items)[number];
    const [nowCost, baseCost, dayAgoCost] = (["now", "base", "then24h"] as const).map((price) =>
      spent(item, price),
    ) as [Fraction, Fraction | null, Fraction | null];
    const moved = (then: Fraction | null): Fraction | null => then && minus(nowCost, then);
    const { bought, relative } = contribution;
    expect(marked(bought?.quantity ?? null)).toBe(rounded(over(whole(item[1]), unit), 9));
    for (const price of PRICES) {
      expect(marked(bought?.[price] ?? null)).toBe(text(spent(item, price)));
    }
    expect(marked(relative)).toBe(baseCost && rounded(over(nowCost, baseCost), 6));
    expect(marked(contribution.weightPct)).toBe(percentOf(baseCost, base));
    expect(marked(contribution.contribution)).toBe(percentOf(moved(baseCost), base));
    expect(marked(contribution.contribution24hPct)).toBe(percentOf(moved(dayAgoCost), before));
  });
});

const PRICES = ["now", "base", "then24h", "then30d"] as const;
type Price = (typeof PRICES)[number];

test.prop([constituent])("one piece of one contract is the contract itself", (item) => {
  const { level, costs, contributions } = quantityComposite([item], [ONE]);
  const levels = [item.now, item.base, item.then24h, item.then30d];
  expect(marked(level)).toBe(rounded(over(times(whole(item.now), HUNDRED), whole(item.base)), 4));
  expect([costs?.now, costs?.base, costs?.then24h, costs?.then30d].map(Number)).toEqual(
    levels.map((micros) => micros / 1e6),
  );
  expect(contributions).toMatchObject([{ bought: { quantity: "1" }, weightPct: "100" }]);
});
