/**
 * Recorded answers for the texts (examples.json, which a test compares with what the proxy answers), short
 * enough to read. They are those of a made-up market; its contracts get the names of contracts that are
 * served, so that requests run as they stand there.
 */
import type { Contract } from "../../../market/contract.ts";
import { slugOf } from "../../../market/indices.ts";
import type { Board } from "../../../site/board.js";
import examples from "../../docs/examples.json" with { type: "json" };
import type { Example } from "../../docs/openapi-components.ts";

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
  /** JSON that has more characters stands on several lines. */
  readonly lineMax?: number;
}

/** Who got it, in words. */
export const toWhom = ({ tier }: Example): string =>
  tier === null ? "without a key" : `with a key of the tier ${tier}`;

/** The request, and under it the answer as a block of code (Markdown). */
export function shown(example: Example, cut: Cut): string {
  const { request, status } = example;
  const part = cut.members === undefined ? "" : ", in part";
  const [language, text] = readable(example.body, cut);
  return `\`${request}\` ${toWhom(example)}: ${status}${part}\n\n\`\`\`${language}\n${text}\n\`\`\``;
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
  return [header, ...shortened(rows, cut)];
}

const LINE_MAX = 92;

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
  const { lineMax = LINE_MAX } = cut;
  if (indent.length + oneLine.length <= lineMax && !oneLine.includes("\n")) return oneLine;
  return `${open}\n${inner}${members.join(`,\n${inner}`)}\n${indent}${close}`;
}

function shortened<T>(list: readonly T[], { listMax, head, tail }: Cut): readonly (T | string)[] {
  if (list.length <= listMax) return list;
  const left = list.length - head - tail;
  return [...list.slice(0, head), `… ${left} more`, ...list.slice(list.length - tail)];
}

/** Before the address of a refusal in JSON, also in JSON within HTML. */
const IN_REFUSALS = /(?<=(?:"|&quot;)(?:type|plans)(?:"|&quot;): ?(?:"|&quot;))\/(?=docs#|plans)/g;

/** A document whose examples of refusals have addresses below `origin`, as the service answers them. */
export const withOrigin = (document: Buffer, origin: string): Buffer =>
  Buffer.from(document.toString().replace(IN_REFUSALS, () => `${origin}/`));

/** A name that CSV, JSON, HTML and Markdown take as it is. */
const PLAIN = /^[\p{L}\p{N} .()/+-]+$/u;
/** Names stand in values and addresses. In prose a space comes before them. */
const BEFORE = String.raw`(?<=["=;,/>\n]|\\n)`;

const { memory, semiconductor } = JSON.parse(exampleOf("GET /api/public/v1/prices").body) as Board;

/**
 * A document whose examples name contracts of the free slice, of several segments if it has them. Those for
 * which the slice has none keep their made-up names.
 */
export function withNames(document: Buffer, free: readonly Contract[]): Buffer {
  const names = new Map<string, string>();
  const isOther = ({ segment }: Contract): boolean => ![...names.values()].includes(segment);
  const left = new Set(free.filter(({ delistedOn }) => delistedOn === null));
  for (const row of [...memory, ...semiconductor]) {
    const board = memory.includes(row) ? "memory" : "semiconductor";
    const fitting = [...left].filter((contract) => contract.board === board);
    const found = fitting.find(isOther) ?? fitting[0] ?? [...left][0];
    if (found === undefined) break;
    left.delete(found);
    if (isOther(found)) {
      names.set(row.segment, found.segment).set(slugOf(row.segment), slugOf(found.segment));
    }
    names.set(row.id, found.id).set(row.ticker, found.ticker);
    names.set(row.name, found.name).set(row.unit, found.unit);
  }
  if (names.size === 0) return document;
  const words = new RegExp(`${BEFORE}(?:${[...names.keys()].join("|")})(?![\\w-])`, "g");
  const nameOf = (word: string): string => names.get(word) ?? word;
  const named = (word: string): string => (PLAIN.test(nameOf(word)) ? nameOf(word) : word);
  return Buffer.from(document.toString().replace(words, named));
}
