/** How far the session's levels are from the limits of the gates. */
import { changePct, isComparableMove } from "../../market/change.ts";
import { carryLimitSessions, type Contract } from "../../market/contract.ts";
import {
  MICROS_PER_UNIT,
  ratio,
  roundRatio,
  type Decimal,
  type Micros,
} from "../../market/decimal.ts";
import type { Session } from "../../market/session.ts";
import type { BoardRecord, Market } from "../../market/view.ts";

const PERCENT_DECIMALS = 2;
const MICROS = BigInt(MICROS_PER_UNIT);

/** The limits that the report compares with. */
export interface ReportGates {
  /** Percent, in millionths. */
  readonly maxMoveMicros: Micros;
  readonly minCoverageMicros: Micros;
}

/** A level given for the session, and the one before it. */
export interface Move {
  readonly contract: Contract;
  readonly before: Micros;
  readonly now: Micros;
  /** (now / before − 1) × 100. */
  readonly pct: Decimal;
  /** Whether the exact move is at most the limit. */
  readonly within: boolean;
  /** Percentage points left to the limit. */
  readonly marginPct: Decimal;
}

/**
 * The largest move of the session's levels from the levels before, by the gate's own rule
 * (isComparableMove). Null if there is none. Of equal moves, the first in board order.
 */
export function largestMove(
  market: Market,
  records: readonly BoardRecord[],
  { maxMoveMicros }: ReportGates,
): Move | null {
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

/** How many contracts have a level for the session, and how many the catalog has. */
export interface Coverage {
  readonly given: number;
  readonly contracts: number;
  /** given / contracts × 100. */
  readonly pct: Decimal;
  /** Whether the exact coverage is at least the limit. */
  readonly within: boolean;
  /** Percentage points above the limit. */
  readonly marginPct: Decimal;
}

/** The part of the catalog with a level for the session; 100 percent of an empty catalog. */
export function coverage(given: number, contracts: number, gates: ReportGates): Coverage {
  const all = BigInt(Math.max(contracts, 1));
  const have = BigInt(contracts === 0 ? 1 : given) * 100n;
  const margin = ratio(have * MICROS - BigInt(gates.minCoverageMicros) * all, MICROS * all);
  return {
    given,
    contracts,
    pct: roundRatio(ratio(have, all), PERCENT_DECIMALS),
    within: margin.numerator >= 0n,
    marginPct: roundRatio(margin, PERCENT_DECIMALS),
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
