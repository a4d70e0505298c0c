/** How much of the market a session's levels cover, and since when no level moved. */
import { isDelisted, type Contract } from "./contract.ts";
import { parseMicros, type Micros } from "./decimal.ts";
import type { Series } from "./series.ts";
import { SESSIONS_PER_DAY, type Session } from "./session.ts";

/** The contracts that count for a session's coverage. Delisted ones do not. */
export interface Coverage {
  readonly contracts: number;
  readonly covered: number;
  /** In catalog order. */
  readonly missing: readonly Contract[];
}

type SeriesOf = (id: string) => Series | undefined;

/**
 * A contract is covered if it has a level for the session. With a cadence over half a day it is also
 * covered while its level's age is below the cadence plus 12 hours.
 */
export function coverageOf(
  catalog: readonly Contract[],
  seriesOf: SeriesOf,
  session: Session,
): Coverage {
  const counted = catalog.filter((contract) => !isDelisted(contract, session));
  const missing = counted.filter((contract) => {
    const level = seriesOf(contract.id)?.at(session) ?? null;
    return level === null || !isFresh(session - level.session, contract);
  });
  return { contracts: counted.length, covered: counted.length - missing.length, missing };
}

const SESSION_MICRODAYS: Micros = 1e6 / SESSIONS_PER_DAY;

function isFresh(ageSessions: number, { cadenceDays }: Contract): boolean {
  const cadence = parseMicros(cadenceDays, Number.MAX_SAFE_INTEGER) as Micros;
  if (cadence <= SESSION_MICRODAYS) return ageSessions === 0;
  return ageSessions * SESSION_MICRODAYS < cadence + SESSION_MICRODAYS;
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
    const moved = seriesOf(id)?.levels.findLast(
      (level, at, levels) =>
        level.session <= session &&
        (level.breakReason !== undefined || levels[at - 1]?.usd !== level.usd),
    );
    if (moved !== undefined && (last === null || moved.session > last)) last = moved.session;
  }
  return last;
}
