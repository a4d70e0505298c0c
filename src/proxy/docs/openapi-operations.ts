/** The operations of the OpenAPI document, from the routes and the table of problems. */
import { TIER_NAMES, TIERS } from "../../market/tier.ts";
import { SIGNED_MESSAGE } from "../../snapshot/entry-signature.ts";
import {
  CSV_TYPE,
  PARQUET_TYPE,
  SIGNATURE_TYPE,
  TEXT_TYPE,
  XLSX_TYPE,
} from "../../store/media-types.ts";
import { examplesAt } from "./openapi-examples.ts";
import {
  DATA_HEADERS,
  DOWNLOAD_HEADERS,
  ETAG,
  LOG_HEADERS,
  NOT_MODIFIED_HEADERS,
  PART_HEADERS,
  REMAINING,
  type Json,
} from "./openapi-components.ts";
import {
  ANY_PROBLEMS,
  contentOf,
  jsonResponse,
  KEY_PROBLEMS,
  problems,
  type Content,
} from "./openapi-responses.ts";
import type { ProblemCode } from "../problems.ts";
import { FEED_TYPE } from "../publications/feed.ts";
import { AFTER_MAX, LIMIT_DEFAULT, LIMIT_MAX } from "../publications/list.ts";
import {
  DATA_ROUTES,
  ENTRY_PATH,
  FEED_PATH,
  PUBLICATIONS_PATH,
  STATUS_PATH,
  SUMS_ROUTE,
  USAGE_PATH,
  type DataRoute,
} from "../routes.ts";

/** Refusals that any route of data can give. */
const DATA_PROBLEMS: readonly ProblemCode[] = [
  ...KEY_PROBLEMS,
  "no_session",
  "invalid_parameter",
  "key_required",
  "tier_required",
  "not_published",
  "pruned",
  "busy",
  "not_in_snapshot",
  "quota_exceeded",
];
const PART_PROBLEMS: readonly ProblemCode[] = ["range_not_satisfiable"];

const VINTAGE_QUERY: readonly Json[] = [
  {
    name: "publication",
    in: "query",
    description:
      "The data as entry N of the log published it (starter and pro, to the depth of their history): the same bytes as then. Not together with as_of.",
    schema: { type: "integer", minimum: 1 },
  },
  {
    name: "as_of",
    in: "query",
    description:
      "The data as published at this instant (starter and pro, to the depth of their history): ISO 8601 with Z or an offset, not in the future.",
    schema: { type: "string", format: "date-time" },
  },
];

const BASKET_QUERY: readonly Json[] = [
  {
    name: "ids",
    in: "query",
    description:
      "Contracts of a basket of one's own (pro): 1 to 100 ids, each once, separated by commas.",
    schema: { type: "string" },
  },
  {
    name: "weights",
    in: "query",
    description:
      "A weight above 0 for each of ids, in their order; up to 9 digits before and after the point. Without it all weigh the same.",
    schema: { type: "string" },
  },
  {
    name: "quantities",
    in: "query",
    description:
      "Instead of weights, how much is bought of each of ids, in the contract's unit; same form. The answer also says what that costs.",
    schema: { type: "string" },
  },
];

const LIST_QUERY: readonly Json[] = [
  {
    name: "after",
    in: "query",
    description: "Entries with higher numbers, from the lowest on. Without it the newest ones.",
    schema: { type: "integer", minimum: 0, maximum: AFTER_MAX },
  },
  {
    name: "limit",
    in: "query",
    description: "How many entries at most.",
    schema: { type: "integer", minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT },
  },
];

const NOT_CHANGED: Json = { description: "Not changed. Not counted.", headers: ETAG };

const KNOWN_ALREADY: Json = {
  description: "Not changed. Counted only where it answers If-None-Match: *.",
  headers: NOT_MODIFIED_HEADERS,
};

const SUMS_QUERY: readonly Json[] = [
  {
    name: "publication",
    in: "query",
    description:
      "The sums as entry N of the log published them, to the depth of the tier's history. Without a key only that of the head.",
    schema: { type: "integer", minimum: 1 },
  },
];

const idParameter = (description: string): Json => ({
  name: "id",
  in: "path",
  required: true,
  schema: { type: "string" },
  description,
});

