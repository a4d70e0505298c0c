/**
 * The series of all indices of a snapshot, and the states from which they go on. A close that is published
 * stays: it changes only by a revision of the session that first published it, by a rollback that withdraws
 * it, or by a restatement.
 */
import {
  keepsCloses,
  lastCloseDay,
  seriesUntil,
  stepSeries,
  withinDepth,
  type ChainedSeries,
  type SeriesState,
  type UsedLevel,
} from "./chained.ts";
import { changePct } from "./change.ts";
import { carryLimitSessions } from "./contract.ts";
import type { Decimal } from "./decimal.ts";
import { indicesOf } from "./indices.ts";
import { closeSessionOf, type Session } from "./session.ts";
import type { Market } from "./view.ts";

/** A publication that calculated all closes again from the base date, and why. */
export interface SeriesRestatement {
  readonly publication: number;
  readonly reason: string;
}

/** The series of an index as a snapshot has it. */
export interface IndexSeries {
  /** Null: it has no close any more, and is kept for its restatements. */
  readonly chained: ChainedSeries | null;
  /** The state that the snapshot began from, which its revisions begin from as well; null: the index was new. */
  readonly began: SeriesState | null;
  /** Oldest first. */
  readonly restatements: readonly SeriesRestatement[];
}

/** By the id of the index. Those without a close and without a restatement are left out. */
export type SeriesByIndex = ReadonlyMap<string, IndexSeries>;

/** What the series of a snapshot begin from. */
export interface Beginning {
  /** The states of the head that it is published on. */
  readonly head: SeriesByIndex;
  /** Whether it is of the head's session: then it begins from the state that the head began from. */
  readonly isRevision: boolean;
  /** Null: published closes stay. */
  readonly restatement: SeriesRestatement | null;
}

/**
 * The series for the session. Each day since the state that a series begins from is stepped, from the ledger
 * and the catalog as they are now. An index that is new is stepped from its base date. One that has no
 * contract any more keeps its state and its closes, for the day when it has one again.
 */
export function publishedSeries(
  market: Market,
  session: Session,
  { head, isRevision, restatement }: Beginning,
): SeriesByIndex {
  const published = new Map<string, IndexSeries>();
  const add = (id: string, series: IndexSeries): void => {
    if (series.chained !== null || series.restatements.length > 0) published.set(id, series);
  };
  const last = lastCloseDay(session);
  const indices = indicesOf(market.catalog);
  for (const index of indices) {
    const before = head.get(index.id);
    let from = before === undefined ? null : beginningOf(before, isRevision);
    if (from !== null && restatement !== null) {
      from = stepSeries(market, index, null, from.last, session);
    }
    const chained = stepSeries(market, index, from, last, session);
    const restated = before?.chained && restatement !== null ? [restatement] : [];
    const restatements = [...(before?.restatements ?? []), ...restated];
    add(index.id, { chained, began: stateOf(from), restatements });
  }
  const ids = new Set(indices.map(({ id }) => id));
  for (const [id, before] of head) {
    if (ids.has(id)) continue;
    const from = beginningOf(before, isRevision);
    const chained = from && withinDepth(from, session);
    add(id, { chained, began: stateOf(from), restatements: before.restatements });
  }
  return published;
}

const beginningOf = ({ chained, began }: IndexSeries, isRevision: boolean): ChainedSeries | null =>
  isRevision && chained !== null ? began && seriesUntil(chained, began) : chained;

const stateOf = (from: SeriesState | null): SeriesState | null =>
  from && { last: from.last, close: from.close, used: from.used };

/** Whether an index that is still in the catalog has lost or changed a close of the head. */
export const changesCloses = (
  { catalog }: Market,
  series: SeriesByIndex,
  head: SeriesByIndex,
): boolean =>
  indicesOf(catalog).some(({ id }) => {
    const [before, now] = [head.get(id)?.chained ?? null, series.get(id)?.chained ?? null];
    return before !== null && (now === null || !keepsCloses(now, before));
  });

/** A contract that came back into force, with the move since its level was used last. */
export interface ReturnedContract {
  readonly id: string;
  readonly from: UsedLevel;
  readonly to: UsedLevel;
  readonly changePct: Decimal;
}

/**
 * The contracts of the market that were over their carry limit when the snapshot began and that moved an index
 * again, in catalog order.
 */
export function returnedIn(
  { catalog, maxCarryDays, seriesOf }: Market,
  composite: Pick<IndexSeries, "chained" | "began"> | undefined,
): ReturnedContract[] {
  const { chained = null, began = null } = composite ?? {};
  if (chained === null || began === null) return [];
  const { last, used } = chained;
  return catalog.flatMap((contract) => {
    const { id } = contract;
    const [from, to] = [began.used.get(id), used.get(id)];
    if (from === undefined || to === undefined || from.session === to.session) return [];
    const age = closeSessionOf(began.last) - from.session;
    const isBroken = seriesOf(id)?.hasBreakBetween(from.session, closeSessionOf(last)) ?? false;
    if (age <= carryLimitSessions(contract, maxCarryDays) || isBroken) return [];
    return [{ id, from, to, changePct: changePct(to.usd, from.usd) }];
  });
}

/** The series of renamed contracts go on under the new ids. */
export const withRenamedUse = (
  series: SeriesByIndex,
  idOf: (id: string) => string,
): SeriesByIndex => {
  const renamed = <S extends SeriesState>(state: S): S => ({
    ...state,
    used: new Map([...state.used].map(([id, level]) => [idOf(id), level])),
  });
  return new Map(
    [...series].map(([id, { chained, began, ...others }]) => [
      id,
      { ...others, chained: chained && renamed(chained), began: began && renamed(began) },
    ]),
  );
};
