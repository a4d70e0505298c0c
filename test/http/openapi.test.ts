/**
 * The OpenAPI document as the contract of the API: its promises, and its facts about the service that sends
 * it. Public linters find nothing in it.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { openApiDocument } from "../../src/docs/openapi.ts";
import { MAY_GROW, openSchema, type JsonSchema } from "../../src/docs/open-schemas.ts";
import { API, API_VERSION } from "../../src/public/routes.ts";
import { PROBLEMS } from "../../src/public/problems.ts";
import type { PlanTerms } from "../../src/pages/plan-terms.ts";
import { startTestProxy } from "./fixture.ts";
import { CLIENTS, testWithClients } from "./needed-tools.ts";

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: JsonSchema;
  readonly example?: unknown;
  readonly style?: string;
  readonly explode?: boolean;
}
interface Document {
  readonly info: { readonly version: string; readonly contact: object; readonly license: object };
  readonly servers: object;
  readonly paths: Readonly<Record<string, { get: { parameters?: Parameter[] } }>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

const DOCUMENT = openApiDocument() as unknown as Document;
const PARAMETERS = Object.entries(DOCUMENT.paths).flatMap(([path, { get }]) =>
  (get.parameters ?? []).map((parameter) => [`${path} ${parameter.name}`, parameter] as const),
);

test("the version is the API's own, and its first number is also in the paths", () => {
  expect(DOCUMENT.info.version).toBe(API_VERSION);
  expect(API).toBe(`/api/public/v${API_VERSION.split(".")[0]}`);
});

test("no schema of an answer is closed, and lists that grow say so", () => {
  const { schemas } = DOCUMENT.components;
  expect(JSON.stringify(schemas)).not.toMatch(/"additionalProperties":false|"enum"|"since"/);
  expect(schemas["Problem"]?.properties?.["code"]).toEqual({
    type: "string",
    examples: Object.keys(PROBLEMS),
    description: MAY_GROW,
  });
});

test("a field that came later is not required, and says since when it is there", () => {
  const later = { type: "number", description: "A number.", since: "1.1.0" };
  const schema = { properties: { id: { type: "string" }, later }, required: ["id", "later"] };
  expect(openSchema(schema)).toEqual({
    properties: {
      id: { type: "string" },
      later: {
        type: "number",
        description: "A number. Missing in publications from before version 1.1.0.",
      },
    },
    required: ["id"],
  });
  const { Sparklines, IndexWithSeries } = DOCUMENT.components.schemas;
  expect(Sparklines?.required).not.toContain("days");
  expect(IndexWithSeries?.properties?.["series"]?.required).toEqual(["method", "base", "history"]);
});

describe("parameters", () => {
  test.each(PARAMETERS)(
    "%s: an example, and a pattern or a format, which it fits",
    (_, parameter) => {
      const { schema, example } = parameter;
      const isList = schema.type === "array";
      const each: JsonSchema = isList ? (schema.items ?? {}) : schema;
      expect(each.pattern ?? each.format).toBeDefined();
      const values = isList ? example : [example];
      expect(values).toEqual(expect.arrayContaining([expect.anything()]));
      for (const value of values as unknown[]) {
        // Contracts are slots, which a service fills.
        const text = String(value).replace(/^\{\{contract-\d\}\}$/, "ddr5-16gb");
        if (each.pattern !== undefined) expect(text).toMatch(new RegExp(each.pattern));
      }
    },
  );

  test.each(PARAMETERS)("%s: a list is an array with commas", (_, parameter) => {
    const isList = ["ids", "weights", "quantities", "segment"].includes(parameter.name);
    expect(parameter.schema.type === "array").toBe(isList);
    const { style, explode } = parameter;
    expect({ style, explode }).toEqual(isList ? { style: "form", explode: false } : {});
  });
});

describe("facts about the service", () => {
  const PUBLIC = "https://prices.test/market";
  const PLANS = { url: `${PUBLIC}/plans` };

  test.each<[string, PlanTerms, contact: object, license: object]>([
    ["nothing told", {}, PLANS, PLANS],
    ["only a tier's", { pro: { contact: "pro@example.com" } }, PLANS, PLANS],
    [
      "an e-mail address",
      { contact: "sales@example.com", terms_url: "https://example.com/terms" },
      { email: "sales@example.com" },
      { url: "https://example.com/terms" },
    ],
    ["mailto", { contact: "mailto:sales@example.com" }, { email: "sales@example.com" }, PLANS],
    [
      "mailto with more",
      { contact: "mailto:sales@example.com?subject=Prices" },
      { url: "mailto:sales@example.com?subject=Prices" },
      PLANS,
    ],
    [
      "a page with a quotation mark",
      { contact: 'https://example.com/a"b', terms_url: String.raw`https://example.com/a\b` },
      { url: 'https://example.com/a"b' },
      { url: String.raw`https://example.com/a\b` },
    ],
  ])("%s", async (_, plans, contact, license) => {
    const proxy = await startTestProxy({ plans, publicUrl: PUBLIC });
    try {
      const { info, servers } = (await proxy.get("/openapi.json")).json as Document;
      expect(servers).toEqual([{ url: PUBLIC }]);
      expect(info.contact).toEqual({ name: "The publisher", ...contact });
      expect(info.license).toEqual({ name: expect.any(String), ...license });
    } finally {
      await proxy.close();
    }
  });
});

describe("linters", () => {
  const run = promisify(execFile);

  /** What a linter says of the document that a service sends; it throws for an exit code. */
  async function linted(tool: string, args: string[], change: (text: string) => string) {
    const proxy = await startTestProxy({ publicUrl: "https://prices.test/market" });
    const folder = await mkdtemp(join(tmpdir(), "chipboard-openapi-"));
    try {
      const { text } = await proxy.get("/openapi.json");
      await writeFile(join(folder, "openapi.json"), change(text));
      await writeFile(join(folder, "ruleset.json"), '{"extends":["spectral:oas"]}');
      const program = join(CLIENTS, "node_modules/.bin", tool);
      const env = {
        ...process.env,
        REDOCLY_TELEMETRY: "off",
        REDOCLY_SUPPRESS_UPDATE_NOTICE: "true",
      };
      const { stdout } = await run(program, ["lint", "openapi.json", ...args], {
        cwd: folder,
        env,
      }).catch((error: { stdout: string; stderr: string }) => {
        if (error.stdout === undefined) throw error;
        return error;
      });
      return JSON.parse(stdout);
    } finally {
      await proxy.close();
      await rm(folder, { recursive: true });
    }
  }
  const unchanged = (text: string): string => text;
  /** An operation without an id, which both name. */
  const spoiled = (text: string): string => text.replace('"operationId": "getBoard",', "");

  testWithClients()("Redocly's recommended rules find nothing", async () => {
    const args = ["--extends", "recommended", "--format", "json"];
    expect((await linted("redocly", args, unchanged)).problems).toEqual([]);
    expect((await linted("redocly", args, spoiled)).problems).toMatchObject([
      { ruleId: "operation-operationId" },
    ]);
  });

  testWithClients()("Spectral's recommended rules find nothing", async () => {
    const args = [
      "--quiet",
      "--ruleset",
      "ruleset.json",
      "--format",
      "json",
      "--fail-severity",
      "hint",
    ];
    expect(await linted("spectral", args, unchanged)).toEqual([]);
    expect(await linted("spectral", args, spoiled)).toMatchObject([
      { code: "operation-operationId" },
    ]);
  });
});
