/**
 * The OpenAPI 3.1 document, made from what the proxy itself runs on: the schemas of the payloads,
 * the table of problems, the table of tiers and the routes.
 */
import { PROGRAM } from "../lib/version.ts";
import { slotOf } from "../pages/document-slots.ts";
import { componentExamples, componentSchemas, HEADERS, type Json } from "./openapi-components.ts";
import { paths } from "./openapi-operations.ts";
import { sourceText } from "./source-texts.ts";
import { withSlots } from "./texts.ts";
import { API_VERSION, TAGS } from "../public/routes.ts";
import { tierTable } from "../public/tier-words.ts";

/** The whole document, to be written as JSON. The address of the service is a slot. */
export function openApiDocument(): Json {
  return {
    openapi: "3.1.0",
    info: {
      title: PROGRAM.name,
      version: API_VERSION,
      summary: "Price levels of memory and semiconductor contracts, in sessions of 12 hours.",
      description: DESCRIPTION,
      contact: { name: "The publisher", [slotOf("contact-kind")]: slotOf("contact") },
      license: {
        name: "The terms that the member license of each payload names",
        url: slotOf("terms"),
      },
      "x-evidence": slotOf("evidence"),
    },
    servers: [{ url: slotOf("server") }],
    // Hey API's clients send a key by each scheme, one after another: Bearer must take the place of Basic.
    security: [{}, { basic: [] }, { bearer: [] }, { apiKey: [] }],
    tags: TAGS,
    paths: paths(),
    components: {
      schemas: componentSchemas(),
      headers: HEADERS,
      examples: componentExamples(),
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "The API key." },
        apiKey: { type: "apiKey", in: "header", name: "x-api-key", description: "The API key." },
        basic: {
          type: "http",
          scheme: "basic",
          description: "The API key as the password, or as the user name without a password.",
        },
      },
    },
  };
}

/** The rules of the reference, without their title, and the tiers. */
const DESCRIPTION = [
  "Levels are indicative.",
  withSlots(sourceText("reference-rules.md"), false).replace(/^# .*\n+/, ""),
  "## Tiers",
  tierTable(),
].join("\n\n");
