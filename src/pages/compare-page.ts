/** The page of comparisons, `/compare`: several lines in one chart, for callers with a key. */
import type { Contract } from "../market/contract.ts";
import { tiersWhere } from "../market/tier.ts";
import { fillTemplate, siteFile } from "../site/site-files.ts";
import { PAGES } from "../public/uncounted-routes.ts";
import type { PlanTerms } from "./plan-terms.ts";
import { carryDays } from "./catalog-days.ts";
import { historyOffer } from "./contract-page.ts";
import type { PageSource } from "../core/serve/document.ts";
import { framePage, rootOf } from "./page-frame.ts";

export const comparePage = (
  terms: PlanTerms,
  catalog: readonly Contract[],
  maxCarryDays: number,
): PageSource =>
  framePage({
    path: PAGES.compare.path,
    title: "Compare",
    main: fillTemplate(siteFile("compare.html"), {
      carry: carryDays(catalog, maxCarryDays),
      tiers: tiersWhere(({ history }) => history !== null),
      offer: historyOffer(terms, rootOf(PAGES.compare.path)),
    }),
    script: "compare.js",
    styles: ["chart.css", "skeleton.css", "picker.css", "compare.css"],
  });
