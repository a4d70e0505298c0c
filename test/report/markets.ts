/** Markets, and the report of a market. */
import { parseSession, type Session } from "../../src/market/session.ts";
import type { Market } from "../../src/market/view.ts";
import { indicesWithSeries } from "../../src/render/index-files.ts";
import { renderReport, type ReportInput } from "../../src/render/report/page.ts";
import {
  freshSeries,
  HEAD,
  listing,
  marketOf,
  VARIED,
  type Listing,
} from "../unit/market-fixture.ts";

export { HEAD };

/** Hostile names: markup, quotes, an entity, a direction override, a long word. */
export const HOSTILE_NAMES = [
  "</script><script>globalThis.broken = true</script>",
  `"><img src=x onerror="globalThis.broken = true">`,
  "' onmouseover='globalThis.broken = true",
  "&lt;b&gt; &amp; <b>bold</b>",
  "\u{202E}reversed from here",
  "unbroken".repeat(40),
  "NUL \0 and escape \u001B[31m",
];

export const HOSTILE: readonly Listing[] = HOSTILE_NAMES.map((name, at) => ({
  contract: { name, segment: at === 0 ? name : "DRAM", source: name },
  levels: [
    { session: HEAD - 3, usd: 1_000_000 },
    { session: HEAD, usd: 1_000_000 + at, ...(at % 2 === 0 ? { breakReason: name } : {}) },
  ],
}));

/** `count` contracts over nine segments, priced twice a day for 400 days and more. */
export function marketOfMany(count: number): Market {
  const listings = Array.from({ length: count }, (_, at): Listing => {
    let seed = at + 1;
    let usd = 5_000_000 + at * 250_000;
    const levels = Array.from({ length: 820 }, (_, step) => {
      // Park and Miller's generator. Any fixed sequence would work.
      seed = (seed * 48_271) % 2_147_483_647;
      usd += Math.round((usd * ((seed % 2001) - 1000)) / 50_000);
      return { session: HEAD - 819 + step, usd };
    });
    const contract = {
      id: `contract-${at}-of-many-in-a-slug`,
      name: `Contract number ${at} with a name of usual length`,
      segment: `Segment ${at % 9}`,
      board: at % 4 === 3 ? "semiconductor" : "memory",
    } as const;
    return { contract, levels: at % 11 === 5 ? levels.slice(0, -1) : levels };
  });
  return marketOf(listings);
}

export const VARIED_MARKET: Market = marketOf(VARIED);
export const HOSTILE_MARKET: Market = marketOf(HOSTILE);
export const PLAIN_MARKET: Market = marketOf([listing()]);

/** The report of a market at HEAD. */
export const reportOf = (market: Market, changes: Partial<ReportInput> = {}): string =>
  renderReport(
    {
      market,
      head: HEAD,
      options: {},
      attribution: "Test levels, not market data",
      corrections: [],
      judgements: [],
      program: { name: "chipboard", version: "0.0.0-test" },
      ...changes,
    },
    indicesWithSeries(market, freshSeries(market)),
  );

export const at = (key: string): Session => parseSession(key) as Session;

/** The text of a section without tags; `|` separates the cells. */
export function textOf(report: string, id: string): string {
  const start = report.indexOf(`<section id="${id}"`);
  if (start < 0) throw new Error(`The report has no section ${id}`);
  return report
    .slice(start, report.indexOf("</section>", start))
    .replace(/<\/t[dh]>/g, "|")
    .replace(/<br>/g, " ")
    .replace(/<[^>]*>/g, "")
    .replace(/[ \u{A0}]+/gu, " ");
}
