/**
 * The answers that a proxy gave to a small example market (examples.json, which a test compares with what the proxy
 * answers), short enough to read. Answers stay as they were recorded.
 */
import { TIERS, type TierName } from "../market/tier.ts";
import { RECORDED_CONTRACTS, slotOf, type SlotName } from "../pages/document-slots.ts";
import recorded from "./examples.json" with { type: "json" };

/** A request that was sent, with its answer. */
export type Example = (typeof recorded)[number];

/** Addresses in refusals: the service that sends the document puts its own address before them. */
const IN_REFUSALS = /(?<="(?:type|plans)":")\//g;

export const EXAMPLES: readonly Example[] = recorded.map((example) => ({
  ...example,
  body:
    example.status >= 400
      ? example.body.replaceAll(IN_REFUSALS, `${slotOf("root")}/`)
      : example.body,
}));

/** Says of which market a recorded answer is. */
export const RECORDED_FROM = "Recorded from a small example market.";

/** The request with slots in place of contracts, so that it runs in the served market. */
export const runnable = (request: string): string =>
  Object.entries(RECORDED_CONTRACTS).reduce(
    (text, [name, id]) => text.replaceAll(id, slotOf(name as SlotName)),
    request,
  );

/** The first recorded answer to the request that was one, or a refusal. Throws if none is recorded. */
export function exampleOf(request: string, isRefusal = false): Example {
  const found = EXAMPLES.find(
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
  /** JSON that has more characters stands on several lines. */
  readonly lineMax?: number;
  /** Whether the request names contracts of the served market, instead of those in the answer. */
  readonly isRunnable?: boolean;
}

/** The caller who got it, in words. */
export const toWhom = ({ tier }: Example): string =>
  tier === null ? "without a key" : `with a ${TIERS[tier as TierName].title} key`;

/** The request, and under it the answer as a block of code (Markdown). */
export function showAnswer(example: Example, cut: Cut): string {
  const { request, status } = example;
  const part = cut.members === undefined ? "" : ", in part";
  const [language, text] = readable(example.body, cut);
  const sent = cut.isRunnable === true ? runnable(request) : request;
  return `\`${sent}\` ${toWhom(example)}: ${status}${part}\n\n\`\`\`${language}\n${text}\n\`\`\``;
}

/** A body as people read it. */
export function readable(body: string, { members, ...cut }: Cut): [language: string, text: string] {
  if (body.startsWith("<")) return ["xml", body.trimEnd()];
  if (!body.startsWith("{")) return ["csv", lines(body, cut).join("\n")];
  const whole = JSON.parse(body) as Record<string, unknown>;
  const answer =
    members === undefined ? whole : Object.fromEntries(members.map((name) => [name, whole[name]]));
  return ["json", json(answer, cut)];
}

function lines(body: string, cut: Cut): string[] {
  const [header = "", ...rows] = body.trimEnd().split(/\r?\n/);
  return [header, ...shorten(rows, cut)];
}

const LINE_MAX = 92;

/** JSON with everything on one line that fits on it. */
function json(value: unknown, cut: Cut, indent = ""): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const members = isList
    ? shorten(value, cut).map((item) => json(item, cut, inner))
    : Object.entries(value).map(
        ([name, item]) => `${JSON.stringify(name)}: ${json(item, cut, inner)}`,
      );
  const [open, close] = isList ? "[]" : "{}";
  const oneLine = `${open}${members.join(", ")}${close}`;
  const { lineMax = LINE_MAX } = cut;
  if (indent.length + oneLine.length <= lineMax && !oneLine.includes("\n")) return oneLine;
  return `${open}\n${inner}${members.join(`,\n${inner}`)}\n${indent}${close}`;
}

function shorten<T>(list: readonly T[], { listMax, head, tail }: Cut): readonly (T | string)[] {
  if (list.length <= listMax) return list;
  const left = list.length - head - tail;
  return [...list.slice(0, head), `… ${left} more`, ...list.slice(list.length - tail)];
}
