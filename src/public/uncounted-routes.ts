/** The addresses that cost no call, with their operations in the OpenAPI document, and the pages. */
import { CSV_TYPE, TEXT_TYPE } from "../store/media-types.ts";
import type { TILE_SIZES } from "../store/paths.ts";
import * as payload from "./answer-schemas.ts";
import { API, type Route } from "./routes.ts";

/** The media type of the feed (RFC 4287, 7). */
export const FEED_TYPE = "application/atom+xml";

/** The media type of a tile of the log: a JSON text on each line. */
export const TILE_TYPE = "application/x-ndjson";

/** The largest number that an entry's key can hold. */
export const AFTER_MAX = 9_999_999_999;
/** How many entries a page of the list has at most, and unless the caller says a number. */
export const LIMIT_MAX = 1_000;
export const LIMIT_DEFAULT = 100;

/** The common properties of routes about the log that read no key. */
const PUBLIC = {
  isKeyed: false,
  description: "Not counted, and the same for everybody.",
  tag: "Publications",
  fields: ["etag"],
} as const;
/** A tile of the log. */
const TILE = {
  ...PUBLIC,
  tag: "Proofs and small charts",
  id: {
    name: "id",
    description: "How many tiles of this size come before it: ten digits.",
    schema: { type: "string", pattern: "^[0-9]{10}$" },
    example: "0000000000",
  },
  answer: "The bytes of the entries, one after another: a line each. They never change.",
  body: { text: TILE_TYPE },
  fields: ["etag", "unencoded-digest"],
  refusals: ["no_session", "not_found"],
} as const;
const tileRoute = <const S extends (typeof TILE_SIZES)[number]>(size: S) =>
  ({
    path: `/log/tiles/${size}/{id}`,
    summary: `${size} publications in a row, as the log stores them`,
  }) as const;
const SERVICE = {
  isKeyed: false,
  description: "Not counted, and without a key.",
  tag: "Service",
  fields: ["etag"],
} as const;

/** The addresses of the interface that cost no call. */
export const UNCOUNTED_ROUTES = {
  contracts: {
    path: `${API}/contracts`,
    isKeyed: true,
    planRow: "catalog",
    operationId: "getContracts",
    summary: "All contracts and segments, without levels",
    description:
      "The catalog: ids, names, units, sources. The same for everybody, with or without a key. Not counted.",
    tag: "Prices",
    answer: "The catalog of the newest publication.",
    body: { json: "Contracts", schema: payload.contracts },
    fields: ["etag"],
    refusals: ["no_session"],
  },
  contractsCsv: {
    path: `${API}/contracts.csv`,
    isKeyed: true,
    planRow: "catalog",
    operationId: "getContractsCsv",
    summary: "The same list of contracts as CSV",
    description:
      "A row for each contract. Former ids are separated by blanks. The same for everybody. Not counted.",
    tag: "Prices",
    answer: "The catalog of the newest publication.",
    body: { text: CSV_TYPE },
    fields: ["etag"],
    refusals: ["no_session"],
  },
  publications: {
    path: `${API}/publications`,
    isKeyed: true,
    parameters: [
      {
        name: "after",
        description:
          "Publications with higher numbers, from the lowest on. Without it the newest ones.",
        schema: { type: "integer", format: "int64", minimum: 0, maximum: AFTER_MAX },
        example: 1,
      },
      {
        name: "limit",
        description: "The largest number of publications.",
        schema: {
          type: "integer",
          format: "int32",
          minimum: 1,
          maximum: LIMIT_MAX,
          default: LIMIT_DEFAULT,
        },
        example: LIMIT_DEFAULT,
      },
    ],
    operationId: "getPublications",
    summary: "Publications and their times",
    description: "Every publish, rollback and prune. All tiers. Not counted.",
    tag: "Publications",
    answer: "A page of the list.",
    body: { json: "Publications", schema: payload.publications },
    fields: ["etag"],
    refusals: ["no_session", "invalid_parameter", "busy"],
  },
  entry: {
    ...PUBLIC,
    tag: "Proofs and small charts",
    id: {
      name: "id",
      description: "The publication's number.",
      schema: { type: "string", pattern: "^[1-9][0-9]*$" },
      example: "1",
    },
    fields: ["etag", "unencoded-digest"],
    refusals: ["no_session", "not_published"],
    path: "/log/{id}",
    operationId: "getEntry",
    summary: "A publication as the log stores it",
    answer: "Its entry in the log; the bytes never change.",
    body: { json: "LogEntry", schema: payload.logEntry },
  },
  smallTile: { ...TILE, ...tileRoute(16), operationId: "getSmallTile" },
  largeTile: { ...TILE, ...tileRoute(256), operationId: "getLargeTile" },
  logKeys: {
    ...PUBLIC,
    tag: "Proofs and small charts",
    path: "/log/keys.pem",
    operationId: "getLogKeys",
    summary: "The public keys by which this service trusts its log",
    answer:
      "Ed25519 keys (PEM, RFC 8410). Compare them with what the publisher told you elsewhere. An attacker in this service could change them.",
    body: { text: TEXT_TYPE },
    fields: ["etag", "unencoded-digest"],
    refusals: ["not_found"],
  },
  feed: {
    ...PUBLIC,
    path: "/feed.atom",
    operationId: "getFeed",
    summary: "The newest publications as a feed",
    answer: "Atom (RFC 4287): the last 100 publishes and rollbacks, newest first.",
    body: { text: FEED_TYPE },
    refusals: ["no_session", "busy"],
  },
  status: {
    ...PUBLIC,
    path: "/status.json",
    operationId: "getStatus",
    summary: "When the last sessions were published",
    answer: "The last sessions.",
    body: { json: "Status", schema: payload.status },
    refusals: ["busy"],
  },
  usage: {
    path: `${API}/usage`,
    isKeyed: true,
    operationId: "getUsage",
    summary: "Calls used this month",
    description: "Not counted. Also answered when the quota is spent.",
    tag: "Account",
    answer: "Calls used.",
    body: { json: "Usage", schema: payload.usage },
    fields: ["etag"],
  },
  openApi: {
    ...SERVICE,
    path: "/openapi.json",
    operationId: "getOpenApi",
    summary: "This document",
    answer: "OpenAPI 3.1.",
    body: { json: "OpenApi", schema: payload.openApi },
  },
  health: {
    ...SERVICE,
    path: "/healthz",
    operationId: "getHealth",
    summary: "Whether the process answers",
    answer: "It does.",
    body: { json: "Health", schema: payload.health },
  },
  readiness: {
    ...SERVICE,
    path: "/readyz",
    operationId: "getReadiness",
    summary: "Whether there is data to serve, or the reason why not",
    answer: "A snapshot is served.",
    body: { json: "Readiness", schema: payload.readiness },
    refusals: ["no_session"],
  },
} as const satisfies Readonly<Record<string, Route>>;

