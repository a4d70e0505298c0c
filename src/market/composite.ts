/**
 * The composite index and custom baskets: the weighted arithmetic mean of price relatives (a Carli
 * index where the weights are equal; ILO, Consumer Price Index Manual 2020, chapter 8), each direct
 * against the base, never chained. The base is one calendar year before the session and equals 100.
 * Because it rolls, levels of different sessions are not one series. A basket of quantities compares
 * what they cost with what they cost at the base (a Lowe index): it is the same mean, weighted by the
 * shares of the costs at the base.
 */
import { CHANGE_DECIMALS } from "./change.ts";
import {
  MICROS_PER_UNIT,
  ratio,
  roundRatio,
  sumOfRatios,
  type Decimal,
  type Micros,
  type Ratio,
} from "./decimal.ts";
import type { BoardBasis } from "./series.ts";
import type { Day } from "./session.ts";

/** The level of the base. */
export const INDEX_BASE_LEVEL = 100;

const INDEX_DECIMALS = 4;
const RELATIVE_DECIMALS = 6;
const COST_DECIMALS = 6;
/** The most decimals of a quantity. */
export const QUANTITY_DECIMALS = 9;
const QUANTITY_SCALE = 10n ** BigInt(QUANTITY_DECIMALS);

/** A contract with the levels that the index needs, all above 0. */
export interface Constituent {
  readonly id: string;
  readonly ticker: string;
  readonly segment: string;
  readonly now: Micros;
  /** The level in force one calendar year before the session. */
  readonly base: Micros;
  /** The last levels given at or before 24 hours and 30 days ago, of any age. */
  readonly then24h: Micros;
  readonly then30d: Micros;
  /** Of the level in force. */
  readonly basis: BoardBasis;
  /** The days of the level in force and of the base. */
  readonly asOf: Day;
  readonly baseAsOf: Day;
}

/** A constituent's part in the level and in its 24-hour change. */
export interface Contribution {
  readonly constituent: Constituent;
  /** The share of all weights. All shares sum to 100. */
  readonly weightPct: Decimal;
  /** now / base. */
  readonly relative: Decimal;
  /** Points of the level: 100 · w · (relative − 1). They sum to level − 100. */
  readonly contribution: Decimal;
  /** Percentage points of the 24-hour change. They sum to it. */
  readonly contribution24hPct: Decimal;
  /** In the contract's unit. Only in a basket of quantities. */
  readonly quantity?: Decimal;
}

/** What the quantities of a basket cost by the levels of each constituent, US dollars. */
export interface Costs {
  readonly now: Decimal;
  readonly base: Decimal;
  readonly then24h: Decimal;
  readonly then30d: Decimal;
}

/** A priced index or basket. Level and changes are null if it has no constituent. */
export interface Composite {
  readonly level: Decimal | null;
  readonly chg24hPct: Decimal | null;
  readonly chg30dPct: Decimal | null;
  /** One for each constituent, in their order. */
  readonly contributions: readonly Contribution[];
  /** Only of a basket of quantities. */
  readonly costs?: Costs;
}

/** The weights of the constituents: all equal, the caller's, or by the caller's quantities. */
export const WEIGHTINGS = ["equal", "custom", "quantities"] as const;
/** One of WEIGHTINGS. */
export type Weighting = (typeof WEIGHTINGS)[number];

/** Equal weights: any positive number, the same for each. */
export const EQUAL_WEIGHT = 1n;

/**
 * Prices a basket. `weights[i]`, a positive integer, belongs to `constituents[i]`. The weights are
 * normalised to the sum 1. Every figure is exact, and rounded once.
 */
export function composite(
  constituents: readonly Constituent[],
  weights: readonly bigint[],
): Composite {
  if (constituents.length === 0) {
    return { level: null, chg24hPct: null, chg30dPct: null, contributions: [] };
  }
  const totalWeight = weights.reduce((sum, weight) => sum + weight, 0n);
  /** Each sum has the product of all bases as its denominator, which cancels out between two of them. */
  const sumBy = (levelOf: (item: Constituent) => Micros): Ratio =>
    sumOfRatios(
      constituents.map((item, at) =>
        ratio((weights[at] as bigint) * BigInt(levelOf(item)), BigInt(item.base)),
      ),
    );
  const { numerator: now, denominator } = sumBy((item) => item.now);
  const { numerator: then24h } = sumBy((item) => item.then24h);
  const { numerator: then30d } = sumBy((item) => item.then30d);
  const changePct = (then: bigint): Decimal =>
    roundRatio(ratio((now - then) * 100n, then), CHANGE_DECIMALS);
  return {
    level: roundRatio(ratio(now * 100n, denominator * totalWeight), INDEX_DECIMALS),
    chg24hPct: changePct(then24h),
    chg30dPct: changePct(then30d),
    contributions: constituents.map((item, at) => {
      const base = BigInt(item.base);
      const percent = (weights[at] as bigint) * 100n;
      const moved = percent * BigInt(item.now - item.base);
      const moved24h = percent * BigInt(item.now - item.then24h);
      return {
        constituent: item,
        weightPct: roundRatio(ratio(percent, totalWeight), INDEX_DECIMALS),
        relative: roundRatio(ratio(BigInt(item.now), base), RELATIVE_DECIMALS),
        contribution: roundRatio(ratio(moved, totalWeight * base), INDEX_DECIMALS),
        contribution24hPct: roundRatio(
          ratio(moved24h * denominator, base * then24h),
          INDEX_DECIMALS,
        ),
      };
    }),
  };
}

/** The composite index: all constituents have the same weight. */
export const equalWeighted = (constituents: readonly Constituent[]): Composite =>
  composite(
    constituents,
    constituents.map(() => EQUAL_WEIGHT),
  );

/**
 * Prices a basket of quantities. `quantities[i]`, a positive integer in units of 10⁻⁹, belongs to
 * `constituents[i]`. A weight is the share of the cost at the base, so the level is 100 × the cost now by
 * the cost at the base. Every figure is exact, and rounded once.
 */
export function quantityComposite(
  constituents: readonly Constituent[],
  quantities: readonly bigint[],
): Composite {
  const costsBy = (levelOf: (item: Constituent) => Micros): bigint[] =>
    constituents.map((item, at) => (quantities[at] as bigint) * BigInt(levelOf(item)));
  const total = (costs: readonly bigint[]): Decimal => {
    const sum = costs.reduce((one, other) => one + other, 0n);
    return roundRatio(ratio(sum, QUANTITY_SCALE * BigInt(MICROS_PER_UNIT)), COST_DECIMALS);
  };
  const baseCosts = costsBy((item) => item.base);
  const priced = composite(constituents, baseCosts);
  return {
    ...priced,
    contributions: priced.contributions.map((item, at) => ({
      ...item,
      quantity: roundRatio(ratio(quantities[at] as bigint, QUANTITY_SCALE), QUANTITY_DECIMALS),
    })),
    costs: {
      now: total(costsBy((item) => item.now)),
      base: total(baseCosts),
      then24h: total(costsBy((item) => item.then24h)),
      then30d: total(costsBy((item) => item.then30d)),
    },
  };
}
