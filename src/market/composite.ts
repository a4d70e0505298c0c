/**
 * The composite index and custom baskets: the weighted arithmetic mean of price relatives (a Carli
 * index where the weights are equal; ILO, Consumer Price Index Manual 2020, chapter 8), each direct
 * against the base, never chained. The base is one calendar year before the session and equals 100.
 * Because it rolls, levels of different sessions are not one series.
 */
import { CHANGE_DECIMALS } from "./change.ts";
import { ratio, roundRatio, sumRatios, type Decimal, type Micros, type Ratio } from "./decimal.ts";

export const INDEX_DECIMALS = 4;
export const RELATIVE_DECIMALS = 6;

/** A contract with the levels the index needs of it, all above 0. */
export interface Constituent {
  readonly id: string;
  readonly ticker: string;
  readonly segment: string;
  readonly now: Micros;
  readonly base: Micros;
  /** The last levels given at or before 24 hours and 30 days ago, whatever their age. */
  readonly then24h: Micros;
  readonly then30d: Micros;
}

export interface Contribution {
  readonly id: string;
  readonly ticker: string;
  readonly segment: string;
  readonly weightPct: Decimal;
  readonly base: Micros;
  readonly now: Micros;
  /** now / base. */
  readonly relative: Decimal;
  /** Points of the level: 100 · w · (relative − 1). They sum to level − 100. */
  readonly contribution: Decimal;
  /** Percentage points of the 24-hour change. They sum to it. */
  readonly contribution24hPct: Decimal;
}

/** Level and changes are null where there is no constituent. */
export interface Composite {
  readonly level: Decimal | null;
  readonly chg24hPct: Decimal | null;
  readonly chg30dPct: Decimal | null;
  readonly contributions: readonly Contribution[];
}

/** Equal weights: any positive number, the same for each. */
export const EQUAL_WEIGHT = 1n;

/**
 * Prices a basket. `weights[i]`, a positive integer in any common scale, belongs to
 * `constituents[i]`; the weights are normalised to sum 1.
 */
export function composite(
  constituents: readonly Constituent[],
  weights: readonly bigint[],
): Composite {
  if (constituents.length === 0) {
    return { level: null, chg24hPct: null, chg30dPct: null, contributions: [] };
  }
  const weighted = constituents.map((item, at) => ({ ...item, weight: weights[at] as bigint }));
  const totalWeight = weighted.reduce((sum, { weight }) => sum + weight, 0n);
  const meanOf = (price: (item: Constituent) => Micros): Ratio =>
    sumRatios(weighted.map((item) => ratio(item.weight * BigInt(price(item)), BigInt(item.base))));

  const now = meanOf((item) => item.now);
  const then24h = meanOf((item) => item.then24h);
  const then30d = meanOf((item) => item.then30d);
  return {
    level: roundRatio(ratio(now.numerator * 100n, now.denominator * totalWeight), INDEX_DECIMALS),
    chg24hPct: changeOfMeans(now, then24h),
    chg30dPct: changeOfMeans(now, then30d),
    contributions: weighted.map((item) => contributionOf(item, totalWeight, then24h)),
  };
}

function changeOfMeans(now: Ratio, then: Ratio): Decimal {
  const nowOverThen = now.numerator * then.denominator;
  const unity = now.denominator * then.numerator;
  return roundRatio(ratio((nowOverThen - unity) * 100n, unity), CHANGE_DECIMALS);
}

function contributionOf(
  item: Constituent & { weight: bigint },
  totalWeight: bigint,
  then24h: Ratio,
): Contribution {
  const now = BigInt(item.now);
  const base = BigInt(item.base);
  const percentOfTotal = item.weight * 100n;
  return {
    id: item.id,
    ticker: item.ticker,
    segment: item.segment,
    weightPct: roundRatio(ratio(percentOfTotal, totalWeight), INDEX_DECIMALS),
    base: item.base,
    now: item.now,
    relative: roundRatio(ratio(now, base), RELATIVE_DECIMALS),
    contribution: roundRatio(
      ratio(percentOfTotal * (now - base), totalWeight * base),
      INDEX_DECIMALS,
    ),
    // The total weight cancels out: it divides both the item's move and the sum it is taken of.
    contribution24hPct: roundRatio(
      ratio(
        percentOfTotal * (now - BigInt(item.then24h)) * then24h.denominator,
        base * then24h.numerator,
      ),
      INDEX_DECIMALS,
    ),
  };
}
