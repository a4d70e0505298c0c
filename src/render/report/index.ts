/** All indices, and the continuous series of the composite as a chart. */
import { jsonText } from "../../lib/json.ts";
import { INDEX_BASE_LEVEL } from "../../market/composite.ts";
import { chainedCloses } from "../../market/chained.ts";
import { dateText } from "../../market/session.ts";
import { listedIndex, type PricedIndex } from "../index-files.ts";
import { chartHtml } from "../../site/chart.js";
import { scrolling, section } from "../../site/html.js";
import { indicesTable } from "../../site/indices-table.js";
import { layout } from "../../site/layout.js";
import { withDecimals } from "../../site/text.js";

/** All indices, and the chart of the composite's continuous series. `indices` begins with it. */
export const indicesSection = (indices: readonly PricedIndex[]): string =>
  section(
    "indices",
    "Indices",
    "<p>The level is against one calendar year before. The series is continuous: " +
      `${INDEX_BASE_LEVEL} on its first day, then moved from one 12:00 UTC to the next by the geometric ` +
      "mean of price relatives. Its closes of all days compare.</p>\n" +
      scrolling("Indices", indicesTable(withDecimals(jsonText(indices.map(listedIndex))), false)) +
      seriesChart(indices[0] as PricedIndex),
  );

/** Empty if there are no two days. */
function seriesChart({ view, series }: PricedIndex): string {
  const points = chainedCloses(view, series).map(({ date, close }) => ({
    date: dateText(date),
    close: Number(close),
    text: close,
  }));
  if (points.length < 2) return "";
  const unit = `Points, ${INDEX_BASE_LEVEL} on the first day`;
  const options = { title: "Series of the composite", unit, base: INDEX_BASE_LEVEL, decimals: 2 };
  return `\n${chartHtml(layout(points, options))}`;
}
