/** How much of the market a session's levels cover, and which of them have not moved, and since when. */
import { cadenceSessions, isDelisted, type Contract } from "./contract.ts";
import { MICROS_PER_UNIT, ratio, roundRatio, type Micros } from "./decimal.ts";
import type { Series } from "./series.ts";
import type { Session } from "./session.ts";

type SeriesOf = (id: string) => Series | undefined;

const PERCENT_DECIMALS = 2;
const MICROS = BigInt(MICROS_PER_UNIT);

/**
 * How many contracts count for a session's coverage (delisted ones do not), how many of them are covered, in
 * percent (100 of none), and the missing ones, in catalog order. `within`: whether the exact percentage
 * is at least `minMicros`, in millionths.
 *
 * A contract is covered if it has a level for the session. With a cadence over half a day it is also
 * covered while its level's age is below the cadence plus 12 hours.
 */
export function coverageOf(
  catalog: readonly Contract[],
  seriesOf: SeriesOf,
  session: Session,
  minMicros: Micros,
) {
  const counted = catalog.filter((contract) => !isDelisted(contract, session));
  const missing = counted.filter((contract) => {
    const level = seriesOf(contract.id)?.at(session) ?? null;
    return level === null || !isFresh(session - level.session, contract);
  });
  const contracts = counted.length;
  const covered = counted.length - missing.length;
  const all = BigInt(Math.max(contracts, 1));
  const have = BigInt(contracts === 0 ? 1 : covered) * 100n;
  return {
    contracts,
    covered,
    missing,
    pct: roundRatio(ratio(have, all), PERCENT_DECIMALS),
    within: have * MICROS >= BigInt(minMicros) * all,
  };
}

function isFresh(ageSessions: number, contract: Contract): boolean {
  const cadence = cadenceSessions(contract);
  return cadence <= 1 ? ageSessions === 0 : ageSessions < cadence + 1;
}

/**
 * The last session up to `session` at which the contract's level differed from the one before it. A first
 * level counts as different, and a level with a break also does. Null without any level.
 */
function movedAt(series: Series | undefined, session: Session): Session | null {
  const levels = series?.levels;
  const moved = levels?.findLast(
    (level, place) =>
      level.session <= session &&
      // The first level has none before it.
      (place === 0 || level.breakReason !== undefined || levels.at(place - 1)?.usd !== level.usd),
  );
  return moved?.session ?? null;
}

/** The same of all contracts together. */
export function lastMove(
  catalog: readonly Contract[],
  seriesOf: SeriesOf,
  session: Session,
): Session | null {
  const moves = catalog.map(({ id }) => movedAt(seriesOf(id), session) ?? -Infinity);
  const last = Math.max(-Infinity, ...moves);
  return last === -Infinity ? null : last;
}

/** For how many sessions a contract's given level may stand still before it is named. */
export const USUAL_STILL_SESSIONS = 14;

/** The same in the options of a manifest; the usual one where an older program published. */
export const stillSessionsOf = (options: Readonly<Record<string, unknown>>): number =>
  Number(options["notice_still_sessions"] ?? USUAL_STILL_SESSIONS);

/** A contract whose given level has not moved since a session. */
interface Unmoved {
  readonly contract: Contract;
  readonly since: Session;
}

/** How many of the levels given for a session are equal to the ones before, and since when. */
export interface Movement {
  readonly given: number;
  /** How many of them are equal to the level before. */
  readonly unchanged: number;
  /** The session since which no level of the market has moved; null: one moves, or none is given. */
  readonly since: Session | null;
  /** Contracts priced at least daily that have not moved for `stillSessions` or more, in catalog order. */
  readonly still: readonly Unmoved[];
}

/** A cadence of a day or more is expected to stand still. */
const DAY_SESSIONS = 2;

export function movementOf(
  catalog: readonly Contract[],
  seriesOf: SeriesOf,
  session: Session,
  stillSessions: number,
): Movement {
  const given = catalog.flatMap((contract) => {
    const series = seriesOf(contract.id);
    if (!series?.given(session)) return [];
    return [{ contract, since: movedAt(series, session) ?? session }];
  });
  const unchanged = given.filter(({ since }) => since < session);
  const isAll = given.length > 0 && unchanged.length === given.length;
  const last = isAll ? lastMove(catalog, seriesOf, session) : null;
  return {
    given: given.length,
    unchanged: unchanged.length,
    since: last === session ? null : last,
    still: unchanged.filter(
      ({ contract, since }) =>
        cadenceSessions(contract) < DAY_SESSIONS && session - since >= stillSessions,
    ),
  };
}
