/**
 * The composite index and custom baskets: the weighted arithmetic mean of price relatives (a Carli
 * index where the weights are equal; ILO, Consumer Price Index Manual 2020, chapter 8), each direct
 * against the base, never chained. The base is one calendar year before the session and equals 100.
 * Because it rolls, levels of different sessions are not one series.
 */
import { errorBoundOf, roundCertain } from "./certain.ts";
import { CHANGE_DECIMALS } from "./change.ts";
import { ratio, roundRatio, sumRatios, type Decimal, type Micros, type Ratio } from "./decimal.ts";

/** The level of the base. */
export const INDEX_BASE_LEVEL = 100;

const INDEX_DECIMALS = 4;
const RELATIVE_DECIMALS = 6;

/** A contract with the levels the index needs of it, all above 0. */
export interface Constituent {
  readonly id: string;
  readonly ticker: string;
  readonly segment: string;
  readonly now: Micros;
  /** The level in force one calendar year before the session. */
  readonly base: Micros;
  /** The last levels given at or before 24 hours and 30 days ago, whatever their age. */
  readonly then24h: Micros;
  readonly then30d: Micros;
}

/** A constituent's part in the level and in its 24-hour change. */
export interface Contribution {
  readonly id: string;
  readonly ticker: string;
  readonly segment: string;
  /** Of all weights; they sum to 100. */
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

/** A priced index or basket. Level and changes are null where there is no constituent. */
export interface Composite {
  readonly level: Decimal | null;
  readonly chg24hPct: Decimal | null;
  readonly chg30dPct: Decimal | null;
  /** One for each constituent, in their order. */
  readonly contributions: readonly Contribution[];
}

/** Equal weights: any positive number, the same for each. */
export const EQUAL_WEIGHT = 1n;

/**
 * Prices a basket. `weights[i]`, a positive integer in any common scale, belongs to
 * `constituents[i]`; the weights are normalised to sum 1.
 *
 * Every figure is the exact one, rounded once: in doubles where that is certain, by fractions where
 * it is not.
 */
export function composite(
  constituents: readonly Constituent[],
  weights: readonly bigint[],
): Composite {
  if (constituents.length === 0) {
    return { level: null, chg24hPct: null, chg30dPct: null, contributions: [] };
  }
  const exact = new ExactBasket(constituents, weights);
  const sums = sumsOf(constituents, weights);
  const error = errorBoundOf(constituents.length);
  const changePct = (moved: number, magnitude: number, then: number): Decimal | null =>
    roundCertain((100 * moved) / then, (200 * error * magnitude) / then, CHANGE_DECIMALS);
  const level = (100 * sums.now) / sums.weight;
  return {
    level: roundCertain(level, level * error, INDEX_DECIMALS) ?? exact.level(),
    chg24hPct:
      changePct(sums.moved24h, sums.magnitude24h, sums.then24h) ??
      exact.changePct((item) => item.then24h),
    chg30dPct:
      changePct(sums.moved30d, sums.magnitude30d, sums.then30d) ??
      exact.changePct((item) => item.then30d),
    contributions: constituents.map((item, at) => {
      const { id, ticker, segment, now, base, then24h } = item;
      const percent = 100 * Number(weights[at]);
      const rounded = (value: number, decimals: number): Decimal | null =>
        roundCertain(value, Math.abs(value) * error, decimals);
      return {
        id,
        ticker,
        segment,
        weightPct: rounded(percent / sums.weight, INDEX_DECIMALS) ?? exact.weightPct(at),
        base,
        now,
        relative: rounded(now / base, RELATIVE_DECIMALS) ?? exact.relative(at),
        contribution:
          rounded(((percent / sums.weight) * (now - base)) / base, INDEX_DECIMALS) ??
          exact.contribution(at),
        contribution24hPct:
          rounded(((percent / base) * (now - then24h)) / sums.then24h, INDEX_DECIMALS) ??
          exact.contribution24hPct(at),
      };
    }),
  };
}

/** The composite index: every constituent with the same weight. */
export const equalWeighted = (constituents: readonly Constituent[]): Composite =>
  composite(
    constituents,
    constituents.map(() => EQUAL_WEIGHT),
  );

/** Of weighted relatives, in doubles. Magnitudes are sums of absolute moves. */
interface Sums {
  weight: number;
  now: number;
  then24h: number;
  then30d: number;
  moved24h: number;
  moved30d: number;
  magnitude24h: number;
  magnitude30d: number;
}

function sumsOf(constituents: readonly Constituent[], weights: readonly bigint[]): Sums {
  const sums = {
    weight: 0,
    now: 0,
    then24h: 0,
    then30d: 0,
    moved24h: 0,
    moved30d: 0,
    magnitude24h: 0,
    magnitude30d: 0,
  };
  for (const [at, { now, base, then24h, then30d }] of constituents.entries()) {
    const weight = Number(weights[at]);
    const share = weight / base;
    // Levels are whole numbers of at most 10¹⁵, so their differences are exact.
    const moved24h = share * (now - then24h);
    const moved30d = share * (now - then30d);
    sums.weight += weight;
    sums.now += share * now;
    sums.then24h += share * then24h;
    sums.then30d += share * then30d;
    sums.moved24h += moved24h;
    sums.moved30d += moved30d;
    sums.magnitude24h += Math.abs(moved24h);
    sums.magnitude30d += Math.abs(moved30d);
  }
  return sums;
}

/** The figures of a basket by fractions of whole numbers. */
class ExactBasket {
  readonly #constituents: readonly Constituent[];
  readonly #weights: readonly bigint[];

