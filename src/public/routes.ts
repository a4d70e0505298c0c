/**
 * The addresses with data: what each answers with, which tiers may ask, with which parameters, and its
 * operation in the OpenAPI document. The other addresses are in uncounted-routes.ts.
 */
import type { z } from "zod";
import {
  FULLEST,
  KEY_TIER_NAMES,
  TIERS,
  tiersWhere,
  type KeyTierName,
  type Tier,
  type TierName,
} from "../market/tier.ts";
import { decoded } from "../lib/text.ts";
import * as payload from "./payload-schemas.ts";
import { CSV_TYPE, mediaTypeOf, TEXT_TYPE } from "../store/media-types.ts";
import { FILES, isHistory, storedAs } from "../store/paths.ts";
import type { ProblemCode } from "./problems.ts";
import * as parameter from "./parameters.ts";
import type { Parameter } from "./parameters.ts";
import { namesAny, type Query } from "./query.ts";

/** The start of all data paths. */
export const API = "/api/public/v1";
/**
 * The version of the API, not of the program (https://semver.org): 1.1.0 adds endpoints, fields, optional parameters,
 * error codes, header fields or values; 1.0.1 changes only words. What 2.0.0 would remove or change would stand
 * below another path. CHANGELOG.md has a section for each.
 */
export const API_VERSION = "1.1.0";
/** Links. They are no part of the OpenAPI document: the reader of a link knows everything that it takes. */
export const LINK_PATH = "/l/{id}";

/** The body of a 200: JSON by its schema, with the schema's name for readers, or another media type. */
export type Body =
  | { readonly json: string; readonly schema: z.ZodType }
  | { readonly text: string }
  | { readonly binary: string };

/** The groups of the reference and of the OpenAPI document, in the order in which buyers need them. */
export const TAGS = [
  { name: "Prices", description: "The board, and a contract with its daily closes." },
  { name: "Histories", description: "All contracts in one file, and later corrections." },
  {
    name: "Indices",
    description: "The composite, an index for each segment, and baskets of your own.",
  },
  {
    name: "Settlements",
    description: "The figures of a calendar month, which are settled once and never change.",
  },
  { name: "Publications", description: "Each publication and its time. None costs a call." },
  { name: "Account", description: "The calls left in this month." },
  { name: "Service", description: "For programs that watch the service. None costs a call." },
  { name: "Proofs and small charts", description: "Few programs need them." },
] as const;
type TagName = (typeof TAGS)[number]["name"];

export interface Route {
  /** `{id}` stands for one segment of the path. */
  readonly path: string;
  /** The row of the table of plans that names its address. */
  readonly planRow?: PlanRow;
  /** Whether the route reads a key; a route with the same answer for everybody reads none. */
  readonly isKeyed: boolean;
  /** The id in the path. */
  readonly id?: Parameter;
  readonly parameters?: readonly Parameter[];
  /** The parameters by which lines of its file are selected. */
  readonly selectedBy?: readonly Parameter[];
  /** The parameters that name a basket; the answer is then its price, not a file. */
  readonly computedBy?: readonly Parameter[];
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** The group of the reference that it stands in. */
  readonly tag: TagName;
  /** The content of a 200, in a sentence. */
  readonly answer: string;
  readonly body: Body;
  /** The validators and digests among its header fields. */
  readonly fields?: readonly ("etag" | "unencoded-digest")[];
  /** Its refusals beside those that all routes like it have. */
  readonly refusals?: readonly ProblemCode[];
}

/** The rows of the table of plans that are about addresses; tier-words.ts has their words. */
export type PlanRow =
  | "contracts"
  | "catalog"
  | "history"
  | "closes"
  | "indices"
  | "exports"
  | "histories"
  | "superseded"
  | "members"
  | "settlements"
  | "corrections"
  | "sums";

/** A data route: it answers with a stored file of the caller's tier and costs a call. */
export interface DataRoute extends Route {
  readonly planRow: PlanRow;
  /** Whether the tier includes this request. */
  readonly isOffered: (tier: Tier, query: Query) => boolean;
  /** The file's path in the snapshot. */
  readonly file: (tier: TierName, id: string) => string;
  /** Whether the file has the contracts on the boards alone. */
  readonly hasBoards?: boolean;
  /** Of files to save: whether Range gets a part. Histories come whole. */
  readonly download?: "parts" | "whole";
}

