/** The page of the indices, `/indices`: an example until a key of a tier with indices is given. */
import { KEY_TIER_NAMES, TIERS, tiersWhere, type KeyTierName } from "../../../market/tier.ts";
import { filled, siteFile } from "../../../site/files.ts";
import { indicesTable, type ListedIndex } from "../../../site/indices-table.js";
import { withDecimals } from "../../../site/text.js";
import { historyText } from "../../docs/tier-words.ts";
import { PAGES } from "../../uncounted-routes.ts";
import { exampleOf } from "./answers.ts";
import { framed } from "./frame.ts";
import type { PageSource } from "./pages.ts";

const DIFFERENCE =
  "The level compares the session with a year before, so its base moves on with every session; the " +
  "series is chained from day to day from a base that stays, so its closes compare with each other.";

/** The page. */
export function indicesPage(): PageSource {
  const { indices } = withDecimals(exampleOf("GET /api/public/v1/indices").body) as {
    readonly indices: readonly ListedIndex[];
  };
  return framed({
    path: PAGES.indices.path,
    title: "Indices",
    main: filled(siteFile("indices.html"), {
      tiers: tiersWhere(({ index }) => index, "or"),
      depths: depths(KEY_TIER_NAMES.filter((name) => TIERS[name].index)),
      difference: DIFFERENCE,
      example: indicesTable(indices, false),
    }),
    script: "indices.js",
    styles: ["assets/indices.css"],
  });
}

/** How far back each tier sees the series. */
function depths(tiers: readonly KeyTierName[]): string {
  const words = tiers.map((name) => `${historyText(TIERS[name])} with ${name}`);
  return `The series goes back ${words.join(", ")}.`;
}
