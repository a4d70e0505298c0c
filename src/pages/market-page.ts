/** The market page, `/`: what this service is, the free tier's board, and the public facts of all other contracts. */
import { inBoardOrder, isDelisted, type Contract } from "../market/contract.ts";
import { indicesOf } from "../market/indices.ts";
import type { Session } from "../market/session.ts";
import { KEY_TIER_NAMES, TIERS } from "../market/tier.ts";
import { boardTable, coverageLine, sessionLine, type Board } from "../site/board.js";
import { movesHtml } from "../site/overview.js";
import { filled, siteFile } from "../site/site-files.ts";
import { counted, escaped } from "../site/text.js";
import { PAGES } from "../public/uncounted-routes.ts";
import { PLACE_WORDS, type PlanTerms } from "./plan-terms.ts";
import { cadenceDays, carryDays } from "./catalog-days.ts";
import { datasetOf } from "./crawlers.ts";
import type { PageSource } from "../core/serve/document.ts";
import { framed } from "./page-frame.ts";
import { fullestHistory, priceHtml, wayHtml } from "./plans-page.ts";
import { proPictureHtml } from "./pro-picture.ts";

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
  styles: ["assets/skeleton.css", "assets/market.css", "assets/board.css", "assets/chart.css"],
};

/** Before the first publication. */
export const emptyMarketPage = (): PageSource =>
  framed({ ...PAGE, main: siteFile("empty.html"), script: "page.js" });

export function marketPage(content: MarketContent): PageSource {
  const { board, catalog, head, origin } = content;
  const listed = inBoardOrder(catalog).filter((contract) => !isDelisted(contract, head));
  const rows = [...board.memory, ...board.semiconductor];
  const free = new Set(rows.map(({ id }) => id));
  const locked = listed.filter(({ id }) => !free.has(id));
  const isEmpty = rows.length === 0;
  const cadences = new Map(catalog.map(({ id, cadenceDays: days }) => [id, Number(days)]));
  const cadenceOf = (id: string): number => cadences.get(id) ?? 1;
  return framed({
    ...PAGE,
    main: filled(siteFile("market.html"), {
      door: doorHtml(content, listed),
      session: sessionLine(board),
      moves: isEmpty ? "" : movesHtml(board),
      coverage: coverageLine(board, cadenceOf, locked.length),
      board: isEmpty ? "" : boardTable(board, cadenceOf, false, locked),
      license: escaped(board.license),
      carry: carryDays(catalog, content.maxCarryDays),
      cadence: cadenceDays(catalog),
    }),
    script: "market.js",
    dataset: datasetOf(board, origin),
  });
}

/** What everybody can know of the service before they have a key. */
function doorHtml(
  { catalog, terms, isSigned }: MarketContent,
  listed: readonly Contract[],
): string {
  const prices = KEY_TIER_NAMES.flatMap((name) => {
    const price = priceHtml(terms[name]?.usd_per_month, "month");
    return price === null ? [] : [`${TIERS[name].title} ${price}`];
  });
  const contracts = counted(listed.length, "contract");
  return filled(siteFile("door.html"), {
    claim: `Price levels of ${contracts} and ${indicesOf(catalog).length} indices, published every 12 hours.`,
    way: wayHtml(terms, PLACE_WORDS.get_url, ""),
    prices: prices.length === 0 ? "" : `${prices.join(", ")}.`,
    log: isSigned ? "A public signed log" : "A public log",
    depth: fullestHistory().toLowerCase(),
    picture: proPictureHtml(),
  });
}
