/** All indices, and the continuous series of the composite as a chart. */
import { jsonText } from "../../lib/json.ts";
import { counted } from "../../lib/text.ts";
import { INDEX_BASE_LEVEL } from "../../market/composite.ts";
import { chainedCloses, type ChainedSeries } from "../../market/chained.ts";
import { differingClosesOf } from "../../market/differing-closes.ts";
import { dateText } from "../../market/session.ts";
import { listedIndex, type PricedIndex } from "../index-files.ts";
import { chartHtml } from "../../site/chart.js";
import { scrolling, section } from "../../site/html.js";
import { indicesTable } from "../../site/indices-table.js";
import { layout } from "../../site/layout.js";
import {
  changesOfCloses,
  drawnOf,
  lineOfIndex,
  longestRange,
  titleOf,
  type Level,
} from "../../site/levels.js";
import { foreign, withDecimals } from "../../site/text.js";
import { dateHtml } from "./html.ts";

/**
 * All indices, what the run did to their series, and the chart of the composite's. `indices` begins with it.
 */
export const indicesSection = (indices: readonly PricedIndex[]): string =>
  section(
    "indices",
    "Indices",
    `<p>A series is ${INDEX_BASE_LEVEL} on its first day, then moved from one 12:00 UTC to the next by the geometric ` +
      "mean of price relatives. Published closes stay.</p>\n" +
      scrolling(
        "Indices",
        indicesTable(withDecimals(jsonText(indices.map(listedIndex))), false, linesOf(indices)),
      ) +
      seriesNotes(indices) +
      seriesChart(seriesCloses(indices[0] as PricedIndex)),
  );

/** The closes of each index, by its id, as `/sparklines` has them. */
const linesOf = (indices: readonly PricedIndex[]) =>
  new Map(
    indices.map((index) => {
      const closes = seriesCloses(index).map(({ close }) => close);
      return [index.id, { id: index.id, closes }];
    }),
  );

/** The changes that the run made to the series. */
function seriesNotes([composite, ...others]: readonly PricedIndex[]): string {
  const { series, restatements } = composite as PricedIndex;
  const differing = [composite as PricedIndex, ...others].flatMap(
    ({ id, series: chained, values }) => differingClosesOf(id, { chained, values }) ?? [],
  );
  const isNew = others.filter((index) => index.series?.kept === null);
  const notes = [
    extentNote(series),
    ...(series?.kept === null || isNew.length === 0
      ? []
      : [`New indices: ${isNew.map(({ name }) => foreign(name)).join(", ")}.`]),
    ...differing.map(
      ({ index, from, largestPct, last, close, value }) =>
        `${foreign(index)}: published closes from ${dateHtml(from)} on differ by up to ${largestPct} percent from the values as ` +
        `known now. The close of ${dateHtml(last)} is ${close}, its value ${value}. The next close brings this; earlier ones ` +
        `stay without a restatement.`,
    ),
    ...restatements.map(
      ({ publication, from, reason }) =>
        `Publication ${publication} calculated the closes from ${dateHtml(from)} on again: ${foreign(reason)}`,
    ),
  ];
  return notes.map((note) => `\n<p>${note}</p>`).join("");
}

function extentNote(series: ChainedSeries | null): string {
  if (series === null) return "The series has no close.";
  const { kept } = series;
  if (kept === null) return `The series are new, and go up to ${dateHtml(series.last)}.`;
  const added = counted(series.last - kept.to, "day");
  return `The series go on from the closes of ${dateHtml(kept.to)}: ${added} added.`;
}

/** The closes of a series. */
export const seriesCloses = ({ view, series }: PricedIndex) =>
  chainedCloses(view, series).map(({ date, close }) => ({
    date: dateText(date),
    close: Number(close),
    text: close,
  }));

/** A year of the composite, or all of it if it is shorter. Empty if there are no two days. */
function seriesChart(closes: readonly Level[]): string {
  if (closes.length < 2) return "";
  const unit = `Points, ${INDEX_BASE_LEVEL} on the first day`;
  const changes = changesOfCloses(closes);
  const range = longestRange(changes);
  const { points, from, to } = drawnOf(lineOfIndex(closes), range);
  const title = titleOf("Composite", range, changes, points, 2);
  return `\n${chartHtml(layout(points, { title, unit, base: INDEX_BASE_LEVEL, decimals: 2, from, to }))}`;
}
