/**
 * The indices: the composite over the year, which is today's constituents, weights and base priced for
 * each day, and all indices with the continuous series of the composite.
 */
import { counted } from "../../lib/text.ts";
import { extent, maxIndex, minIndex } from "d3-array";
import { scaleLinear } from "d3-scale";
import { area, line } from "d3-shape";
import {
  equalWeighted,
  INDEX_BASE_LEVEL,
  type Composite,
  type Constituent,
} from "../../market/composite.ts";
import { chainedCloses } from "../../market/chained.ts";
import type { Level } from "../../market/series.ts";
import {
  SESSIONS_PER_DAY,
  dateText,
  dayOf,
  sessionYearBefore,
  type Day,
  type Session,
} from "../../market/session.ts";
import { memberships, recordsOf, type Market, type TierView } from "../../market/view.ts";
import type { PricedIndex } from "../indices.ts";
import { changeHtml, foreign, idHtml, padded, section, sessionHtml, table } from "./html.ts";

/** The composite of a view, and its level on each day of the year. */
interface TracedIndex {
  readonly session: Session;
  readonly result: Composite;
  readonly constituents: readonly Constituent[];
  /** How many contracts on the board are not constituents. */
  readonly excluded: number;
  /** The level on each day from the base to the session, in floating point, only to draw it. */
  readonly trace: readonly number[];
}

/** Prices the composite of a view, for its session and for each day of the year before. */
export function traceIndex(market: Market, view: TierView): TracedIndex {
  const members = memberships(market, view).flatMap((member) =>
    "constituent" in member ? [member] : [],
  );
  const base = sessionYearBefore(view.session);
  const days = (view.session - base) / SESSIONS_PER_DAY + 1;
  const sums = new Float64Array(days);
  for (const { record, constituent } of members) {
    for (let day = 0; day < days; day += 1) {
      const level = record.series.at(base + day * SESSIONS_PER_DAY) as Level;
      sums[day] = (sums[day] as number) + level.usd / constituent.base;
    }
  }
  const constituents = members.map(({ constituent }) => constituent);
  return {
    session: view.session,
    result: equalWeighted(constituents),
    constituents,
    excluded: recordsOf(view).length - members.length,
    trace: [...sums].map((sum) => (INDEX_BASE_LEVEL * sum) / members.length),
  };
}

/** The chart of the year, with its lowest, highest and present level. */
export function indexSection(market: Market, index: TracedIndex): string {
  const { constituents, session, result } = index;
  if (result.level === null) {
    const none = "<p>No contract on the board has a comparable level one year earlier.</p>";
    return section("index", "Composite index over the year", none);
  }
  const base = sessionYearBefore(session);
  const lowest = minIndex(index.trace);
  const highest = maxIndex(index.trace);
  const told = (day: number): string =>
    `${levelAt(market, constituents, base + day * SESSIONS_PER_DAY)} on ${dateText(dayOf(base) + day)}`;
  const summary = `Lowest ${told(lowest)}, highest ${told(highest)}, now ${padded(result.level, 2)}.`;
  return section(
    "index",
    "Composite index over the year",
    `<p>Equal weights over ${counted(constituents.length, "constituent")}` +
      `${index.excluded === 0 ? "" : `, ${counted(index.excluded, "contract")} excluded (no comparable base)`}; ` +
      `${INDEX_BASE_LEVEL} at ${sessionHtml(base)}. The base rolls with the session: this is the ` +
      "course of today's constituents against today's base, and levels of different sessions are not one series.</p>\n" +
      `${chart(
        index.trace.map((level, day) => ({ day: dayOf(base) + day, level })),
        `Composite index over the year. ${summary}`,
      )}\n<p class="note">${summary}</p>`,
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
      result.level === null ? changeHtml(null) : padded(result.level, 2),
      changeHtml(result.chg24hPct),
      changeHtml(result.chg30dPct),
      last === undefined ? changeHtml(null) : padded(last.close, 2),
    ];
  });
  const headings = [
    { label: "Index" },
    { label: "Id", wideOnly: true },
    { label: "Constituents", numeric: true, wideOnly: true },
    { label: "Level", numeric: true },
    { label: "24 h %", numeric: true },
    { label: "30 d %", numeric: true },
    { label: "Series", numeric: true },
  ] as const;
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
  const closes = chainedCloses(view, series).map(({ date, close }) => ({
    day: date,
    level: Number(close),
    close,
  }));
  if (closes.length < 2) return "";
  const told = (at: number): string => {
    const { day, close } = closes.at(at) as (typeof closes)[0];
    return `${padded(close, 2)} on ${dateText(day)}`;
  };
  const levels = closes.map(({ level }) => level);
  const summary =
    `Lowest ${told(minIndex(levels))}, highest ${told(maxIndex(levels))}, ` +
    `first ${told(0)}, last ${told(-1)}.`;
  const every = Math.ceil(closes.length / POINTS_DRAWN);
  const drawn = closes.filter((_, at) => (closes.length - 1 - at) % every === 0);
  return (
    `\n${chart(drawn, `Series of the composite. ${summary}`)}\n` +
    `<p class="note">Series of the composite. ${summary}</p>`
  );
}

