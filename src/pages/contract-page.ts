/** The page of a contract without a key: its record in the free tier, or the public facts of every contract. */
import { inBoardOrder, isDelisted, type Contract } from "../market/contract.ts";
import type { Session } from "../market/session.ts";
import { KEY_TIER_NAMES, KEYLESS, TIERS, tiersWhere, type KeyTierName } from "../market/tier.ts";
import type { Board } from "../site/board.js";
import { section } from "../site/html.js";
import { fillTemplate, siteFile } from "../site/site-files.ts";
import {
  detailsHtml,
  levelHtml,
  othersHtml,
  type ContractBody,
  type OtherRow,
} from "../site/record.js";
import { dateWords, dayText } from "../site/axis.js";
import { counted, escaped, foreign } from "../site/text.js";
import type { CloseCounts } from "../public/payload-schemas.ts";
import { DATA_ROUTES } from "../public/routes.ts";
import { historyText } from "../public/tier-words.ts";
import { PAGES } from "../public/uncounted-routes.ts";
import { PLACE_WORDS, placeHtml, type PlanTerms } from "./plan-terms.ts";
import type { PageSource } from "../core/serve/document.ts";
import { framePage, rootOf } from "./page-frame.ts";
import { priceHtml, wayHtml } from "./plans-page.ts";

/** The facts on the page besides the contract's own. */
export interface Surroundings {
  readonly catalog: readonly Contract[];
  readonly head: Session;
  /** The free tier's. */
  readonly board: Board | null;
  readonly terms: PlanTerms;
  /** How many closes each tier has of the contract; undefined: an older version published it. */
  readonly closes: CloseCounts | undefined;
  /** The address of the service. */
  readonly origin: string;
}

type ContractNames = Pick<Contract, "id" | "name" | "ticker" | "segment">;

const ASK = "Ask the publisher";
const ROOT = rootOf(PAGES.contract.path);

/** With a contract's record. */
export const contractPage = (body: ContractBody, around: Surroundings): PageSource =>
  page(body, around, {
    level: levelHtml(
      body,
      { delaySessions: KEYLESS.delaySessions, depthDays: 0 },
      around.board?.next_session_utc ?? null,
    ),
    details: `${detailsHtml(body)}${recordLink(body.id)}`,
    words: `${body.spot_usd} ${body.unit} at ${sessionText(body.session_utc)}, ${body.basis}. ${wordsOf(body)}`,
    isLocked: false,
    isPast: false,
  });

/** Among files the record is one of them. */
const recordLink = (id: string): string =>
  `<!--files--><p class="note"><a href="${ROOT}${DATA_ROUTES.contract.path.slice(1).replace("{id}", id)}">These figures as JSON</a></p><!--/files-->`;

/**
 * With what the catalog says, which is public; neither a level nor whether there is one. `past`: the address asks for
 * prices as they were known at another time.
 */
export function lockedPage(
  reason: "key_required" | "not_on_board" | "past",
  contract: Contract,
  around: Surroundings,
): PageSource {
  const price = leastPrice(around.terms);
  let why = `Usually priced every ${timeText(Number(contract.cadenceDays))}. Unlock price and history ${price}.`;
  if (isDelisted(contract, around.head)) why = `Delisted. Unlock its history ${price}.`;
  else if (reason === "not_on_board") why = "Without a key this contract has no price yet.";
  return page(contract, around, {
    level:
      reason === "past"
        ? pastWords(ROOT)
        : `<!--served--><p class="keyless scripted"><a href="#key-field">Paste your key above</a> to see price and history.</p><!--/served-->
<!--service--><p class="keyless"><!--served-->No key yet? <!--/served-->${why}</p>
<p class="action keyless">${wayHtml(around.terms, PLACE_WORDS.get_url, ROOT)}</p><!--/service-->
<!--alone--><p>The prices of this contract are not public.</p><!--/alone-->`,
    details: section(
      "particulars",
      "Particulars",
      `<dl class="facts">
<div><dt>Unit</dt><dd>${foreign(contract.unit)}</dd></div>
<div><dt>Source</dt><dd>${foreign(contract.source)}</dd></div>
</dl>`,
    ),
    words: wordsOf(contract),
    isLocked: true,
    isPast: reason === "past",
  });
}

/** The public facts of a contract, as a sentence. */
const wordsOf = ({
  ticker,
  segment,
  unit,
  source,
}: ContractNames & Pick<Contract, "unit" | "source">) =>
  `${ticker}, ${segment}, in ${unit}. Source: ${source}.`;

/** `28 Nov 2026, 12:00 UTC`, from an instant in ISO 8601. */
const sessionText = (instant: string): string =>
  `${dayText(instant.slice(0, 10))}, ${instant.slice(11, 16)} UTC`;

