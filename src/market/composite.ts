/**
 * The composite index and custom baskets: weighted means of price relatives. The mean is arithmetic (a Carli
 * index where the weights are equal; ILO, Consumer Price Index Manual 2020, chapter 8), and each relative
 * direct against the base, never chained. The base is one calendar year before the session and equals 100.
 * Because it rolls, levels of different sessions are not one series. A basket of quantities compares their
 * cost now with their cost at the base (a Lowe index): it is the same mean, weighted by the shares of the
 * costs at the base.
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

/** An item's share in the level and in its 24-hour change; null: see quantityComposite. */
export interface Contribution extends Nullable<Shares> {
  readonly item: BasketItem;
  /** The quantity in the contract's unit, and its costs. Only in a basket of quantities. */
  readonly bought?: Costs & { readonly quantity: Decimal };
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

/** The cost of quantities by each level, US dollars; null: the item, or one of the items, has no such level. */
export interface Costs extends Nullable<Record<"base" | "then24h" | "then30d", Decimal>> {
  readonly now: Decimal;
}

/** The costs of a whole basket of quantities. */
interface BasketCosts extends Costs {
  readonly withoutBase: readonly WithoutBase[];
  /** Of the items with a base alone; null: none has one. */
  readonly likeForLike: LikeForLike | null;
}

interface LikeForLike {
  /** How many items these are. */
  readonly parts: number;
  readonly now: Decimal;
  readonly base: Decimal;
  /** 100 × now / base. */
  readonly level: Decimal;
}

/**
 * A priced index or basket. Level and changes are null if an item lacks a compared level, or there is no
 * item.
 */
export interface Composite {
  readonly level: Decimal | null;
  readonly chg24hPct: Decimal | null;
  readonly chg30dPct: Decimal | null;
  /** One for each item, in their order. */
  readonly contributions: readonly Contribution[];
  /** Only of a basket of quantities. */
  readonly costs?: BasketCosts;
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
  const totalWeight = sumOf(weights);
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
 * at the base. An item without an earlier level leaves out what needs it, and nothing else: without a base its
 * relative, and of the whole basket the level, weights and contributions; without a level of 24 hours ago the
 * contributions to that change. Every figure is exact, and rounded once.
 */
export function quantityComposite(
  items: readonly BasketItem[],
  quantities: readonly bigint[],
): Composite {
  const parts = items.map((item, at) => {
    const quantity = quantities[at] as bigint;
    const costBy = (level: Micros | null): bigint | null =>
      level === null ? null : quantity * BigInt(level);
    return {
      item,
      quantity,
      now: quantity * BigInt(item.now),
      base: costBy(item.base),
      then24h: costBy(item.then24h),
      then30d: costBy(item.then30d),
    };
  });
  const now = sumOf(parts.map((part) => part.now));
  /** Null: a part lacks it. */
  const total = (name: "base" | "then24h" | "then30d"): bigint | null => {
    const costs = parts.flatMap((part) => part[name] ?? []);
    return costs.length < parts.length ? null : sumOf(costs);
  };
  const [base, then24h, then30d] = [total("base"), total("then24h"), total("then30d")];
  return {
    level: base === null ? null : percentOf(now, base),
    chg24hPct: changeOf(now, then24h),
    chg30dPct: changeOf(now, then30d),
    contributions: parts.map(({ item, quantity, ...part }) => ({
      item,
      bought: {
        quantity: roundRatio(ratio(quantity, QUANTITY_SCALE), QUANTITY_DECIMALS),
        ...costsOf(part),
      },
      weightPct: part.base === null || base === null ? null : percentOf(part.base, base),
      relative:
        part.base === null ? null : roundRatio(ratio(part.now, part.base), RELATIVE_DECIMALS),
      contribution:
        part.base === null || base === null ? null : percentOf(part.now - part.base, base),
      contribution24hPct:
        part.then24h === null || then24h === null
          ? null
          : percentOf(part.now - part.then24h, then24h),
    })),
    costs: {
      ...costsOf({ now, base, then24h, then30d }),
      withoutBase: withoutBase(items),
      likeForLike: likeForLikeOf(
        parts.flatMap(({ now, base }) => (base === null ? [] : [{ now, base }])),
      ),
    },
  };
}

/** Costs in units of 10⁻⁹ micro-dollars. */
type ExactCosts = Nullable<Record<"base" | "then24h" | "then30d", bigint>> & {
  readonly now: bigint;
};

const costsOf = ({ now, base, then24h, then30d }: ExactCosts): Costs => ({
  now: dollars(now),
  base: base === null ? null : dollars(base),
  then24h: then24h === null ? null : dollars(then24h),
  then30d: then30d === null ? null : dollars(then30d),
});

function likeForLikeOf(
  parts: readonly { readonly now: bigint; readonly base: bigint }[],
): LikeForLike | null {
  if (parts.length === 0) return null;
  const now = sumOf(parts.map((part) => part.now));
  const base = sumOf(parts.map((part) => part.base));
  return {
    parts: parts.length,
    now: dollars(now),
    base: dollars(base),
    level: percentOf(now, base),
  };
}

const sumOf = (costs: readonly bigint[]): bigint => costs.reduce((one, other) => one + other, 0n);

const percentOf = (part: bigint, whole: bigint): Decimal =>
  roundRatio(ratio(part * 100n, whole), INDEX_DECIMALS);

const changeOf = (now: bigint, then: bigint | null): Decimal | null =>
  then === null ? null : roundRatio(ratio((now - then) * 100n, then), CHANGE_DECIMALS);

/** A cost in US dollars, of one in units of 10⁻⁹ micro-dollars. */
const dollars = (cost: bigint): Decimal =>
  roundRatio(ratio(cost, QUANTITY_SCALE * BigInt(MICROS_PER_UNIT)), COST_DECIMALS);
