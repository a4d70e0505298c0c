/**
 * The addresses with data: what each answers with, which tiers may ask, with which parameters, and its
 * operation in the OpenAPI document. The other addresses are in uncounted-routes.ts.
 */
import type { z } from "zod";
import {
  FULLEST,
  KEY_TIER_NAMES,
  perTier,
  TIERS,
  tiersWhere,
  type KeyTierName,
  type Tier,
  type TierName,
} from "../market/tier.ts";
import * as payload from "../render/schemas.ts";
import { CSV_TYPE, PARQUET_TYPE, TEXT_TYPE, XLSX_TYPE } from "../store/media-types.ts";
import { FILES, storedAs } from "../store/paths.ts";
import type { ProblemCode } from "./problems.ts";
import { namesBasket, type Query } from "./query.ts";

/** The start of all data paths. */
export const API = "/api/public/v1";

/** A parameter of the query. */
export interface Parameter {
  readonly name: string;
  readonly description: string;
  /** JSON Schema. */
  readonly schema: { readonly type: "integer" | "string"; readonly [keyword: string]: unknown };
}

/** What a 200 carries: JSON by its schema, with the schema's name for readers, or another media type. */
export type Body =
  | { readonly json: string; readonly schema: z.ZodType }
  | { readonly text: string }
  | { readonly binary: string };

export interface Route {
  /** `{id}` stands for one segment of the path. */
  readonly path: string;
  /** Whether a key may be sent; what is the same for everybody reads none. */
  readonly isKeyed: boolean;
  /** What the id in the path names. */
  readonly id?: string;
  readonly parameters?: readonly Parameter[];
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tag: "Data" | "Publications" | "Account" | "Service";
  /** What a 200 is, in a sentence. */
  readonly answer: string;
  readonly body: Body;
  /** The validators and digests among its header fields. */
  readonly fields?: readonly ("etag" | "unencoded-digest")[];
  /** Its refusals beside those that all routes like it have. */
  readonly refusals?: readonly ProblemCode[];
}

/** A data route: it answers with a stored file of the caller's tier and costs a call. */
export interface DataRoute extends Route {
  /** Whether the tier includes this request. */
  readonly isOffered: (tier: Tier, query: Query) => boolean;
  /** The file's path in the snapshot. */
  readonly file: (tier: Tier, id: string) => string;
  /** Whether the query may name a basket; the answer is then its price, not a file. */
  readonly takesBasket?: boolean;
  /** Of files to save: whether Range gets a part. Histories come whole. */
  readonly download?: "parts" | "whole";
}