const everyone = (): boolean => true;
const withIndex = (tier: Tier): boolean => tier.index;
const withHistory = (tier: Tier): boolean => tier.history !== null;
const exportedAs = (format: "csv" | "xlsx") => (tier: Tier) => tier.exports.includes(format);
const settledAs = (format: "csv" | "json") => (tier: Tier) => tier.settlements.includes(format);
const hasHistoryAs = (format: "csv" | "parquet") => (tier: Tier) =>
  tier.historyFiles.includes(format);

const DATA = {
  isKeyed: true,
  parameters: parameter.VINTAGE,
  tag: "Prices",
  answer: "Counted as one call.",
  fields: ["etag", "unencoded-digest"],
} as const;

/** The properties of a route whose answer is a file to save: a part can be had of files that are stored plain. */
const download = <P extends string>(path: P, file: (tier: string) => string) => ({
  ...DATA,
  path,
  body: path.endsWith(".csv") ? { text: CSV_TYPE } : { binary: mediaTypeOf(path) },
  file,
  download: storedAs(file(FULLEST.name)) === "gzip" ? ("whole" as const) : ("parts" as const),
});

export const DATA_ROUTES = {
  board: {
    ...DATA,
    path: `${API}/prices`,
    planRow: "contracts",
    operationId: "getBoard",
    summary: "The board",
    body: { json: "Board", schema: payload.board },
    isOffered: everyone,
    file: FILES.board,
    selectedBy: parameter.CONTRACTS,
    hasBoards: true,
  },
  contract: {
    ...DATA,
    path: `${API}/prices/{id}`,
    id: parameter.CONTRACT_ID,
    planRow: "history",
    operationId: "getContract",
    summary: "A contract with its history",
    description:
      "`from`, `to` and `last` select closes, and breaks from the first of these on. `corrections` always has all up to `to`.",
    body: { json: "Contract", schema: payload.contract },
    refusals: ["unknown_contract", "not_on_board"],
    // Everybody gets the whole; a selection of the history needs a tier with one.
    isOffered: (tier, query) => tier.history !== null || !namesAny(query, parameter.DATES),
    file: FILES.contract,
    selectedBy: parameter.DATES,
  },
  index: {
    ...DATA,
    path: `${API}/index`,
    planRow: "indices",
    tag: "Indices",
    operationId: "getIndex",
    summary: "The composite index, or a basket of one's own",
    body: { json: "Index", schema: payload.index },
    refusals: ["no_base_level"],
    isOffered: (tier, query) => (namesAny(query, parameter.BASKET) ? tier.baskets : tier.index),
    file: FILES.index,
    computedBy: parameter.BASKET,
  },
  indices: {
    ...DATA,
    path: `${API}/indices`,
    planRow: "indices",
    tag: "Indices",
    operationId: "getIndices",
    summary: "All indices",
    body: { json: "Indices", schema: payload.indices },
    isOffered: withIndex,
    file: FILES.indices,
  },
  indexOf: {
    ...DATA,
    path: `${API}/indices/{id}`,
    id: parameter.INDEX_ID,
    planRow: "indices",
    tag: "Indices",
    operationId: "getIndexWithSeries",
    summary: "The composite or the index of a segment, with its continuous series",
    body: { json: "IndexWithSeries", schema: payload.indexWithSeries },
    refusals: ["unknown_index"],
    isOffered: withIndex,
    file: FILES.indexOf,
    selectedBy: parameter.DATES,
  },
  csv: {
    ...download(`${API}/export.csv`, FILES.csv),
    planRow: "exports",
    operationId: "exportCsv",
    summary: "The board as CSV",
    isOffered: exportedAs("csv"),
    selectedBy: parameter.CONTRACTS,
    hasBoards: true,
  },
  xlsx: {
    ...download(`${API}/export.xlsx`, FILES.xlsx),
    planRow: "exports",
    operationId: "exportXlsx",
    summary: "The board as an Excel workbook",
    isOffered: exportedAs("xlsx"),
  },
  historyCsv: {
    ...download(`${API}/history.csv`, FILES.historyCsv),
    planRow: "histories",
    tag: "Histories",
    operationId: "exportHistoryCsv",
    summary: "The histories of all contracts as CSV",
    isOffered: hasHistoryAs("csv"),
    selectedBy: [...parameter.CONTRACTS, ...parameter.DATES],
  },
  historyParquet: {
    ...download(`${API}/history.parquet`, FILES.historyParquet),
    planRow: "histories",
    tag: "Histories",
    operationId: "exportHistoryParquet",
    summary: "The histories of all contracts as Parquet",
    isOffered: hasHistoryAs("parquet"),
  },
  levelsCsv: {
    ...download(`${API}/levels.csv`, FILES.levelsCsv),
    planRow: "histories",
    tag: "Histories",
    operationId: "exportLevelsCsv",
    summary: "Every level given, both sessions of a day, of all contracts as CSV",
    description: `For ${tiersWhere(({ superseded }) => superseded)} each row ends with \`known_from\`: the number of the publication with which it became part of the head.`,
    isOffered: hasHistoryAs("csv"),
    selectedBy: [...parameter.CONTRACTS, ...parameter.DATES],
  },
  supersededCsv: {
    ...download(`${API}/superseded.csv`, FILES.supersededCsv),
    planRow: "superseded",
    tag: "Histories",
    operationId: "exportSupersededCsv",
    summary: "Rows of /levels.csv that were corrected, withdrawn or taken out since, as CSV",
    description:
      "After `known_from`, `known_to` is the number of the publication that ended the row, and `left` says whether it ended because its contract left the catalog. With `/levels.csv` of the same publication: the rows with `known_from` ≤ N, and no `known_to` or one above N, equal the rows of publication N, within the depth of the history. For a publication that a rollback withdrew, ask `/levels.csv?publication=N`. Contracts that left the catalog come last; `ids` does not name them.",
    isOffered: (tier) => tier.superseded,
    selectedBy: [...parameter.CONTRACTS, ...parameter.PERIOD],
  },
  indicesCsv: {
    ...download(`${API}/indices.csv`, FILES.indicesCsv),
    planRow: "indices",
    tag: "Indices",
    operationId: "exportIndicesCsv",
    summary: "The continuous series of all indices as CSV",
    description: `For ${tiersWhere(({ superseded }) => superseded)} each row ends with \`known_from\`: the number of the newest publication that calculated the close, also where it stayed the same; empty up to the link of a series.`,
    isOffered: withIndex,
    selectedBy: [...parameter.INDICES, ...parameter.DATES],
  },
  membersCsv: {
    ...download(`${API}/members.csv`, FILES.membersCsv),
    planRow: "members",
    tag: "Indices",
    operationId: "exportMembersCsv",
    summary: "The members of all indices by day as CSV",
    description:
      "A row is an interval of days on which the contract was a member of the index: in force at 12:00 UTC, with this carry limit in days. `to` is its last day; empty while it lasts. `from` and `to` select the intervals that touch them.",
    isOffered: (tier) => tier.superseded,
    selectedBy: [...parameter.INDICES, ...parameter.PERIOD],
  },
  settlementsCsv: {
    ...download(`${API}/settlements.csv`, FILES.settlementsCsv),
    planRow: "settlements",
    tag: "Settlements",
    operationId: "exportSettlementsCsv",
    summary: "The settled months of all contracts and indices as CSV",
    description:
      "A row for each contract, index and month with a close. The first publication of a session after 12:00 UTC of the month's last day settles the month, over its calendar days: a day without a new level has the one in force, and a day without one in force is left out. Settled figures never change; those with `_now` have every later correction. A month with a break between its first and its last close has no figures. Months that end within the tier's history. Contracts and indices that left the catalog come last; `ids` does not name them.",
    isOffered: settledAs("csv"),
    selectedBy: [...parameter.SETTLED_IDS, ...parameter.MONTHS],
  },
  settlementsOfContract: {
    ...DATA,
    path: `${API}/settlements/contracts/{id}`,
    id: parameter.CONTRACT_ID,
    planRow: "settlements",
    tag: "Settlements",
    operationId: "getContractSettlements",
    summary: "The settled months of a contract",
    body: { json: "Settlements", schema: payload.settlements },
    refusals: ["unknown_contract", "not_on_board"],
    isOffered: settledAs("json"),
    file: FILES.settlementsOfContract,
  },
  settlementsOfIndex: {
    ...DATA,
    path: `${API}/settlements/indices/{id}`,
    id: parameter.INDEX_ID,
    planRow: "settlements",
    tag: "Settlements",
    operationId: "getIndexSettlements",
    summary: "The settled months of an index",
    body: { json: "Settlements", schema: payload.settlements },
    refusals: ["unknown_index"],
    isOffered: settledAs("json"),
    file: FILES.settlementsOfIndex,
  },
  sparklines: {
    ...DATA,
    path: `${API}/sparklines`,
    planRow: "closes",
    tag: "Proofs and small charts",
    operationId: "getSparklines",
    summary: "The last closes of each contract on the boards",
    body: { json: "Sparklines", schema: payload.sparklines },
    isOffered: withHistory,
    file: FILES.sparklines,
    selectedBy: parameter.CONTRACTS,
    hasBoards: true,
  },
  corrections: {
    ...DATA,
    path: `${API}/corrections`,
    planRow: "corrections",
    tag: "Histories",
    operationId: "getCorrections",
    summary: "The corrections of all contracts",
    body: { json: "Corrections", schema: payload.corrections },
    isOffered: withHistory,
    file: FILES.tierCorrections,
    selectedBy: parameter.CORRECTIONS,
  },
} as const satisfies Readonly<Record<string, DataRoute>>;