/** A page, a text for people, or a file that pages load. */
export interface Page {
  readonly path: string;
  /** Its name at the top of every page. */
  readonly link?: string;
  /** Its name below "More" at the top of every page. */
  readonly further?: string;
  /** The page's subject, for search engines and previews. */
  readonly description?: string;
  /** Whether it has figures of the served snapshot, so that their source is named on it. */
  readonly hasFigures?: boolean;
}

export const PAGES = {
  market: {
    path: "/",
    link: "Market",
    description:
      "Price levels of memory and semiconductor contracts in US dollars, published every 12 hours, with their changes over a day, a month and a year.",
    hasFigures: true,
  },
  contract: {
    path: "/contracts/{id}",
    description: "The price of a contract in US dollars: changes, source and history.",
    hasFigures: true,
  },
  indices: {
    path: "/indices",
    link: "Indices",
    description: "Indices of memory and semiconductor prices, with their daily series.",
    hasFigures: true,
  },
  basket: {
    path: "/basket",
    link: "Basket",
    description: "What memory and semiconductors cost together, now and a year ago.",
    hasFigures: true,
  },
  compare: {
    path: "/compare",
    link: "Compare",
    description: "Up to four contracts or indices in one chart, rebased to 100 or in US dollars.",
    hasFigures: true,
  },
  plans: {
    path: "/plans",
    link: "Plans",
    description: "What each plan offers: contracts, freshness, history, exports, calls.",
  },
  status: {
    path: "/status",
    link: "Status",
    description: "Whether the last sessions were published on time; when the next is due.",
    hasFigures: true,
  },
  corrections: {
    path: "/corrections",
    further: "Corrections",
    description: "Which published levels were changed later, when, and why.",
    hasFigures: true,
  },
  verify: {
    path: "/verify",
    further: "Verify evidence",
    description: "Proves a file of evidence for a settled figure, in your browser.",
  },
  guide: {
    path: "/guide",
    link: "Guide",
    description: "How to read the prices by HTTP, from a spreadsheet and from Python.",
  },
  guideMarkdown: { path: "/guide.md" },
  alerts: {
    path: "/alerts",
    further: "Alerts",
    description: "Alerts when a price crosses a level or moves: cron, webhook, e-mail.",
  },
  methodology: {
    path: "/methodology",
    link: "Methodology",
    description: "How levels, changes, indices and baskets are calculated and checked.",
  },
  methodologyMarkdown: { path: "/methodology.md" },
  /** The summary for language models (llmstxt.org). */
  llms: { path: "/llms.txt" },
  /** The Python module for callers. */
  client: { path: "/client.py" },
  reference: {
    path: "/docs",
    link: "API",
    description: "Every endpoint of the HTTP API: parameters, fields, examples, errors.",
  },
  changelog: {
    path: "/changelog",
    further: "Changelog",
    description: "Changes in each version of the API.",
  },
  /** For programs that collect pages. */
  robots: { path: "/robots.txt" },
  sitemap: { path: "/sitemap.xml" },
  favicon: { path: "/favicon.ico" },
} as const satisfies Readonly<Record<string, Page>>;

/** Below it: the files of src/site that pages load. */
export const ASSETS_PATH = "/assets/";
