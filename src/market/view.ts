/** The market as one tier sees it at its session: the boards, and the contracts that are off them. */
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

/** The catalog, and the levels of its contracts. */
export interface Market {
  readonly catalog: readonly Contract[];
  /** How many days a level may be carried, for contracts without a limit of their own. */
  readonly maxCarryDays: number;
  /** The contract's levels; undefined if it never had one. */
  seriesOf(id: string): Series | undefined;
}

/** A contract on the board, with the level in force. */
export interface BoardRecord {
  /** The session of the view. */
  readonly session: Session;
  readonly contract: Contract;
  readonly series: Series;
  readonly level: Level;
  /** Whether the level belongs to a session before the view's. */
  readonly carried: boolean;
  /** In percent; null if there is no comparable earlier level (`comparableLevel`). */
  readonly changePct: { readonly [H in Horizon]: Decimal | null };
  /** Null without a capacity. */
  readonly usdPerGb: Decimal | null;
  /** The latest break up to the view's session. */
  readonly break: Break | null;
}

/** What a tier sees: the contracts on the boards and those off them, in catalog order. */
export interface TierView {
  readonly tier: Tier;
  /** The session of this tier: the head's less the tier's delay. */
  readonly session: Session;
  readonly boards: { readonly [B in Board]: readonly BoardRecord[] };
  /** `lastLevel` is over its carry limit; null if the contract never had a level. */
  readonly offBoard: readonly { readonly contract: Contract; readonly lastLevel: Level | null }[];
}

/** All records in board order: memory, then semiconductor, each in the catalog's order. */
export const recordsOf = (view: TierView): BoardRecord[] =>
  BOARDS.flatMap((board) => view.boards[board]);

/** The basis of the level, or `carried` if it belongs to an earlier session. */
export const basisOf = ({ carried, level }: BoardRecord): Basis | "carried" =>
  carried ? "carried" : (level.basis ?? "reported");

/** The contracts whose last level is over its carry limit, with that level, in catalog order. */
export const droppedOf = (view: TierView): { contract: Contract; level: Level }[] =>
  view.offBoard.flatMap(({ contract, lastLevel }) =>
    lastLevel === null ? [] : [{ contract, level: lastLevel }],
  );

/** How many contracts a view has, and how many of them are where. */
interface ViewCounts {
  readonly contracts: number;
  readonly memory: number;
  readonly semiconductor: number;
  /** On a board, with a level of the view's session. */
  readonly given: number;
  /** On a board, with a level of an earlier session. */
  readonly carried: number;
  /** Off the boards: the last level is over its carry limit. */
  readonly dropped: number;
  /** Off the boards: never had a level. */
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
 * The view of `tier` when `head` is the newest session. It has only levels and breaks up to the tier's
 * session.
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

/** A contract's part in the index, or the reason why it has none. */
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
    // There was a level a year ago, so there was one 24 hours and 30 days ago, too, of any age.
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
