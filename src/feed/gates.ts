/**
 * The gates: they refuse data that is well-formed but may be wrong. Each refusal names the contracts
 * and what to do.
 */
import { changePct, isComparableMove } from "../market/change.ts";
import { carryLimitSessions, type Contract } from "../market/contract.ts";
import { formatMicros, MICROS_PER_UNIT, type Micros } from "../market/decimal.ts";
import type { Level, Series } from "../market/series.ts";
import { sessionKey, type Session } from "../market/session.ts";
import { quoted } from "./complaints.ts";
import type { GivenLevels } from "./given-levels.ts";

/** The limits of a run, and which gates it opens. */
export interface GateOptions {
  /** Percent, in millionths: 50 % is 50,000,000. A move of exactly this size passes. */
  readonly maxMoveMicros: Micros;
  /** Percent of the catalog's contracts, in millionths. */
  readonly minCoverageMicros: Micros;
  /** The carry limit of contracts that have none of their own, in days. */
  readonly maxCarryDays: number;
  /** Opens the gate on moves. */
  readonly acceptMoves: boolean;
  /** Opens the gate on coverage. */
  readonly allowSparse: boolean;
}

/** The default limits: 50 percent, 80 percent, 45 days. */
export const USUAL_LIMITS = {
  maxMoveMicros: 50_000_000,
  minCoverageMicros: 80_000_000,
  maxCarryDays: 45,
} as const;

/** A run's input and the ledger before and after it, series by contract id. */
interface GateInput {
  readonly session: Session;
  readonly catalog: readonly Contract[];
  /** The head's catalog; null: there is none. */
  readonly catalogBefore: readonly Contract[] | null;
  readonly before: ReadonlyMap<string, Series>;
  readonly after: ReadonlyMap<string, Series>;
  /** The ids of contracts whose series changed in this run. */
  readonly touched: readonly string[];
  readonly given: GivenLevels;
}

/** The refusals of the gates, as text. */
export interface GateFindings {
  /** One line per refusal; empty: all gates pass. */
  readonly refusals: readonly string[];
  /** What to do, one line per gate that refuses. */
  readonly waysOn: readonly string[];
}

/** Judges the ledger that the run would publish. Never throws. */
export function judge(input: GateInput, options: GateOptions): GateFindings {
  const missing = input.catalog.filter(
    ({ id }) => input.after.get(id)?.given(input.session) == null,
  );
  const covered = input.catalog.length - missing.length;
  const moves = options.acceptMoves ? [] : movesAbove(input, options);
  const sparse =
    !options.allowSparse &&
    BigInt(covered) * 100_000_000n <
      BigInt(input.catalog.length) * BigInt(options.minCoverageMicros);
  const respecified = changedSpecifications(input);
  const refusals = [...moves, ...respecified];
  const waysOn: string[] = [];
  if (moves.length > 0) {
    waysOn.push(
      "If the moves are right, publish with --accept-moves, or mark a change of what is priced with a break.",
    );
  }
  if (respecified.length > 0) {
    waysOn.push(
      "Levels across a change of unit or capacity do not compare: give the contract's level with a break in the same run.",
    );
  }
  if (sparse) {
    refusals.push(
      `${covered} of ${input.catalog.length} contracts have a level for ${sessionKey(input.session)}, ` +
        `expected at least ${formatMicros(options.minCoverageMicros)} percent; without one: ` +
        missing.map(({ id }) => id).join(", "),
    );
    waysOn.push("If the feed is complete, publish with --allow-sparse.");
  }
  return { refusals, waysOn };
}

/** The successive levels, new in this run, that move by more than the limit; one line each. */
function movesAbove(input: GateInput, options: GateOptions): string[] {
  const contracts = new Map(input.catalog.map((contract) => [contract.id, contract]));
  const found: string[] = [];
  for (const id of input.touched) {
    const contract = contracts.get(id);
    const after = input.after.get(id);
    if (contract === undefined || after === undefined) continue;
    const before = input.before.get(id);
    const limit = carryLimitSessions(contract, options.maxCarryDays);
    for (const [at, now] of after.levels.entries()) {
      const then = after.levels[at - 1];
      if (then === undefined || !exceeds(then.usd, now.usd, options.maxMoveMicros)) continue;
      if (!isComparableMove(after, then, now, limit)) continue;
      if (before !== undefined && holdsPair(before, then, now)) continue;
      found.push(
        `${id} moves by ${changePct(now.usd, then.usd)} percent, ` +
          `from ${formatMicros(then.usd)} (${sessionKey(then.session)}) to ${formatMicros(now.usd)} (${sessionKey(now.session)}), ` +
          `expected at most ${formatMicros(options.maxMoveMicros)}`,
      );
    }
  }
  return found;
}

/** |now / then − 1| × 100 > limit, exact. Floating point decides only the clear cases. */
function exceeds(then: Micros, now: Micros, limitMicros: Micros): boolean {
  const percent = (Math.abs(now - then) / then) * 100;
  if (percent < (limitMicros / MICROS_PER_UNIT) * 0.999_999) return false;
  const distance = BigInt(Math.abs(now - then));
  return distance * 100_000_000n > BigInt(then) * BigInt(limitMicros);
}

/** Whether the ledger before the run already had these two levels in succession. */
function holdsPair(before: Series, then: Level, now: Level): boolean {
  const previous = before.at(now.session - 1);
  return (
    before.given(now.session)?.usd === now.usd &&
    previous?.session === then.session &&
    previous.usd === then.usd
  );
}

function changedSpecifications(input: GateInput): string[] {
  if (input.catalogBefore === null) return [];
  const before = new Map(input.catalogBefore.map((contract) => [contract.id, contract]));
  return input.catalog.flatMap((contract) => {
    const old = before.get(contract.id);
    if (old === undefined || !input.before.has(contract.id)) return [];
    const changes = [
      ...(old.unit === contract.unit
        ? []
        : [`unit from ${quoted(old.unit)} to ${quoted(contract.unit)}`]),
      ...(old.capacityGb === contract.capacityGb
        ? []
        : [`capacity_gb from ${old.capacityGb ?? "none"} to ${contract.capacityGb ?? "none"}`]),
    ];
    const rows = input.given.rowsOf(contract.id);
    if (changes.length === 0 || rows.some(({ breakReason }) => breakReason !== undefined))
      return [];
    return [`${contract.id} changes its ${changes.join(" and its ")} without a break`];
  });
}
