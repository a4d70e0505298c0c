/** The series that a run publishes, and whether it restates them. */
import {
  changesCloses,
  publishedSeries,
  type SeriesByIndex,
  type SeriesRestatement,
} from "../market/published-series.ts";
import { numberAfter } from "../snapshot/log/append.ts";
import type { Base } from "./base.ts";
import type { Content } from "./content.ts";

/**
 * The series of the content on the head. `reason` asks for a restatement; it is null in the result if no
 * published close changes.
 */
export function seriesFor(
  { market, session }: Pick<Content, "market" | "session">,
  { end, head, series }: Pick<Base, "end" | "head" | "series">,
  reason: string | null,
): { readonly series: SeriesByIndex; readonly restatement: SeriesRestatement | null } {
  const beginning = { head: series, isRevision: head?.publication.session === session };
  if (reason !== null) {
    const restatement = { publication: numberAfter(end.newest), reason };
    const restated = publishedSeries(market, session, { ...beginning, restatement });
    if (changesCloses(market, restated, series)) return { series: restated, restatement };
  }
  return {
    series: publishedSeries(market, session, { ...beginning, restatement: null }),
    restatement: null,
  };
}
