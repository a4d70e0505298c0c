/** `/index`, `/indices` and `/indices/{id}` of a tier, as JSON, and all series as CSV. */
import { exactly, jsonText } from "../lib/json.ts";
import {
  adjustmentsSeen,
  CHAINED_METHOD,
  chainedCloses,
  closesSeen,
  closeText,
  formatUnits,
  type ChainedSeries,
} from "../market/chained.ts";
import { inBoardOrder, isDelisted, type Contract } from "../market/contract.ts";
import { roundSignificant, unitsOf } from "../market/decimal.ts";
import { exponential } from "../market/logarithm.ts";
import type { IndexValues, Members } from "../market/members.ts";
import {
  equalWeighted,
  INDEX_BASE_LEVEL,
  type Composite,
  isConstituent,
  withoutBase,
  type WithoutBase,
} from "../market/composite.ts";
import { COMPOSITE, indicesOf, type MarketIndex } from "../market/indices.ts";
import type { IndexSeries, SeriesByIndex } from "../market/published-series.ts";
import { seriesChanges } from "../market/series-changes.ts";
import { dateText, sessionUtc } from "../market/session.ts";
import { historyFloor, historyFrom } from "../market/tier.ts";
import { basketItems, type Market, type TierView } from "../market/view.ts";
import { harmless } from "../lib/csv.ts";
import { linkLevels } from "../snapshot/series-file.ts";
import { envelopeFields, type Envelope } from "./envelope.ts";
import { indexFields } from "./index-body.ts";
import type * as schemas from "../public/payload-schemas.ts";
import { headerOf, memberRow, seriesRow } from "../public/row-schemas.ts";

/** An index with its series up to the head, which is the same for all tiers. */
export interface IndexWithSeries extends MarketIndex, Pick<IndexSeries, "values" | "restatements"> {
  readonly series: ChainedSeries | null;
}

/** An index as the tier of `view` sees it. */
export interface PricedIndex extends IndexWithSeries {
  readonly view: TierView;
  readonly result: Composite;
  readonly excluded: readonly WithoutBase[];
}

/** The indices of the market's catalog, with their series up to the head. */
export const indicesWithSeries = (market: Market, series: SeriesByIndex): IndexWithSeries[] =>
  indicesOf(market.catalog).map((index) => {
    const { chained = null, values = null, restatements = [] } = series.get(index.id) ?? {};
    return { ...index, series: chained, values, restatements };
  });

/** Prices the indices for the view's session, in the order given. */
export function priceIndices(
  market: Market,
  view: TierView,
  indices: readonly IndexWithSeries[],
): PricedIndex[] {
  const items = basketItems(market, view);
  const bySegment = Map.groupBy(items, ({ segment }) => segment);
  return indices.map((index) => {
    const own = index.id === COMPOSITE ? items : (bySegment.get(index.name) ?? []);
    const result = equalWeighted(own.filter(isConstituent));
    return { ...index, view, result, excluded: withoutBase(own) };
  });
}

/** `/index`: the composite, without its series. */
export function compositeBody(envelope: Envelope, { result, excluded }: PricedIndex): string {
  const fields = indexFields(envelope, COMPOSITE, "equal", result, excluded);
  return jsonText(fields satisfies schemas.Body<typeof schemas.index>);
}

/** An index as `/indices` has it. */
export function listedIndex({ id, name, formerly, result, view, series }: PricedIndex) {
  const last = chainedCloses(view, series).at(-1);
  return {
    id,
    name,
    constituents: result.contributions.length,
    level: exactly(result.level),
    chg_24h_pct: exactly(result.chg24hPct),
    chg_30d_pct: exactly(result.chg30dPct),
    series_close: exactly(last?.close ?? null),
    series_date: last === undefined ? null : dateText(last.date),
    formerly: [...formerly],
  };
}

/** `/indices`: one line for each index. */
export function indicesBody(envelope: Envelope, indices: readonly PricedIndex[]): string {
  const body: schemas.Body<typeof schemas.indices> = {
    ...envelopeFields(envelope),
    indices: indices.map(listedIndex),
  };
  return jsonText(body);
}

/** The changes of a series from close to close, with the contributions in catalog order. */
function changesFields(
  market: Market,
  view: TierView,
  series: ChainedSeries | null,
  values: IndexValues | null,
): schemas.Body<typeof schemas.indexWithSeries>["series"]["changes"] {
  const places = new Map(market.catalog.map(({ id }, place) => [id, place]));
  const placeOf = (id: string): number => places.get(id) ?? Infinity;
  const points = (units: number) => exactly(formatUnits(units));
  return seriesChanges(view, series, values, market.seriesOf).map((change) => {
    const { range, date, closeUnits, contributions, correctionUnits } = change;
    // Contracts that left the catalog follow, by their ids.
    const ordered = contributions?.toSorted(
      ([a], [b]) => placeOf(a) - placeOf(b) || (a < b ? -1 : 1),
    );
    return {
      range,
      date: dateText(date),
      close: closeUnits === null ? null : points(closeUnits),
      change_pct: exactly(change.changePct),
      contributions: ordered?.map(([id, units]) => ({ id, points: points(units) })) ?? null,
      correction_points: correctionUnits === null ? null : points(correctionUnits),
    };
  });
}

