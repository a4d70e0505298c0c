/** The market page, `/`: what this service is, the free tier's board, and the public facts of all other contracts. */
import { inBoardOrder, isDelisted, type Contract } from "../market/contract.ts";
import { indicesOf } from "../market/indices.ts";
import type { Session } from "../market/session.ts";
import { KEY_TIER_NAMES, TIERS } from "../market/tier.ts";
import { overdueBy } from "../site/overdue.js";
import { boardTable, coverageLine, sessionLine, type Board } from "../site/board.js";
import { movesHtml } from "../site/overview.js";
import { fillTemplate, siteFile } from "../site/site-files.ts";
import { counted, escaped, foreign } from "../site/text.js";
import { DATA_ROUTES } from "../public/routes.ts";
import { PAGES } from "../public/uncounted-routes.ts";
import { PLACE_WORDS, type PlanTerms } from "./plan-terms.ts";
import { cadenceDays, carryDays } from "./catalog-days.ts";
import { datasetOf } from "./crawlers.ts";
import type { PageSource } from "../core/serve/document.ts";
import { framePage } from "./page-frame.ts";
import { fullestHistory, priceHtml, wayHtml } from "./plans-page.ts";

export interface MarketContent {
  /** The free tier's. */
  readonly board: Board;
  readonly catalog: readonly Contract[];
  /** The carry limit of the publication. */
  readonly maxCarryDays: number;
  readonly head: Session;
  readonly terms: PlanTerms;
  /** Whether someone vouches for the log with keys. */
  readonly isSigned: boolean;
  /** The address of the service. */
  readonly origin: string;
}

const PAGE = {
  path: PAGES.market.path,
  title: "Memory and semiconductor prices",
  styles: ["skeleton.css", "market.css", "board.css", "chart.css"],
};

/** Before the first publication. */
export const emptyMarketPage = (): PageSource =>
  framePage({ ...PAGE, main: siteFile("empty.html"), script: "page.js" });

export function marketPage(content: MarketContent): PageSource {
  const { board, catalog, head, origin } = content;
  const listed = inBoardOrder(catalog).filter((contract) => !isDelisted(contract, head));
  const rows = [...board.memory, ...board.semiconductor];
  const free = new Set(rows.map(({ id }) => id));
  const locked = listed.filter(({ id }) => !free.has(id));
  const isEmpty = rows.length === 0;
  const cadences = new Map(catalog.map(({ id, cadenceDays: days }) => [id, Number(days)]));
  const isOverdue = overdueBy((id) => cadences.get(id) ?? 1, board.session_utc);
  return framePage({
    ...PAGE,
    main: fillTemplate(siteFile("market.html"), {
      door: doorHtml(content, listed),
      session: sessionLine(board),
      moves: isEmpty ? "" : movesHtml(board),
      coverage: coverageLine(board, isOverdue, locked.length),
      board: isEmpty ? "" : boardTable(board, isOverdue, false, locked),
      license: escaped(board.license),
      carry: carryDays(catalog, content.maxCarryDays),
      cadence: cadenceDays(catalog),
    }),
    script: "market.js",
    dataset: datasetOf(board, origin),
  });
}

/** The facts of the service that everybody can read without a key. */
function doorHtml(
  { board, catalog, terms, isSigned, origin }: MarketContent,
  listed: readonly Contract[],
): string {
  const prices = KEY_TIER_NAMES.flatMap((name) => {
    const price = priceHtml(terms[name]?.usd_per_month, "month");
    return price === null ? [] : [`${TIERS[name].title} ${price}`];
  });
  const contracts = counted(listed.length, "contract");
  const about = [
    ["Publisher", terms.publisher && foreign(terms.publisher)],
    ["For", terms.audience && foreign(terms.audience)],
    ["Prices", kindsText(listed)],
    ["Sources", sourcesHtml(listed)],
  ].flatMap(([label, html]) => (html ? [`<div><dt>${label}</dt><dd>${html}</dd></div>`] : []));
  const [first] = [...board.memory, ...board.semiconductor];
  const path =
    first === undefined
      ? DATA_ROUTES.board.path
      : DATA_ROUTES.contract.path.replace("{id}", first.id);
  return fillTemplate(siteFile("door.html"), {
    claim: `Price levels of ${contracts} and ${indicesOf(catalog).length} indices, published every 12 hours.`,
    way: wayHtml(terms, PLACE_WORDS.get_url, ""),
    prices: prices.length === 0 ? "" : `${prices.join(", ")}.`,
    about: about.join("\n"),
    request: escaped(origin + path),
    log: isSigned ? "A public signed log" : "A public log",
    depth: fullestHistory().toLowerCase(),
  });
}

/** Values with how many contracts have each, the most frequent first. */
function tally<Value>(values: readonly Value[]): (readonly [Value, number])[] {
  const counts = new Map<Value, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].toSorted(([, a], [, b]) => b - a);
}

/** `53 spot, 35 retail, 11 contract`, as far as the catalog says it. */
const kindsText = (listed: readonly Contract[]): string =>
  tally(listed.flatMap(({ priceType }) => priceType ?? []))
    .map(([type, count]) => `${count} ${type}`)
    .join(", ");

const SOURCES_NAMED = 3;

/** The sources that the catalog names, the most frequent first. */
function sourcesHtml(listed: readonly Contract[]): string {
  const sources = tally(listed.map(({ source }) => source));
  const named = sources.slice(0, SOURCES_NAMED).map(([source]) => foreign(source));
  const others = sources.length - named.length;
  return named.join("; ") + (others === 0 ? "" : `; ${counted(others, "other")}`);
}
