/** What moved the composite index from one snapshot to another, from the figures that they store. */
import { byLargestChange } from "../market/change.ts";
import { INDEX_BASE_LEVEL } from "../market/composite.ts";
import {
  MAX_LEVEL_USD,
  parseMicros,
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
  readonly old_level: Decimal | null;
  readonly new_level: Decimal | null;
  /** The sessions of the bases, which can be two of one day. */
  readonly old_base_utc: string | null;
  readonly new_base_utc: string | null;
  /** By prices: of the constituents in both, against the older base. */
  readonly price_points: Decimal | null;
  /** By bases that are other ones, at the newer prices of the same constituents. */
  readonly base_points: Decimal | null;
  /** By constituents in one of the two only: without them, both levels would be other ones. */
  readonly constituents_points: Decimal | null;
  /** The constituents in the newer index only, and in the older one only. */
  readonly entered: readonly string[] | null;
  readonly left: readonly string[] | null;
  /** The parts of `price_points` by contract, largest effect first. */
  readonly movers: readonly { readonly id: string; readonly points: Decimal }[] | null;
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
  const [old, now] = [pricesOf(before), pricesOf(after)];
  const common = [...now].flatMap(([id, { usd, base }]): Common[] => {
    const then = old.get(id);
    return then === undefined || isBroken(id)
      ? []
      : [{ id, oldUsd: then.usd, oldBase: then.base, newUsd: usd, newBase: base }];
  });
  const ids = new Set(common.map(({ id }) => id));
  const others = {
    entered: [...now.keys()].filter((id) => !ids.has(id)),
    left: [...old.keys()].filter((id) => !ids.has(id)),
  };
  if (old.size === 0 || now.size === 0) return { ...ends, ...UNKNOWN, ...others };
  const count = common.length;
  const byPrices = common.map(({ id, oldUsd, newUsd, oldBase }) => ({
    id,
    points: pointsOf(newUsd - oldUsd, oldBase, count),
  }));
  const byBases = common.flatMap(({ newUsd, oldBase, newBase }) => [
    pointsOf(newUsd, newBase, count),
    pointsOf(-newUsd, oldBase, count),
  ]);
  const byConstituents = [
    ...[...now.values()].map(({ usd, base }) => pointsOf(usd, base, now.size)),
    ...common.map(({ newUsd, newBase }) => pointsOf(-newUsd, newBase, count)),
    ...common.map(({ oldUsd, oldBase }) => pointsOf(oldUsd, oldBase, count)),
    ...[...old.values()].map(({ usd, base }) => pointsOf(-usd, base, old.size)),
  ];
  const moves = byPrices.map(({ id, points }) => ({ id, points: rounded(points) }));
  return {
    ...ends,
    price_points: rounded(sumOfRatios(byPrices.map(({ points }) => points))),
    base_points: rounded(sumOfRatios(byBases)),
    constituents_points: rounded(sumOfRatios(byConstituents)),
    ...others,
    movers: byLargestChange(moves, ({ points }) => points).map(({ item }) => item),
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

/** A constituent of both indices. */
interface Common {
  readonly id: string;
  readonly oldUsd: bigint;
  readonly oldBase: bigint;
  readonly newUsd: bigint;
  readonly newBase: bigint;
}

/** `2025-11-21T00:00:00.000Z` */
const baseOf = ({ session_utc }: StoredIndex): string =>
  sessionUtc(sessionYearBefore(parseSession(session_utc) as Session));

const pricesOf = ({ contributions }: StoredIndex): Map<string, Prices> =>
  new Map(
    contributions.map(({ id, base_usd, spot_usd }) => [
      id,
      { usd: micros(spot_usd), base: micros(base_usd) },
    ]),
  );

/** The points of `usd` against `base` in an index of `count` constituents. */
const pointsOf = (usd: bigint, base: bigint, count: number): Ratio =>
  ratio(BigInt(INDEX_BASE_LEVEL) * usd, base * BigInt(count));

const rounded = (points: Ratio): Decimal => roundRatio(points, POINTS_DECIMALS);

/** Throws RangeError for a text that is no level. */
const micros = (usd: Decimal): bigint => BigInt(parseMicros(usd, MAX_LEVEL_USD) ?? Number.NaN);
