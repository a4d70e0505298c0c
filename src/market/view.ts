/** The market as one tier sees it at its session: the boards, and the contracts that are off them. */
import { HORIZONS, changePct, comparableLevel, type Horizon } from "./change.ts";
import type { BasketItem } from "./composite.ts";
import {
  BOARDS,
  carryLimitSessions,
  inBoardOrder,
  isDelisted,
  type Board,
  type Contract,
} from "./contract.ts";
import { parseMicros, ratio, roundRatio, type Decimal, type Micros } from "./decimal.ts";
import {
  dateOf,
  type BoardBasis,
  type Break,
  type Close,
  type Level,
  type Series,
} from "./series.ts";
import { dayOf, SESSIONS_PER_DAY, sessionYearBefore, type Session } from "./session.ts";
import { historyFloor, tierSession, type Tier } from "./tier.ts";

const USD_PER_GB_DECIMALS = 6;

/** The catalog, and the levels of its contracts. */
export interface Market {
  readonly catalog: readonly Contract[];
  /** How many days a level may be carried, for contracts without a limit of their own. */
  readonly maxCarryDays: number;
  /** The contract's levels; undefined if it never had one. */
  seriesOf(id: string): Series | undefined;
}

/** A contract with the level in force; off the boards, with its last level. */
export interface BoardRecord {
  readonly session: Session;
  /** With its terms at that session. */
  readonly contract: Contract;
  readonly series: Series;
  readonly level: Level;
  /** Whether the level belongs to a session before the view's. */
  readonly carried: boolean;
  /** Whether the contract is off the boards; then it has no changes and no range. */
  readonly discontinued: boolean;
  /** In percent; null if there is no comparable earlier level (`comparableLevel`). */
  readonly changePct: { readonly [H in Horizon]: Decimal | null };
  /** The level that each change compares with; null where there is no change. */
  readonly reference: { readonly [H in Horizon]: Level | null };
  /** The lowest and the highest level of the year; null off the boards. */
  readonly yearRange: { readonly low: Micros; readonly high: Micros } | null;
  /** Null without a capacity. */
  readonly usdPerGb: Decimal | null;
  /** The latest break up to the view's session. */
  readonly break: Break | null;
}

/** The market of one tier: the contracts on the boards and those off them, in catalog order. */
export interface TierView {
  readonly tier: Tier;
  /** The session of this tier: the head's less the tier's delay. */
  readonly session: Session;
  readonly boards: { readonly [B in Board]: readonly BoardRecord[] };
  readonly offBoard: readonly OffBoard[];
}

/** A contract without a current level. */
export interface OffBoard {
  readonly contract: Contract;
  /** Over its carry limit, or delisted; null if the contract had no level by the view's session. */
  readonly last: BoardRecord | null;
}

/** All records in board order: memory, then semiconductor, each in the catalog's order. */
export const recordsOf = (view: TierView): BoardRecord[] =>
  BOARDS.flatMap((board) => view.boards[board]);

/** The basis of the level, `carried` if it belongs to an earlier session, or `discontinued`. */
export const basisOf = (record: BoardRecord): BoardBasis | "discontinued" =>
  record.discontinued ? "discontinued" : boardBasisOf(record);

const boardBasisOf = ({ carried, level }: BoardRecord): BoardBasis =>
  carried ? "carried" : (level.basis ?? "reported");

/** The contracts off the boards that had a level, each with its last one, in catalog order. */
export const discontinuedOf = (view: TierView): BoardRecord[] =>
  view.offBoard.flatMap(({ last }) => (last === null ? [] : [last]));

/** Their contracts whose last level is over its carry limit. */
export const droppedOf = (view: TierView): BoardRecord[] =>
  discontinuedOf(view).filter(({ contract, session }) => !isDelisted(contract, session));

/** Their delisted contracts. */
export const delistedOf = (view: TierView): BoardRecord[] =>
  discontinuedOf(view).filter(({ contract, session }) => isDelisted(contract, session));

/** Every contract that had a level, in the order of history files: also one off the boards, at its place. */
export function knownOf(view: TierView, catalog: readonly Contract[]): BoardRecord[] {
  const records = [...recordsOf(view), ...discontinuedOf(view)];
  const byId = new Map(records.map((record) => [record.contract.id, record]));
  return inBoardOrder(catalog).flatMap(({ id }) => byId.get(id) ?? []);
}

/** The contract's closes in the depth of the tier's history, ascending; none without a history. */
export function historyOf({ tier, session }: TierView, { series }: BoardRecord): Close[] {
  const floor = historyFloor(tier, session);
  return floor === null ? [] : series.closes(session, floor);
}

/**
 * The contract's levels given within the depth of the tier's history, ascending, and before them the one in
 * force when the first day of the depth began, whatever its age; none without a history.
 */
export function levelsOf({ tier, session }: TierView, { series }: BoardRecord): readonly Level[] {
  const floor = historyFloor(tier, session);
  if (floor === null) return [];
  const first = (floor + 1) * SESSIONS_PER_DAY;
  return series.between(series.at(first)?.session ?? first, session + 1);
}

