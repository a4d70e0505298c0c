/**
 * The reusable parts of the OpenAPI document: schemas, header fields, and as examples the answers that a
 * proxy gave (examples.json).
 */
import { z } from "zod";
import { contractRecord } from "../public/payload-schemas.ts";
import { PROBLEMS, type ProblemCode } from "../public/problems.ts";
import { DATA_ROUTES } from "../public/routes.ts";
import { problem } from "../public/answer-schemas.ts";
import { UNCOUNTED_ROUTES } from "../public/uncounted-routes.ts";
import { openSchema, type JsonSchema } from "./open-schemas.ts";
import { EXAMPLES, RECORDED_FROM, runnable, type Example } from "./recorded-answers.ts";

export type Json = { readonly [name: string]: unknown };

const CODES = Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]];

const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  ContractRecord: contractRecord,
  ...Object.fromEntries(
    [...Object.values(DATA_ROUTES), ...Object.values(UNCOUNTED_ROUTES)].flatMap(({ body }) =>
      "json" in body ? [[body.json, body.schema]] : [],
    ),
  ),
  Problem: problem(CODES),
};

const header = (description: string, type: "string" | "integer"): Json => ({
  description,
  schema: { type },
});

/** The header fields of every answer. */
const EVERYWHERE = {
  "x-request-id": header(
    "Names this request, also in the operator's log and in a problem as request_id. The service makes it and ignores one that is sent.",
    "string",
  ),
  "x-ratelimit-remaining": header(
    "Calls left this month; 2147483647: no limit. Outside /api, and on preflights, as far as the answering process knows.",
    "integer",
  ),
  "x-ratelimit-limit": header(
    "Calls a calendar month (UTC). Absent where there is no limit, and beside a key that is not valid.",
    "integer",
  ),
  "x-ratelimit-reset": header(
    "When counting starts again: the 1st of next month (UTC), in seconds since 1970. Only beside x-ratelimit-limit.",
    "integer",
  ),
} as const;

/** The header fields that answers have beside the usual ones. */
export const HEADERS = {
  ...EVERYWHERE,
  "x-session-utc": header("The payload's session.", "string"),
  "x-delayed-sessions": header("Sessions the data is behind.", "integer"),
  "x-snapshot": header("The snapshot the answer comes from, such as 2026-11-21T00Z/r1.", "string"),
  "x-publication": header("The number of the publication that made it the head.", "integer"),
  "x-history-from": header(
    "The first date that a history of the tier may have; only on answers with history.",
    "string",
  ),
  "x-asked": header(
    "Each id of ids that is no longer, or not yet, the contract's id, with the id that the lines have: FORMER=PRESENT, several with a comma and a blank between them. Only if there are any.",
    "string",
  ),
  etag: header("Strong, and another for each content coding.", "string"),
  "unencoded-digest": header(
    "sha-256 of the whole body without content coding; in a 206, of the whole file; not on a 304.",
    "string",
  ),
  "content-disposition": header(
    "The name to save it under: session, tier and file; the name of a selection ends with -selection.",
    "string",
  ),
  "accept-ranges": header("bytes: a GET with Range gets a part. none: the whole file.", "string"),
  "content-range": header(
    "The part and the size of the uncoded file: bytes 0-99/4096; of a refusal the size alone.",
    "string",
  ),
  allow: header("The methods that the address takes.", "string"),
  "retry-after": header("After how many seconds to ask again.", "integer"),
  "www-authenticate": header(
    'How to send a key: Bearer; with error="invalid_token" if one was sent.',
    "string",
  ),
} as const;
export type HeaderName = keyof typeof HEADERS;

/** A reference to a component: `#/components/<kind>/<name>`. */
export function ref(kind: string, name: string): Json {
  return { $ref: `#/components/${kind}/${name}` };
}

/** References to these header fields, and to the header fields of every answer. */
export const headerRefs = (names: readonly HeaderName[]): Json =>
  Object.fromEntries(
    [...Object.keys(EVERYWHERE), ...names].map((name) => [name, ref("headers", name)]),
  );

/** JSON Schema 2020-12, which OpenAPI 3.1 is based on. */
export function componentSchemas(): Readonly<Record<string, JsonSchema>> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(SCHEMAS)) registry.add(schema, { id });
  const uri = (id: string): string => `#/components/schemas/${id}`;
  // Schemas of output forbid fields that they do not name.
  const { schemas } = z.toJSONSchema(registry, { uri, io: "input" });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _schema, $id: _id, ...schema }]) => [
      id,
      openSchema(schema as JsonSchema),
    ]),
  );
}

export function recordedAt(path: string): Example[] {
  const target = new RegExp(`^GET ${path.replace("{id}", "[^./?]+")}(?:\\?|$)`);
  return EXAMPLES.filter(({ request, status }) => status === 200 && target.test(request));
}

/** The member `examples` of the 200 at this path of the document, if one is recorded. */
export const examplesAt = (path: string): Json =>
  membersOf(recordedAt(path).map((example) => [nameOf(example), exampleOf(example)]));

/** The member `examples` of refusals with this status and one of the codes, as far as recorded. */
export function problemExamples(status: number, codes: readonly ProblemCode[]): Json {
  const names = codes.map((code) => refusalName(code, status));
  const found = names.filter((name) => REFUSALS.has(name));
  return membersOf(found.map((name) => [name, ref("examples", name)]));
}

/** The reusable examples: refusals by code and status. */
export const componentExamples = (): Json => Object.fromEntries(REFUSALS);

const membersOf = (members: readonly (readonly [name: string, example: Json])[]): Json =>
  members.length === 0 ? {} : { examples: Object.fromEntries(members) };

const nameOf = ({ request, tier, status }: Example): string =>
  `${status === 200 ? runnable(request) : request}, ${tier ?? "no key"}`;

const exampleOf = (example: Example): Json => ({
  summary: nameOf(example),
  description: RECORDED_FROM,
  value: example.body.startsWith("{") ? JSON.parse(example.body) : example.body,
});

const refusalName = (code: string, status: number): string => `${code}-${status}`;

const REFUSALS: ReadonlyMap<string, Json> = new Map(
  EXAMPLES.filter(({ status }) => status >= 400).map((example) => [
    refusalName(JSON.parse(example.body).code, example.status),
    exampleOf(example),
  ]),
);
