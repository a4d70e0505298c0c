/** The examples on the pages `/indices` and `/basket`: recorded answers, as the pages show answers. */
import { slotOf } from "../proxy/document-slots.ts";
import {
  contributionsTable,
  indexFigures,
  type IndexBody,
  type OneIndex,
} from "../site/contributions.js";
import { indicesTable, type ListedIndex } from "../site/indices-table.js";
import { basketUrl } from "../site/requests.js";
import { filled, siteFile } from "../site/site-files.ts";
import { escaped, foreign, withDecimals } from "../site/text.js";
import { exampleOf, runnable } from "./recorded-answers.ts";

const INDICES = "GET /api/public/v1/indices";
/** The index whose figures are shown. */
const CHOSEN = "composite";

export function indicesExample(): string {
  const indices: readonly ListedIndex[] = withDecimals(exampleOf(INDICES).body).indices;
  const chosen: OneIndex = withDecimals(exampleOf(`${INDICES}/${CHOSEN}`).body);
  return `<div class="beside">
<div>${indexFigures(chosen)}</div>
<div class="scroll" role="region" aria-label="Indices of the example" tabindex="0">
${indicesTable(indices, false)}
</div>
</div>
`;
}

const BASKET = "ids=ddr5-16gb,tlc-1tb&quantities=64,2";

export function basketExample(): string {
  const priced: IndexBody = withDecimals(exampleOf(`GET /api/public/v1/index?${BASKET}`).body);
  return `${indexFigures(priced)}
<div class="scroll" role="region" aria-label="Contributions of the example" tabindex="0">
${contributionsTable(priced.contributions, foreign)}
</div>
`;
}

/** Programs that ask for the same basket, of contracts of the served market. */
export function basketRequest(): string {
  const query = runnable(BASKET);
  const url = escaped(basketUrl(slotOf("origin"), query));
  const programs = filled(siteFile("request-json.html"), { url });
  return `<div id="programs" data-query="${escaped(query)}">${programs}</div>\n`;
}
