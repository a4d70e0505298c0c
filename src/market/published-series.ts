/**
 * The series of all indices of a snapshot. Members and close of a day that is published stay: they change only by a
 * revision of the session that first published the day, by a rollback that withdraws it, or by a restatement.
 */
import {
  closeOn,
  firstCloseDay,
  firstKeptDay,
  keepsCloses,
  lastCloseDay,
  type ChainedSeries,
  type Days,
  type PublishedClose,
} from "./chained.ts";
import { indicesOf, type MarketIndex } from "./indices.ts";
import {
  clipMembers,
  firstMemberDay,
  IndexValues,
  besides,
  joinMembers,
  membersOf,
  type KeptLevel,
  type Link,
  type Members,
} from "./members.ts";
import type { Level } from "./series.ts";
import { closeSessionOf, type Day, type Session } from "./session.ts";
import type { Market } from "./view.ts";

/** Which published closes a restatement calculates again, and why. */
export interface RestatementOrder {
  readonly reason: string;
  /** The closes from this day on become the values as known now; null: all that can. */
  readonly from: Day | null;
  /** Whether members from then on are given anew, by the present catalog and limits. */
  readonly members: boolean;
}

/** A publication that calculated published closes again, and why. */
export interface SeriesRestatement {
  readonly publication: number;
  readonly reason: string;
  readonly from: Day;
  readonly members: boolean;
}

/** The series of an index as a snapshot has it. */
export interface IndexSeries {
  /** Null: it has no close any more, and is kept for its restatements. */
  readonly chained: ChainedSeries | null;
  /** Those that changed closes of this index, oldest first. */
  readonly restatements: readonly SeriesRestatement[];
  /** The values as known now; null: the index has no close, or is not in the catalog. */
  readonly values: IndexValues | null;
}

/** A series as a stored snapshot has it: values are calculated by who needs them. */
export type StoredIndexSeries = Omit<IndexSeries, "values">;

/** By the id of the index. Those without a close and without a restatement are left out. */
export type SeriesByIndex = ReadonlyMap<string, IndexSeries>;
export type StoredSeriesByIndex = ReadonlyMap<string, StoredIndexSeries>;

/** The head's series, from which the series of a snapshot go on, and the run that publishes them. */
export interface Beginning {
  /** Of the head that it is published on. */
  readonly head: StoredSeriesByIndex;
  /**
   * A later session adds days to the head's, a revision of its session calculates the days anew that the session
   * first published, and the same content again keeps all.
   */
  readonly kind: "session" | "revision" | "same";
  /** The number of the entry that will publish it. */
  readonly publication: number;
  /** Null: published closes stay. */
  readonly restatement: RestatementOrder | null;
}

/**
 * The series for the session. An index that is not in the catalog keeps members and closes, for the day when it is
 * again.
 */
export function publishedSeries(
  market: Market,
  session: Session,
  beginning: Beginning,
): SeriesByIndex {
  const { kind, publication, restatement } = beginning;
  const published = new Map<string, IndexSeries>();
  const add = (id: string, series: IndexSeries): void => {
    if (series.chained !== null || series.restatements.length > 0) published.set(id, series);
  };
  const indices = new Map(indicesOf(market.catalog).map((index) => [index.id, index]));
  for (const [id, index] of indices) {
    const stored = beginning.head.get(id);
    const before = stored?.chained ? withLinkOf(publication, stored.chained) : null;
    const { chained, values } = continueSeries(market, session, index, before, beginning);
    const restated: SeriesRestatement[] = [];
    if (restatement !== null && before !== null && !(chained && keepsCloses(chained, before))) {
      const { reason, members } = restatement;
      const from = Math.max((chained ?? before).base, firstRestated(restatement, before));
      restated.push({ publication, reason, from, members });
    }
    add(id, { chained, values, restatements: [...(stored?.restatements ?? []), ...restated] });
  }
  for (const [id, { chained, restatements }] of beginning.head) {
    if (indices.has(id)) continue;
    const left = chained && keptAlone(withLinkOf(publication, chained), kind, session);
    add(id, { chained: left, restatements, values: null });
  }
  return published;
}

/** A link of the head that no entry has made yet is made by this publication. */
const withLinkOf = (publication: number, series: ChainedSeries): ChainedSeries =>
  series.link === null || series.link.publication !== null
    ? series
    : { ...series, link: { ...series.link, publication } };

/** The days of the head's series whose members and closes stay, but for a restatement. */
export const stayingDays = (before: ChainedSeries, kind: Beginning["kind"]): Days | null =>
  kind === "revision" ? before.kept : { from: before.base, to: before.last };

/** The days that a session before this publication's published first; null: none. */
const earlierDays = (before: ChainedSeries, kind: Beginning["kind"]): Days | null =>
  kind === "session" ? { from: before.base, to: before.last } : before.kept;

