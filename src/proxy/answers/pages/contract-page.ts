/** The page of a contract without a key: its record in the free tier, or what is public of every contract. */
import { indexIdsOf } from "../../../market/indices.ts";
import { KEYLESS } from "../../../market/tier.ts";
import type { Contract } from "../../../market/contract.ts";
import type { Board } from "../../../site/board.js";
import { filled, siteFile } from "../../../site/site-files.ts";
import { detailsHtml, levelHtml, othersHtml, type ContractBody } from "../../../site/record.js";
import { escaped, foreign } from "../../../site/text.js";
import { DATA_ROUTES } from "../../../api/routes.ts";
import { PAGES } from "../../../api/uncounted-routes.ts";
import { historyDepths } from "./index-pages.ts";
import { framed, type PageSource } from "./page-frame.ts";

type Named = Pick<Contract, "id" | "name" | "ticker" | "segment">;

/** With a contract's record. `board` is the free tier's. */
export const contractPage = (
  body: ContractBody,
  catalog: readonly Contract[],
  board: Board | null,
  origin: string,
): PageSource =>
  page(body, catalog, board, origin, {
    level: levelHtml(body, { delaySessions: KEYLESS.delaySessions, depthDays: 0 }),
    details: detailsHtml(body),
  });

/** Why a page has no record. */
const WITHOUT_RECORD = {
  key_required: "This contract is not part of the free slice: it needs an API key.",
  not_on_board: "Without an API key this contract has no level so far.",
} as const;

/** With what the catalog says, which is public; neither a level nor whether there is one. */
export function lockedPage(
  reason: keyof typeof WITHOUT_RECORD,
  contract: Contract,
  catalog: readonly Contract[],
  board: Board | null,
  origin: string,
): PageSource {
  return page(contract, catalog, board, origin, {
    level: `<p>${WITHOUT_RECORD[reason]} With one, this page shows level, changes and corrections.</p>
<dl class="facts">
<div><dt>Unit</dt><dd>${foreign(contract.unit)}</dd></div>
<div><dt>Source</dt><dd>${foreign(contract.source)}</dd></div>
</dl>`,
    details: "",
  });
}

function page(
  { id, name, ticker, segment }: Named,
  catalog: readonly Contract[],
  board: Board | null,
  origin: string,
  parts: { readonly level: string; readonly details: string },
): PageSource {
  const rows = board === null ? [] : [...board.memory, ...board.semiconductor];
  const url = origin + DATA_ROUTES.contract.path.replace("{id}", id);
  const near = rows.filter((row) => row.segment === segment);
  return framed({
    path: PAGES.contract.path.replace("{id}", id),
    title: name,
    main: filled(siteFile("contract.html"), {
      id: escaped(id),
      name: foreign(name),
      ticker: foreign(ticker),
      segment: foreign(segment),
      segment_id: indexIdsOf(catalog).get(segment) ?? "",
      segment_query: encodeURIComponent(segment),
      programs: filled(siteFile("request-json.html"), { url: escaped(url) }),
      others: othersHtml(near, id),
      depths: historyDepths(),
      ...parts,
    }),
    isIndexed: parts.details !== "",
    script: "contract.js",
    styles: ["assets/chart.css", "assets/contract.css"],
  });
}