/** Whether what happened at `session` is within the tier's delay and the depth of its history. */
export function isWithinHistory(view: TierView, session: Session): boolean {
  const floor = historyFloor(view.tier, view.session);
  return floor !== null && session <= view.session && dayOf(session) > floor;
}

/**
 * How many contracts a view has. `given` have a level of the view's session, `carried` one of an earlier
 * session; `dropped` are over their carry limit, and `delisted` had a level. Each is in exactly one of
 * these and `withoutLevel`.
 */
export function countsOf(view: TierView) {
  const records = recordsOf(view);
  const carried = records.filter((record) => record.carried).length;
  const dropped = droppedOf(view).length;
  const delisted = delistedOf(view).length;
  return {
    contracts: records.length + view.offBoard.length,
    memory: view.boards.memory.length,
    semiconductor: view.boards.semiconductor.length,
    given: records.length - carried,
    carried,
    dropped,
    delisted,
    withoutLevel: view.offBoard.length - dropped - delisted,
  };
}

/**
 * The view of `tier` when `head` is the newest session. It has only levels and breaks up to the tier's
 * session.
 */
export function tierView(market: Market, tier: Tier, head: Session): TierView {
  const session = tierSession(tier, head);
  const boards: Record<Board, BoardRecord[]> = { memory: [], semiconductor: [] };
  const offBoard: OffBoard[] = [];
  for (const listed of market.catalog) {
    if (tier.coverage === "free-slice" && !listed.free) continue;
    const series = market.seriesOf(listed.id);
    const level = series?.at(session) ?? null;
    if (series === undefined || level === null) {
      offBoard.push({ contract: listed, last: null });
      continue;
    }
    const contract = { ...listed, ...series.termsAt(session) };
    const limit = carryLimitSessions(contract, market.maxCarryDays);
    const isOff = isDelisted(contract, session) || session - level.session > limit;
    const record = recordOf(session, contract, series, level, isOff ? null : limit);
    if (isOff) offBoard.push({ contract, last: record });
    else boards[contract.board].push(record);
  }
  return { tier, session, boards, offBoard };
}

/** `limit` is the carry limit in sessions; null: the contract is off the boards. */
function recordOf(
  session: Session,
  contract: Contract,
  series: Series,
  level: Level,
  limit: number | null,
): BoardRecord {
  const comparable = (instant: Session): Level | null => {
    if (limit === null) return null;
    const then = comparableLevel(series, level, instant, limit);
    return typeof then === "string" ? null : then;
  };
  const references = Object.entries(HORIZONS).map(
    ([horizon, instantOf]) => [horizon, comparable(instantOf(session))] as const,
  );
  const changes = references.map(([horizon, then]) => [
    horizon,
    then && changePct(level.usd, then.usd),
  ]);
  const latestBreak = series.latestBreak(session);
  return {
    session,
    contract,
    series,
    level,
    carried: level.session < session,
    discontinued: limit === null,
    changePct: Object.fromEntries(changes) as BoardRecord["changePct"],
    reference: Object.fromEntries(references) as BoardRecord["reference"],
    yearRange: limit === null ? null : yearRange(series, level, session, latestBreak),
    usdPerGb: usdPerGb(level, contract.capacityGb),
    break: latestBreak,
  };
}

/**
 * Of the levels given in the calendar year up to the session, none of them before the latest break. The
 * level in force always counts, however old it is.
 */
function yearRange(
  series: Series,
  level: Level,
  session: Session,
  latestBreak: Break | null,
): BoardRecord["yearRange"] {
  const first = Math.max(
    sessionYearBefore(session) + 1,
    latestBreak?.session ?? Number.NEGATIVE_INFINITY,
  );
  const prices = [level, ...series.between(first, session + 1)].map(({ usd }) => usd);
  return { low: Math.min(...prices), high: Math.max(...prices) };
}

function usdPerGb(level: Level, capacityGb: Decimal | null): Decimal | null {
  if (capacityGb === null) return null;
  const capacity = parseMicros(capacityGb, Number.MAX_SAFE_INTEGER) as number;
  return roundRatio(ratio(BigInt(level.usd), BigInt(capacity)), USD_PER_GB_DECIMALS);
}

/** The levels of every record of the view that baskets compare, in board order. */
export function basketItems(market: Market, view: TierView): BasketItem[] {
  return recordsOf(view).map((record): BasketItem => {
    const { contract, series, level } = record;
    const limit = carryLimitSessions(contract, market.maxCarryDays);
    const base = comparableLevel(series, level, HORIZONS["1y"](view.session), limit);
    // The last level counts whatever its age.
    const usdAt = (horizon: Horizon): Micros | null => {
      const then = comparableLevel(series, level, HORIZONS[horizon](view.session), Infinity);
      return typeof then === "string" ? null : then.usd;
    };
    const { id, ticker, segment } = contract;
    return {
      id,
      ticker,
      segment,
      now: level.usd,
      // With a level a year ago and no break since, the levels of 24 hours and 30 days ago also compare.
      base: typeof base === "string" ? null : base.usd,
      then24h: usdAt("24h"),
      then30d: usdAt("30d"),
      basis: boardBasisOf(record),
      asOf: dateOf(level),
      baseAsOf: typeof base === "string" ? null : dateOf(base),
      reason: typeof base === "string" ? base : null,
    };
  });
}