/** The series of an index of the catalog, which goes on from `before`. */
function continueSeries(
  market: Market,
  session: Session,
  index: MarketIndex,
  before: ChainedSeries | null,
  { kind, publication, restatement }: Beginning,
): Pick<IndexSeries, "chained" | "values"> {
  const last = lastCloseDay(session);
  const now = (from: Day, to: Day): Members =>
    membersOf(index.contracts, market.seriesOf, market.maxCarryDays, from, to);
  const stays = before && stayingDays(before, kind);
  const restatedFrom = before && restatement ? firstRestated(restatement, before) : Infinity;
  let link = before?.link ?? null;
  let members: Members;
  if (before === null || stays === null) {
    members = now(-Infinity, last);
  } else {
    // Days that are not published yet have the present members, also those before a restatement.
    members = joinMembers(
      now(before.base, stays.from - 1),
      clipMembers(before.members, stays.from, stays.to),
      now(stays.to + 1, last),
    );
  }
  if (before !== null && stays !== null && restatement?.members === true) {
    let from = restatedFrom;
    if (link !== null && from <= link.date) {
      link = movedLink(market, before, from - 1, now, publication);
      if (link !== null) from = link.date;
    }
    members = joinMembers(clipMembers(members, -Infinity, from - 1), now(from, last));
  }
  const base = link === null ? firstMemberDay(members) : (before as ChainedSeries).base;
  if (base === null) return { chained: null, values: null };
  const values = new IndexValues({ members, link, last }, market.seriesOf);
  const closes: PublishedClose[] = [];
  for (let day = Math.max(base, firstKeptDay(session)); day <= last; day += 1) {
    const isStaying = stays !== null && day >= stays.from && day <= stays.to && day < restatedFrom;
    const published = isStaying ? closeOn(before as ChainedSeries, day) : undefined;
    if (published !== undefined) closes.push(published);
    // Up to a link there is no value, and closes that are too old are gone.
    else if (day >= values.from) closes.push(newClose(values, day, publication));
  }
  const earlier = before && earlierDays(before, kind);
  const kept = earlier && { from: Math.max(earlier.from, base), to: earlier.to };
  const chained: ChainedSeries = {
    base,
    last,
    members,
    link,
    closes,
    kept: kept !== null && kept.from <= kept.to ? kept : null,
    value: values.at(last),
  };
  return { chained, values };
}

const newClose = (values: IndexValues, day: Day, knownFrom: number): PublishedClose => ({
  value: values.at(day),
  before: values.at(Math.max(values.from, day - 1)),
  knownFrom,
});

/** The first day that a restatement calculates again: after a link, unless members are given anew. */
function firstRestated({ from, members }: RestatementOrder, { link }: ChainedSeries): Day {
  const first = from ?? -Infinity;
  return members || link === null ? first : Math.max(first, link.date + 1);
}

/**
 * A link of the day `date`, with the members and levels that are there now; null: the series has no close of the
 * day, and begins anew.
 */
function movedLink(
  { seriesOf }: Market,
  before: ChainedSeries,
  date: Day,
  now: (from: Day, to: Day) => Members,
  publication: number,
): Link | null {
  const close = closeOn(before, date);
  if (close === undefined) return null;
  const levels = new Map<string, KeptLevel>();
  for (const id of now(date, date).keys()) {
    const level = seriesOf(id)?.at(closeSessionOf(date));
    if (level) levels.set(id, keptLevel(level));
  }
  return { date, publication, value: close.value, levels };
}

/** The level as a link keeps it. */
export const keptLevel = ({ session, usd, breakReason }: Level): KeptLevel => ({
  session,
  usd,
  isBreak: breakReason !== undefined,
});

/** The series of an index that is not in the catalog; null: all of its days are of the session that is revised. */
function keptAlone(
  before: ChainedSeries,
  kind: Beginning["kind"],
  session: Session,
): ChainedSeries | null {
  const stays = stayingDays(before, kind);
  if (stays === null) return null;
  const { from, to } = stays;
  const first = firstCloseDay(before);
  const begin = Math.max(from, first, firstKeptDay(session));
  return {
    ...before,
    base: from,
    last: to,
    members: clipMembers(before.members, from, to),
    closes: before.closes.slice(begin - first, Math.max(begin, to + 1) - first),
    kept: earlierDays(before, kind),
  };
}

/** Whether an index that is still in the catalog has lost or changed a close of the head. */
export const changesCloses = (
  { catalog }: Market,
  series: SeriesByIndex,
  head: StoredSeriesByIndex,
): boolean =>
  indicesOf(catalog).some(({ id }) => {
    const [before, now] = [head.get(id)?.chained ?? null, series.get(id)?.chained ?? null];
    return before !== null && (now === null || !keepsCloses(now, before));
  });

/** The series of renamed contracts go on under the new ids. */
export function withRenamedMembers(
  series: StoredSeriesByIndex,
  idOf: (id: string) => string,
): StoredSeriesByIndex {
  // Another contract may have had the new id. It has no levels any more, so the renamed one has the level and the days
  // that both have.
  const rename = <T>(byId: ReadonlyMap<string, T>): ReadonlyMap<string, T> => {
    const moved = [...byId].filter(([id]) => idOf(id) !== id);
    return new Map(
      [...byId, ...moved.map(([id, item]) => [idOf(id), item] as const)].filter(
        ([id]) => idOf(id) === id,
      ),
    );
  };
  const membersUnder = (members: Members): Members => {
    const moved = joinMembers(
      ...[...members]
        .filter(([id]) => idOf(id) !== id)
        .map(([id, terms]) => new Map([[idOf(id), terms]])),
    );
    const others = [...members].filter(([id]) => idOf(id) === id);
    const left = others.map(([id, terms]) => [id, besides(terms, moved.get(id) ?? [])] as const);
    return joinMembers(new Map(left), moved);
  };
  return new Map(
    [...series].map(([index, { chained, ...others }]) => [
      index,
      {
        ...others,
        chained: chained && {
          ...chained,
          members: membersUnder(chained.members),
          link: chained.link && { ...chained.link, levels: rename(chained.link.levels) },
        },
      },
    ]),
  );
}
