/** The plans, `/plans`: what each tier offers, what it costs, and who helps. */
import {
  ENTERPRISE_LICENCE,
  KEYLESS,
  perTier,
  PLACES,
  TIERS,
  TIER_NAMES,
  type PerTier,
  type Place,
  type Tier,
} from "../../../market/tier.ts";
import { filled, siteFile } from "../../../site/files.ts";
import { escaped, foreign, foreignLink, grouped, NO_FIGURE } from "../../../site/text.js";
import { TIER_ROWS } from "../../docs/tier-words.ts";
import type { PlanTerms } from "../plan-terms.ts";
import { PAGES } from "../../uncounted-routes.ts";
import { framed, type PageSource } from "./pages.ts";

/** The page with an operator's terms. It needs no script; the script marks the caller's own tier. */
export function plansPage(terms: PlanTerms): PageSource {
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
      ? [line(label, [], (tier) => html(tier) ?? NO_FIGURE)]
      : [];
  const rows = [
    ...termsLine("Price, paid monthly", (tier) => priceHtml(tier.terms.usd_per_month, "month")),
    ...termsLine("Price, paid annually", (tier) => priceHtml(tier.terms.usd_per_year, "year")),
    ...TIER_ROWS.map(({ label, addresses = [], text }) =>
      line(escaped(label), addresses, (tier) => escaped(text(tier))),
    ),
    ...termsLine("Support", ({ terms: { support } }) => (support ? foreign(support) : null)),
    ...PLACES.flatMap((place) =>
      termsLine(PLACE_WORDS[place], (tier) => placeHtml(place, tier.terms[place])),
    ),
  ];
  const ofAll = PLACES.map((place) => placeHtml(place, terms[place])).filter(Boolean);
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
      places: ofAll.length === 0 ? "" : `<p>${ofAll.join(" · ")}</p>`,
    }),
    script: "plans.js",
  });
}

const PLACE_WORDS = { get_url: "Get a key", contact: "Contact", terms_url: "Terms" } as const;

/** A link, or null. That of a contact shows its address. */
function placeHtml(place: Place, told: string | null | undefined): string | null {
  if (told == null) return null;
  const words = place === "contact" ? told.replace(/^mailto:/i, "") : PLACE_WORDS[place];
  return foreignLink(told.includes(":") ? told : `mailto:${told}`, words);
}

/** `9 USD a month`, `free`, or null. */
function priceHtml(usd: number | null | undefined, time: string): string | null {
  if (usd == null || usd === 0) return usd == null ? null : "free";
  const decimals = Number.isInteger(usd) ? 0 : 2;
  return `<b>${grouped(String(usd), decimals)} USD</b> a ${time}`;
}

const addressesHtml = (addresses: readonly string[]): string =>
  addresses.length === 0
    ? ""
    : ` <small>${addresses.map((address) => `<code>${escaped(address)}</code>`).join(" ")}</small>`;
