/** How far the session's levels are from the limits of the gates. */
import { changePct, isComparableMove } from "../../market/change.ts";
import { cadenceSessions, carryLimitSessions } from "../../market/contract.ts";
import { lastMove } from "../../market/coverage.ts";
import { MICROS_PER_UNIT, ratio, roundRatio, type Micros } from "../../market/decimal.ts";
import type { Session } from "../../market/session.ts";
import type { BoardRecord, Market } from "../../market/view.ts";

const PERCENT_DECIMALS = 2;
const MICROS = BigInt(MICROS_PER_UNIT);

/** The limits of the run. */
export interface ReportGates {
  /** Percent, in millionths. */
  readonly maxMoveMicros: Micros;
  readonly minCoverageMicros: Micros;
  readonly maxUnchangedSessions: number;
}

/**
 * The largest move of the session's levels from the levels before, by the gate's own rule
 * (isComparableMove); in percent, with the percentage points left to the limit. `within`: whether the exact
 * move is at most the limit. Null if there is none. Of equal moves, the first in board order.
 */
export function largestMove(
  market: Market,
  records: readonly BoardRecord[],
  { maxMoveMicros }: ReportGates,
) {
  let largest: { record: BoardRecord; distance: bigint; before: bigint } | null = null;
  for (const record of records) {
    const usd = predecessor(market, record);
    if (usd === null) continue;
    const before = BigInt(usd);
    const distance = BigInt(Math.abs(record.level.usd - usd));
    if (largest === null || distance * largest.before > largest.distance * before) {
      largest = { record, distance, before };
    }
  }
  if (largest === null) return null;
  const { record, distance, before } = largest;
  const { contract, level } = record;
  const limit = BigInt(maxMoveMicros);
  const overUnity = distance * 100n * MICROS;
  return {
    contract,
    before: Number(before),
    now: level.usd,
    pct: changePct(level.usd, Number(before)),
    within: overUnity <= limit * before,
    marginPct: roundRatio(ratio(limit * before - overUnity, MICROS * before), PERCENT_DECIMALS),
  };
}

function predecessor(market: Market, record: BoardRecord): Micros | null {
  const { contract, series, level, carried } = record;
  const previous = series.at(level.session - 1);
  if (carried || previous === null) return null;
  const limit = carryLimitSessions(contract, market.maxCarryDays);
  return isComparableMove(series, previous, level, limit) ? previous.usd : null;
}

/**
 * How many sessions ago a level last moved, and after how many the gate refuses: longer than the run's limit
 * if a contract with a level for the session has a longer cadence. Null if no level was given for the
 * session: then the gate does not judge.
 */
export function standstill(
  { catalog, seriesOf }: Market,
  records: readonly BoardRecord[],
  session: Session,
  { maxUnchangedSessions }: ReportGates,
) {
  const given = records.filter(({ carried }) => !carried);
  const last = lastMove(catalog, seriesOf, session);
  if (given.length === 0 || last === null) return null;
  const cadences = given.map(({ contract }) => cadenceSessions(contract));
  return {
    sessions: session - last,
    limitSessions: Math.max(maxUnchangedSessions, ...cadences),
  };
}

/** A carried level with its age and its limit, in sessions. */
interface Carried {
  readonly record: BoardRecord;
  readonly ageSessions: number;
  readonly limitSessions: number;
}

/** The carried levels, first the one that drops next; equal ones in board order. */
export const carriedLevels = (
  market: Market,
  records: readonly BoardRecord[],
  session: Session,
): Carried[] =>
  records
    .filter(({ carried }) => carried)
    .map((record) => ({
      record,
      ageSessions: session - record.level.session,
      limitSessions: carryLimitSessions(record.contract, market.maxCarryDays),
    }))
    .sort((a, b) => a.limitSessions - a.ageSessions - (b.limitSessions - b.ageSessions));
