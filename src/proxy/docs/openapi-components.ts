/** The reusable parts of the OpenAPI document: schemas and header fields. */
import { z } from "zod";
import * as payload from "../../render/schemas.ts";
import { PROBLEMS, type ProblemCode } from "../problems.ts";

/** An object of the document. */
export type Json = { readonly [name: string]: unknown };

const CODES = Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]];

const SCHEMAS = {
  Board: payload.board,
  ContractRecord: payload.contractRecord,
  Contract: payload.contract,
  Index: payload.index,
  Indices: payload.indices,
  IndexWithSeries: payload.indexWithSeries,
  Corrections: payload.corrections,
  Publications: payload.publications,
  LogEntry: payload.logEntry,
  Usage: payload.usage,
  Status: payload.status,
  Health: payload.health,
  Readiness: payload.readiness,
  Problem: payload.problem(CODES),
} as const;
/** A schema by its name in the document. */
export type SchemaName = keyof typeof SCHEMAS;

const header = (description: string, type: "string" | "integer"): Json => ({
  description,
  schema: { type },
});

/** The header fields that answers have beside the usual ones. */
export const HEADERS = {
  "x-ratelimit-remaining": header(
    "Calls left this month; 2147483647: no limit. Outside /api, and on preflights, as far as the answering process knows.",
    "integer",
  ),
  "x-session-utc": header("The payload's session.", "string"),
  "x-delayed-sessions": header("Sessions the data is behind.", "integer"),
  "x-snapshot": header("The snapshot the answer comes from, such as 2026-11-21T00Z/r1.", "string"),
  "x-publication": header("The number of the log's entry that made it the head.", "integer"),
  etag: header("Strong, and another for each content coding.", "string"),
  "unencoded-digest": header(
    "sha-256 of the whole body without content coding, of a part's file, too; not on a 304.",
    "string",
  ),
  "accept-ranges": header("bytes: a GET with Range gets a part. none: the whole file.", "string"),
  "content-range": header("The part and the size of the uncoded file: bytes 0-99/4096.", "string"),
} as const;

/** A reference to a component: `#/components/<kind>/<name>`. */
export function ref(kind: string, name: string): Json {
  return { $ref: `#/components/${kind}/${name}` };
}

const headerRefs = (names: readonly (keyof typeof HEADERS)[]): Json =>
  Object.fromEntries(names.map((name) => [name, ref("headers", name)]));

/** On every answer. */
export const REMAINING = headerRefs(["x-ratelimit-remaining"]);
/** On what can be asked for again with If-None-Match. */
export const ETAG = headerRefs(["x-ratelimit-remaining", "etag"]);
/** On entries of the log and their signatures. */
export const LOG_HEADERS = { ...ETAG, ...headerRefs(["unencoded-digest"]) };
/** On data, also if it has not changed. */
export const NOT_MODIFIED_HEADERS = headerRefs([
  "x-ratelimit-remaining",
  "x-session-utc",
  "x-delayed-sessions",
  "x-snapshot",
  "x-publication",
  "etag",
]);
/** On answers with data. */
export const DATA_HEADERS = { ...NOT_MODIFIED_HEADERS, ...headerRefs(["unencoded-digest"]) };
/** On downloads, whole. */
export const DOWNLOAD_HEADERS = { ...DATA_HEADERS, ...headerRefs(["accept-ranges"]) };
/** On parts of downloads. */
export const PART_HEADERS = { ...DOWNLOAD_HEADERS, ...headerRefs(["content-range"]) };

/** JSON Schema 2020-12, which OpenAPI 3.1 is based on. */
export function componentSchemas(): Json {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(SCHEMAS)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { uri: (id) => `#/components/schemas/${id}` });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _schema, $id: _id, ...schema }]) => [id, schema]),
  );
}
