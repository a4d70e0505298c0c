/**
 * The composite index and custom baskets: weighted means of price relatives. The mean is arithmetic (a Carli
 * index where the weights are equal; ILO, Consumer Price Index Manual 2020, chapter 8), and each relative
 * direct against the base, never chained. The base is one calendar year before the session and equals 100.
 * Because it rolls, levels of different sessions are not one series. A basket of quantities compares
 * what they cost with what they cost at the base (a Lowe index): it is the same mean, weighted by the
 * shares of the costs at the base.
 */
import { CHANGE_DECIMALS, type ExclusionReason } from "./change.ts";
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

/** Earlier levels, all above 0. */
interface Earlier {
  /** The level in force one calendar year before the session, and its day. */
  readonly base: Micros;
  readonly baseAsOf: Day;
  /** The last levels given at or before 24 hours and 30 days ago, of any age. */
  readonly then24h: Micros;
  readonly then30d: Micros;
}

/** A contract on the board; an earlier level is null if none compares with the level in force. */
export interface BasketItem extends Nullable<Earlier> {
  /** Why it has no base; null: it has one. */
  readonly reason: ExclusionReason | null;
  readonly id: string;
  readonly ticker: string;
  readonly segment: string;
  /** The level in force, its basis and its day. */
  readonly now: Micros;
  readonly basis: BoardBasis;
  readonly asOf: Day;
}

/** An item with all levels that the index needs. */
export type Constituent = BasketItem & Earlier;

/** Each field may be null. */
type Nullable<T> = { readonly [F in keyof T]: T[F] | null };

export const isConstituent = (item: BasketItem): item is Constituent => item.reason === null;

/** An item without base, and why. */
export interface WithoutBase {
  readonly id: string;
  readonly reason: ExclusionReason;
}

export const withoutBase = (items: readonly BasketItem[]): WithoutBase[] =>
  items.flatMap(({ id, reason }) => (reason === null ? [] : [{ id, reason }]));

/** An item's share in the level and in its 24-hour change; null: an item of the basket has no base. */
export interface Contribution extends Nullable<Shares> {
  readonly item: BasketItem;
  /** In the contract's unit. Only in a basket of quantities. */
  readonly quantity?: Decimal;
}

interface Shares {
  /** The share of all weights. All shares sum to 100. */
  readonly weightPct: Decimal;
  /** now / base. */
  readonly relative: Decimal;
  /** Points of the level: 100 · w · (relative − 1). They sum to level − 100. */
  readonly contribution: Decimal;
  /** Percentage points of the 24-hour change. They sum to it. */
  readonly contribution24hPct: Decimal;
}

/** What the quantities of a basket cost by each level, US dollars; null: an item lacks it. */
export interface Costs extends Nullable<Record<"base" | "then24h" | "then30d", Decimal>> {
  readonly now: Decimal;
  readonly withoutBase: readonly WithoutBase[];
}

/** A priced index or basket. Level and changes are null if an item lacks what they compare, or there is none. */
export interface Composite {
  readonly level: Decimal | null;
  readonly chg24hPct: Decimal | null;
  readonly chg30dPct: Decimal | null;
  /** One for each item, in their order. */
  readonly contributions: readonly Contribution[];
  /** Only of a basket of quantities. */
  readonly costs?: Costs;
}

/** The weights of the constituents: all equal, the caller's, or by the caller's quantities. */
export const WEIGHTINGS = ["equal", "custom", "quantities"] as const;
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
  return {
    level: roundRatio(ratio(now * 100n, denominator * totalWeight), INDEX_DECIMALS),
    chg24hPct: changeOf(now, then24h),
    chg30dPct: changeOf(now, then30d),
    contributions: constituents.map((item, at) => {
      const base = BigInt(item.base);
      const percent = (weights[at] as bigint) * 100n;
      const moved = percent * BigInt(item.now - item.base);
      const moved24h = percent * BigInt(item.now - item.then24h);
      return {
        item,
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

export const equalWeighted = (constituents: readonly Constituent[]): Composite =>
  composite(
    constituents,
    constituents.map(() => EQUAL_WEIGHT),
  );

/**
 * Prices a basket of quantities. `quantities[i]`, a positive integer in units of 10⁻⁹, belongs to
 * `items[i]`. A weight is the share of the cost at the base, so the level is 100 × the cost now by the cost
 * at the base. An item without an earlier level leaves out what needs it, and nothing else. Every figure is
 * exact, and rounded once.
 */
export function quantityComposite(
  items: readonly BasketItem[],
  quantities: readonly bigint[],
): Composite {
  const costsBy = (levelOf: (item: BasketItem) => Micros | null): bigint[] =>
    items.flatMap((item, at) => {
      const level = levelOf(item);
      return level === null ? [] : [(quantities[at] as bigint) * BigInt(level)];
    });
  /** Null: an item has no such level. */
  const total = (costs: readonly bigint[]): bigint | null =>
    costs.length < items.length ? null : costs.reduce((one, other) => one + other, 0n);
  const baseCosts = costsBy(({ base }) => base);
  const now = total(costsBy((item) => item.now)) as bigint;
  const base = total(baseCosts);
  const then24h = total(costsBy((item) => item.then24h));
  const then30d = total(costsBy((item) => item.then30d));
  const priced = base === null ? null : composite(items.filter(isConstituent), baseCosts);
  return {
    level: priced?.level ?? null,
    chg24hPct: changeOf(now, then24h),
    chg30dPct: changeOf(now, then30d),
    contributions: items.map((item, at) => ({
      ...(priced?.contributions[at] ?? NO_SHARES),
      item,
      quantity: roundRatio(ratio(quantities[at] as bigint, QUANTITY_SCALE), QUANTITY_DECIMALS),
    })),
    costs: {
      now: dollars(now),
      base: base === null ? null : dollars(base),
      then24h: then24h === null ? null : dollars(then24h),
      then30d: then30d === null ? null : dollars(then30d),
      withoutBase: withoutBase(items),
    },
  };
}

const NO_SHARES = {
  weightPct: null,
  relative: null,
  contribution: null,
  contribution24hPct: null,
} satisfies Nullable<Shares>;

const changeOf = (now: bigint, then: bigint | null): Decimal | null =>
  then === null ? null : roundRatio(ratio((now - then) * 100n, then), CHANGE_DECIMALS);

/** A cost in US dollars, of one in units of 10⁻⁹ micro-dollars. */
const dollars = (cost: bigint): Decimal =>
  roundRatio(ratio(cost, QUANTITY_SCALE * BigInt(MICROS_PER_UNIT)), COST_DECIMALS);