const WITH_HISTORY = tiersWhere(({ history }) => history !== null, "and");
const PUBLICATION: Parameter = {
  name: "publication",
  description: `The data as entry N of the log published it (${WITH_HISTORY}, to the depth of their history): the same bytes as then. Not together with as_of.`,
  schema: { type: "integer", minimum: 1 },
};
const AS_OF: Parameter = {
  name: "as_of",
  description: `The data as published at this instant (${WITH_HISTORY}, to the depth of their history): ISO 8601 with Z or an offset, not in the future.`,
  schema: { type: "string", format: "date-time" },
};
const BASKET: readonly Parameter[] = [
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

const everyone = (): boolean => true;
const withIndex = (tier: Tier): boolean => tier.index;
const withHistory = (tier: Tier): boolean => tier.history !== null;
const exportedAs = (format: "csv" | "xlsx") => (tier: Tier) => tier.exports.includes(format);
const hasHistoryAs = (format: "csv" | "parquet") => (tier: Tier) =>
  tier.historyFiles.includes(format);
/** Makes the paths once: a request need not visit the names of keys. */
const eachTier = (path: (tier: TierName) => string): DataRoute["file"] => {
  const paths = perTier(path);
  return ({ name }) => paths[name];
};

const DATA = {
  isKeyed: true,
  parameters: [PUBLICATION, AS_OF],
  tag: "Data",
  answer: "Counted as one call.",
  fields: ["etag", "unencoded-digest"],
} as const;

const BODIES = {
  csv: { text: CSV_TYPE },
  xlsx: { binary: XLSX_TYPE },
  parquet: { binary: PARQUET_TYPE },
} as const;

/** What follows from a file to save: a part can be had of those that are stored plain. */
const download = <P extends string>(path: P, file: (tier: string) => string) => ({
  ...DATA,
  path,
  body: BODIES[path.slice(path.lastIndexOf(".") + 1) as keyof typeof BODIES],
  file: eachTier(file),
  download: storedAs(file(FULLEST.name)) === "gzip" ? ("whole" as const) : ("parts" as const),
});

export const DATA_ROUTES = {
  board: {
    ...DATA,
    path: `${API}/prices`,
    operationId: "getBoard",
    summary: "The board",
    body: { json: "Board", schema: payload.board },
    isOffered: everyone,
    file: eachTier(FILES.board),
  },
  contract: {
    ...DATA,
    path: `${API}/prices/{id}`,
    id: "The contract's id.",
    operationId: "getContract",
    summary: "A contract with its history",
    body: { json: "Contract", schema: payload.contract },
    refusals: ["unknown_contract", "not_on_board"],
    isOffered: everyone,
    file: (tier, id) => FILES.contract(tier.name, id),
  },
  index: {
    ...DATA,
    path: `${API}/index`,
    parameters: [...BASKET, ...DATA.parameters],
    operationId: "getIndex",
    summary: "The composite index, or a basket of one's own",
    body: { json: "Index", schema: payload.index },
    refusals: ["unknown_contract", "no_base_level"],
    isOffered: (tier, query) => (namesBasket(query) ? tier.baskets : tier.index),
    file: eachTier(FILES.index),
    takesBasket: true,
  },
  indices: {
    ...DATA,
    path: `${API}/indices`,
    operationId: "getIndices",
    summary: "All indices",
    body: { json: "Indices", schema: payload.indices },
    isOffered: withIndex,
    file: eachTier(FILES.indices),
  },
  indexOf: {
    ...DATA,
    path: `${API}/indices/{id}`,
    id: "The index's id.",
    operationId: "getIndexWithSeries",
    summary: "The composite or the index of a segment, with its continuous series",
    body: { json: "IndexWithSeries", schema: payload.indexWithSeries },
    refusals: ["unknown_index"],
    isOffered: withIndex,
    file: (tier, id) => FILES.indexOf(tier.name, id),
  },
  csv: {
    ...download(`${API}/export.csv`, FILES.csv),
    operationId: "exportCsv",
    summary: "The board as CSV",
    isOffered: exportedAs("csv"),
  },
  xlsx: {
    ...download(`${API}/export.xlsx`, FILES.xlsx),
    operationId: "exportXlsx",
    summary: "The board as an Excel workbook",
    isOffered: exportedAs("xlsx"),
  },
  historyCsv: {
    ...download(`${API}/history.csv`, FILES.historyCsv),
    operationId: "exportHistoryCsv",
    summary: "The histories of all contracts as CSV",
    isOffered: hasHistoryAs("csv"),
  },
  historyParquet: {
    ...download(`${API}/history.parquet`, FILES.historyParquet),
    operationId: "exportHistoryParquet",
    summary: "The histories of all contracts as Parquet",
    isOffered: hasHistoryAs("parquet"),
  },
  levelsCsv: {
    ...download(`${API}/levels.csv`, FILES.levelsCsv),
    operationId: "exportLevelsCsv",
    summary: "Every level given, both sessions of a day, of all contracts as CSV",
    isOffered: hasHistoryAs("csv"),
  },
  indicesCsv: {
    ...download(`${API}/indices.csv`, FILES.indicesCsv),
    operationId: "exportIndicesCsv",
    summary: "The continuous series of all indices as CSV",
    isOffered: withIndex,
  },
  sparklines: {
    ...DATA,
    path: `${API}/sparklines`,
    operationId: "getSparklines",
    summary: "The last closes of each contract on the boards",
    body: { json: "Sparklines", schema: payload.sparklines },
    isOffered: withHistory,
    file: eachTier(FILES.sparklines),
  },
  corrections: {
    ...DATA,
    path: `${API}/corrections`,
    operationId: "getCorrections",
    summary: "The corrections of all contracts",
    body: { json: "Corrections", schema: payload.corrections },
    isOffered: withHistory,
    file: eachTier(FILES.tierCorrections),
  },
} as const satisfies Readonly<Record<string, DataRoute>>;

/** The SHA-256 of each file of the caller's tier: a data route that everybody may ask for the head. */
export const SUMS_ROUTE: DataRoute = {
  ...DATA,
  path: `${API}/sums`,
  parameters: [
    {
      ...PUBLICATION,
      description:
        "The sums as entry N of the log published them, to the depth of the tier's history. Without a key only that of the head.",
    },
  ],
  operationId: "getSums",
  summary: "The SHA-256 of each file of the tier",
  description:
    "In the form of sha256sum; paths are those of the tier's folder in the snapshot. Its own SHA-256 is the tier's root in the log's entry. All tiers. Costs a call, also without a key.",
  tag: "Publications",
  answer: "The sums. Counted as one call.",
  body: { text: TEXT_TYPE },
  isOffered: everyone,
  file: eachTier(FILES.sums),
};

export const parametersOf = ({ parameters = [] }: Route): readonly string[] =>
  parameters.map(({ name }) => name);

/** The lowest tier with keys that includes this request. */
export const requiredTier = (route: DataRoute, query: Query): KeyTierName | undefined =>
  KEY_TIER_NAMES.find((name) => route.isOffered(TIERS[name], query));

const ID = "{id}";
const DOT_SEGMENT = /^(?:\.|%2e){1,2}$/i;

/** The path of a route before its id. */
export const prefixOf = (path: string): string => path.slice(0, -ID.length);

/** Whether the path as sent is exactly the route's. */
export function isExact(sent: string, path: string): boolean {
  if (!path.endsWith(ID)) return sent === path;
  const prefix = prefixOf(path);
  if (!sent.startsWith(prefix)) return false;
  const segment = sent.slice(prefix.length);
  return segment !== "" && !segment.includes("/") && !DOT_SEGMENT.test(segment);
}

/** The id in the path as sent, percent-decoded; as sent if it cannot be decoded; empty without one. */
export function idIn(sent: string, path: string): string {
  const segment = path.endsWith(ID) ? sent.slice(path.length - ID.length) : "";
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
