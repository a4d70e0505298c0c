/**
 * Recorded answers for the texts (examples.json, which a test compares with what the proxy answers), short
 * enough to read.
 */
import examples from "../../docs/examples.json" with { type: "json" };

/** A request that was sent, with what it got. */
type Example = (typeof examples)[number];

/** The first recorded answer to the request that was one, or a refusal. Throws if none is recorded. */
export function exampleOf(request: string, isRefusal = false): Example {
  const found = examples.find(
    (example) => example.request === request && example.status >= 400 === isRefusal,
  );
  if (found === undefined) throw new Error(`No answer to ${request} is recorded`);
  return found;
}

/** How much of an answer to show. */
interface Cut {
  /** A longer list keeps this many items at its beginning and at its end. */
  readonly listMax: number;
  readonly head: number;
  readonly tail: number;
  /** The only members to show. */
  readonly members?: readonly string[];
}

/** The request, and under it the answer as a block of code (Markdown). */
export function shown(example: Example, cut: Cut): string {
  const { request, tier, status } = example;
  const key = tier === null ? "without a key" : `with a key of the tier ${tier}`;
  const part = cut.members === undefined ? "" : ", in part";
  const [language, text] = readable(example.body, cut);
  return `\`${request}\` ${key}: ${status}${part}\n\n\`\`\`${language}\n${text}\n\`\`\``;
}

function readable(body: string, { members, ...cut }: Cut): [language: string, text: string] {
  if (body.startsWith("<")) return ["xml", body.trimEnd()];
  if (!body.startsWith("{")) return ["csv", lines(body, cut).join("\n")];
  const whole = JSON.parse(body) as Record<string, unknown>;
  const answer =
    members === undefined ? whole : Object.fromEntries(members.map((name) => [name, whole[name]]));
  return ["json", json(answer, cut)];
}

function lines(body: string, cut: Cut): string[] {
  const [header = "", ...rows] = body.trimEnd().split(/\r?\n/);
  return [header, ...shortened(rows, cut)];
}

const WIDTH = 92;

/** JSON with everything on one line that fits on it. */
function json(value: unknown, cut: Cut, indent = ""): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const members = isList
    ? shortened(value, cut).map((item) => json(item, cut, inner))
    : Object.entries(value).map(
        ([name, item]) => `${JSON.stringify(name)}: ${json(item, cut, inner)}`,
      );
  const [open, close] = isList ? "[]" : "{}";
  const oneLine = `${open}${members.join(", ")}${close}`;
  if (indent.length + oneLine.length <= WIDTH && !oneLine.includes("\n")) return oneLine;
  return `${open}\n${inner}${members.join(`,\n${inner}`)}\n${indent}${close}`;
}

function shortened<T>(list: readonly T[], { listMax, head, tail }: Cut): readonly (T | string)[] {
  if (list.length <= listMax) return list;
  const left = list.length - head - tail;
  return [...list.slice(0, head), `… ${left} more`, ...list.slice(list.length - tail)];
}
