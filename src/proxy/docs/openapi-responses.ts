/** Responses of the operations: bodies, and refusals from the table of problems. */
import { examplesAt, problemExamples } from "./openapi-examples.ts";
import { ref, REMAINING, type Json, type SchemaName } from "./openapi-components.ts";
import { PROBLEM_MEDIA_TYPE, PROBLEMS, type ProblemCode } from "../problems.ts";

/** Refusals that any route can give. */
export const ANY_PROBLEMS: readonly ProblemCode[] = [
  "method_not_allowed",
  "key_in_query",
  "bad_request",
  "request_timeout",
  "headers_too_large",
  "internal",
];
/** Refusals that any route with a key can give. */
export const KEY_PROBLEMS: readonly ProblemCode[] = [
  ...ANY_PROBLEMS,
  "invalid_key",
  "key_suspended",
  "trial_lapsed",
  "state_unavailable",
  "unknown_parameter",
];
/** What a 200 carries: a JSON schema, or another media type. */
export type Content =
  | { readonly json: SchemaName }
  | { readonly text: string }
  | { readonly binary: string };

/** The member `content` of a response. */
export function contentOf(content: Content, examples: Json): Json {
  if ("json" in content) {
    return { "application/json": { schema: ref("schemas", content.json), ...examples } };
  }
  if ("text" in content) return { [content.text]: { schema: { type: "string" }, ...examples } };
  return { [content.binary]: { schema: { type: "string", format: "binary" } } };
}

/** A JSON response with the examples recorded at this path. */
export const jsonResponse = (
  path: string,
  schema: SchemaName,
  description: string,
  headers: Json = REMAINING,
): Json => ({
  description,
  headers,
  content: contentOf({ json: schema }, examplesAt(path)),
});

/** One response a status, naming the codes it can have. Faults of parameters are 400 throughout. */
export function problems(codes: readonly ProblemCode[]): Json {
  const byStatus = new Map<number, ProblemCode[]>();
  const add = (status: number, code: ProblemCode): void => {
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  };
  for (const code of new Set(codes)) {
    add(PROBLEMS[code].status, code);
    if (code === "unknown_contract" && codes.includes("no_base_level")) add(400, code);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, found]) => [
      status,
      {
        description: found.map((code) => `\`${code}\`: ${PROBLEMS[code].meaning}`).join("\n\n"),
        headers: REMAINING,
        content: {
          [PROBLEM_MEDIA_TYPE]: {
            schema: ref("schemas", "Problem"),
            ...problemExamples(status, found),
          },
        },
      },
    ]),
  );
}
