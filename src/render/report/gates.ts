/** By how much the gates were passed: the session's own levels measured against the limits. */
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

/** The limits that the report measures against. */
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
  /** Whether it is no more than the limit, exactly. */
  readonly within: boolean;
  /** Percentage points left to the limit. */
  readonly marginPct: Decimal;
}

/**
 * The largest move among the session's levels against their predecessors, by the gate's own rule
 * (isComparableMove). Null where no level has one. Of equal moves the first in board order.
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

/** Contracts with a level for the session, and all of the catalog. */
export interface Coverage {
  readonly given: number;
  readonly contracts: number;
  /** given / contracts × 100. */
  readonly pct: Decimal;
  /** Whether it is no less than the limit, exactly. */
  readonly within: boolean;
  /** Percentage points above the limit. */
  readonly marginPct: Decimal;
}

/** How much of the catalog has a level for the session. An empty catalog is covered whole. */
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

/** A level that stands in for a missing one: its age and how old it may become, in sessions. */
interface Carried {
  readonly record: BoardRecord;
  readonly ageSessions: number;
  readonly limitSessions: number;
}

/** The carried levels, the one that drops first at the front; of equals, in board order. */
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
