/**
 * The indices: the composite over the year, which is today's constituents, weights and base priced for
 * each day, and all indices with the continuous series of the composite.
 */
import { counted } from "../../lib/text.ts";
import { equalWeighted, INDEX_BASE_LEVEL, type Constituent } from "../../market/composite.ts";
import { chainedCloses } from "../../market/chained.ts";
import type { Level, Series } from "../../market/series.ts";
import {
  SESSIONS_PER_DAY,
  dateText,
  dayOf,
  sessionYearBefore,
  type Session,
} from "../../market/session.ts";
import type { Market } from "../../market/view.ts";
import type { PricedIndex } from "../indices.ts";
import { chart } from "../../site/chart.js";
import { changeHtml, foreign, grouped } from "../../site/text.js";
import { idHtml, section, sessionHtml, table } from "./html.ts";

/** The level of an index on each day from its base to its session, in floating point, only to draw it. */
function traceOf(market: Market, { view, constituents }: PricedIndex): number[] {
  const base = sessionYearBefore(view.session);
  const sums = new Float64Array((view.session - base) / SESSIONS_PER_DAY + 1);
  for (const constituent of constituents) {
    const series = market.seriesOf(constituent.id) as Series;
    for (let day = 0; day < sums.length; day += 1) {
      const level = series.at(base + day * SESSIONS_PER_DAY) as Level;
      sums[day] = (sums[day] as number) + level.usd / constituent.base;
    }
  }
  return [...sums].map((sum) => (INDEX_BASE_LEVEL * sum) / constituents.length);
}

/** The chart of the year, with its lowest, highest and present level. */
export function indexSection(market: Market, index: PricedIndex): string {
  const { result, excluded, constituents } = index;
  const { session } = index.view;
  if (result.level === null) {
    const none = "<p>No contract on the board has a comparable level one year earlier.</p>";
    return section("index", "Composite index over the year", none);
  }
  const base = sessionYearBefore(session);
  const trace = traceOf(market, index);
  const [lowest, highest] = extremes(trace);
  const exact = (day: number): string =>
    levelAt(market, constituents, base + day * SESSIONS_PER_DAY);
  const told = (day: number): string => `${grouped(exact(day))} on ${dateText(dayOf(base) + day)}`;
  const summary = `Lowest ${told(lowest)}, highest ${told(highest)}, now ${grouped(result.level)}.`;
  const named = new Set([lowest, highest, trace.length - 1]);
  const points = trace.map((level, day) => ({
    date: dateText(dayOf(base) + day),
    // The label names these; of the others only the picture is seen.
    close: Number(named.has(day) ? exact(day) : level.toFixed(CHART_DECIMALS)),
  }));
  return section(
    "index",
    "Composite index over the year",
    `<p>Equal weights over ${counted(constituents.length, "constituent")}` +
      `${excluded.length === 0 ? "" : `, ${counted(excluded.length, "contract")} excluded (no comparable base)`}; ` +
      `${INDEX_BASE_LEVEL} at ${sessionHtml(base)}. The base rolls with the session: this is the ` +
      "course of today's constituents against today's base, and levels of different sessions are not one series.</p>\n" +
      `${chart(points, { title: "Composite index over the year", unit: UNIT, base: INDEX_BASE_LEVEL })}\n<p class="note">${summary}</p>`,
  );
}

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
  const [lowest, highest] = extremes(closes.map(({ close }) => Number(close)));
  const summary = `Lowest ${told(lowest)}, highest ${told(highest)}, first ${told(0)}, last ${told(-1)}.`;
  const points = closes.map(({ date, close }) => ({
    date: dateText(date),
    close: Number(close),
  }));
  const options = { title: "Series of the composite", unit: UNIT, base: INDEX_BASE_LEVEL };
  return `\n${chart(points, options)}\n<p class="note">Series of the composite. ${summary}</p>`;
}

/** The places of the lowest and of the highest level, the first of equal ones. */
function extremes(levels: readonly number[]): [lowest: number, highest: number] {
  const at = (wanted: number): number => levels.indexOf(wanted);
  return [at(Math.min(...levels)), at(Math.max(...levels))];
}

/** The exact level at an earlier instant. */
function levelAt(market: Market, constituents: readonly Constituent[], instant: Session): string {
  const then = constituents.map((item) => {
    const level = market.seriesOf(item.id)?.at(instant) as Level;
    return { ...item, now: level.usd };
  });
  return equalWeighted(then).level ?? "";
}

/** At the head of an axis. */
const UNIT = "points";
/** Of a level that only the picture shows. */
const CHART_DECIMALS = 4;
