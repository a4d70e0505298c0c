/** What one tier sees of the market at its session: the boards, and who is missing from them. */
import {
  HORIZONS,
  changePct,
  comparableLevel,
  type ExclusionReason,
  type Horizon,
} from "./change.ts";
import type { Constituent } from "./composite.ts";
import { BOARDS, carryLimitSessions, type Board, type Contract } from "./contract.ts";
import { parseMicros, ratio, roundRatio, type Decimal, type Micros } from "./decimal.ts";
import type { Basis, Break, Level, Series } from "./series.ts";
import type { Session } from "./session.ts";
import { tierSession, type Tier } from "./tier.ts";

const USD_PER_GB_DECIMALS = 6;

/** The catalog and the levels behind it. */
export interface Market {
  readonly catalog: readonly Contract[];
  /** How long a level may be carried, in days, for contracts that do not say so themselves. */
  readonly maxCarryDays: number;
  /** The contract's levels; undefined where none was ever given. */
  seriesOf(id: string): Series | undefined;
}

/** A contract on the board, with the level in force. */
export interface BoardRecord {
  /** The view's. */
  readonly session: Session;
  readonly contract: Contract;
  readonly series: Series;
  readonly level: Level;
  /** Whether the level was given for an earlier session than the view's. */
  readonly carried: boolean;
  /** In percent; null where there is no comparable level then (`comparableLevel`). */
  readonly changePct: { readonly [H in Horizon]: Decimal | null };
  /** Null without a capacity. */
  readonly usdPerGb: Decimal | null;
  /** The latest one up to the view's session. */
  readonly break: Break | null;
}

/** What a tier sees: who is on the boards, in catalog order, and who is not. */
export interface TierView {
  readonly tier: Tier;
  /** The tier's own, so many sessions behind the head's as the tier is. */
  readonly session: Session;
  readonly boards: { readonly [B in Board]: readonly BoardRecord[] };
  /** In catalog order; the last level, over its carry limit now; null where there was none. */
  readonly offBoard: readonly { readonly contract: Contract; readonly lastLevel: Level | null }[];
}

/** All records in board order: memory, then semiconductor, each in the catalog's order. */
export const recordsOf = (view: TierView): BoardRecord[] =>
  BOARDS.flatMap((board) => view.boards[board]);

/** `reported`, `assessed`, `estimated`, or `carried` where the level was given for an earlier session. */
export const basisOf = ({ carried, level }: BoardRecord): Basis | "carried" =>
  carried ? "carried" : (level.basis ?? "reported");

/** The contracts whose last level is over their carry limit, in catalog order, with that level. */
export const droppedOf = (view: TierView): { contract: Contract; level: Level }[] =>
  view.offBoard.flatMap(({ contract, lastLevel }) =>
    lastLevel === null ? [] : [{ contract, level: lastLevel }],
  );

/** The contracts of a view: all of its slice, and how many of them are where. */
interface ViewCounts {
  readonly contracts: number;
  readonly memory: number;
  readonly semiconductor: number;
  /** On a board, with a level for the session itself. */
  readonly given: number;
  /** On a board, by an earlier session's level. */
  readonly carried: number;
  /** Off the boards: the last level is over its carry limit. */
  readonly dropped: number;
  /** Off the boards: no level so far. */
  readonly withoutLevel: number;
}

/** A contract is in exactly one of `given`, `carried`, `dropped` and `withoutLevel`. */
export function countsOf(view: TierView): ViewCounts {
  const records = recordsOf(view);
  const carried = records.filter((record) => record.carried).length;
  const dropped = droppedOf(view).length;
  return {
    contracts: records.length + view.offBoard.length,
    memory: view.boards.memory.length,
    semiconductor: view.boards.semiconductor.length,
    given: records.length - carried,
    carried,
    dropped,
    withoutLevel: view.offBoard.length - dropped,
  };
}

/**
 * The view of `tier` when `head` is the newest session: only levels and breaks of sessions at or
 * before the tier's own count.
 */
export function tierView(market: Market, tier: Tier, head: Session): TierView {
  const session = tierSession(tier, head);
  const boards: Record<Board, BoardRecord[]> = { memory: [], semiconductor: [] };
  const offBoard: { contract: Contract; lastLevel: Level | null }[] = [];
  for (const contract of market.catalog) {
    if (tier.coverage === "free-slice" && !contract.free) continue;
    const series = market.seriesOf(contract.id);
    const level = series?.at(session) ?? null;
    if (series === undefined || level === null) {
      offBoard.push({ contract, lastLevel: null });
      continue;
    }
    const limit = carryLimitSessions(contract, market.maxCarryDays);
    if (session - level.session > limit) offBoard.push({ contract, lastLevel: level });
    else boards[contract.board].push(recordOf(session, contract, series, level, limit));
  }
  return { tier, session, boards, offBoard };
}

function recordOf(
  session: Session,
  contract: Contract,
  series: Series,
  level: Level,
  limit: number,
): BoardRecord {
  const changes = Object.entries(HORIZONS).map(([horizon, instantOf]) => {
    const then = comparableLevel(series, level, instantOf(session), limit);
    return [horizon, typeof then === "string" ? null : changePct(level.usd, then.usd)];
  });
  return {
    session,
    contract,
    series,
    level,
    carried: level.session < session,
    changePct: Object.fromEntries(changes) as BoardRecord["changePct"],
    usdPerGb: usdPerGb(level, contract.capacityGb),
    break: series.latestBreak(session),
  };
}

function usdPerGb(level: Level, capacityGb: Decimal | null): Decimal | null {
  if (capacityGb === null) return null;
  const capacity = parseMicros(capacityGb, Number.MAX_SAFE_INTEGER) as number;
  return roundRatio(ratio(BigInt(level.usd), BigInt(capacity)), USD_PER_GB_DECIMALS);
}

/** A contract's part in the index, or why it has none. */
export type Membership =
  | { readonly record: BoardRecord; readonly constituent: Constituent }
  | { readonly record: BoardRecord; readonly excluded: ExclusionReason };

/** For every record of the view, in board order, whether it is a constituent of the index. */
export function memberships(market: Market, view: TierView): Membership[] {
  return recordsOf(view).map((record) => {
    const { contract, series, level } = record;
    const limit = carryLimitSessions(contract, market.maxCarryDays);
    const base = comparableLevel(series, level, HORIZONS.yoy(view.session), limit);
    if (typeof base === "string") return { record, excluded: base };
    // A level stood a year ago, so one stood 24 hours and 30 days ago too, whatever its age.
    const usdAt = (instant: Session): Micros => (series.at(instant) as Level).usd;
    const { id, ticker, segment } = contract;
    return {
      record,
      constituent: {
        id,
        ticker,
        segment,
        now: level.usd,
        base: base.usd,
        then24h: usdAt(HORIZONS["24h"](view.session)),
        then30d: usdAt(HORIZONS["30d"](view.session)),
      },
    };
  });
}