  constructor(constituents: readonly Constituent[], weights: readonly bigint[]) {
    this.#constituents = constituents;
    this.#weights = weights;
  }

  level(): Decimal {
    const now = this.#sumOf((item) => item.now);
    const hundredths = ratio(now.numerator * 100n, now.denominator * this.#totalWeight());
    return roundRatio(hundredths, INDEX_DECIMALS);
  }

  changePct(then: (item: Constituent) => Micros): Decimal {
    const now = this.#sumOf((item) => item.now);
    const before = this.#sumOf(then);
    const nowOverBefore = now.numerator * before.denominator;
    const unity = now.denominator * before.numerator;
    return roundRatio(ratio((nowOverBefore - unity) * 100n, unity), CHANGE_DECIMALS);
  }

  weightPct(at: number): Decimal {
    return roundRatio(ratio(this.#percent(at), this.#totalWeight()), INDEX_DECIMALS);
  }

  relative(at: number): Decimal {
    const { now, base } = this.#item(at);
    return roundRatio(ratio(BigInt(now), BigInt(base)), RELATIVE_DECIMALS);
  }

  contribution(at: number): Decimal {
    const { now, base } = this.#item(at);
    const moved = this.#percent(at) * BigInt(now - base);
    return roundRatio(ratio(moved, this.#totalWeight() * BigInt(base)), INDEX_DECIMALS);
  }

  /** The total weight cancels out: it divides both the item's move and the sum it is taken of. */
  contribution24hPct(at: number): Decimal {
    const { now, base, then24h } = this.#item(at);
    const before = this.#sumOf((item) => item.then24h);
    const moved = this.#percent(at) * BigInt(now - then24h) * before.denominator;
    return roundRatio(ratio(moved, BigInt(base) * before.numerator), INDEX_DECIMALS);
  }

  #item(at: number): Constituent {
    return this.#constituents[at] as Constituent;
  }

  #percent(at: number): bigint {
    return (this.#weights[at] as bigint) * 100n;
  }

  #totalWeight(): bigint {
    return this.#weights.reduce((sum, weight) => sum + weight, 0n);
  }

  #sumOf(price: (item: Constituent) => Micros): Ratio {
    return sumRatios(
      this.#constituents.map((item, at) =>
        ratio((this.#weights[at] as bigint) * BigInt(price(item)), BigInt(item.base)),
      ),
    );
  }
}
