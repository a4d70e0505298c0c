/**
 * Arguments as agents send them. Their vendors' strict schemas name every argument, so what an agent leaves out
 * arrives as null, as an empty text or as an empty list; numbers and lists arrive as text.
 */
import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { z } from "zod";
import { ISSUES_MAX } from "../lib/limits.ts";
import { cut } from "../lib/text.ts";

/** The JSON Schema of an argument, as far as its form is read here. */
interface ArgumentForm {
  readonly type?: string;
  readonly maxItems?: number;
  readonly items?: ArgumentForm;
}

/**
 * The schema of a tool's arguments, which takes them in the forms above. Its JSON Schema stays as it is: it tells
 * agents the right form.
 */
export function asAgentsSend<S extends z.ZodObject>(
  schema: S,
): StandardSchemaWithJSON<z.input<S>, z.output<S>> {
  const standard = schema["~standard"];
  const { properties = {} } = z.toJSONSchema(schema, { io: "input" });
  return {
    "~standard": {
      ...standard,
      jsonSchema: madeOnce(standard.jsonSchema),
      validate: async (sent) => {
        const result = await standard.validate(
          isObject(sent) ? meant(sent, properties) : (sent ?? {}),
        );
        return result.issues === undefined
          ? result
          : { issues: result.issues.slice(0, ISSUES_MAX).map(short) };
      },
    },
  };
}

/** An issue may name each argument that is unknown. */
const short = <I extends { readonly message: string }>(issue: I): I => ({
  ...issue,
  message: cut(issue.message, ISSUE_CHARACTERS_MAX),
});
const ISSUE_CHARACTERS_MAX = 300;

type Converted = StandardSchemaWithJSON["~standard"]["jsonSchema"];

/** The same schema. Its JSON Schemas, which take milliseconds to make, are made once for each dialect. */
export const withSchemasMadeOnce = <I, O>({
  "~standard": standard,
}: StandardSchemaWithJSON<I, O>): StandardSchemaWithJSON<I, O> => ({
  "~standard": { ...standard, jsonSchema: madeOnce(standard.jsonSchema) },
});

function madeOnce({ input, output }: Converted): Converted {
  const once = (make: Converted["input"]): Converted["input"] => {
    const made = new Map<string, ReturnType<typeof make>>();
    return (options) => {
      const schema = made.get(options.target) ?? make(options);
      made.set(options.target, schema);
      return schema;
    };
  };
  return { input: once(input), output: once(output) };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The arguments that are given, each in the form that its schema asks for, where it can be had. */
function meant(
  sent: Readonly<Record<string, unknown>>,
  forms: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const given = Object.entries(sent).filter(([, value]) => !isLeftOut(value));
  return Object.fromEntries(
    given.map(([name, value]) => [name, inForm(value, forms[name] as ArgumentForm | undefined)]),
  );
}

const isLeftOut = (value: unknown): boolean =>
  value === null || value === "" || (Array.isArray(value) && value.length === 0);

const NUMBER = /^-?\d+(?:\.\d+)?$/;

/** A value that has no such form stays as it is, and the schema refuses it. */
function inForm(value: unknown, { type, items, maxItems }: ArgumentForm = {}): unknown {
  if (type === "array") {
    // One more than there may be is refused as too many, without a look at the others.
    const looked = listIn(value).slice(0, (maxItems ?? Infinity) + 1);
    return looked.map((element) => inForm(element, items));
  }
  if (typeof value === "number" && type === "string") return String(value);
  if (Array.isArray(value) && type === "string") return value.join(" ");
  if (typeof value !== "string") return value;
  const text = value.trim();
  if ((type === "integer" || type === "number") && NUMBER.test(text)) return Number(text);
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  return value;
}

/** A list; also one as text, in JSON or with commas, and a single value. */
function listIn(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (typeof value !== "string") return [value];
  try {
    const parsed: unknown = JSON.parse(value);
    if (Array.isArray(parsed)) return parsed;
  } catch {
    // A list with commas is no JSON.
  }
  return value.split(",").map((element) => element.trim());
}
