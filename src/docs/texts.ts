/**
 * Guide, methodology and the summary for language models: our texts, whose slots get tables, programs and recorded
 * answers. The slots that a service fills stay.
 */
import { CARRY_PER_CADENCE, LONG_CADENCE_DAYS } from "../market/contract.ts";
import { KEY_TIER_NAMES, TIERS, tiersWhere } from "../market/tier.ts";
import { SLOT_NAMES } from "../pages/document-slots.ts";
import { API, API_VERSION, DATA_ROUTES, parametersOf, type DataRoute } from "../public/routes.ts";
import { delayText, historyText, tableByTier, tierTable } from "../public/tier-words.ts";
import { COLUMNS } from "../public/columns.ts";
import { fillTemplate } from "../site/site-files.ts";
import { escaped } from "../site/text.js";
import { SIGNED_MESSAGE } from "../snapshot/log/sign.ts";
import { renderMarkdown } from "./markdown.ts";
import { exampleOf, showAnswer } from "./recorded-answers.ts";
import { sourceText } from "./source-texts.ts";

/** A text as HTML for the frame of a page, with a list of its sections. */
export function proseMain(markdown: string): string {
  const { title, ...parts } = renderMarkdown(markdown);
  return fillTemplate(sourceText("prose.html"), { title: escaped(title), ...parts });
}

const SLOT = /\{\{([a-z0-9-]+)(?: ([^}]+))?\}\}/g;
const READABLE = { listMax: 12, head: 2, tail: 2 };

/**
 * The text with tables, programs and answers in it. Where `isRunnable`, requests that were answered name contracts of
 * the served market. Throws for a slot that nothing fills.
 */
export const withSlots = (text: string, isRunnable: boolean): string =>
  text.replaceAll(SLOT, (slot, name: string, argument: string | undefined) => {
    const isLeft = argument === undefined && SLOT_NAMES.some((known) => known === name);
    const value = isLeft ? slot : MAKERS[name]?.(argument ?? "", isRunnable);
    if (value === undefined) throw new Error(`Nothing fills the slot ${slot}`);
    return value;
  });

/** Each makes Markdown from the text after its name in the slot. */
const MAKERS: Readonly<Record<string, (argument: string, isRunnable: boolean) => string>> = {
  tiers: tierTable,
  timeliness: () =>
    tableByTier([
      ["delay", delayText],
      ["`delayed_sessions` while the publisher is punctual", (tier) => String(tier.delaySessions)],
      ["depth of history, corrections and series", historyText],
    ]),
  depths: () =>
    KEY_TIER_NAMES.map((name) => `${historyText(TIERS[name])} (${TIERS[name].title})`).join(" or "),
  /** The tiers that may ask for an address with data, such as `/index?ids=`: `Starter or Pro`. */
  "tiers-with": (address) => {
    const [path = "", query] = address.split("?");
    const parameters = [...new URLSearchParams(query)];
    const route = Object.values<DataRoute>(DATA_ROUTES).find((each) => each.path === API + path);
    if (route === undefined) throw new Error(`${address} has no data`);
    return tiersWhere((tier) => route.isOffered(tier, parameters), "or");
  },
  /** The addresses with data that take a parameter. */
  takers: (name) =>
    new Intl.ListFormat("en-GB").format(
      Object.values<DataRoute>(DATA_ROUTES)
        .filter((route) => parametersOf(route).includes(name))
        .map(({ path }) => `\`${path.slice(API.length)}\``),
    ),
  /** The columns of the board as CSV with values of this kind, as texts of a program. */
  "csv-columns": (kind) =>
    COLUMNS.filter((column) => column.kind === kind)
      .map(({ name }) => `"${name}"`)
      .join(", ")
      .replaceAll(/(.{60,80},) /g, "$1\n    "),
  "api-version": () => API_VERSION,
  "signed-message": () => SIGNED_MESSAGE,
  "long-cadence-days": () => String(LONG_CADENCE_DAYS),
  "carry-per-cadence": () => String(CARRY_PER_CADENCE),
  /** A program of this folder. */
  python: (file) => `\`\`\`python\n${sourceText(file)}\`\`\``,
  /** The recorded answer to a request. */
  answer: (request, isRunnable) => showAnswer(exampleOf(request), { ...READABLE, isRunnable }),
  refusal: (request) => showAnswer(exampleOf(request, true), READABLE),
  /** The same with one item of each list. */
  shape: (request, isRunnable) =>
    showAnswer(exampleOf(request), { listMax: 1, head: 1, tail: 0, isRunnable }),
  /** Some members of one: `GET /api/public/v1/index: level contributions`. */
  part: (argument, isRunnable) => {
    const [request = "", members = ""] = argument.split(": ");
    return showAnswer(exampleOf(request), { ...READABLE, members: members.split(" "), isRunnable });
  },
};
