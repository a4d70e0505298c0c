/** The parameters of data routes: what their names mean. query.ts reads the query. */
import { MAX_ITEMS, MAX_SEGMENTS } from "../lib/limits.ts";
import { tiersWhere } from "../market/tier.ts";

/** The parameters that are lists. */
export const LISTS = ["ids", "segment", "weights", "quantities"] as const;

/** JSON Schema of one value. */
interface ValueSchema {
  readonly type: "integer" | "number" | "string";
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly default?: number;
}

/** A list stands in the query as items with commas between them. */
interface ListSchema {
  readonly type: "array";
  readonly items: ValueSchema;
  readonly minItems: number;
  readonly maxItems: number;
}

type Value = string | number;

export interface Parameter {
  readonly name: string;
  readonly description: string;
  readonly schema: ValueSchema | ListSchema;
  /** Names contracts of the recorded answers; documents name contracts of the served market instead. */
  readonly example: Value | readonly Value[];
}

const listOf = (items: ValueSchema, maxItems: number): ListSchema => ({
  type: "array",
  items,
  minItems: 1,
  maxItems,
});

const CONTRACT_ID_SCHEMA = { type: "string", pattern: "^[a-z0-9]+(-[a-z0-9]+)*$" } as const;
/** An id, or a name as people see it. */
const INDEX_ID_SCHEMA = { type: "string", pattern: "^[^,]+$" } as const;
/** A weight, or a quantity. */
const AMOUNT_SCHEMA = { type: "number", format: "double", exclusiveMinimum: 0 } as const;

/** The ids in paths. */
export const CONTRACT_ID: Parameter = {
  name: "id",
  description: "The contract's id. A former id redirects to the present one.",
  schema: CONTRACT_ID_SCHEMA,
  example: "ddr5-16gb",
};
export const INDEX_ID: Parameter = {
  name: "id",
  description: "The index's id, or the name of its segment in any case.",
  schema: INDEX_ID_SCHEMA,
  example: "composite",
};

const WITH_HISTORY = tiersWhere(({ history }) => history !== null);
/** `publication`. */
export const PUBLICATION: Parameter = {
  name: "publication",
  description: `The data of publication N (${WITH_HISTORY}, to the depth of their history): the same bytes as then. Only one of publication, as_of and session.`,
  schema: { type: "integer", format: "int64", minimum: 1 },
  example: 2,
};
/** `as_of`. */
export const AS_OF: Parameter = {
  name: "as_of",
  description: `The data as published at this instant (${WITH_HISTORY}, to the depth of their history): ISO 8601 with Z or an offset, not in the future. A date means its end, UTC; today's date means now.`,
  schema: {
    type: "string",
    pattern:
      "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?(Z|[+-][0-9]{2}:[0-9]{2}))?$",
  },
  example: "2026-11-21T00:05:00Z",
};
/** `session`. */
export const SESSION: Parameter = {
  name: "session",
  description: `The data of this session of your tier (${WITH_HISTORY}, to the depth of their history), as the newest publication that has it. A later revision or rollback changes the answer.`,
  schema: {
    type: "string",
    pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}T(00|12)(:00:00[.]000)?Z$",
  },
  example: "2026-11-21T00Z",
};
/** A vintage: data as it was published then. */
export const VINTAGE: readonly Parameter[] = [PUBLICATION, AS_OF, SESSION];
/** A basket of one's own. */
export const BASKET: readonly Parameter[] = [
  {
    name: "ids",
    description: `Contracts of a basket of one's own (${tiersWhere(({ baskets }) => baskets)}): 1 to 100 ids, each contract once, separated by commas. A former id means its contract, and asked names both ids.`,
    schema: listOf(CONTRACT_ID_SCHEMA, MAX_ITEMS),
    example: ["ddr5-16gb", "tlc-1tb"],
  },
  {
    name: "weights",
    description:
      "A weight above 0 for each of ids, in their order; up to 9 digits before and after the point. Without weights all are equal.",
    schema: listOf(AMOUNT_SCHEMA, MAX_ITEMS),
    example: [60, 40],
  },
  {
    name: "quantities",
    description:
      "Instead of weights, the quantity of each of ids, in the contract's unit; same form. The answer also has the costs.",
    schema: listOf(AMOUNT_SCHEMA, MAX_ITEMS),
    example: [64, 2],
  },
];

