/** The basket page, `/basket`: an example until a key of a tier with baskets is given. */
import { tiersWhere } from "../../../market/tier.ts";
import { contributionsTable, indexFigures, type IndexBody } from "../../../site/contributions.js";
import { filled, siteFile } from "../../../site/files.ts";
import { programsHtml } from "../../../site/requests.js";
import { escaped, foreign, withDecimals } from "../../../site/text.js";
import { PAGES } from "../../uncounted-routes.ts";
import { exampleOf } from "./answers.ts";
import { framed } from "./frame.ts";
import { ORIGIN } from "./markdown.ts";
import type { PageSource } from "./pages.ts";
import { withOrigin } from "./texts.ts";

const INDEX = "GET /api/public/v1/index?";
/** Its answer is recorded for the guide. */
const EXAMPLE = "ids=ddr5-16gb,tlc-1tb&quantities=64,2";

/** The page. `origin` is the address of the service, which the programs name. */
export function basketPage(origin: Promise<string>): PageSource {
  const priced = withDecimals(exampleOf(`${INDEX}${EXAMPLE}`).body) as IndexBody;
  const { body, ...source } = framed({
    path: PAGES.basket.path,
    title: "Basket",
    main: filled(siteFile("basket.html"), {
      tiers: tiersWhere(({ baskets }) => baskets, "or"),
      example_words: exampleWords(priced),
      example_figures: indexFigures(priced),
      example_contributions: contributionsTable(priced.contributions, foreign),
      example_query: escaped(EXAMPLE),
      programs: programsHtml(ORIGIN, EXAMPLE),
    }),
    script: "basket.js",
    styles: ["assets/indices.css"],
  });
  const html = body.toString();
  return { ...source, body: origin.then((is) => withOrigin(html, escaped(is))) };
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
