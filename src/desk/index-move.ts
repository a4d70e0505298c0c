/** Explains the move of the composite index between two snapshots from their stored figures. */
import { byLargestChange } from "../market/change.ts";
import { INDEX_BASE_LEVEL } from "../market/composite.ts";
import {
  microsOf,
  ratio,
  roundRatio,
  sumOfRatios,
  type Decimal,
  type Ratio,
} from "../market/decimal.ts";
import { parseSession, sessionUtc, sessionYearBefore, type Session } from "../market/session.ts";
import type { StoredIndex } from "./stored-payloads.ts";

const POINTS_DECIMALS = 4;

/**
 * The index at both ends. The three parts in points are exact and rounded once; they sum to the newer
 * level less the older one. They are null if a snapshot lacks the index, or its index has no constituent.
 */
export interface IndexMove {
  readonly old_level: number | null;
  readonly new_level: number | null;
  /** The sessions of the bases, which can be two of one day. */
  readonly old_base_utc: string | null;
  readonly new_base_utc: string | null;
  /** By prices: of the constituents in both, against the older base. */
  readonly price_points: number | null;
  /** By bases that are other ones, at the newer prices of the same constituents. */
  readonly base_points: number | null;
  /** By constituents in one of the two only: without them, both levels would be other ones. */
  readonly constituents_points: number | null;
  /** The constituents in the newer index only, and in the older one only. */
  readonly entered: readonly string[] | null;
  readonly left: readonly string[] | null;
  /** The parts of `price_points` by contract, largest effect first. */
  readonly movers: readonly { readonly id: string; readonly points: number }[] | null;
}

/**
 * Separates what prices moved. The level of the contracts in both, with the older bases and prices, moves
 * first to the newer prices and then to the newer bases. `isBroken` says that a break lies between two
 * levels of a contract; it then counts as one that left and one that entered.
 */
export function indexMove(
  before: StoredIndex | null,
  after: StoredIndex | null,
  isBroken: (id: string) => boolean,
): IndexMove {
  const ends = {
    old_level: before?.level ?? null,
    new_level: after?.level ?? null,
    old_base_utc: before && baseOf(before),
    new_base_utc: after && baseOf(after),
  };
  if (before === null || after === null) return { ...ends, ...UNKNOWN, entered: null, left: null };
  const old = pricesOf(before);
  const now = pricesOf(after);
  const common = [...now].flatMap(([id, price]) => {
    const then = old.get(id);
    return then === undefined || isBroken(id) ? [] : [{ id, old: then, now: price }];
  });
  const ids = new Set(common.map(({ id }) => id));
  const others = {
    entered: [...now.keys()].filter((id) => !ids.has(id)),
    left: [...old.keys()].filter((id) => !ids.has(id)),
  };
  if (old.size === 0 || now.size === 0) return { ...ends, ...UNKNOWN, ...others };
  const from = meanOf([...old.values()]);
  const then = meanOf(common.map((item) => item.old));
  const priced = meanOf(common.map((item) => ({ usd: item.now.usd, base: item.old.base })));
  const rebased = meanOf(common.map((item) => item.now));
  const to = meanOf([...now.values()]);
  const movers = byLargestChange(common, (item) =>
    rounded(pointsOf(item.now.usd - item.old.usd, item.old.base, common.length)),
  );
  return {
    ...ends,
    price_points: Number(rounded(sumOfRatios([priced, negative(then)]))),
    base_points: Number(rounded(sumOfRatios([rebased, negative(priced)]))),
    constituents_points: Number(
      rounded(sumOfRatios([to, negative(rebased), then, negative(from)])),
    ),
    ...others,
    movers: movers.map(({ item: { id }, change }) => ({ id, points: Number(change) })),
  };
}

const UNKNOWN = {
  price_points: null,
  base_points: null,
  constituents_points: null,
  movers: null,
} as const;

/** A constituent's level in force and its base, in micro-dollars. */
interface Prices {
  readonly usd: bigint;
  readonly base: bigint;
}

/** `2025-11-21T00:00:00.000Z` */
const baseOf = ({ session_utc }: StoredIndex): string =>
  sessionUtc(sessionYearBefore(parseSession(session_utc) as Session));

const pricesOf = ({ contributions }: StoredIndex): Map<string, Prices> =>
  new Map(
    contributions.map(({ id, base_usd, spot_usd }) => [
      id,
      { usd: BigInt(microsOf(spot_usd)), base: BigInt(microsOf(base_usd)) },
    ]),
  );

/** The level of an index of these constituents; 0 of none. */
const meanOf = (prices: readonly Prices[]): Ratio =>
  sumOfRatios(prices.map(({ usd, base }) => pointsOf(usd, base, prices.length)));

/** The points of `usd` against `base` in an index of `count` constituents. */
const pointsOf = (usd: bigint, base: bigint, count: number): Ratio =>
  ratio(BigInt(INDEX_BASE_LEVEL) * usd, base * BigInt(count));

const negative = ({ numerator, denominator }: Ratio): Ratio => ratio(-numerator, denominator);

const rounded = (points: Ratio): Decimal => roundRatio(points, POINTS_DECIMALS);
