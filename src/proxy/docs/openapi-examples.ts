/** The examples in the OpenAPI document: answers that a proxy gave (examples.json). */
import type { ProblemCode } from "../problems.ts";
import examples from "./examples.json" with { type: "json" };
import { ref, type Json } from "./openapi-components.ts";

type Example = (typeof examples)[number];

/** The member `examples` of the 200 at this path of the document, if one is recorded. */
export function examplesAt(path: string): Json {
  const target = new RegExp(`^GET ${path.replace("{id}", "[^/?]+")}(?:\\?|$)`);
  const found = examples.filter(({ request, status }) => status === 200 && target.test(request));
  return membersOf(found.map((example) => [nameOf(example), exampleOf(example)]));
}

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

const nameOf = ({ request, tier }: Example): string => `${request}, ${tier ?? "no key"}`;

const exampleOf = (example: Example): Json => ({
  summary: nameOf(example),
  value: example.body.startsWith("{") ? JSON.parse(example.body) : example.body,
});

const refusalName = (code: string, status: number): string => `${code}-${status}`;

const REFUSALS: ReadonlyMap<string, Json> = new Map(
  examples
    .filter(({ status }) => status >= 400)
    .map((example) => [
      refusalName(JSON.parse(example.body).code, example.status),
      exampleOf(example),
    ]),
);