/** `/indices/{id}`: the fields of `/index`, and the series. */
export function indexBody(
  envelope: Envelope,
  market: Market,
  { id, contracts, result, excluded, view, series, values, restatements }: PricedIndex,
): string {
  const closes = chainedCloses(view, series);
  const hasBegun = series !== null && closes.length > 0;
  const body: schemas.Body<typeof schemas.indexWithSeries> = {
    ...indexFields(envelope, id, "equal", result, excluded),
    series: {
      method: CHAINED_METHOD,
      base: hasBegun ? { date: dateText(series.base), level: INDEX_BASE_LEVEL } : null,
      link: linkFields(view, series),
      restatements: restatements.map((item) => ({ ...item, from: dateText(item.from) })),
      adjustments: adjustmentsSeen(view, series).map(({ date, publication, factor }) => ({
        date: dateText(date),
        publication,
        factor: exactly(roundSignificant(factor)),
      })),
      changes: changesFields(market, view, series, values),
      // Levels of the head, which a tier behind it does not see.
      ...(isUpToDate(view) && {
        value: series && exactly(roundSignificant(series.value)),
        last_used: usedFields(contracts, view, values),
      }),
      history_from: historyFrom(view.tier, view.session),
      history: closes.map(({ date, close }) => ({ date: dateText(date), close: exactly(close) })),
    },
  };
  return jsonText(body);
}

const isUpToDate = ({ tier }: TierView): boolean => tier.delaySessions === 0;

/** The link, for tiers without delay with the levels that it keeps. */
function linkFields(view: TierView, series: ChainedSeries | null) {
  const link = series?.link ?? null;
  if (link === null) return null;
  return {
    date: dateText(link.date),
    publication: link.publication as number,
    ...(isUpToDate(view) && { levels: linkLevels(link) }),
  };
}

/** The anchors of the contracts that were ever there, but for those that are delisted. */
const usedFields = (
  contracts: readonly Contract[],
  { session }: TierView,
  values: IndexValues | null,
) =>
  contracts.flatMap((contract) => {
    const anchor = values?.anchors.get(contract.id);
    if (values === null || anchor === undefined || isDelisted(contract, session)) return [];
    const { day, usd } = anchor;
    const reference = unitsOf(usd) * exponential(values.logBetween(day, values.last));
    return [
      {
        id: contract.id,
        session_utc: sessionUtc(anchor.session),
        usd: unitsOf(usd),
        reference_usd: exactly(roundSignificant(reference)),
        away: day < values.last,
      },
    ];
  });

/**
 * `/indices.csv`: all series, in the order given. Ids have letters, digits and `-` only, so nothing is to
 * quote; one that begins with `-` gets an apostrophe, as in other files.
 */
export function indicesCsv(indices: readonly PricedIndex[]): string {
  // It is made of indices that one tier sees.
  const hasEntries = indices[0]?.view.tier.superseded === true;
  const rows = indices.flatMap(({ id, view, series }) =>
    closesSeen(view, series).map(
      ({ date, value, knownFrom }) =>
        `${harmless(id)},${dateText(date)},${closeText(value)}${hasEntries ? `,${knownFrom ?? ""}` : ""}\r\n`,
    ),
  );
  return `${headerOf(seriesRow, hasEntries)}\r\n${rows.join("")}`;
}

/**
 * `/members.csv`: the intervals of days on which contracts are members, in the order of the indices, then of the
 * catalog; contracts that left it come after them, by id. Whole intervals, of which the tier's history shows a day.
 */
export function membersCsv(
  { tier, session }: TierView,
  catalog: readonly Contract[],
  indices: readonly IndexWithSeries[],
): string {
  const floor = historyFloor(tier, session) ?? Infinity;
  const listed = inBoardOrder(catalog).map(({ id }) => id);
  const rows = indices.flatMap(({ id, series }) => {
    const { last = 0, members = NO_MEMBERS } = series ?? {};
    const ids = new Set([...listed, ...[...members.keys()].sort()]);
    return [...ids].flatMap((contract) =>
      (members.get(contract) ?? [])
        .filter(({ to }) => to > floor)
        .map(
          ({ from, to, maxCarryDays }) =>
            `${harmless(id)},${contract},${dateText(from)},${to === last ? "" : dateText(to)},${maxCarryDays}\r\n`,
        ),
    );
  });
  return `${headerOf(memberRow)}\r\n${rows.join("")}`;
}

const NO_MEMBERS: Members = new Map();