const RENAMED: Json = {
  description: "The contract has another id now. Not counted.",
  headers: {
    ...REMAINING,
    location: { description: "Its present address.", schema: { type: "string" } },
  },
};

const DATA_OPERATIONS: { readonly [R in keyof typeof DATA_ROUTES]: Json } = {
  board: data(DATA_ROUTES.board, "getBoard", "The board", { json: "Board" }),
  contract: data(
    DATA_ROUTES.contract,
    "getContract",
    "A contract with its history",
    { json: "Contract" },
    ["unknown_contract", "not_on_board"],
    [idParameter("The contract's id.")],
  ),
  index: data(
    DATA_ROUTES.index,
    "getIndex",
    "The composite index, or a basket of one's own",
    { json: "Index" },
    ["unknown_contract", "no_base_level"],
    BASKET_QUERY,
  ),
  indices: data(DATA_ROUTES.indices, "getIndices", "All indices", { json: "Indices" }),
  indexOf: data(
    DATA_ROUTES.indexOf,
    "getIndexWithSeries",
    "The composite or the index of a segment, with its continuous series",
    { json: "IndexWithSeries" },
    ["unknown_index"],
    [idParameter("The index's id.")],
  ),
  csv: data(DATA_ROUTES.csv, "exportCsv", "The board as CSV", { text: CSV_TYPE }),
  xlsx: data(DATA_ROUTES.xlsx, "exportXlsx", "The board as an Excel workbook", {
    binary: XLSX_TYPE,
  }),
  historyCsv: data(
    DATA_ROUTES.historyCsv,
    "exportHistoryCsv",
    "The histories of all contracts as CSV",
    { text: CSV_TYPE },
  ),
  historyParquet: data(
    DATA_ROUTES.historyParquet,
    "exportHistoryParquet",
    "The histories of all contracts as Parquet",
    { binary: PARQUET_TYPE },
  ),
  corrections: data(DATA_ROUTES.corrections, "getCorrections", "The corrections of all contracts", {
    json: "Corrections",
  }),
};

/** The `paths` of the document: every address but those of the pages. */
export function paths(): Json {
  const names = Object.keys(DATA_ROUTES) as (keyof typeof DATA_ROUTES)[];
  return {
    ...Object.fromEntries(names.map((name) => [DATA_ROUTES[name].path, DATA_OPERATIONS[name]])),
    [PUBLICATIONS_PATH]: {
      get: {
        operationId: "getPublications",
        summary: "What was published, and when",
        description: "The log: every publish, rollback and prune. All tiers. Not counted.",
        tags: ["Publications"],
        parameters: LIST_QUERY,
        responses: {
          200: jsonResponse(PUBLICATIONS_PATH, "Publications", "A page of the log.", ETAG),
          304: NOT_CHANGED,
          ...problems([...KEY_PROBLEMS, "no_session", "invalid_parameter", "busy"]),
        },
      },
    },
    [SUMS_ROUTE.path]: {
      get: {
        operationId: "getSums",
        summary: "The SHA-256 of each file of the tier",
        description:
          "In the form of sha256sum; paths are those of the tier's folder in the snapshot. Its own SHA-256 is the tier's root in the log's entry. All tiers. Costs a call, also without a key.",
        tags: ["Publications"],
        parameters: SUMS_QUERY,
        responses: {
          200: {
            description: "The sums. Counted as one call.",
            headers: DATA_HEADERS,
            content: contentOf({ text: TEXT_TYPE }, examplesAt(SUMS_ROUTE.path)),
          },
          304: KNOWN_ALREADY,
          ...problems(DATA_PROBLEMS),
        },
      },
    },
    [ENTRY_PATH]: {
      get: {
        ...unkeyed(
          "getEntry",
          "An entry of the log, as it is stored",
          jsonResponse(ENTRY_PATH, "LogEntry", "The entry; its bytes never change.", LOG_HEADERS),
          ["no_session", "not_published", "busy"],
        ),
        parameters: [idParameter("The entry's number.")],
      },
    },
    [`${ENTRY_PATH}.sig`]: {
      get: {
        ...unkeyed(
          "getEntrySignature",
          "The signature of an entry",
          {
            description: `Ed25519 (RFC 8032), 64 bytes, over ${SIGNED_MESSAGE}.`,
            headers: LOG_HEADERS,
            content: contentOf({ binary: SIGNATURE_TYPE }, {}),
          },
          ["no_session", "not_published", "busy"],
        ),
        parameters: [idParameter("The entry's number.")],
      },
    },
    [FEED_PATH]: {
      get: unkeyed(
        "getFeed",
        "The newest publications as a feed",
        {
          description: "Atom (RFC 4287): the last 100 publishes and rollbacks, newest first.",
          headers: ETAG,
          content: contentOf({ text: FEED_TYPE }, examplesAt(FEED_PATH)),
        },
        ["no_session", "busy"],
      ),
    },
    [STATUS_PATH]: {
      get: unkeyed(
        "getStatus",
        "When the last sessions were published",
        jsonResponse(STATUS_PATH, "Status", "The last sessions.", ETAG),
        ["busy"],
      ),
    },
    [USAGE_PATH]: {
      get: {
        operationId: "getUsage",
        summary: "Calls used this month",
        description: "Not counted, and answered when the quota is spent, too.",
        tags: ["Account"],
        responses: {
          200: jsonResponse(USAGE_PATH, "Usage", "Calls used."),
          ...problems(KEY_PROBLEMS),
        },
      },
    },
    "/openapi.json": {
      get: service("getOpenApi", "This document", {
        description: "OpenAPI 3.1.",
        headers: REMAINING,
        content: { "application/json": { schema: OPENAPI_SCHEMA } },
      }),
    },
    "/healthz": {
      get: service(
        "getHealth",
        "Whether the process answers",
        jsonResponse("/healthz", "Health", "It does."),
      ),
    },
    "/readyz": {
      get: service(
        "getReadiness",
        "Whether there is data to serve, and what is wrong",
        jsonResponse("/readyz", "Readiness", "A snapshot is served."),
        ["no_session"],
      ),
    },
  };
}

