/** Prices and support of the tiers as an operator tells them: the file of `--plans`. */
import { z } from "zod";
import { InputError, reasonOf } from "../../lib/errors.ts";
import { cut } from "../../lib/text.ts";
import {
  KEY_TIER_NAMES,
  TIERS,
  tiersWhere,
  type KeyTierName,
  type Terms,
} from "../../market/tier.ts";

export type PlanTerms = Readonly<Record<KeyTierName, Terms>>;

const byTier = (of: (name: KeyTierName) => Terms): PlanTerms =>
  Object.fromEntries(KEY_TIER_NAMES.map((name) => [name, of(name)])) as PlanTerms;

const UNTOLD: Terms = { perMonthUsd: null, perYearUsd: null, support: null };

/** Those of the table of tiers. */
export const USUAL_TERMS: PlanTerms = byTier((name) => TIERS[name].terms);

/** No prices and no support: the operator tells them elsewhere. */
export const NO_TERMS: PlanTerms = byTier(() => UNTOLD);

const MAX_USD = 1_000_000;
const MAX_CHARACTERS = 200;
const SHOWN_CHARACTERS = 60;

const isPrice = (value: number): boolean =>
  value >= 0 && value <= MAX_USD && /^\d+(?:\.\d{1,2})?$/.test(String(value));
const isLine = (text: string): boolean =>
  text.trim() !== "" && text.length <= MAX_CHARACTERS && !/\p{Cc}|\p{Surrogate}/u.test(text);

const PRICE = `a number of US dollars, 0 to ${MAX_USD}, with at most 2 decimals`;
const price = z.number(PRICE).refine(isPrice, PRICE).nullish();
const LINE = `text of 1 to ${MAX_CHARACTERS} characters on one line`;
const tier = z
  .strictObject(
    {
      usd_per_month: price,
      usd_per_year: price,
      support: z.string(LINE).refine(isLine, LINE).nullish(),
    },
    "an object with usd_per_month, usd_per_year and support, or some of them",
  )
  .transform((given): Terms => ({
    perMonthUsd: given.usd_per_month ?? null,
    perYearUsd: given.usd_per_year ?? null,
    support: given.support ?? null,
  }))
  .optional();
const file = z.strictObject(
  Object.fromEntries(KEY_TIER_NAMES.map((name) => [name, tier])) as Record<
    KeyTierName,
    typeof tier
  >,
  `an object with ${tiersWhere(() => true, "and")}, or one of them`,
);

/**
 * The terms in a file: `{"starter": {"usd_per_month": 9, "usd_per_year": 90, "support": "e-mail"}, "pro":
 * {…}}`. What it leaves out, or has as null, is not told. `where` names the file in the InputError for what
 * does not fit; the error has one line for each fault.
 */
export function parsePlanTerms(bytes: Uint8Array, where: string): PlanTerms {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new InputError(`${where}: expected JSON (${reasonOf(cause)})`, [], { cause });
  }
  const read = file.safeParse(value, { reportInput: true });
  if (read.success) return byTier((name) => read.data[name] ?? UNTOLD);
  const [first = "", ...others] = read.error.issues.map(({ path, input, message }) => {
    const place = path.map((name) => `${String(name)} `).join("");
    return `${place}${cut(JSON.stringify(input), SHOWN_CHARACTERS)}: expected ${message}`;
  });
  throw new InputError(`${where}: ${first}`, others);
}
