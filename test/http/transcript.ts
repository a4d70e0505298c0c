/**
 * The transcripts (`*.http`): requests, each with the pieces of its answer that must be right.
 *
 *   # text              a comment; the first lines say what the file is about
 *   @ name              the service that the tests below ask (transcript-services.ts); `usual` without it.
 *                       `@ one and other`: they are repeated for each
 *   == title            a test: the requests below, in this order, of one moment
 *   @ clock 2026-…Z     the service's clock from here to the end of the test
 *   > GET /path         a request, and its header fields as `> Name: value`
 *   < 200               its status
 *   < 404 not_found     its status, and the code of its problem document
 *   < Name: value       a header field; `-`: the answer has none; `/…/`: a pattern
 *   < Name = tag        a header field that later requests name as {tag}; `= "tag"`: without its quotes
 *   < costs 1           how many calls it cost the caller
 *   < faults 2          how many faults a refusal of parameters names
 *   ~ text              a piece of the body
 *   !~ text             no piece of the body
 *   | a | b |           a table: the test is repeated for each row, with its values as {a} and {b}
 *
 * {pro} and {starter} are keys, {x*20} is x twenty times. In a table, `…` keeps the spaces of a value.
 */

export type Expectation =
  | { readonly kind: "field"; readonly name: string; readonly value: string }
  | {
      readonly kind: "capture";
      readonly name: string;
      readonly as: string;
      readonly isQuoted: boolean;
    }
  | { readonly kind: "count"; readonly of: "costs" | "faults"; readonly count: string }
  | { readonly kind: "piece"; readonly isThere: boolean; readonly text: string };

export type Step =
  | { readonly kind: "clock"; readonly at: string }
  | {
      readonly kind: "request";
      /** In the file, from 1. */
      readonly line: number;
      readonly method: string;
      readonly target: string;
      readonly fields: readonly (readonly [name: string, value: string])[];
      /** With a code, if it is a refusal: `404 not_found`. */
      readonly status: string;
      readonly expected: readonly Expectation[];
    };

export interface TranscriptTest {
  readonly title: string;
  readonly services: readonly string[];
  readonly steps: readonly Step[];
  /** One without values if the test has no table. */
  readonly rows: readonly ReadonlyMap<string, string>[];
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] };
type Request = Mutable<Extract<Step, { kind: "request" }>>;

/** Reads a transcript. Throws an Error that names the line if one has no meaning. */
export function parseTranscript(text: string): TranscriptTest[] {
  const tests: Mutable<TranscriptTest>[] = [];
  let services = ["usual"];
  let names: string[] | null = null;
  let request: Request | null = null;
  for (const [at, line] of text.split("\n").entries()) {
    const fail = (): never => {
      throw new Error(`Line ${at + 1} has no meaning: ${line}`);
    };
    const test = tests.at(-1);
    const [mark = "", ...words] = line.split(" ");
    const rest = words.join(" ");
    if (mark === "" || mark === "#") continue;
    if (mark === "==") {
      tests.push({ title: rest, services, steps: [], rows: [] });
      [names, request] = [null, null];
    } else if (mark === "@" && words[0] === "clock") {
      (test ?? fail()).steps.push({ kind: "clock", at: words[1] ?? fail() });
      request = null;
    } else if (mark === "@") {
      services = rest.split(" and ");
    } else if (test === undefined) {
      fail();
    } else if (mark === "|") {
      const cells = rest.replace(/ \|$/, "").split(" | ").map(cellValue);
      if (names === null) names = cells;
      else if (cells.length === names.length)
        test.rows.push(new Map(names.map((name, column) => [name, cells[column] as string])));
      else fail();
    } else if (mark === ">") {
      const begins = /^([A-Z]+|\{[\w-]+\}) (.*)$/.exec(rest);
      const field = /^([\w-]+|\{[\w-]+\}): ?(.*)$/.exec(rest);
      if (begins !== null && request?.status !== "") {
        const [, method = "", target = ""] = begins;
        request = {
          kind: "request",
          line: at + 1,
          method,
          target,
          fields: [],
          status: "",
          expected: [],
        };
        test.steps.push(request);
      } else if (field !== null && request?.status === "") {
        request.fields.push([field[1] as string, field[2] as string]);
      } else fail();
    } else if (request === null) {
      fail();
    } else if (mark === "<" && request.status === "") {
      request.status = rest;
    } else if (mark === "<") {
      request.expected.push(readExpectation(rest) ?? fail());
    } else if (mark === "~" || mark === "!~") {
      request.expected.push({ kind: "piece", isThere: mark === "~", text: rest });
    } else fail();
  }
  return tests.map((test) => ({ ...test, rows: test.rows.length === 0 ? [new Map()] : test.rows }));
}

function readExpectation(text: string): Expectation | null {
  const [, counted, count] = /^(costs|faults) (\S+)$/.exec(text) ?? [];
  if (count !== undefined) return { kind: "count", of: counted as "costs" | "faults", count };
  const [, captured, quote, as] = /^([\w-]+) = ("?)(\w+)\2$/.exec(text) ?? [];
  if (captured !== undefined && as !== undefined)
    return { kind: "capture", name: captured, as, isQuoted: quote !== "" };
  const [, name, value = ""] = /^([\w-]+): ?(.*)$/.exec(text) ?? [];
  return name === undefined ? null : { kind: "field", name, value };
}

/** Without the spaces around it, or all that is between backticks. */
const cellValue = (cell: string): string => /^\s*`(.*)`\s*$/.exec(cell)?.[1] ?? cell.trim();

/** The text with values for `{name}` and `{text*count}`. Throws if a name has none. */
export const filled = (text: string, values: ReadonlyMap<string, string>): string =>
  text.replaceAll(/\{(?:([\w-]+)|([^{}]+)\*(\d+))\}/g, (_, name, repeated, count) => {
    if (name === undefined) return String(repeated).repeat(Number(count));
    const value = values.get(name);
    if (value === undefined) throw new Error(`{${name}} has no value`);
    return filled(value, values);
  });
