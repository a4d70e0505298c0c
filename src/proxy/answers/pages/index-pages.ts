/**
 * The pages of the indices, `/indices`, and of baskets, `/basket`: an example until a key of a tier that has
 * them is given.
 */
import { KEY_TIER_NAMES, TIERS, tiersWhere } from "../../../market/tier.ts";
import {
  contributionsTable,
  indexFigures,
  type IndexBody,
  type OneIndex,
} from "../../../site/contributions.js";
import { filled, siteFile } from "../../../site/site-files.ts";
import { indicesTable, type ListedIndex } from "../../../site/indices-table.js";
import { basketUrl } from "../../../site/requests.js";
import { escaped, foreign, withDecimals } from "../../../site/text.js";
import { historyText } from "../../tier-words.ts";
import { PAGES } from "../../uncounted-routes.ts";
import { exampleOf } from "./answers.ts";
import type { PlanTerms } from "../plan-terms.ts";
import { framed, type PageSource } from "./page-frame.ts";
import { priceHtml } from "./plans-page.ts";

/** `90 days with starter, 5 years with pro`. */
export const historyDepths = (): string =>
  KEY_TIER_NAMES.map((name) => `${historyText(TIERS[name])} with ${name}`).join(", ");

const INDICES = "GET /api/public/v1/indices";
/** The index of the example. Its answer is recorded, too. */
const CHOSEN = "dram";

export function indicesPage(): PageSource {
  const indices: readonly ListedIndex[] = withDecimals(exampleOf(INDICES).body).indices;
  const body: OneIndex = withDecimals(exampleOf(`${INDICES}/${CHOSEN}`).body);
  return framed({
    path: PAGES.indices.path,
    title: "Indices",
    main: filled(siteFile("indices.html"), {
      tiers: tiersWhere(({ index }) => index, "or"),
      depths: historyDepths(),
      example: indicesTable(indices, false),
      example_figures: indexFigures(body),
    }),
    script: "indices.js",
    styles: ["assets/chart.css", "assets/indices.css"],
  });
}

const INDEX = "GET /api/public/v1/index?";
/** Its answer is recorded for the guide. */
const EXAMPLE = "ids=ddr5-16gb,tlc-1tb&quantities=64,2";

/** The page of baskets. `origin` is the address of the service, which the programs name; `terms` tell prices. */
export function basketPage(origin: string, terms: PlanTerms): PageSource {
  const priced: IndexBody = withDecimals(exampleOf(`${INDEX}${EXAMPLE}`).body);
  return framed({
    path: PAGES.basket.path,
    title: "Basket",
    main: filled(siteFile("basket.html"), {
      tiers: tiersWhere(({ baskets }) => baskets, "or"),
      offer: offerWords(terms),
      example_figures: indexFigures(priced),
      example_contributions: contributionsTable(priced.contributions, foreign),
      example_query: escaped(EXAMPLE),
      programs: filled(siteFile("request-json.html"), { url: escaped(basketUrl(origin, EXAMPLE)) }),
    }),
    script: "basket.js",
    styles: ["assets/chart.css", "assets/indices.css", "assets/basket.css"],
  });
}

/** Which plan prices baskets, and its price if that is told. */
function offerWords(terms: PlanTerms): string {
  const name = KEY_TIER_NAMES.find((tier) => TIERS[tier].baskets);
  if (name === undefined) return "";
  const price = priceHtml(terms[name]?.usd_per_month, "month");
  return `${TIERS[name].title} does${price === null ? "" : `: ${price}`}. <a href="plans">Compare the plans</a>.`;
}