/** The SHA-256 of each file of the caller's tier: a data route that everybody may ask for the head. */
export const SUMS_ROUTE: DataRoute = {
  ...DATA,
  path: `${API}/sums`,
  parameters: [
    {
      ...parameter.PUBLICATION,
      description:
        "The sums of publication N, to the depth of the tier's history. Without a key only of the served publication.",
    },
  ],
  planRow: "sums",
  operationId: "getSums",
  summary: "The SHA-256 of each file of the tier",
  description:
    "In the form of sha256sum; paths are relative to the tier's folder in the snapshot. Its own SHA-256 is the tier's root in `/log/{id}` of the publication. Costs a call, also without a key.",
  tag: "Proofs and small charts",
  answer: "The sums. Counted as one call.",
  body: { text: TEXT_TYPE },
  isOffered: everyone,
  file: FILES.sums,
};

/** Whether its file is as deep as the tier's history. */
export const hasHistory = ({ file }: DataRoute): boolean => isHistory(file(FULLEST.name, "id"));

/** All parameters that a route takes. */
export const takenBy = ({
  parameters = [],
  selectedBy = [],
  computedBy = [],
}: Route): readonly Parameter[] => [...computedBy, ...selectedBy, ...parameters];

/** Whether its parameter `ids` names indices. */
export const namesIndices = ({ selectedBy = [] }: Route): boolean =>
  selectedBy.some((each) => parameter.INDICES.includes(each));

