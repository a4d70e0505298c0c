/**
 * Checks every answer that a test receives against the OpenAPI document: its path and status are
 * documented, its media type is the documented one, and its JSON is what the schema says. Also what
 * must hold for every answer.
 */
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { expect } from "vitest";
import { MAY_GROW, type JsonSchema } from "../../src/docs/open-schemas.ts";
import { openApiDocument } from "../../src/docs/openapi.ts";
import { isExact, LINK_PATH } from "../../src/public/routes.ts";
import { ASSETS_PATH, PAGES } from "../../src/public/uncounted-routes.ts";
import type { Received } from "./client.ts";

const document = JSON.parse(JSON.stringify(openApiDocument()));
const schemas: Record<string, JsonSchema> = document.components.schemas;
for (const [name, schema] of Object.entries(schemas)) schemas[name] = closed(schema);
const ajv = new Ajv2020({ strict: true, allErrors: true });
formats.default(ajv);
ajv.addVocabulary(["openapi", "info", "servers", "security", "tags", "paths", "components"]);
ajv.addSchema(document, "openapi");

/** What this version itself answers: no field and no value that the schema does not name. */
function closed({ properties, items, anyOf, ...schema }: JsonSchema): JsonSchema {
  const { description = "", examples, additionalProperties = false } = schema;
  return {
    ...schema,
    ...(description.endsWith(MAY_GROW) && { enum: examples ?? [] }),
    ...(items !== undefined && { items: closed(items) }),
    ...(anyOf !== undefined && { anyOf: anyOf.map(closed) }),
    ...(properties !== undefined && {
      additionalProperties,
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, field]) => [name, closed(field)]),
      ),
    }),
  };
}

/** Whether it is a page, a file for pages, or a link; these are not part of the interface. */
const isPage = (path: string): boolean =>
  path.startsWith(ASSETS_PATH) ||
  isExact(path, LINK_PATH) ||
  Object.values(PAGES).some((page) => isExact(path, page.path));

export function checkAgainstOpenApi(
  method: string,
  url: string,
  { status, headers, json, raw }: Pick<Received, "status" | "headers" | "json" | "raw">,
): void {
  const what = `${method} ${url.slice(0, 200)} -> ${status}`;
  expect(headers["x-request-id"], what).toMatch(/^[0-9a-f]{26}$/);
  checkQuota(headers, what);
  expect(headers["x-content-type-options"], what).toBe("nosniff");
  expect(headers["access-control-allow-origin"], what).toBe("*");
  const exposed = headers["access-control-expose-headers"]?.toLowerCase().split(", ");
  // Files of pages are read by the pages alone.
  const isAsset = pathOf(url).startsWith(ASSETS_PATH);
  for (const name of isAsset ? [] : EVERYWHERE) expect(exposed, what).toContain(name);
  if (method === "HEAD") {
    expect(raw.length, what).toBe(0);
    return;
  }
  if (status === 204 || status === 304) return;
  if (status >= 400) expect(headers["cache-control"], what).toBe("no-store");
  // Browsers get a page; problem-page.test.ts says when.
  if (status >= 400 && headers["content-type"] !== "text/html; charset=utf-8") {
    expect(headers["content-type"], what).toBe("application/problem+json");
    validate("#/components/schemas/Problem", json, what);
    expect([json.status, json.request_id], what).toEqual([status, headers["x-request-id"]]);
  }
  const path = pathOf(url);
  const template = templateOf(path);
  if (template === undefined) {
    if (status < 400 && !isPage(path)) throw new Error(`${what}: the path is not documented`);
    return;
  }
  const documented = document.paths[template].get.responses[status];
  if (method === "GET" && documented === undefined) {
    throw new Error(`${what}: the status is not documented`);
  }
  if (documented !== undefined && method === "GET") {
    const told = Object.keys(headers).filter((name) => OF_THE_API.test(name));
    const unknown = told.filter((name) => !(name in documented.headers));
    expect(unknown, `${what}: header fields that are not documented`).toEqual([]);
    // An address that is none is below no operation.
    if (json?.code !== undefined && status >= 400 && json.code !== "not_found") {
      expect(documented.description, what).toContain(`\`${json.code}\``);
    }
  }
  if (status === 200 || status === 206) {
    const [mediaType] = Object.keys(documented.content);
    expect(headers["content-type"], what).toBe(mediaType);
    if (documented.content[mediaType as string].schema.$ref) validateAnswer(url, json);
  }
}

/** Throws if the JSON is not what the document says of the 200 of this address. */
export function validateAnswer(url: string, json: unknown): void {
  const { content } = document.paths[templateOf(pathOf(url)) as string].get.responses[200];
  validate(content["application/json"].schema.$ref, json, `GET ${url.slice(0, 200)} -> 200`);
}

const pathOf = (url: string): string => url.replace(/^https?:\/\/[^/?]+/, "").replace(/\?.*$/s, "");

/** Header fields that callers read; HTTP's own, such as content-type, need no words. */
const OF_THE_API =
  /^(?:x-(?!content-type-options)|etag$|unencoded-digest$|content-(?:disposition|range)$|accept-ranges$|location$|allow$|retry-after$|www-authenticate$)/;

/** On every answer, the first two only where there is a limit. */
const EVERYWHERE = [
  "x-ratelimit-limit",
  "x-ratelimit-reset",
  "x-ratelimit-remaining",
  "x-request-id",
];

/** Who has a limit gets it, and the first of a month; who has none, or a wrong key, gets neither. */
function checkQuota(headers: Received["headers"], what: string): void {
  const [limit, reset, left] = EVERYWHERE.map((name) => headers[name] as string | undefined);
  expect(left, what).toMatch(/^\d{1,10}$/);
  expect(limit === undefined, what).toBe(reset === undefined);
  if (limit === undefined) return expect(["0", "2147483647"], what).toContain(left);
  expect(Number(left), what).toBeLessThanOrEqual(Number(limit));
  expect(new Date(Number(reset) * 1000).toISOString(), what).toMatch(/-01T00:00:00\.000Z$/);
}

function templateOf(path: string): string | undefined {
  if (document.paths[path] !== undefined) return path;
  const template = path.replace(/[^/]+$/, "{id}");
  return document.paths[template] === undefined ? undefined : template;
}

/** Throws if the value is not what the schema at `pointer` in the document says. */
export function validate(pointer: string, value: unknown, what: string): void {
  const check = ajv.getSchema(`openapi${pointer}`);
  if (check === undefined) throw new Error(`${what}: no schema at ${pointer}`);
  if (check(value)) return;
  throw new Error(
    `${what}: ${ajv.errorsText(check.errors)} in ${JSON.stringify(value)?.slice(0, 500)}`,
  );
}
