/** Prices, support and addresses of the plans as an operator tells them: the file of `--plans`. */
import { z } from "zod";
import { InputError, reasonOf } from "../lib/errors.ts";
import { repeatedMembers } from "../lib/json.ts";
import { secretIn, startWithoutSecrets } from "../lib/secrets.ts";
import { isLine } from "../lib/text.ts";
import {
  KEY_TIER_NAMES,
  PLAN_PLACES,
  TIERS,
  type KeyTierName,
  type PlanPlace,
} from "../market/tier.ts";
import { foreignLink } from "../site/text.js";

const MAX_USD = 1_000_000;
const MAX_CHARACTERS = 200;
const SHOWN_CHARACTERS = 120;

const isPrice = (value: number): boolean =>
  value >= 0 && value <= MAX_USD && /^\d+(?:\.\d{1,2})?$/.test(String(value));
const isShortLine = (text: string): boolean => isLine(text, MAX_CHARACTERS);
const isPublic = (text: string): boolean => secretIn(text) === null;

const PRICE = `a number of US dollars, 0 to ${MAX_USD}, with at most 2 decimals`;
const price = z.number(PRICE).refine(isPrice, PRICE).nullish();
const PUBLIC = "public text, without user, password or key";
const LINE = `text of 1 to ${MAX_CHARACTERS} characters on one line`;
const line = z.string(LINE).refine(isShortLine, LINE).refine(isPublic, PUBLIC).nullish();
/** The publisher's permission to show an evidence file to others, in their words. */
const SENTENCES_CHARACTERS = 1_000;
const PERMISSION = `text of 1 to ${SENTENCES_CHARACTERS} characters on one line`;
const permission = z
  .string(PERMISSION)
  .refine((text) => isLine(text, SENTENCES_CHARACTERS), PERMISSION)
  .refine(isPublic, PUBLIC)
  .nullish();
const ADDRESS = `an https, mailto or e-mail address of at most ${MAX_CHARACTERS} characters`;
/** One of another scheme could run a script. */
const isAddress = (text: string): boolean =>
  isShortLine(text) &&
  /^(?:https:\/\/[^\s/@\\]+(?:\/\S*)?|(?:mailto:)?[^\s@:]+@[^\s@:]+)$/i.test(text);
const address = z.string(ADDRESS).refine(isAddress, ADDRESS).refine(isPublic, PUBLIC).nullish();
const places = { get_url: address, contact: address, terms_url: address };
const tier = z
  .strictObject(
    { usd_per_month: price, usd_per_year: price, support: line, ...places },
    `an object with usd_per_month, usd_per_year, support, ${PLAN_PLACES.join(", ")}, or some of them`,
  )
  .optional();
const tiers = Object.fromEntries(KEY_TIER_NAMES.map((name) => [name, tier]));
const file = z.strictObject(
  {
    ...(tiers as Record<KeyTierName, typeof tier>),
    ...places,
    evidence: permission,
    // The publisher, and the readers that the prices are for: a line each on the front page.
    publisher: line,
    audience: line,
  },
  `an object with ${[...KEY_TIER_NAMES, ...PLAN_PLACES, "evidence", "publisher", "audience"].join(", ")}, or some of them`,
);

/** The terms of each tier, and where to get a plan. */
export type PlanTerms = Readonly<z.infer<typeof file>>;

/** The terms of the table of tiers. */
export const USUAL_TERMS: PlanTerms = Object.fromEntries(
  KEY_TIER_NAMES.map((name) => [name, TIERS[name].terms]),
);

/**
 * The terms in a file: `{"starter": {"usd_per_month": 9, "support": "e-mail"}, "pro": {…}, "contact":
 * "sales@example.com"}`. A term that it leaves out, or has as null, is not told. `where` names the file in the
 * InputError for what does not fit; the error has one line for each fault.
 */
export function parsePlanTerms(bytes: Uint8Array, where: string): PlanTerms {
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    value = JSON.parse(text);
  } catch (cause) {
    throw new InputError(`${where}: expected JSON (${reasonOf(cause)})`, [], { cause });
  }
  const read = file.safeParse(value, { reportInput: true });
  const issues = (read.error?.issues ?? []).map(({ path, input, message }) => {
    const place = path.map((name) => `${String(name)} `).join("");
    const excerpt = startWithoutSecrets(JSON.stringify(input), SHOWN_CHARACTERS);
    return `${place}${excerpt}: expected ${message}`;
  });
  const repeated = repeatedMembers(text).map((member) => `the member "${member}" appears twice`);
  const [first, ...others] = [...repeated, ...issues];
  if (first !== undefined || read.data === undefined) {
    throw new InputError(`${where}: ${first}`, others);
  }
  return read.data;
}

/** The contact as OpenAPI has it; null: none is told. */
export function contactOf({ contact }: PlanTerms): readonly ["email" | "url", string] | null {
  if (contact == null) return null;
  const email = contact.replace(/^mailto:/i, "");
  if (z.email().safeParse(email).success) return ["email", email];
  return ["url", contact.includes(":") ? contact : `mailto:${contact}`];
}

/** The words of a link to each place. */
export const PLACE_WORDS = {
  get_url: "Get a key",
  contact: "Contact",
  terms_url: "Terms",
} as const satisfies Readonly<Record<PlanPlace, string>>;

/** A link to a place that was told, or null. */
export const placeHtml = (address: string | null | undefined, words: string): string | null =>
  address == null
    ? null
    : foreignLink(address.includes(":") ? address : `mailto:${address}`, words);
