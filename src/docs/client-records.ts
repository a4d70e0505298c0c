/**
 * The types of the Python client's records, made from the schemas of answers and of CSV rows. They stand between two
 * lines of its text.
 */
import { z } from "zod";
import { SETTLED_KINDS } from "../market/settlements.ts";
import { contracts, publications, usage } from "../public/answer-schemas.ts";
import * as payloads from "../public/payload-schemas.ts";
import * as rows from "../public/row-schemas.ts";
import type { JsonSchema } from "./open-schemas.ts";

const FIRST = "# Made from the service's schemas by `npm run regenerate`.\n";
const LAST = "# The end of the records.\n";

/** The types of whole answers. */
const ANSWERS: Readonly<Record<string, z.ZodObject>> = {
  Contract: payloads.contract,
  Publication: publications.shape.publications.element,
  Usage: usage,
  RollingIndex: payloads.index,
  Index: payloads.indexWithSeries,
};

/** The types of the records that stand in tables. */
const RECORDS: Readonly<Record<string, z.ZodObject>> = {
  Record: payloads.contractRecord,
  CatalogRecord: contracts.shape.contracts.element,
  Correction: payloads.corrections.shape.corrections.element,
  BoardRow: payloads.boardRow,
  HistoryRow: rows.historyRow,
  LevelRow: rows.levelRow,
  SupersededRow: rows.supersededRow,
  SeriesRow: rows.seriesRow,
  MemberRow: rows.memberRow,
  Settlement: z.object({
    kind: z.enum(SETTLED_KINDS),
    id: z.string(),
    ...payloads.settlement.shape,
  }),
};

/** The client's text with the types of its records. */
export function withRecords(client: string): string {
  const [before, made] = client.split(FIRST);
  const after = made?.split(LAST)[1];
  if (before === undefined || after === undefined) {
    throw new Error(`The Python client lacks one of its lines ${FIRST} and ${LAST}`);
  }
  return `${before}${FIRST}${recordsText()}${LAST}${after}`;
}

function recordsText(): string {
  const types = new Map<string, string>();
  for (const [name, schema] of Object.entries(ANSWERS)) typeOf(jsonOf(schema), name, types);
  const kinds = new Map<string, string>();
  for (const [name, schema] of Object.entries(RECORDS)) {
    const json = jsonOf(schema);
    typeOf(json, name, types);
    for (const [field, value] of Object.entries(json.properties ?? {})) {
      const kind = kindOf(value);
      const known = kinds.get(field) ?? kind;
      if (known !== kind) throw new Error(`${name}.${field} is ${kind}; elsewhere it is ${known}`);
      kinds.set(field, kind);
    }
  }
  // Fields such as "from" and "break" are words of Python, so that a class cannot have them.
  const made = [...types].map(
    ([fields, name]) => `${name} = TypedDict("${name}", {\n${fields}})\n`,
  );
  const items = [...kinds].map(([field, kind]) => `"${field}": "${kind}"`);
  return `${made.join("")}# The kind of each field. One name has one kind in all records.\nFIELD_KINDS = {\n${wrapItems(items)}}\n`;
}

const jsonOf = (schema: z.ZodType): JsonSchema => z.toJSONSchema(schema) as JsonSchema;

/** A line of at most 127 characters for as many of these as it takes. */
function wrapItems(items: readonly string[]): string {
  const lines: string[] = [];
  for (const item of items) {
    const longer = `${lines.at(-1) ?? ""} ${item},`;
    if (lines.length > 0 && longer.length <= 127) lines[lines.length - 1] = longer;
    else lines.push(`    ${item},`);
  }
  return lines.map((line) => `${line}\n`).join("");
}

/** A schema without its null, and whether it had one. */
function withoutNull(schema: JsonSchema): {
  readonly value: JsonSchema;
  readonly isNullable: boolean;
} {
  const { type, anyOf } = schema;
  const types = typeof type === "string" ? [type] : (type ?? []);
  const value = anyOf?.find((each) => each.type !== "null") ?? {
    ...schema,
    type: types.find((each) => each !== "null") ?? [],
  };
  return { value, isNullable: anyOf !== undefined || types.includes("null") };
}

function kindOf(schema: JsonSchema): string {
  const { type, format } = withoutNull(schema).value;
  if (format === "date") return "date";
  if (format === "date-time") return "instant";
  return type === "string" ? "text" : String(type);
}

/** The name of the type in Python. Adds objects to `types`, a name by its fields, inner ones first. */
function typeOf(schema: JsonSchema, name: string, types: Map<string, string>): string {
  const { value: plain, isNullable } = withoutNull(schema);
  if (isNullable) return `Optional[${typeOf(plain, name, types)}]`;
  const { type, items, properties, required = [], additionalProperties } = plain;
  if (type === "array") return `List[${typeOf(items ?? {}, name, types)}]`;
  if (type === "number") return "float";
  if (type === "integer") return "int";
  if (type === "boolean") return "bool";
  if (properties === undefined) {
    return typeof additionalProperties === "object"
      ? `Dict[str, ${typeOf(additionalProperties, name, types)}]`
      : "str";
  }
  const body = Object.entries(properties)
    .map(([field, inner]) => {
      const value = typeOf(inner, `${name}${pascal(field)}`, types);
      const isSure = required.includes(field) && inner.since === undefined;
      return `    "${field}": "${isSure ? value : `NotRequired[${value}]`}",\n`;
    })
    .join("");
  const known = types.get(body);
  if (known !== undefined) return known;
  types.set(body, name);
  return name;
}

const pascal = (field: string): string =>
  field.replaceAll(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
