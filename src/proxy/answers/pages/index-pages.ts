/**
 * The pages of the indices, `/indices`, and of baskets, `/basket`: an example until a key of a tier that has
 * them is given.
 */
import { KEY_TIER_NAMES, TIERS, tiersWhere } from "../../../market/tier.ts";
import { filled, siteFile } from "../../../site/site-files.ts";
import { historyText } from "../../../api/tier-words.ts";
import { PAGES } from "../../../api/uncounted-routes.ts";
import type { PlanTerms } from "../plan-terms.ts";
import { framed, type PageSource } from "./page-frame.ts";
import { priceHtml } from "./plans-page.ts";

/** `90 days with starter, 5 years with pro`. */
export const historyDepths = (): string =>
  KEY_TIER_NAMES.map((name) => `${historyText(TIERS[name])} with ${name}`).join(", ");

export const indicesPage = (): PageSource =>
  framed({
    path: PAGES.indices.path,
    title: "Indices",
    main: filled(siteFile("indices.html"), {
      tiers: tiersWhere(({ index }) => index, "or"),
      depths: historyDepths(),
      example: siteFile("documents/indices-example.html"),
    }),
    script: "indices.js",
    styles: ["assets/chart.css", "assets/indices.css"],
  });

/** The page of baskets, with slots in its request (document-slots.ts). `terms` tell prices. */
export const basketPage = (terms: PlanTerms): PageSource =>
  framed({
    path: PAGES.basket.path,
    title: "Basket",
    main: filled(siteFile("basket.html"), {
      tiers: tiersWhere(({ baskets }) => baskets, "or"),
      offer: offerWords(terms),
      example: siteFile("documents/basket-example.html"),
      request: siteFile("documents/basket-request.html"),
    }),
    script: "basket.js",
    styles: ["assets/chart.css", "assets/indices.css", "assets/basket.css"],
  });

/** Which plan prices baskets, and its price if that is told. */
function offerWords(terms: PlanTerms): string {
  const name = KEY_TIER_NAMES.find((tier) => TIERS[tier].baskets);
  if (name === undefined) return "";
  const price = priceHtml(terms[name]?.usd_per_month, "month");
  return `${TIERS[name].title} does${price === null ? "" : `: ${price}`}. <a href="plans">Compare the plans</a>.`;
}
