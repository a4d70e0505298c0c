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
import { isExact, LINK_PATH } from "../../src/api/routes.ts";
import { ASSETS_PATH, PAGES } from "../../src/api/uncounted-routes.ts";
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
  { status, headers, json, raw }: Omit<Received, "raw"> & { raw: Buffer },
): void {
  const what = `${method} ${url.slice(0, 200)} -> ${status}`;
  expect(headers["x-ratelimit-remaining"], what).toMatch(/^\d{1,10}$/);
  expect(headers["x-content-type-options"], what).toBe("nosniff");
  expect(headers["access-control-allow-origin"], what).toBe("*");
  expect(headers["access-control-expose-headers"], what).toMatch(/X-RateLimit-Remaining/);
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
    expect(json.status, what).toBe(status);
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
