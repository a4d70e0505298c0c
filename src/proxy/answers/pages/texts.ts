/**
 * The guide and the methodology, as pages and as Markdown, and the summary for language models. What the
 * texts of src/site leave open is filled in: tables, limits and recorded answers.
 */
import type { GateLimits } from "../../../feed/finding.ts";
import { MICROS_PER_UNIT } from "../../../market/decimal.ts";
import { KEY_TIER_NAMES, TIERS } from "../../../market/tier.ts";
import { SIGNED_MESSAGE } from "../../../snapshot/log/sign.ts";
import { filled, siteFile } from "../../../site/site-files.ts";
import { escaped } from "../../../site/text.js";
import { delayText, historyText, tableByTier, tierTable } from "../../tier-words.ts";
import { PAGES } from "../../uncounted-routes.ts";
import { exampleOf, shown } from "./answers.ts";
import { ORIGIN, rendered } from "./markdown.ts";
import { fileAt, framed, type PageSource } from "./page-frame.ts";

/** What holds at this service, for the texts. */
export interface Settings {
  /** Those that the served snapshot was published with. */
  readonly limits: GateLimits;
  /** How late a session may be before it is overdue. */
  readonly graceMs: number;
}

/**
 * The texts that are the same for every snapshot. `origin` is the address of the service without a
 * slash at its end, `https://host/prefix`; commands name it.
 */
export function textPages(origin: string): PageSource[] {
  const changes = siteFile("../../CHANGELOG.md").replace(
    "## Unreleased",
    "## Since the last release",
  );
  const guide = withSlots(siteFile("guide.md"));
  const llms = withSlots(siteFile("llms.txt"));
  return [
    page(PAGES.guide.path, guide, origin),
    plain(PAGES.guideMarkdown.path, guide, origin),
    page(PAGES.changelog.path, changes, origin),
    plain(PAGES.llms.path, llms, origin),
    plain(PAGES.client.path, siteFile("client.py"), origin),
  ];
}

/** The methodology, as a page or as Markdown. */
export function methodology(path: string, origin: string, settings: Settings): PageSource {
  const text = withSlots(siteFile("methodology.md"), settings);
  return path === PAGES.methodology.path ? page(path, text, origin) : plain(path, text, origin);
}

/** A text in the frame, with a list of its sections. */
function page(path: string, markdown: string, origin: string): PageSource {
  const { title, ...parts } = rendered(markdown);
  const main = filled(siteFile("prose.html"), { title: escaped(title), ...parts });
  return framed({
    path,
    title,
    main: withOrigin(main, escaped(origin)),
    script: "prose.js",
    styles: ["assets/prose.css"],
  });
}

const plain = (path: string, text: string, origin: string): PageSource =>
  fileAt(path, withOrigin(text, origin));

const withOrigin = (text: string, origin: string): string => text.replaceAll(ORIGIN, () => origin);

const SLOT = /\{\{([a-z-]+)(?: ([^}]+))?\}\}/g;
const MINUTE_MS = 60_000;
const READABLE = { listMax: 12, head: 2, tail: 2 };

/**
 * The text with all slots filled but `{{origin}}`, which stays. Throws for a slot that nothing fills;
 * settings are in the methodology only.
 */
export function withSlots(text: string, settings?: Settings): string {
  const figures = settings === undefined ? {} : figuresOf(settings);
  return text.replaceAll(SLOT, (slot, name: string, argument: string | undefined) => {
    const value = slot === ORIGIN ? slot : (figures[name] ?? MAKERS[name]?.(argument ?? ""));
    if (value === undefined) throw new Error(`Nothing fills the slot ${slot}`);
    return value;
  });
}

const figuresOf = ({ graceMs, limits }: Settings): Readonly<Record<string, string>> => ({
  "max-move": percent(limits.maxMoveMicros),
  "min-coverage": percent(limits.minCoverageMicros),
  "max-unchanged": String(limits.maxUnchangedSessions),
  "max-gap": String(limits.maxGapSessions),
  "max-carry-days": String(limits.maxCarryDays),
  "grace-minutes": String(graceMs / MINUTE_MS),
});

const percent = (micros: number): string => String(micros / MICROS_PER_UNIT);

/** Each makes Markdown from what stands after its name in the slot. */
const MAKERS: Readonly<Record<string, (argument: string) => string>> = {
  tiers: tierTable,
  timeliness: () =>
    tableByTier([
      ["delay", delayText],
      ["`delayed_sessions` while the publisher is punctual", (tier) => String(tier.delaySessions)],
      ["depth of history, corrections and series", historyText],
    ]),
  depths: () => KEY_TIER_NAMES.map((name) => `${historyText(TIERS[name])} (${name})`).join(" or "),
  "signed-message": () => SIGNED_MESSAGE,
  /** A program of src/site. */
  python: (file) => `\`\`\`python\n${siteFile(file)}\`\`\``,
  /** The recorded answer to a request. */
  answer: (request) => shown(exampleOf(request), READABLE),
  refusal: (request) => shown(exampleOf(request, true), READABLE),
  /** The same with one item of each list. */
  shape: (request) => shown(exampleOf(request), { listMax: 1, head: 1, tail: 0 }),
  /** Some members of one: `GET /api/public/v1/index: level contributions`. */
  part: (argument) => {
    const [request = "", members = ""] = argument.split(": ");
    return shown(exampleOf(request), { ...READABLE, members: members.split(" ") });
  },
};
