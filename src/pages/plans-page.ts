/** The plans, `/plans`: the offer and the price of each tier, and who helps. */
import {
  ENTERPRISE_LICENCE,
  FULLEST,
  KEYLESS,
  perTier,
  TIERS,
  TIER_NAMES,
  type PerTier,
  type Terms,
  type Tier,
  type TierName,
} from "../market/tier.ts";
import { fillTemplate, siteFile } from "../site/site-files.ts";
import { escaped, foreign, grouped } from "../site/text.js";
import { historyText, TIER_GROUPS, TIER_ROWS, type TierRow } from "../public/tier-words.ts";
import type { LiveSnapshot } from "../core/world.ts";
import { placeHtml, type PlanTerms } from "./plan-terms.ts";
import { PAGES } from "../public/uncounted-routes.ts";
import type { PageSource } from "../core/serve/document.ts";
import { framePage } from "./page-frame.ts";

/** The cards also show these lines of the table. */
const LIMITS: readonly TierRow["name"][] = ["contracts", "freshness", "history", "calls"];

/**
 * The page with an operator's terms and the tiers of the served snapshot, if there is one. It needs no script; the
 * script marks the caller's own tier.
 */
export function plansPage(terms: PlanTerms, served: LiveSnapshot["tiers"] | undefined): PageSource {
  const tiers: PerTier<Tier> = perTier((name) =>
    name === KEYLESS.name ? KEYLESS : { ...TIERS[name], terms: terms[name] ?? {} },
  );
  const textOf = ({ text }: TierRow, name: TierName): string => {
    const boards = served?.[name];
    return text(tiers[name], boards && boards.memory + boards.semiconductor);
  };
  const line = (label: string, html: (name: TierName) => string): string =>
    `<tr><th scope="row">${label}</th>` +
    `${TIER_NAMES.map((name) => `<td data-tier="${name}">${html(name)}</td>`).join("")}</tr>`;
  const termsLine = (label: string, html: (tier: Tier) => string | null): string =>
    TIER_NAMES.some((name) => html(tiers[name]) !== null)
      ? line(label, (name) => html(tiers[name]) ?? '<span class="none">\u2013</span>')
      : "";
  const groups = TIER_GROUPS.map((group) => {
    const lines = TIER_ROWS.filter((row) => row.group === group).map((row) => {
      const codes = row.addresses.map((address) => `<code>${escaped(address)}</code>`);
      const label = `${escaped(row.label)} <small>${codes.join(" ")}</small>`;
      return line(label, (tier) => offerHtml(textOf(row, tier)));
    });
    return `<tbody><tr class="group"><th scope="rowgroup" colspan="${TIER_NAMES.length + 1}">${group}</th></tr>\n${lines.join("\n")}`;
  });
  const stepHtml = ({ terms: own, name, title }: Tier): string => {
    if (name === KEYLESS.name) return '<a href=".">See the prices</a>';
    const contact = own.contact ?? terms.contact;
    const isPage = contact?.toLowerCase().startsWith("https:") === true;
    return (
      placeHtml(own.get_url ?? terms.get_url, `Get ${title}`) ??
      placeHtml(contact, isPage ? "Contact us" : "E-mail us") ??
      `Ask us for a ${title} key.`
    );
  };
  const limits = TIER_ROWS.filter(({ name }) => LIMITS.includes(name));
  const cards = Object.values(tiers).map((tier) =>
    fillTemplate(siteFile("plan.html"), {
      name: tier.name,
      title: tier.title,
      price: [...new Set(pricesHtml(tier.terms))]
        .map((price) => `<span>${price}</span>`)
        .join(" or "),
      purpose: tier.purpose,
      limits: limits
        .map((row) => `<div><dt>${row.label}</dt><dd>${escaped(textOf(row, tier.name))}</dd></div>`)
        .join("\n"),
      step: stepHtml(tier),
    }),
  );
  return framePage({
    path: PAGES.plans.path,
    title: "Plans",
    main: fillTemplate(siteFile("plans.html"), {
      cards: cards.join("\n"),
      heads: TIER_NAMES.map(
        (name) => `<th scope="col" data-tier="${name}">${tiers[name].title}</th>`,
      ).join(""),
      groups: groups.join("\n"),
      support: termsLine("Support", ({ terms: own }) =>
        own.support ? foreign(own.support) : null,
      ),
      contact: termsLine("Contact", (tier) => contactHtml(tier.terms)),
      terms: termsLine("Terms", ({ terms: own }) => placeHtml(own.terms_url, "Terms")),
      licence: escaped(ENTERPRISE_LICENCE),
      places: [contactHtml(terms), placeHtml(terms.terms_url, "Terms")].filter(Boolean).join(" · "),
    }),
    script: "plans.js",
    styles: ["plans.css"],
  });
}

/** `no` and `none` muted, the words of the cards and of the guide; other texts as they are. */
const offerHtml = (text: string): string =>
  /^(?:no|none)$/.test(text) ? `<span class="none">${text}</span>` : escaped(text);

/** A link to where one gets a key, or asks for one, or reads what a key offers. `root` is the way to the root. */
export const wayHtml = (terms: PlanTerms, words: string, root: string): string =>
  placeHtml(terms.get_url, words) ??
  placeHtml(terms.contact, words) ??
  `<a href="${root}plans">${words}</a>`;

/** `Five years`: how far the fullest tier goes back, as a sentence begins. */
export const fullestHistory = (): string => historyText(FULLEST).replace(/^5(?= )/, "Five");

/** A link that shows its address, or null. */
const contactHtml = ({ contact }: Terms | PlanTerms): string | null =>
  placeHtml(contact, contact?.replace(/^mailto:/i, "") ?? "");

/** `9 USD a month`, `free`, or null. */
export function priceHtml(usd: number | null | undefined, time: string): string | null {
  if (usd == null || usd === 0) return usd == null ? null : "free";
  const decimals = Number.isInteger(usd) ? 0 : 2;
  return `<b>${grouped(String(usd), decimals)} USD</b> a ${time}`;
}

const pricesHtml = ({ usd_per_month: month, usd_per_year: year }: Terms): string[] =>
  [priceHtml(month, "month"), priceHtml(year, "year")].filter((price) => price !== null);
