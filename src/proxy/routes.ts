/** The addresses of the service and the tiers that may use them. app.ts answers them. */
import {
  KEY_TIER_NAMES,
  TIER_NAMES,
  TIERS,
  type KeyTierName,
  type Tier,
  type TierName,
} from "../market/tier.ts";
import { FILES } from "../store/paths.ts";
import { BASKET_PARAMETERS, namesBasket, VINTAGE_PARAMETERS, type Query } from "./query.ts";

/** The start of all data paths. */
export const API = "/api/public/v1";

/** A data route: it answers with a stored file of the caller's tier and costs a call. */
export interface DataRoute {
  /** `{id}` stands for a contract or an index. */
  readonly path: string;
  /** Whether the tier includes this request. */
  readonly isOffered: (tier: Tier, query: Query) => boolean;
  /** The file's path in the snapshot. */
  readonly file: (tier: Tier, id: string) => string;
  /** Whether the query may name a basket; the answer is then its price, not a file. */
  readonly takesBasket: boolean;
}

const everyone = (): boolean => true;
/** Makes the paths once, not for each request. */
const eachTier = (path: (tier: TierName) => string): DataRoute["file"] => {
  const paths = new Map(TIER_NAMES.map((name) => [name, path(name)]));
  return (tier) => paths.get(tier.name) as string;
};
const exportedAs = (format: "csv" | "xlsx") => (tier: Tier) => tier.exports.includes(format);
const hasHistoryAs = (format: "csv" | "parquet") => (tier: Tier) =>
  tier.historyFiles.includes(format);

/** The data routes. The compiler requires each to be documented in openapi-operations.ts. */
export const DATA_ROUTES = {
  /** The tier's board. */
  board: {
    path: `${API}/prices`,
    isOffered: everyone,
    file: eachTier(FILES.board),
    takesBasket: false,
  },
  /** One contract with the tier's history. */
  contract: {
    path: `${API}/prices/{id}`,
    isOffered: everyone,
    file: (tier, id) => FILES.contract(tier.name, id),
    takesBasket: false,
  },
  /** The composite index, or a basket. */
  index: {
    path: `${API}/index`,
    isOffered: (tier, query) => (namesBasket(query) ? tier.baskets : tier.index),
    file: eachTier(FILES.index),
    takesBasket: true,
  },
  /** All indices, without their contributions. */
  indices: {
    path: `${API}/indices`,
    isOffered: (tier) => tier.index,
    file: eachTier(FILES.indices),
    takesBasket: false,
  },
  /** One index with its series. */
  indexOf: {
    path: `${API}/indices/{id}`,
    isOffered: (tier) => tier.index,
    file: (tier, id) => FILES.indexOf(tier.name, id),
    takesBasket: false,
  },
  /** The tier's board as CSV. */
  csv: {
    path: `${API}/export.csv`,
    isOffered: exportedAs("csv"),
    file: eachTier(FILES.csv),
    takesBasket: false,
  },
  /** The tier's board as a workbook. */
  xlsx: {
    path: `${API}/export.xlsx`,
    isOffered: exportedAs("xlsx"),
    file: eachTier(FILES.xlsx),
    takesBasket: false,
  },
  /** The tier's histories of all contracts as CSV. */
  historyCsv: {
    path: `${API}/history.csv`,
    isOffered: hasHistoryAs("csv"),
    file: eachTier(FILES.historyCsv),
    takesBasket: false,
  },
  /** The same as Parquet. */
  historyParquet: {
    path: `${API}/history.parquet`,
    isOffered: hasHistoryAs("parquet"),
    file: eachTier(FILES.historyParquet),
    takesBasket: false,
  },
  /** The corrections that the tier sees. */
  corrections: {
    path: `${API}/corrections`,
    isOffered: (tier) => tier.history !== null,
    file: eachTier(FILES.tierCorrections),
    takesBasket: false,
  },
} as const satisfies Readonly<Record<string, DataRoute>>;

/** The SHA-256 of each file of the caller's tier: a data route that takes `publication` alone. */
export const SUMS_ROUTE: DataRoute = {
  path: `${API}/sums`,
  isOffered: everyone,
  file: eachTier(FILES.sums),
  takesBasket: false,
};

/** The parameters that a data route, or SUMS_ROUTE, takes. */
export const parametersOf = (route: DataRoute): readonly string[] =>
  route === SUMS_ROUTE
    ? ["publication"]
    : route.takesBasket
      ? [...BASKET_PARAMETERS, ...VINTAGE_PARAMETERS]
      : VINTAGE_PARAMETERS;

/** The OpenAPI document. */
export const OPENAPI_PATH = "/openapi.json";
/** The market at a glance. */
export const MARKET_PATH = "/";
/** The page of a contract. */
export const CONTRACT_PATH = "/contracts/{id}";
/** The series of the indices, and what moved them. */
export const INDICES_PATH = "/indices";
/** Prices a basket of one's own. */
export const BASKET_PATH = "/basket";
/** What each tier offers. */
export const PLANS_PATH = "/plans";
/** The last sessions, for people. */
export const STATUS_PAGE_PATH = "/status";
/** The guide for readers of prices. */
export const GUIDE_PATH = "/guide";
/** The same as Markdown. */
export const GUIDE_MD_PATH = "/guide.md";
/** How the numbers are made. */
export const METHODOLOGY_PATH = "/methodology";
/** The same as Markdown. */
export const METHODOLOGY_MD_PATH = "/methodology.md";
/** The summary for language models (llmstxt.org). */
export const LLMS_PATH = "/llms.txt";
/** The reference of the interface. */
export const DOCS_PATH = "/docs";
/** Below it: the files that pages load. */
export const ASSETS_PATH = "/assets/";
/** The files of Swagger UI, which draws the reference. */
export const SWAGGER_SCRIPT = "/docs/swagger-ui-bundle.js";
export const SWAGGER_STYLE = "/docs/swagger-ui.css";

/** The links at the top of every page. */
export const NAVIGATION = [
  [MARKET_PATH, "Market"],
  [INDICES_PATH, "Indices"],
  [BASKET_PATH, "Basket"],
  [PLANS_PATH, "Plans"],
  [STATUS_PAGE_PATH, "Status"],
  [GUIDE_PATH, "Guide"],
  [METHODOLOGY_PATH, "Methodology"],
  [DOCS_PATH, "API"],
] as const;

/** Shows how many of the month's calls the caller has used. */
export const USAGE_PATH = `${API}/usage`;

/** Lists the entries of the log. */
export const PUBLICATIONS_PATH = `${API}/publications`;
/** An entry of the log, `42`, or its signature, `42.sig`. */
export const ENTRY_PATH = "/log/{id}";
/** The newest publications as an Atom feed. */
export const FEED_PATH = "/feed.atom";
/** When the last sessions were published. */
export const STATUS_PATH = "/status.json";

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