/** Stands where an address asks for prices as they were known at another time. */
export const pastWords = (root: string): string =>
  `<p class="keyless late">This address asks for prices as they were known at another time, so no price of today stands here.
Prices of the past are included in ${tiersWhere(({ history }) => history !== null)}. <span class="scripted"><a href="#key-field">Paste your key above</a>.</span>
<a href="${root}plans">See the plans</a>.</p>`;

/** `12 hours`, `day`, `30 days`. */
function timeText(days: number): string {
  if (days < 1) return `${days * 24} hours`;
  return days === 1 ? "day" : `${days} days`;
}

/** `from 9 USD a month`, or `with a key` if no price is told. */
function leastPrice(terms: PlanTerms): string {
  const prices = KEY_TIER_NAMES.flatMap((name) => terms[name]?.usd_per_month ?? []);
  const price = prices.length === 0 ? null : priceHtml(Math.min(...prices), "month");
  return price === null ? "with a key" : `from ${price}`;
}

/** How far back the tiers go, the fullest first, with their prices. */
export const historyOffer = (terms: PlanTerms, root: string): string =>
  offerHtml(terms, root, (name, isFirst) =>
    isFirst ? `Closes of up to ${historyText(TIERS[name])}` : historyText(TIERS[name]),
  );

/** How many closes of a contract the tiers have; without counts, how far back they go. */
function closesOffer(terms: PlanTerms, root: string, closes: CloseCounts | undefined): string {
  if (closes === undefined) return historyOffer(terms, root);
  return offerHtml(terms, root, (name, isFirst) => {
    const { count = 0, first_month: month = null } = closes[name] ?? {};
    const since = isFirst && month !== null ? ` since ${monthText(month)}` : "";
    return `${isFirst ? counted(count, "close") : count}${since}`;
  });
}

/** The offers of the tiers, the fullest first, with their prices. */
function offerHtml(
  terms: PlanTerms,
  root: string,
  offerOf: (name: KeyTierName, isFirst: boolean) => string,
): string {
  const offers = KEY_TIER_NAMES.toReversed().map((name, at) => {
    const price = priceHtml(terms[name]?.usd_per_month, "month");
    return `${offerOf(name, at === 0)} with ${TIERS[name].title}${price === null ? "" : ` (${price})`}`;
  });
  return `${offers.join(", ")}. <a href="${root}plans">Compare plans</a>`;
}

/** `June 2022`, from `2022-06`. */
const monthText = (month: string): string => dateWords(`${month}-01`).replace("1 ", "");

/** All of the segment; those without a level in the free tier have none here. */
function segmentRows(segment: string, { catalog, head, board }: Surroundings): OtherRow[] {
  const rows = board === null ? [] : [...board.memory, ...board.semiconductor];
  const free = new Map(rows.map((row) => [row.id, row]));
  const near = catalog.filter((contract) => contract.segment === segment);
  return inBoardOrder(near)
    .filter((contract) => !isDelisted(contract, head))
    .map(({ id, name }) => free.get(id) ?? { id, name, segment, spot_usd: null });
}

function page(
  { id, name, ticker, segment }: ContractNames,
  around: Surroundings,
  content: {
    readonly level: string;
    readonly details: string;
    /** The contract in a sentence or two, for search engines and previews. */
    readonly words: string;
    readonly isLocked: boolean;
    readonly isPast: boolean;
  },
): PageSource {
  const { terms, origin } = around;
  const { isLocked, isPast, words: _, ...parts } = content;
  const known = around.catalog.find((contract) => contract.id === id);
  const isOff = known !== undefined && isDelisted(known, around.head);
  const url = origin + DATA_ROUTES.contract.path.replace("{id}", id);
  return framePage({
    path: PAGES.contract.path.replace("{id}", id),
    title: name,
    main: fillTemplate(siteFile("contract.html"), {
      id: escaped(id),
      // A delisted contract has no price that a basket could have.
      basket: isOff
        ? ""
        : `<a href="../basket#ids=${escaped(id)}&amp;quantities=1">Add to basket</a> ·`,
      name: foreign(name),
      ticker: foreign(ticker),
      segment: foreign(segment),
      segment_query: encodeURIComponent(segment),
      url: escaped(url),
      programs: fillTemplate(siteFile("request-json.html"), { url: escaped(url) }),
      others: othersHtml(segmentRows(segment, around), id, segment),
      offer: closesOffer(terms, ROOT, around.closes),
      // It asks for prices of today.
      request: isPast ? "hidden" : "",
      // Without a key nothing of a locked page can be proved.
      proof: isLocked ? "hidden" : "",
      publisher: placeHtml(terms.contact, ASK) ?? ASK,
      ...parts,
    }),
    description: content.words,
    // Its figures would be of another moment.
    isIndexed: !isPast,
    script: "contract.js",
    styles: ["chart.css", "skeleton.css", "contract.css"],
  });
}