const OPENAPI_SCHEMA: Json = {
  type: "object",
  required: ["openapi"],
  properties: { openapi: { type: "string" } },
  additionalProperties: true,
};

function data(
  route: DataRoute,
  operationId: string,
  summary: string,
  content: Content,
  more: readonly ProblemCode[] = [],
  parameters: readonly Json[] = [],
): Json {
  const isDownload = !("json" in content);
  const hasParts = isDownload && route !== DATA_ROUTES.historyCsv;
  const offered = TIER_NAMES.filter((name) => route.isOffered(TIERS[name], []));
  return {
    get: {
      operationId,
      summary,
      description: `Tiers: ${offered.join(", ")}.`,
      tags: ["Data"],
      parameters: [...parameters, ...VINTAGE_QUERY],
      responses: {
        200: {
          description: "Counted as one call.",
          headers: isDownload ? DOWNLOAD_HEADERS : DATA_HEADERS,
          content: contentOf(content, examplesAt(route.path)),
        },
        ...(hasParts && {
          206: {
            description: "The one part that Range asks for (RFC 9110, 14). Counted as one call.",
            headers: PART_HEADERS,
            content: contentOf(content, {}),
          },
        }),
        304: KNOWN_ALREADY,
        ...(route === DATA_ROUTES.contract && { 308: RENAMED }),
        ...problems([...DATA_PROBLEMS, ...more, ...(hasParts ? PART_PROBLEMS : [])]),
      },
    },
  };
}

/** An operation about the log that takes no key. */
const unkeyed = (
  operationId: string,
  summary: string,
  ok: Json,
  more: readonly ProblemCode[],
): Json => ({
  operationId,
  summary,
  description: "Not counted, and the same for everybody.",
  tags: ["Publications"],
  security: [{}],
  responses: { 200: ok, 304: NOT_CHANGED, ...problems([...ANY_PROBLEMS, ...more]) },
});

const service = (
  operationId: string,
  summary: string,
  ok: Json,
  more: readonly ProblemCode[] = [],
): Json => ({
  operationId,
  summary,
  tags: ["Service"],
  security: [{}],
  responses: { 200: ok, ...problems([...ANY_PROBLEMS, ...more]) },
});
