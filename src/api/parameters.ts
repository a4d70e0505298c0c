/** The parameters of data routes: what their names mean. query.ts reads the query. */
import { tiersWhere } from "../market/tier.ts";

export interface Parameter {
  readonly name: string;
  readonly description: string;
  /** JSON Schema. */
  readonly schema: { readonly type: "integer" | "string"; readonly [keyword: string]: unknown };
}

const WITH_HISTORY = tiersWhere(({ history }) => history !== null, "and");
/** `publication`. */
export const PUBLICATION: Parameter = {
  name: "publication",
  description: `The data as entry N of the log published it (${WITH_HISTORY}, to the depth of their history): the same bytes as then. Not together with as_of.`,
  schema: { type: "integer", minimum: 1 },
};
const AS_OF: Parameter = {
  name: "as_of",
  description: `The data as published at this instant (${WITH_HISTORY}, to the depth of their history): ISO 8601 with Z or an offset, not in the future. A date means its end, UTC.`,
  schema: { type: "string" },
};
/** A vintage: data as it was published then. */
export const VINTAGE: readonly Parameter[] = [PUBLICATION, AS_OF];
/** A basket of one's own. */
export const BASKET: readonly Parameter[] = [
  {
    name: "ids",
    description: `Contracts of a basket of one's own (${tiersWhere(({ baskets }) => baskets, "and")}): 1 to 100 ids, each once, separated by commas.`,
    schema: { type: "string" },
  },
  {
    name: "weights",
    description:
      "A weight above 0 for each of ids, in their order; up to 9 digits before and after the point. Without it all weigh the same.",
    schema: { type: "string" },
  },
  {
    name: "quantities",
    description:
      "Instead of weights, how much is bought of each of ids, in the contract's unit; same form. The answer also says what that costs.",
    schema: { type: "string" },
  },
];

const IDS: Parameter = {
  name: "ids",
  description:
    "Only these: 1 to 100 ids, each once, separated by commas. Lines stay in the file's order.",
  schema: { type: "string" },
};
const SEGMENT: Parameter = {
  name: "segment",
  description:
    "Only contracts of these segments: 1 to 20 ids of segments' indices, each once, separated by commas. Not together with ids.",
  schema: { type: "string" },
};
const AFTER: Parameter = {
  name: "after",
  description:
    "Only corrections whose corrected_in was first published by an entry of the log after N.",
  schema: { type: "integer", minimum: 0 },
};

/** Which contracts. */
export const CONTRACTS: readonly Parameter[] = [IDS, SEGMENT];
/** Which indices. */
export const INDICES: readonly Parameter[] = [IDS];
/** Between which dates. */
export const PERIOD: readonly Parameter[] = [
  {
    name: "from",
    description: "Only dates from this one on, such as 2026-11-01.",
    schema: { type: "string", format: "date" },
  },
  {
    name: "to",
    description: "Only dates up to this one, included.",
    schema: { type: "string", format: "date" },
  },
];
/** Which dates. */
export const DATES: readonly Parameter[] = [
  ...PERIOD,
  {
    name: "last",
    description: "The last so many entries of each contract or index, after from and to.",
    schema: { type: "integer", minimum: 1, maximum: 2000 },
  },
];
/** Which corrections. */
export const CORRECTIONS: readonly Parameter[] = [...CONTRACTS, AFTER];