/** The exact level at an earlier instant, with at least two decimals, like the numbers at the top. */
function levelAt(market: Market, constituents: readonly Constituent[], instant: Session): string {
  const then = constituents.map((item) => {
    const level = market.seriesOf(item.id)?.at(instant);
    if (level == null) throw new Error(`No level of the constituent ${item.id}`);
    return { ...item, now: level.usd };
  });
  return padded(equalWeighted(then).level ?? "", 2);
}

const HEIGHT = 260;
const PLOT_TOP = 10;
const PLOT_BOTTOM = 230;
/** The space for the levels beside the plot. */
const LEVELS_WIDTH = 44;
/** The width of the curve, which the page stretches. It does not stretch strokes and text. */
const PLOT_WIDTH = 1000;
/** Of a series at most. A longer one is drawn with days left out between. */
const POINTS_DRAWN = 250;
/** A longer chart has years below it instead of months. */
const MONTHS_DAYS = 550;
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** A level to draw. */
interface Point {
  readonly day: Day;
  readonly level: number;
}

/** The curve of two points or more, ascending by day. */
function chart(trace: readonly Point[], label: string): string {
  const [first, last] = [trace[0] as Point, trace.at(-1) as Point];
  const levelsDrawn = [...trace.map(({ level }) => level), INDEX_BASE_LEVEL];
  const [low = INDEX_BASE_LEVEL, high = INDEX_BASE_LEVEL] = extent(levelsDrawn);
  const x = scaleLinear([first.day, last.day], [0, PLOT_WIDTH]);
  const y = scaleLinear([low, high], [PLOT_BOTTOM, PLOT_TOP]).nice(4);
  const points = trace.map(({ day, level }): [number, number] => [x(day), y(level)]);
  const curve = line().digits(1)(points);
  const ground = area().y0(PLOT_BOTTOM).digits(1)(points);
  const ticks = y.ticks(4).map((tick) => ({ tick, at: y(tick).toFixed(1) }));
  const levels = ticks.map(
    ({ tick, at }) =>
      `<text x="${LEVELS_WIDTH - 8}" y="${at}" dy="4" text-anchor="end">${tick}</text>`,
  );
  const rules = ticks.map(({ tick, at }) => {
    const kind = tick === INDEX_BASE_LEVEL ? ' class="base"' : "";
    return `<line${kind} x2="100%" y1="${at}" y2="${at}"/>`;
  });
  const isOfYears = last.day - first.day > MONTHS_DAYS;
  const starts = monthStarts(first.day, last.day);
  const dates = isOfYears ? starts.filter(({ month }) => month === "01") : starts;
  const dateMarks = dates.map(({ day, text, year }, at) => {
    const percent = x(day) / 10;
    const left = `${percent.toFixed(2)}%`;
    return (
      `<line x1="${left}" x2="${left}" y1="${PLOT_BOTTOM}" y2="${PLOT_BOTTOM + 5}"/>` +
      `<text${isOfYears || at % 3 === 0 ? "" : ' class="wide"'} x="${left}" y="${PLOT_BOTTOM + 20}" ` +
      `text-anchor="${anchorAt(percent)}">${isOfYears ? year : text}</text>`
    );
  });
  const stretched = (shape: string, path: string | null): string =>
    `<svg width="100%" height="${HEIGHT}" viewBox="0 0 ${PLOT_WIDTH} ${HEIGHT}" ` +
    `preserveAspectRatio="none"><path class="${shape}" d="${path ?? ""}"/></svg>`;
  return (
    `<div class="chart" role="img" aria-label="${label}">` +
    `<svg width="${LEVELS_WIDTH}" height="${HEIGHT}">${levels.join("")}</svg>` +
    `<svg class="plot" height="${HEIGHT}">${stretched("ground", ground)}` +
    `${rules.join("")}${dateMarks.join("")}${stretched("curve", curve)}</svg></div>`
  );
}

/** Keeps a label near an edge inside the plot. */
function anchorAt(percent: number): "start" | "middle" | "end" {
  if (percent < 5) return "start";
  return percent > 92 ? "end" : "middle";
}

/** A first day of a month. */
interface MonthStart {
  readonly day: Day;
  readonly year: string;
  /** `01` to `12`. */
  readonly month: string;
  readonly text: string;
}

/**
 * The first days of the months after `from`, with names. January has the year in its name. So has the
 * first month, unless January follows it.
 */
function monthStarts(from: Day, to: Day): MonthStart[] {
  const starts: MonthStart[] = [];
  for (let day = from; day <= to; day += 1) {
    const [year = "", month = "", dayOfMonth] = dateText(day).split("-");
    if (dayOfMonth !== "01") continue;
    const name = MONTHS[Number(month) - 1] as string;
    const isDated = month === "01" || (starts.length === 0 && month !== "12");
    starts.push({ day, year, month, text: isDated ? `${name} ${year}` : name });
  }
  return starts;
}
