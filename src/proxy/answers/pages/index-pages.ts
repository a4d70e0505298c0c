/**
 * The pages of the indices, `/indices`, and of baskets, `/basket`: an example until a key of a tier that has
 * them is given.
 */
import { KEY_TIER_NAMES, TIERS, tiersWhere, type KeyTierName } from "../../../market/tier.ts";
import { chart } from "../../../site/chart.js";
import {
  contributionsTable,
  findingOf,
  indexFigures,
  type IndexBody,
} from "../../../site/contributions.js";
import { filled, siteFile } from "../../../site/files.ts";
import { indicesTable, type ListedIndex } from "../../../site/indices-table.js";
import { programsHtml } from "../../../site/requests.js";
import { escaped, foreign, withDecimals } from "../../../site/text.js";
import { historyText } from "../../docs/tier-words.ts";
import { PAGES } from "../../uncounted-routes.ts";
import { exampleOf } from "./answers.ts";
import type { PlanTerms } from "../plan-terms.ts";
import { framed, type PageSource } from "./pages.ts";
import { priceHtml } from "./plans.ts";

const DIFFERENCE =
  "The change against a year ago is the mean change of the contracts’ prices, whose base moves on with every " +
  "session; the series is chained from day to day from a base that stays, so its closes compare with each " +
  "other. The two differ a little over the same year.";

const INDICES = "GET /api/public/v1/indices";
/** The index of the example. Its answer is recorded, too. */
const CHOSEN = "dram";

export function indicesPage(): PageSource {
  const { indices } = withDecimals(exampleOf(INDICES).body) as {
    readonly indices: readonly ListedIndex[];
  };
  const body = withDecimals(exampleOf(`${INDICES}/${CHOSEN}`).body) as Required<IndexBody>;
  const { base, history } = body.series;
  const name = indices.find(({ id }) => id === CHOSEN)?.name ?? CHOSEN;
  const drawn = {
    title: findingOf(name, body.level),
    unit: `points, ${base.date} = ${base.level}`,
  };
  const points = history.map(({ date, close }) => ({ date, close: Number(close), text: close }));
  return framed({
    path: PAGES.indices.path,
    title: "Indices",
    main: filled(siteFile("indices.html"), {
      tiers: tiersWhere(({ index }) => index, "or"),
      depths: depths(KEY_TIER_NAMES.filter((name) => TIERS[name].index)),
      difference: DIFFERENCE,
      example: indicesTable(indices, false),
      example_title: escaped(drawn.title),
      example_unit: escaped(drawn.unit),
      example_chart: chart(points, { ...drawn, base: Number(base.level), decimals: 2 }),
      example_figures: indexFigures(body),
    }),
    script: "indices.js",
    styles: ["assets/chart.css", "assets/indices.css"],
  });
}

/** How far back each tier sees the series. */
function depths(tiers: readonly KeyTierName[]): string {
  const words = tiers.map((name) => `${historyText(TIERS[name])} with ${name}`);
  return `The series goes back ${words.join(", ")}.`;
}

const INDEX = "GET /api/public/v1/index?";
/** Its answer is recorded for the guide. */
const EXAMPLE = "ids=ddr5-16gb,tlc-1tb&quantities=64,2";

/** The page of baskets. `origin` is the address of the service, which the programs name; `terms` tell prices. */
export function basketPage(origin: string, terms: PlanTerms): PageSource {
  const priced = withDecimals(exampleOf(`${INDEX}${EXAMPLE}`).body) as IndexBody;
  return framed({
    path: PAGES.basket.path,
    title: "Basket",
    main: filled(siteFile("basket.html"), {
      tiers: tiersWhere(({ baskets }) => baskets, "or"),
      offer: offerWords(terms),
      example_words: exampleWords(priced),
      example_figures: indexFigures(priced),
      example_contributions: contributionsTable(priced.contributions, foreign),
      example_query: escaped(EXAMPLE),
      programs: programsHtml(origin, EXAMPLE),
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

/** What is bought in the example, and for how much. */
function exampleWords({ contributions, base, cost_usd, cost_base_usd }: IndexBody): string {
  const bought = contributions.map(({ quantity, id }) => `${quantity} of <code>${id}</code>`);
  const list = `${bought.slice(0, -1).join(", ")} and ${bought.at(-1)}`;
  return (
    `A basket of ${list} costs ${cost_usd} USD. On <time>${base.date}</time>, the base of its level, ` +
    `it cost ${cost_base_usd} USD.`
  );
}
