/** The gates on levels: moves, coverage, a feed in which nothing moves, and a session far ahead. */
import { changePct } from "../market/change.ts";
import { cadenceSessions, carryLimitSessions, type Contract } from "../market/contract.ts";
import { coverageOf, lastMove } from "../market/coverage.ts";
import {
  formatMicros,
  MICROS_PER_UNIT,
  microsOf,
  ratio,
  roundRatio,
  sumOfRatios,
  type Micros,
  type Ratio,
} from "../market/decimal.ts";
import type { Level, Series } from "../market/series.ts";
import { sessionKey, SESSIONS_PER_DAY, type Session } from "../market/session.ts";
import type { GateFinding, GateInput, GateLimits } from "./finding.ts";

/** The successive levels, new in this run, that move by more than the limit. */
export function movesAbove(input: GateInput, limits: GateLimits): GateFinding[] {
  const contracts = new Map(input.catalog.map((contract) => [contract.id, contract]));
  const found: GateFinding[] = [];
  for (const id of input.touched) {
    const contract = contracts.get(id);
    const after = input.after.get(id);
    if (contract === undefined || after === undefined) continue;
    const before = input.before.get(id);
    const carryLimit = carryLimitSessions(contract, limits.maxCarryDays);
    const { maxMovePct } = contract;
    const maxMoveMicros = maxMovePct === null ? limits.maxMoveMicros : microsOf(Number(maxMovePct));
    const limit = formatMicros(maxMoveMicros);
    let last: Level | undefined;
    for (const now of after.levels) {
      const then = last;
      last = now;
      if (then === undefined || !exceeds(then.usd, now.usd, maxMoveMicros)) continue;
      if (now.session - then.session > carryLimit) continue;
      if (after.hasBreakBetween(then.session, now.session)) continue;
      if (before !== undefined && holdsPair(before, then, now)) continue;
      const percent = changePct(now.usd, then.usd);
      found.push({
        contract: id,
        measured: Number(percent),
        limit: Number(limit),
        text:
          `${id} moves by ${percent} percent, ` +
          `from ${formatMicros(then.usd)} (${sessionKey(then.session)}) to ${formatMicros(now.usd)} (${sessionKey(now.session)}), ` +
          `expected at most ${limit}`,
      });
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

/** So many contracts make a board whose median move is judged. */
const MIN_BOARD = 10;
/** A level of an older session than this gives no move of the board. */
const MAX_BOARD_SESSIONS = 7 * SESSIONS_PER_DAY;

/** The median move of the contracts whose level moves in this session is more than the limit. A first board has none. */
export function boardMoveAbove(
  { catalog, head, after, session }: GateInput,
  { maxBoardMoveMicros }: GateLimits,
): GateFinding[] {
  if (head === null) return [];
  const moves: Ratio[] = [];
  for (const { id } of catalog) {
    const series = after.get(id);
    const now = series?.given(session) ?? null;
    const then = series?.at(session - 1) ?? null;
    if (now === null || then === null || now.usd === then.usd) continue;
    if (session - then.session > MAX_BOARD_SESSIONS || now.breakReason !== undefined) continue;
    moves.push(ratio(BigInt(Math.abs(now.usd - then.usd)) * 100n, BigInt(then.usd)));
  }
  if (moves.length < MIN_BOARD) return [];
  const median = medianOf(moves);
  const limit = ratio(BigInt(maxBoardMoveMicros), BigInt(MICROS_PER_UNIT));
  if (compareRatios(median, limit) <= 0) return [];
  const percent = roundRatio(median, 2);
  const limitText = formatMicros(maxBoardMoveMicros);
  const text =
    `Half of the ${moves.length} contracts that move in ${sessionKey(session)} move by more than ${percent} percent, ` +
    `expected at most ${limitText}`;
  return [{ contract: null, measured: Number(percent), limit: Number(limitText), text }];
}

/** The middle one, or the mean of the two in the middle. */
function medianOf(items: readonly Ratio[]): Ratio {
  const sorted = [...items].sort(compareRatios);
  const half = sorted.length >> 1;
  const [before, middle] = [sorted[half - 1], sorted[half]] as [Ratio, Ratio];
  if (sorted.length % 2 === 1) return middle;
  const { numerator, denominator } = sumOfRatios([before, middle]);
  return ratio(numerator, denominator * 2n);
}

const compareRatios = (a: Ratio, b: Ratio): number =>
  Number(a.numerator * b.denominator - b.numerator * a.denominator);

/** Less of the catalog is covered than the limit. */
export function tooFew(input: GateInput, { minCoverageMicros }: GateLimits): GateFinding[] {
  const { catalog, after, session } = input;
  const { covered, contracts, missing, pct, within } = coverageOf(
    catalog,
    (id) => after.get(id),
    session,
    minCoverageMicros,
  );
  if (within) return [];
  const limit = formatMicros(minCoverageMicros);
  const stale = staleSession(input);
  if (stale !== null) {
    const text = `The input is stale: its newest quotes are of ${sessionKey(stale)}, and none is of ${sessionKey(session)}`;
    const remedy = `Publish when the feed has the levels of ${sessionKey(session)}`;
    return [{ contract: null, measured: Number(pct), limit: Number(limit), text, remedy }];
  }
  const text =
    `${covered} of ${contracts} contracts have a level for ${sessionKey(session)}, ` +
    `expected at least ${limit} percent; without one: ${missing.map(({ id }) => id).join(", ")}`;
  return [{ contract: null, measured: Number(pct), limit: Number(limit), text }];
}

/** The session of the newest quotes, if all quotes name an earlier session; null: some are for this one, or none are given. */
function staleSession({ session, given }: GateInput): Session | null {
  let newest: Session | null = null;
  for (const { levels } of given.byContract.values()) {
    const last = levels.quotes?.at(-1)?.session;
    if (last !== undefined && (newest === null || last > newest)) newest = last;
  }
  return newest !== null && newest < session ? newest : null;
}

/**
 * The run gives levels for its session, and none has moved for more sessions than the limit. Before the
 * first publication there is no level to repeat.
 */
export function unmovedTooLong(
  input: GateInput,
  { maxUnchangedSessions }: GateLimits,
): GateFinding[] {
  const since = unmovedSince(input);
  if (since === null || input.head === null) return [];
  const limit = Math.max(maxUnchangedSessions, ...givenForSession(input).map(cadenceSessions));
  const measured = input.session - since;
  if (measured <= limit) return [];
  const text =
    `No level has moved since ${sessionKey(since)}, for ${measured} sessions, ` +
    `expected at most ${limit}: the feed may be an old one`;
  return [{ contract: null, measured, limit, text }];
}

/**
 * The session is further after the head than the limit, or else the clock is further from the log: a wrong clock
 * skips the sessions between.
 */
export function tooFarAhead(
  { session, head, time }: GateInput,
  { maxGapSessions }: GateLimits,
): GateFinding[] {
  const measured = session - (head?.session ?? session);
  if (head === null || measured <= maxGapSessions) return time.filter(({ gate }) => gate === "gap");
  const text =
    `${sessionKey(session)} is ${measured} sessions after the head, ${sessionKey(head.session)}, ` +
    `expected at most ${maxGapSessions}: the clock or --session may be wrong`;
  return [{ contract: null, measured, limit: maxGapSessions, text }];
}

/**
 * The session since which no level has moved, if the run gives levels for its session; null if one of
 * them moves.
 */
export function unmovedSince(
  input: Pick<GateInput, "catalog" | "session" | "after" | "given">,
): Session | null {
  if (givenForSession(input).length === 0) return null;
  const since = lastMove(input.catalog, (id) => input.after.get(id), input.session);
  return since === input.session ? null : since;
}

/** Why the feed may repeat the head's levels: none has moved, and a row does not name its session. */
export function repeatOfHead(input: GateInput): string | null {
  const { session, head, given } = input;
  const since = unmovedSince(input);
  if (since === null || head === null || head.session === session || !given.hasUndated) return null;
  return `no level has moved since ${sessionKey(since)}, and no session_utc says that the feed is for ${sessionKey(session)}`;
}

const givenForSession = ({
  catalog,
  given,
  session,
}: Pick<GateInput, "catalog" | "session" | "given">): Contract[] =>
  catalog.filter(({ id }) =>
    given.rowsOf(id).some((row) => row.session === session && row.usd !== null),
  );