/** Whether the id in its path is an index's. */
export const isOfIndex = ({ id }: Route): boolean => id === parameter.INDEX_ID;

/** Whether its parameter `ids` names contracts and indices. */
export const namesBoth = ({ selectedBy = [] }: Route): boolean =>
  selectedBy.some((each) => parameter.SETTLED_IDS.includes(each));

/** Whether its parameters `from` and `to` are months. */
export const isByMonth = ({ selectedBy = [] }: Route): boolean =>
  selectedBy.some((each) => parameter.MONTHS.includes(each));

/** Their names. */
export function parametersOf(route: Route): readonly string[] {
  let names = namesKnown.get(route);
  if (names === undefined) {
    names = takenBy(route).map(({ name }) => name);
    namesKnown.set(route, names);
  }
  return names;
}

const namesKnown = new WeakMap<Route, readonly string[]>();

/** The lowest tier with keys that includes this request. */
export const requiredTier = (route: DataRoute, query: Query): KeyTierName | undefined =>
  KEY_TIER_NAMES.find((name) => route.isOffered(TIERS[name], query));

const ID = "{id}";
const DOT_SEGMENT = /^(?:\.|%2e){1,2}$/i;

/** Whether one segment of the path is an id. */
export const takesId = (path: string): boolean => path.endsWith(ID);

/** The path of a route before its id. */
export const prefixOf = (path: string): string => path.slice(0, -ID.length);

export function isExact(sent: string, path: string): boolean {
  if (!takesId(path)) return sent === path;
  const prefix = prefixOf(path);
  if (!sent.startsWith(prefix)) return false;
  const segment = sent.slice(prefix.length);
  return segment !== "" && !segment.includes("/") && !DOT_SEGMENT.test(segment);
}

/** The id in the path as sent, percent-decoded; as sent if it cannot be decoded; empty without one. */
export const idIn = (sent: string, path: string): string =>
  takesId(path) ? decoded(sent.slice(path.length - ID.length)) : "";
