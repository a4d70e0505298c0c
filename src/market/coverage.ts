/** How much of the market a session's levels cover, and since when no level moved. */
import { cadenceSessions, isDelisted, type Contract } from "./contract.ts";
import { MICROS_PER_UNIT, ratio, roundRatio, type Micros } from "./decimal.ts";
import type { Series } from "./series.ts";
import type { Session } from "./session.ts";

type SeriesOf = (id: string) => Series | undefined;

const PERCENT_DECIMALS = 2;
const MICROS = BigInt(MICROS_PER_UNIT);

/**
 * How many contracts count for a session's coverage (delisted ones do not), how many of them are covered, in
 * percent, too (100 of none), and the missing ones, in catalog order. `within`: whether the exact percentage
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
  const [contracts, covered] = [counted.length, counted.length - missing.length];
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
 * The last session up to `session` at which the level of any contract differed from the one before it.
 * A first level differs, and so does one with a break. Null without any level.
 */
export function lastMove(
  catalog: readonly Contract[],
  seriesOf: SeriesOf,
  session: Session,
): Session | null {
  let last: Session | null = null;
  for (const { id } of catalog) {
    const levels = seriesOf(id)?.levels;
    const moved = levels?.findLast(
      (level, place) =>
        level.session <= session &&
        (level.breakReason !== undefined || levels?.at(place - 1)?.usd !== level.usd),
    );
    if (moved !== undefined && (last === null || moved.session > last)) last = moved.session;
  }
  return last;
}
