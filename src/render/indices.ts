/** `/index`, `/indices` and `/indices/{id}` of a tier, as JSON text. */
import { jsonArray } from "../lib/text.ts";
import {
  CHAINED_METHOD,
  chainedCloses,
  chainedSeries,
  type ChainedSeries,
} from "../market/chained.ts";
import { equalWeighted, INDEX_BASE_LEVEL, type Composite } from "../market/composite.ts";
import { COMPOSITE, indexIdOf, indicesOf, type MarketIndex } from "../market/indices.ts";
import { dateText, type Session } from "../market/session.ts";
import { memberships, type Market, type TierView } from "../market/view.ts";
import { envelopeHead, type Envelope } from "./envelope.ts";
import { indexFields, indexHead, type Excluded } from "./index-body.ts";

/** An index with its series up to the head, which is the same for all tiers. */
export interface IndexWithSeries extends MarketIndex {
  readonly series: ChainedSeries | null;
}

/** An index as the tier of `view` sees it. */
export interface PricedIndex extends IndexWithSeries {
  readonly view: TierView;
  readonly result: Composite;
  readonly excluded: readonly Excluded[];
}

/** The indices of the market's catalog, with their series up to `head`. */
export const indicesWithSeries = (market: Market, head: Session): IndexWithSeries[] =>
  indicesOf(market.catalog).map((index) => ({
    ...index,
    series: chainedSeries(market, index, head),
  }));

/** Prices the indices for the view's session, in the order given. */
export function priceIndices(
  market: Market,
  view: TierView,
  indices: readonly IndexWithSeries[],
): PricedIndex[] {
  const members = memberships(market, view);
  const bySegment = Map.groupBy(members, ({ record }) => indexIdOf(record.contract.segment));
  return indices.map((index) => {
    const own = index.id === COMPOSITE ? members : (bySegment.get(index.id) ?? []);
    const constituents = own.flatMap((item) => ("constituent" in item ? [item.constituent] : []));
    const excluded = own.flatMap((item) =>
      "excluded" in item ? [{ id: item.record.contract.id, reason: item.excluded }] : [],
    );
    return { ...index, view, result: equalWeighted(constituents), excluded };
  });
}

/** `/index`: the composite, without its series. */
export const compositeBody = (envelope: Envelope, composite: PricedIndex): string =>
  `${indexBodyStart(envelope, composite)}}\n`;

/** `/indices`: one line for each index. */
export function indicesBody(envelope: Envelope, indices: readonly PricedIndex[]): string {
  const items = indices.map(({ id, name, result, view, series }) => {
    const last = chainedCloses(view, series).at(-1);
    return (
      `{"id":"${id}","name":${JSON.stringify(name)},` +
      `"constituents":${result.contributions.length},"level":${result.level},` +
      `"chg_24h_pct":${result.chg24hPct},"chg_30d_pct":${result.chg30dPct},` +
      `"series_close":${last?.close ?? null},` +
      `"series_date":${last === undefined ? null : `"${dateText(last.date)}"`}}`
    );
  });
  return `${envelopeHead(envelope)},"indices":${jsonArray(items)}}\n`;
}

/** `/indices/{id}`: the fields of `/index`, and the series. */
export function indexBody(envelope: Envelope, index: PricedIndex): string {
  const closes = chainedCloses(index.view, index.series);
  const base = closes.length === 0 ? null : (index.series?.base ?? null);
  const history = closes.map(({ date, close }) => `{"date":"${dateText(date)}","close":${close}}`);
  const series =
    `{"method":"${CHAINED_METHOD}",` +
    `"base":{"date":${base === null ? null : `"${dateText(base)}"`},"level":${INDEX_BASE_LEVEL}},` +
    `"history":${jsonArray(history)}}`;
  return `${indexBodyStart(envelope, index)},"series":${series}}\n`;
}

const indexBodyStart = (envelope: Envelope, { id, result, excluded }: PricedIndex): string =>
  `${indexHead(envelope, { name: id, weighting: "equal" })},${indexFields(result, excluded)}`;