const IDS: Parameter = {
  name: "ids",
  description:
    "Only these: 1 to 100 ids, each contract once, separated by commas. A former id means its contract: asked (in CSV answers the header field x-asked) names both ids. Lines stay in the file's order.",
  schema: listOf(CONTRACT_ID_SCHEMA, MAX_ITEMS),
  example: ["ddr5-16gb", "tlc-1tb"],
};
const SEGMENT: Parameter = {
  name: "segment",
  description:
    "Only contracts of these segments: 1 to 20 ids of segments' indices, or names of segments in any case, each segment once, separated by commas. A former id means its segment. Not together with ids.",
  schema: listOf(INDEX_ID_SCHEMA, MAX_SEGMENTS),
  example: ["dram"],
};
const AFTER: Parameter = {
  name: "after",
  description:
    "Only corrections whose corrected_in was first published after publication N. Not together with since.",
  schema: { type: "integer", format: "int64", minimum: 0 },
  example: 1,
};

const SINCE: Parameter = {
  name: "since",
  description:
    "Only corrections whose corrected_in was first published on this date, UTC, or later. Not together with after.",
  schema: { type: "string", format: "date" },
  example: "2026-11-01",
};

/** Which contracts. */
export const CONTRACTS: readonly Parameter[] = [IDS, SEGMENT];
/** Which indices. */
export const INDICES: readonly Parameter[] = [
  {
    ...IDS,
    description:
      "Only these: 1 to 100 ids of indices, each once, separated by commas. A former id means its index: the header field x-asked names both ids. Lines stay in the file's order.",
    schema: listOf(INDEX_ID_SCHEMA, MAX_ITEMS),
    example: ["composite"],
  },
];
/** Between which dates. */
export const PERIOD: readonly Parameter[] = [
  {
    name: "from",
    description: "Only dates from this date on, such as 2026-11-01.",
    schema: { type: "string", format: "date" },
    example: "2026-11-01",
  },
  {
    name: "to",
    description: "Only dates up to and including this date.",
    schema: { type: "string", format: "date" },
    example: "2026-11-21",
  },
];
/** Which contracts and indices. */
export const SETTLED_IDS: readonly Parameter[] = [
  {
    ...IDS,
    description:
      "Only these: 1 to 100 ids of contracts and indices, each once, separated by commas. An id of both gives both. A former id means its contract or index: the header field x-asked names both ids. Lines stay in the file's order.",
    schema: listOf(INDEX_ID_SCHEMA, MAX_ITEMS),
    example: ["ddr5-16gb", "composite"],
  },
];
const MONTH_SCHEMA = { type: "string", pattern: "^[0-9]{4}-[0-9]{2}$" } as const;
/** Between which months. */
export const MONTHS: readonly Parameter[] = [
  {
    name: "from",
    description: "Only months from this month on, such as 2026-10.",
    schema: MONTH_SCHEMA,
    example: "2026-10",
  },
  {
    name: "to",
    description: "Only months up to and including this month.",
    schema: MONTH_SCHEMA,
    example: "2026-10",
  },
];
/** Which dates. */
export const DATES: readonly Parameter[] = [
  ...PERIOD,
  {
    name: "last",
    description: "Only the last N entries of each contract or index, applied after from and to.",
    schema: { type: "integer", format: "int32", minimum: 1, maximum: 2000 },
    example: 30,
  },
];
/** Which corrections. */
export const CORRECTIONS: readonly Parameter[] = [...CONTRACTS, AFTER, SINCE];
