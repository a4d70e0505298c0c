/**
 * The schemas of answers as readers may rely on them within v1: new fields and new values may come at any time, and
 * an answer of an old publication lacks the fields that are newer.
 */

/** A JSON Schema, as far as zod writes it for answers. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly const?: string | number;
  readonly examples?: readonly string[];
  readonly default?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema | boolean;
  /** The version of the API that brought the field (`added` in src/public/payload-schemas.ts). */
  readonly since?: string;
}

/** The end of the description of a text with known values, which are its examples. */
export const MAY_GROW = "Accept other values: later versions may add some.";

/**
 * The same schema for readers: lists of values become examples, and fields with `since` are not required. A format has
 * no pattern beside it: zod's patterns of dates have escapes and lookarounds, which some readers' compilers refuse.
 */
export function openSchema({ since, enum: values, pattern, ...schema }: JsonSchema): JsonSchema {
  const { properties, required, items, anyOf, description, format } = schema;
  const words = [
    description ?? [],
    since === undefined ? [] : `Missing in publications from before version ${since}.`,
    values === undefined ? [] : MAY_GROW,
  ].flat();
  return {
    ...schema,
    ...(pattern !== undefined && format === undefined && { pattern }),
    ...(words.length > 0 && { description: words.join(" ") }),
    ...(values !== undefined && { examples: values }),
    ...(items !== undefined && { items: openSchema(items) }),
    ...(anyOf !== undefined && { anyOf: anyOf.map(openSchema) }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, field]) => [name, openSchema(field)]),
      ),
      required: (required ?? []).filter((name) => properties[name]?.since === undefined),
    }),
  };
}
