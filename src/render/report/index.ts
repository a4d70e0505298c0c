/** All indices, and the continuous series of the composite as a chart. */
import { jsonText } from "../../lib/json.ts";
import { counted } from "../../lib/text.ts";
import { INDEX_BASE_LEVEL } from "../../market/composite.ts";
import { chainedCloses, type ChainedSeries, type SeriesState } from "../../market/chained.ts";
import { returnedIn, type ReturnedContract } from "../../market/published-series.ts";
import { dateText } from "../../market/session.ts";
import type { Market } from "../../market/view.ts";
import { listedIndex, type PricedIndex } from "../index-files.ts";
import { chartHtml } from "../../site/chart.js";
import { scrolling, section, tableHtml, type TableColumn } from "../../site/html.js";
import { indicesTable } from "../../site/indices-table.js";
import { findingOf } from "../../site/contributions.js";
import { layout } from "../../site/layout.js";
import { changeHtml, foreign, withDecimals } from "../../site/text.js";
import { dateHtml, idHtml, sessionHtml, usdText } from "./html.ts";

/**
 * All indices, what the run did to their series, and the chart of the composite's. `indices` begins with it.
 */
export const indicesSection = (market: Market, indices: readonly PricedIndex[]): string =>
  section(
    "indices",
    "Indices",
    `<p>A series is ${INDEX_BASE_LEVEL} on its first day, then moved from one 12:00 UTC to the next by the geometric ` +
      "mean of price relatives. Published closes stay.</p>\n" +
      scrolling("Indices", indicesTable(withDecimals(jsonText(indices.map(listedIndex))), false)) +
      seriesNotes(market, indices) +
      seriesChart(seriesPoints(indices[0] as PricedIndex)),
  );

/** What the run did to the series. */
function seriesNotes(market: Market, [composite, ...others]: readonly PricedIndex[]): string {
  const { series, began, restatements } = composite as PricedIndex;
  const isNew = others.filter((index) => index.series !== null && index.began === null);
  const notes = [
    extentNote(series, began),
    ...(began === null || isNew.length === 0
      ? []
      : [`New indices: ${isNew.map(({ name }) => foreign(name)).join(", ")}.`]),
    ...restatements.map(
      ({ publication, reason }) =>
        `Publication ${publication} calculated all closes again: ${foreign(reason)}`,
    ),
  ];
  const returned = returnedIn(market, { chained: series, began });
  const table = scrolling("Returned contracts", tableHtml("", RETURNED, returned));
  return (
    notes.map((note) => `\n<p>${note}</p>`).join("") +
    (returned.length === 0
      ? ""
      : `\n<h3>Returned with their move</h3>\n<p>These were over their carry limit, and bring the move since then.</p>\n${table}`)
  );
}

function extentNote(series: ChainedSeries | null, began: SeriesState | null): string {
  if (series === null) return "The series has no close.";
  if (began === null) return `The series are new, and go up to ${dateHtml(series.last)}.`;
  const added = counted(series.last - began.last, "day");
  return `The series go on from the closes of ${dateHtml(began.last)}: ${added} added.`;
}

const RETURNED: readonly TableColumn<ReturnedContract>[] = [
  { label: "Contract", html: ({ id }) => idHtml(id) },
  { label: "Used last", html: ({ from }) => sessionHtml(from.session) },
  { label: "Then USD", name: "n", html: ({ from }) => usdText(from.usd) },
  { label: "Now USD", name: "n", html: ({ to }) => usdText(to.usd) },
  { label: "Change %", name: "n", html: ({ changePct }) => changeHtml(changePct) },
];

/** The closes of a series as a chart draws them. */
export const seriesPoints = ({ view, series }: PricedIndex) =>
  chainedCloses(view, series).map(({ date, close }) => ({
    date: dateText(date),
    close: Number(close),
    text: close,
  }));

/** Empty if there are no two days. */
function seriesChart(points: ReturnType<typeof seriesPoints>): string {
  if (points.length < 2) return "";
  const unit = `Points, ${INDEX_BASE_LEVEL} on the first day`;
  const title = findingOf("Composite", points);
  return `\n${chartHtml(layout(points, { title, unit, base: INDEX_BASE_LEVEL, decimals: 2 }))}`;
}
