/**
 * The patterns of schemas, of the tools for agents and of the OpenAPI document, in the narrowest grammar that vendors
 * compile. It has:
 *
 *   - letters, digits, blanks and the signs - _ , : ; / @ # % & = ! ~ ' " < > as themselves,
 *   - classes of such signs, of + . and of ranges, also negated: [^,/], [0-9], [+-], [.],
 *   - groups (…) with alternatives |,
 *   - the quantifiers ? * + {n} {n,} {n,m} behind a sign, a class or a group,
 *   - ^ at the beginning and $ at the end, both always.
 *
 * It has no backslash at all (no \d, \w, \., \u0041, \1), no lookaround and no other group that begins with (?, no lazy
 * or possessive quantifier, and no dot outside of a class.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mcpHttpServer } from "../../src/mcp/http.ts";
import { listen } from "../../src/hosts/node/server.ts";
import { startTestProxy, type TestProxy } from "./fixture.ts";

const SIGN = /^[-A-Za-z0-9 _,:;/@#%&=!~'"<>]/;
const CLASS = /^\[\^?(?:[-A-Za-z0-9 _,:;/@#%&=!~'"<>+.])+\]/;
const QUANTIFIER = /^(?:[?*+]|\{\d+(?:,\d*)?\})/;

/** The rest of the text behind alternatives of pieces; null: they are not in the grammar. */
function behindAlternatives(text: string): string | null {
  let rest: string | null = text;
  for (;;) {
    let pieces = 0;
    while (rest !== null && rest !== "" && !/^[|)]/.test(rest)) {
      rest = behindPiece(rest);
      pieces += 1;
    }
    if (rest === null || pieces === 0) return null;
    if (!rest.startsWith("|")) return rest;
    rest = rest.slice(1);
  }
}

function behindPiece(text: string): string | null {
  let rest: string;
  if (text.startsWith("(")) {
    const inner = behindAlternatives(text.slice(1));
    if (inner?.startsWith(")") !== true) return null;
    rest = inner.slice(1);
  } else {
    const found = SIGN.exec(text) ?? CLASS.exec(text);
    if (found === null) return null;
    rest = text.slice(found[0].length);
  }
  return rest.slice(QUANTIFIER.exec(rest)?.[0].length ?? 0);
}

const isNarrow = (pattern: string): boolean =>
  /^\^.*\$$/s.test(pattern) && behindAlternatives(pattern.slice(1, -1)) === "";

/** Every text of a member `pattern`, and every name in `patternProperties`, at any depth. */
function patternsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [
    ...(name === "pattern" && typeof member === "string" ? [member] : []),
    ...(name === "patternProperties" ? Object.keys(member as object) : []),
    ...patternsIn(member),
  ]);
}

let proxy: TestProxy;
let server: ReturnType<typeof mcpHttpServer>;
let url: string;
beforeAll(async () => {
  proxy = await startTestProxy();
  server = mcpHttpServer(proxy.url, [], () => {});
  url = `${await listen(server, "--http", "127.0.0.1", 0)}/mcp`;
});
afterAll(async () => {
  server.close();
  server.closeAllConnections();
  await proxy.close();
});

interface Answer {
  readonly error?: { readonly message: string };
  readonly result?: {
    readonly tools?: readonly unknown[];
    readonly isError?: boolean;
    readonly content?: readonly { readonly text: string }[];
  };
}

async function asked(method: string, params: object): Promise<Answer> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const text = await answer.text();
  return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
}

test.each([
  ["^[a-z0-9]+(-[a-z0-9]+)*$", true],
  ["^[^,/]+$", true],
  ["^a{2}(b|c[.]d){1,3}e{4,}$", true],
  ["^(?!x)a$", false],
  ["^(?:a)$", false],
  ["^(?<=a)b$", false],
  [String.raw`^\d+$`, false],
  [String.raw`^[\w-]+$`, false],
  [String.raw`^a\.b$`, false],
  [String.raw`^(a)\1$`, false],
  [String.raw`^\u0041$`, false],
  ["^a+?$", false],
  ["^a++$", false],
  ["^a.b$", false],
  ["^a($", false],
  ["^a)$", false],
  ["a$", false],
  ["^a", false],
])("the grammar takes %s: %s", (pattern, expected) => {
  expect(isNarrow(pattern)).toBe(expected);
});

test("the patterns of every tool are in it", async () => {
  const { result } = await asked("tools/list", {});
  expect(result?.tools).toHaveLength(9);
  const patterns = patternsIn(result?.tools);
  expect(patterns.length).toBeGreaterThan(5);
  expect(patterns.filter((pattern) => !isNarrow(pattern))).toEqual([]);
});

test("the patterns of the OpenAPI document are in it", async () => {
  const { json } = await proxy.get("/openapi.json");
  const patterns = patternsIn(json);
  expect(patterns.length).toBeGreaterThan(20);
  expect(patterns.filter((pattern) => !isNarrow(pattern))).toEqual([]);
});

describe("the server checks what a pattern no longer says", () => {
  test.each([
    ["get_history", { id: "." }, /expected an id/],
    ["get_history", { id: ".." }, /expected an id/],
    ["get_history", { id: "a/b" }, /expected an id/],
    ["get_prices", { ids: ["dram-0", ".."] }, /expected an id/],
    ["get_prices", { segment: ".." }, /expected an id/],
    ["get_index", { id: ".." }, /expected an id/],
    ["price_basket", { ids: ["."] }, /expected an id/],
    ["get_history", { id: "dram-0", from: "2026-02-30" }, /expected a date/],
    ["get_history", { id: "dram-0", to: "2026-13-01" }, /expected a date/],
    ["get_corrections", { since: "2025-02-29" }, /expected a date/],
    ["get_prices", { publication: 0 }, /publication/],
  ])("%s %o", async (name, sent, said) => {
    const { result, error } = await asked("tools/call", { name, arguments: sent });
    const told = error?.message ?? result?.content?.[0]?.text;
    expect(result?.isError ?? true).toBe(true);
    expect(told).toMatch(said);
  });
});
