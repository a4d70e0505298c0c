/** The series that a run publishes, and whether it restates them. */
import { InputError } from "../lib/errors.ts";
import { closeOn, firstCloseDay } from "../market/chained.ts";
import { indicesOf } from "../market/indices.ts";
import {
  changesCloses,
  publishedSeries,
  type Beginning,
  type RestatementOrder,
  type SeriesByIndex,
} from "../market/published-series.ts";
import { dateText } from "../market/session.ts";
import { numberAfter } from "../snapshot/log/append.ts";
import type { Base } from "./base.ts";
import type { Content } from "./content.ts";

/**
 * The series of the content on the head. `restatement` is null in the result if no published close changes.
 * Throws InputError if the restatement begins at or before a link without giving members anew.
 */
export function seriesFor(
  { market, session }: Pick<Content, "market" | "session">,
  { end, series: head }: Pick<Base, "end" | "series">,
  kind: Beginning["kind"],
  order: RestatementOrder | null,
): { readonly series: SeriesByIndex; readonly restatement: RestatementOrder | null } {
  const beginning = { head, kind, publication: numberAfter(end.newest) };
  if (order !== null) {
    requireNoLink(market, head, order);
    const restated = publishedSeries(market, session, { ...beginning, restatement: order });
    if (changesCloses(market, restated, head)) return { series: restated, restatement: order };
  }
  const series = publishedSeries(market, session, { ...beginning, restatement: null });
  return { series, restatement: null };
}

/** Throws InputError if the closes from the day on cannot be calculated again, because of a link. */
function requireNoLink(
  { catalog }: Content["market"],
  head: Base["series"],
  { from, members }: RestatementOrder,
): void {
  if (from === null) return;
  for (const { id } of indicesOf(catalog)) {
    const chained = head.get(id)?.chained;
    const { link = null, base = 0 } = chained ?? {};
    if (!chained || link === null || from > link.date) continue;
    const what = `--from ${dateText(from)} is not after the link of ${id}, ${dateText(link.date)}`;
    if (!members) {
      throw new InputError(
        `${what}: the members of earlier days are not known. Give a later day, or --restate-members`,
      );
    }
    if (from > base && closeOn(chained, from - 1) === undefined) {
      const first = dateText(firstCloseDay(chained) + 1);
      throw new InputError(
        `${what}, and the close of the day before is no longer kept. Give ${first} or a later day, or no --from`,
      );
    }
  }
}
