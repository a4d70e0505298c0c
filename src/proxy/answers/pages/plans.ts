/** The plans, `/plans`: what each tier offers, what it costs, and who helps. */
import {
  ENTERPRISE_LICENCE,
  KEYLESS,
  perTier,
  TIERS,
  TIER_NAMES,
  type PerTier,
  type Terms,
  type Tier,
  type TierName,
} from "../../../market/tier.ts";
import { filled, siteFile } from "../../../site/files.ts";
import { escaped, foreign, grouped } from "../../../site/text.js";
import { TIER_ROWS } from "../../docs/tier-words.ts";
import type { LoadedSnapshot } from "../../serve/load.ts";
import { placeHtml, PLACE_WORDS, type PlanTerms } from "../plan-terms.ts";
import { PAGES } from "../../uncounted-routes.ts";
import { framed, type PageSource } from "./pages.ts";

/** What was not told of a tier, or does not concern it. */
const NOTHING = '<span class="none">\u2013</span>';

/**
 * The page with an operator's terms and the tiers of the served snapshot, if there is one. It needs no script; the
 * script marks the caller's own tier.
 */
export function plansPage(terms: PlanTerms, served?: LoadedSnapshot["tiers"]): PageSource {
  const tiers: PerTier<Tier> = perTier((name) =>
    name === KEYLESS.name ? KEYLESS : { ...TIERS[name], terms: terms[name] ?? {} },
  );
  const line = (
    label: string,
    addresses: readonly string[],
    html: (tier: Tier) => string,
  ): string =>
    `<tr><th scope="row">${label}${addressesHtml(addresses)}</th>` +
    `${TIER_NAMES.map((name) => `<td data-tier="${name}">${html(tiers[name])}</td>`).join("")}</tr>`;
  const termsLine = (label: string, html: (tier: Tier) => string | null): string[] =>
    TIER_NAMES.some((name) => name !== KEYLESS.name && html(tiers[name]) !== null)
      ? [line(label, [], (tier) => html(tier) ?? NOTHING)]
      : [];
  const wayHtml = ({ name, terms: own }: Tier): string | null =>
    name === KEYLESS.name
      ? '<a href="guide">No key needed</a>'
      : (placeHtml(own.get_url ?? terms.get_url, PLACE_WORDS.get_url) ??
        placeHtml(own.contact ?? terms.contact, "Ask for a key"));
  const contractsOf = (name: TierName): number | undefined => {
    const boards = served?.[name];
    return boards && boards.memory + boards.semiconductor;
  };
  const rows = [
    ...termsLine("Get a key", wayHtml),
    ...termsLine("Price, paid monthly", (tier) => priceHtml(tier.terms.usd_per_month, "month")),
    ...termsLine("Price, paid annually", (tier) => priceHtml(tier.terms.usd_per_year, "year")),
    ...TIER_ROWS.map(({ label, addresses = [], text }) =>
      line(escaped(label), addresses, (tier) => escaped(text(tier, contractsOf(tier.name)))),
    ),
    ...termsLine("Support", ({ terms: { support } }) => (support ? foreign(support) : null)),
    ...CONTACTS.flatMap((place) =>
      termsLine(PLACE_WORDS[place], ({ terms: own }) => contactHtml(place, own)),
    ),
  ];
  const ofAll = CONTACTS.map((place) => contactHtml(place, terms)).filter(Boolean);
  const heads = TIER_NAMES.map(
    (name) => `<th scope="col" data-tier="${name}">${tiers[name].title}</th>`,
  );
  return framed({
    path: PAGES.plans.path,
    title: "Plans",
    main: filled(siteFile("plans.html"), {
      heads: heads.join(""),
      rows: rows.join("\n"),
      licence: escaped(ENTERPRISE_LICENCE),
      places: `<p>${ofAll.join(" · ") || "The operator of this service gives keys."}</p>`,
    }),
    script: "plans.js",
    styles: ["assets/plans.css"],
  });
}

const CONTACTS = ["contact", "terms_url"] as const;

/** A link, or null. That of a contact shows its address. */
const contactHtml = (place: (typeof CONTACTS)[number], terms: Terms | PlanTerms): string | null =>
  placeHtml(
    terms[place],
    place === "contact" ? (terms.contact ?? "").replace(/^mailto:/i, "") : PLACE_WORDS[place],
  );

/** `9 USD a month`, `free`, or null. */
export function priceHtml(usd: number | null | undefined, time: string): string | null {
  if (usd == null || usd === 0) return usd == null ? null : "free";
  const decimals = Number.isInteger(usd) ? 0 : 2;
  return `<b>${grouped(String(usd), decimals)} USD</b> a ${time}`;
}

const addressesHtml = (addresses: readonly string[]): string =>
  addresses.length === 0
    ? ""
    : ` <small>${addresses.map((address) => `<code>${escaped(address)}</code>`).join(" ")}</small>`;
