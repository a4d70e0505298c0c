/** The pages of the indices, `/indices`, and of baskets, `/basket`, as they are sent; a key brings the figures. */
import type { Contract } from "../market/contract.ts";
import { COMPOSITE, indicesOf } from "../market/indices.ts";
import { KEY_TIER_NAMES, TIERS, tiersWhere } from "../market/tier.ts";
import type { Board, BoardRow } from "../site/board.js";
import { shareOf } from "../site/contributions.js";
import { decimalOf, placesOf } from "../site/decimal.js";
import { contractLink, scrolling, section, tableHtml } from "../site/html.js";
import { indexName } from "../site/overview.js";
import { fillTemplate, siteFile } from "../site/site-files.ts";
import { escaped, figureHtml, foreign, instantHtml } from "../site/text.js";
import { historyText } from "../public/tier-words.ts";
import { PAGES } from "../public/uncounted-routes.ts";
import type { PlanTerms } from "./plan-terms.ts";
import { fillSlots, type SlotValues } from "./document-slots.ts";
import { carryDays } from "./catalog-days.ts";
import { pastWords } from "./contract-page.ts";
import type { PageSource } from "../core/serve/document.ts";
import { framePage } from "./page-frame.ts";
import { priceHtml } from "./plans-page.ts";
import { proPictureHtml } from "./pro-picture.ts";

/** `90 days with Starter, 5 years with Pro`. */
const historyDepths = (): string =>
  KEY_TIER_NAMES.map((name) => `${historyText(TIERS[name])} with ${TIERS[name].title}`).join(", ");

/**
 * With the names of the indices, which are public; null: nothing is published. `isPast`: the address asks for another
 * moment.
 */
export const indicesPage = (catalog: readonly Contract[] | null, isPast: boolean): PageSource =>
  framePage({
    path: PAGES.indices.path,
    title: "Indices",
    main: fillTemplate(siteFile("indices.html"), {
      tiers: tiersWhere(({ index }) => index),
      depths: historyDepths(),
      past: isPast ? pastWords("") : "",
      picture: proPictureHtml(),
      list: catalog === null ? "" : listHtml(catalog),
    }),
    script: "indices.js",
    styles: ["chart.css", "skeleton.css", "indices.css"],
  });

function listHtml(catalog: readonly Contract[]): string {
  const rows = indicesOf(catalog).map(({ id, name, contracts }) => ({
    id,
    name: id === COMPOSITE ? "Composite, the whole market" : indexName({ id, name }),
    count: contracts.filter(({ delistedOn }) => delistedOn === null).length,
  }));
  return tableHtml(
    ' class="indices"',
    [
      { label: "Index", html: ({ name }: (typeof rows)[number]) => foreign(name) },
      { label: "Contracts", name: "n", html: ({ count }) => figureHtml(count, 0) },
    ],
    rows,
  );
}

/** The quantities of the example, and of the request below it. */
const EXAMPLE_QUANTITIES = ["64", "2"];

/** The part of the served snapshot that the page of baskets shows. */
export interface BasketMarket {
  /** Empty while nothing is published. */
  readonly catalog: readonly Contract[];
  /** The carry limit of the publication. */
  readonly maxCarryDays: number;
  /** The free tier's; null: nothing is published. */
  readonly board: Board | null;
  /** The contracts of the example, on this board. */
  readonly exampleIds: readonly string[];
}

/** The page of baskets. `terms` tell prices, and `slots` fill its request (document-slots.ts). */
export const basketPage = (
  terms: PlanTerms,
  slots: SlotValues,
  { catalog, maxCarryDays, board, exampleIds }: BasketMarket,
): PageSource =>
  framePage({
    path: PAGES.basket.path,
    title: "Basket",
    main: fillTemplate(siteFile("basket.html"), {
      tiers: tiersWhere(({ baskets }) => baskets),
      price: priceWords(terms),
      offer: offerWords(terms),
      carry: carryDays(catalog, maxCarryDays),
      example: board === null ? "" : exampleHtml(board, exampleIds),
      // Filled by itself: the texts of the catalog beside it have no slots.
      request: fillSlots(siteFile("documents/basket-request.html"), slots, escaped),
    }),
    script: "basket.js",
    styles: ["chart.css", "skeleton.css", "indices.css", "picker.css", "basket.css"],
  });

/** The places of a level in US dollars. */
const USD_PLACES = 6;

interface Part {
  readonly row: BoardRow;
  readonly quantity: string;
  /** US dollars, a decimal. */
  readonly cost: string;
}

/** The cost of a small basket at the levels that everybody may see. */
function exampleHtml(board: Board, ids: readonly string[]): string {
  const rows = new Map([...board.memory, ...board.semiconductor].map((row) => [row.id, row]));
  const parts = EXAMPLE_QUANTITIES.flatMap((quantity, at): Part[] => {
    const row = rows.get(ids[at] ?? "");
    if (row === undefined) return [];
    const micros = placesOf(String(row.spot_usd), USD_PLACES) * BigInt(quantity);
    return [{ row, quantity, cost: dollarsText(micros) }];
  });
  if (parts.length === 0) return "";
  const costs = parts.map(({ cost }) => cost);
  const total = costs.reduce((sum, cost) => sum + placesOf(cost, USD_PLACES), 0n);
  const table = tableHtml<Part>(
    ' class="example"',
    [
      {
        label: "Contract",
        html: ({ row }) =>
          `${contractLink(row.id, row.name)} <small>${foreign(row.ticker)} · ${foreign(row.unit)}</small>`,
      },
      { label: "Quantity", name: "n", html: ({ quantity }) => quantity },
      { label: "Level, USD", name: "n", html: ({ row }) => figureHtml(row.spot_usd) },
      { label: "Cost, USD", name: "n", html: ({ cost }) => figureHtml(cost) },
      {
        label: "Share of cost, %",
        name: "n",
        html: ({ cost }) => figureHtml(shareOf(cost, costs)),
      },
    ],
    parts,
  );
  return section(
    "example",
    "Example",
    `<p>Priced at the free levels of ${instantHtml(board.session_utc)}. ${tiersWhere(({ baskets }) => baskets)} prices
any contracts at the newest levels, draws the cost on each day, and says what each part contributed.</p>
<dl class="figures costs"><div><dt>Cost</dt><dd>${figureHtml(dollarsText(total))} <small>USD</small></dd></div></dl>
${scrolling("Contracts of the example", table)}`,
  );
}

/** US dollars, without zeros at the end. */
const dollarsText = (micros: bigint): string => decimalOf(micros, USD_PLACES).replace(/\.?0+$/, "");

/** The plan that prices baskets. */
const BASKET_PLAN = KEY_TIER_NAMES.find((tier) => TIERS[tier].baskets);

/** The price of the plan; null: it is not told. */
const basketPrice = (terms: PlanTerms): string | null =>
  BASKET_PLAN === undefined ? null : priceHtml(terms[BASKET_PLAN]?.usd_per_month, "month");

function priceWords(terms: PlanTerms): string {
  const price = basketPrice(terms);
  return price === null ? "" : `, ${price}`;
}

/** Which plan prices baskets, and its price if that is told. */
function offerWords(terms: PlanTerms): string {
  const name = BASKET_PLAN;
  if (name === undefined) return "";
  const price = basketPrice(terms);
  return `${TIERS[name].title} does${price === null ? "" : `: ${price}`}. <a href="plans">Compare the plans</a>.`;
}
