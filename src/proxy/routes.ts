/**
 * The addresses of the service. The path is compared as it was sent: no decoding, no dot segments,
 * no trailing slash, so that nothing but the exact path finds anything.
 */
import {
  KEY_TIER_NAMES,
  TIER_NAMES,
  TIERS,
  type KeyTierName,
  type Tier,
  type TierName,
} from "../market/tier.ts";
import { FILES } from "../store/paths.ts";
import { namesBasket, type Query } from "./parameters.ts";

/** What the paths of the data start with. */
export const API = "/api/public/v1";

/** A route of the data: a stored file of the caller's tier, counted against the quota. */
export interface DataRoute {
  readonly kind: "data";
  /** With `{id}` for the contract. */
  readonly path: string;
  /** Whether the tier may ask this at all. */
  readonly isOffered: (tier: Tier, query: Query) => boolean;
  /** The file's path in the snapshot. */
  readonly file: (tier: Tier, id: string) => string;
  /** Whether the query may name a basket, priced instead of a file. */
  readonly takesBasket: boolean;
}

/** Counts what the caller has used; asks for no quota itself, but refuses bad keys. */
interface UsageRoute {
  readonly kind: "usage";
  readonly path: string;
}

/** Open to everyone, whatever key is sent. `page` is a fixed file: documentation, OpenAPI. */
export interface OpenRoute {
  readonly kind: "page" | "healthz" | "readyz";
  readonly path: string;
}

/** Whatever can be asked for. */
export type Route = DataRoute | UsageRoute | OpenRoute;

const everyone = (): boolean => true;
/** The paths are made once, not for each request. */
const eachTier = (path: (tier: TierName) => string): DataRoute["file"] => {
  const paths = new Map(TIER_NAMES.map((name) => [name, path(name)]));
  return (tier) => paths.get(tier.name) as string;
};
const exportedAs = (format: "csv" | "xlsx") => (tier: Tier) => tier.exports.includes(format);

/** The routes of the data. Whoever adds one is told by the compiler to document it (openapi-operations.ts). */
export const DATA_ROUTES = {
  /** The tier's board. */
  board: {
    kind: "data",
    path: `${API}/prices`,
    isOffered: everyone,
    file: eachTier(FILES.board),
    takesBasket: false,
  },
  /** One contract with the tier's history; the only route with a name in its path. */
  contract: {
    kind: "data",
    path: `${API}/prices/{id}`,
    isOffered: everyone,
    file: (tier, id) => FILES.contract(tier.name, id),
    takesBasket: false,
  },
  /** The composite index, or a basket. */
  index: {
    kind: "data",
    path: `${API}/index`,
    isOffered: (tier, query) => (namesBasket(query) ? tier.baskets : tier.index),
    file: eachTier(FILES.index),
    takesBasket: true,
  },
  /** The tier's board as CSV. */
  csv: {
    kind: "data",
    path: `${API}/export.csv`,
    isOffered: exportedAs("csv"),
    file: eachTier(FILES.csv),
    takesBasket: false,
  },
  /** The tier's board as a workbook. */
  xlsx: {
    kind: "data",
    path: `${API}/export.xlsx`,
    isOffered: exportedAs("xlsx"),
    file: eachTier(FILES.xlsx),
    takesBasket: false,
  },
} as const satisfies Readonly<Record<string, DataRoute>>;

/** The OpenAPI document. */
export const OPENAPI_PATH = "/openapi.json";
/** The documentation page. */
export const DOCS_PATH = "/";
/** The guide for readers of prices. */
export const GUIDE_PATH = "/guide";
/** What the documentation page loads: its own script, then style and script of Swagger UI. */
export const DOCS_ASSETS = [
  "/docs/page.js",
  "/docs/swagger-ui.css",
  "/docs/swagger-ui-bundle.js",
] as const;

/** Fixed files, made when the proxy starts. */
export const PAGE_PATHS = [DOCS_PATH, GUIDE_PATH, OPENAPI_PATH, ...DOCS_ASSETS] as const;

/** What the caller has used of the month's calls. */
export const USAGE_ROUTE: UsageRoute = { kind: "usage", path: `${API}/usage` };

const OPEN_ROUTES: readonly OpenRoute[] = [
  ...PAGE_PATHS.map((path) => ({ kind: "page", path }) as const),
  { kind: "healthz", path: "/healthz" },
  { kind: "readyz", path: "/readyz" },
];

const { contract: CONTRACT_ROUTE, ...NAMELESS_ROUTES } = DATA_ROUTES;

const EXACT = new Map<string, Match>(
  [...Object.values(NAMELESS_ROUTES), USAGE_ROUTE, ...OPEN_ROUTES].map((route) => [
    route.path,
    { route, id: "" },
  ]),
);

const CONTRACT_PREFIX = CONTRACT_ROUTE.path.slice(0, -"{id}".length);
const DOT_SEGMENT = /^(?:\.|%2e){1,2}$/i;

/** What a path means. */
export interface Match {
  /** With its path as a template. */
  readonly route: Route;
  /** The contract asked for, decoded; empty on other routes. */
  readonly id: string;
}

/** The route of a path as sent, or null. */
export function findRoute(path: string): Match | null {
  const exact = EXACT.get(path);
  if (exact !== undefined) return exact;
  if (!path.startsWith(CONTRACT_PREFIX)) return null;
  const segment = path.slice(CONTRACT_PREFIX.length);
  if (segment === "" || segment.includes("/") || DOT_SEGMENT.test(segment)) return null;
  return { route: CONTRACT_ROUTE, id: decoded(segment) };
}

/** The lowest tier with keys that is offered this. */
export const requiredTier = (route: DataRoute, query: Query): KeyTierName | undefined =>
  KEY_TIER_NAMES.find((name) => route.isOffered(TIERS[name], query));

/** Path and query of a request target in origin or absolute form (RFC 9112, 3.2). */
export function splitTarget(target: string): { path: string; query: string } {
  const isOriginForm = target.startsWith("/");
  const origin = isOriginForm ? target : target.replace(/^https?:\/\/[^/?#]*/i, "");
  const mark = origin.indexOf("?");
  const path = mark === -1 ? origin : origin.slice(0, mark);
  const query = mark === -1 ? "" : origin.slice(mark + 1);
  // Only the absolute form can lack a path, which then is "/" (RFC 9110, 4.2.3).
  return { path: path === "" && origin !== target ? "/" : path, query };
}

/** Percent-decoded; what cannot be decoded names no contract and stays as it is. */
function decoded(segment: string): string {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
