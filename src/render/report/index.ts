/** All indices, and the continuous series of the composite as a chart. */
import { INDEX_BASE_LEVEL } from "../../market/composite.ts";
import { chainedCloses } from "../../market/chained.ts";
import { dateText } from "../../market/session.ts";
import type { PricedIndex } from "../indices.ts";
import { chart } from "../../site/chart.js";
import { changeHtml, foreign, grouped } from "../../site/text.js";
import { idHtml, section, table } from "./html.ts";

/** All indices, and the chart of the composite's continuous series. `indices` begins with it. */
export function indicesSection(indices: readonly PricedIndex[]): string {
  const rows = indices.map(({ id, name, result, view, series }) => {
    const last = chainedCloses(view, series).at(-1);
    return [
      foreign(name),
      idHtml(id),
      `${result.contributions.length}`,
      result.level === null ? changeHtml(null) : grouped(result.level),
      changeHtml(result.chg24hPct),
      changeHtml(result.chg30dPct),
      last === undefined ? changeHtml(null) : grouped(last.close),
    ];
  });
  const headings = {
    Index: "",
    Id: "wide",
    Constituents: "n wide",
    Level: "n",
    "24 h %": "n",
    "30 d %": "n",
    Series: "n",
  } as const;
  return section(
    "indices",
    "Indices",
    "<p>The level is against one calendar year before. The series is continuous: " +
      `${INDEX_BASE_LEVEL} on its first day, then moved from one 12:00 UTC to the next by the geometric ` +
      "mean of price relatives. Its closes of all days compare.</p>\n" +
      `${table("Indices", headings, rows)}${seriesChart(indices[0] as PricedIndex)}`,
  );
}

/** Empty if there are no two days. */
function seriesChart({ view, series }: PricedIndex): string {
  const closes = chainedCloses(view, series);
  if (closes.length < 2) return "";
  const told = (at: number): string => {
    const { date, close } = closes.at(at) as (typeof closes)[0];
    return `${grouped(close)} on ${dateText(date)}`;
  };
  const levels = closes.map(({ close }) => Number(close));
  const lowest = told(levels.indexOf(Math.min(...levels)));
  const highest = told(levels.indexOf(Math.max(...levels)));
  const summary = `Lowest ${lowest}, highest ${highest}, first ${told(0)}, last ${told(-1)}.`;
  const points = closes.map(({ date, close }) => ({
    date: dateText(date),
    close: Number(close),
  }));
  const options = { title: "Series of the composite", unit: "points", base: INDEX_BASE_LEVEL };
  return `\n${chart(points, options)}\n<p class="note">Series of the composite. ${summary}</p>`;
}
