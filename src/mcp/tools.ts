/**
 * The tools for agents (Model Context Protocol, 2026-07-28). Each reads the public API alone, so that
 * tiers, quotas and refusals are the API's, and passes figures on as the published file has them.
 */
import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { PROGRAM } from "../lib/version.ts";
import type { ApiAnswer, Ask } from "./api.ts";

/** In a published file each element of a list has its own line, and so has its end. */
const CONTRIBUTIONS = /"contributions":\[\n[^]*?\n\],/;
const FOUND_MAX = 20;
const WORDS_CHARACTERS = 200;
const LAST_DAYS = 30;
const AMOUNT_DECIMALS = 9;
const MIN_AMOUNT = 1e-9;

/** A comma would make it a list of ids; a slash or a dot segment would lead to another path. */
const id = z.string().regex(/^(?!\.{1,2}$)[^,/]+$/);
const ids = z.array(id).min(1).max(100);
const contractIds = ids.describe("Ids of contracts, such as find_contracts gives");
const segment = id.describe("The id of a segment's index, such as dram");
const amounts = z.array(z.number().min(MIN_AMOUNT));
const last = z.int().min(1).max(2_000).default(LAST_DAYS).describe("How many days, the newest");
/** The data as it was published then. */
const vintage = {
  publication: z.int().positive().optional().describe("As entry N of the log published it"),
  as_of: z.string().optional().describe("As published at this instant, or at the end of this date"),
};

const INSTRUCTIONS =
  "Price levels of memory and semiconductor contracts in US dollars, published every 12 hours. " +
  "Find the ids of contracts first. Name the publication and the session with each figure. " +
  "sha256 is that of the whole answer of the address named beside it.";

/** A server with the tools, whose answers come from `ask`. */
export function mcpServer(ask: Ask): McpServer {
  const server = new McpServer(
    { name: PROGRAM.name, version: PROGRAM.version },
    { instructions: INSTRUCTIONS },
  );
  const tool = <S extends z.ZodRawShape>(
    name: string,
    description: string,
    shape: S,
    answer: (input: z.infer<z.ZodObject<S>>) => Promise<ApiAnswer>,
  ): void => {
    const settings = {
      description,
      inputSchema: z.strictObject(shape),
      annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    };
    server.registerTool(name, settings, async (input) =>
      resultOf(await answer(input as z.infer<z.ZodObject<S>>)),
    );
  };

  tool(
    "find_contracts",
    `Finds contracts by words of their id, ticker, name or segment: at most ${FOUND_MAX}.`,
    {
      words: z
        .string()
        .max(WORDS_CHARACTERS)
        .default("")
        .describe("All must occur, such as ddr5 16gb"),
    },
    async ({ words }) => {
      const answer = await ask("/prices", {});
      return answer.isRefused ? answer : { ...answer, body: foundIn(answer.body, words) };
    },
  );
  tool(
    "get_prices",
    "The current level of contracts, with its session, basis, source and changes over 24 hours, 30 days and a year.",
    { ids: contractIds.optional(), segment: segment.optional(), ...vintage },
    ({ ids, ...query }) => ask("/prices", { ids: ids?.join(), ...query }),
  );
  tool(
    "get_history",
    "A contract with its daily closes. Needs a key whose tier has history.",
    { id, last, ...vintage },
    ({ id, ...query }) => ask(`/prices/${encodeURIComponent(id)}`, query),
  );
  tool(
    "get_index",
    "An index with its daily closes: the composite, rebased to 100 a year ago, or that of a segment. Needs a key whose tier has indices.",
    {
      id: id.default("composite"),
      last,
      contributions: z
        .boolean()
        .default(false)
        .describe("Whether to list each constituent's contribution; the answer is then long"),
      ...vintage,
    },
    async ({ id, contributions, ...query }) => {
      const answer = await ask(`/indices/${encodeURIComponent(id)}`, query);
      return contributions ? answer : { ...answer, body: answer.body.replace(CONTRIBUTIONS, "") };
    },
  );
  tool(
    "price_basket",
    "What contracts cost together, now and before, by quantities or weights; equal parts without either. Needs a key whose tier has baskets.",
    {
      ids,
      quantities: amounts.optional().describe("How much of each, in its unit, in the order of ids"),
      weights: amounts.optional().describe("The weight of each, in the order of ids"),
      ...vintage,
    },
    ({ ids, quantities, weights, ...query }) => {
      const amounts = { quantities: listOf(quantities), weights: listOf(weights) };
      return ask("/index", { ids: ids.join(), ...amounts, ...query });
    },
  );
  tool(
    "get_corrections",
    "Corrections of published levels. Needs a key whose tier has history.",
    {
      ids: contractIds.optional(),
      segment: segment.optional(),
      after: z.int().nonnegative().optional().describe("Those first published after entry N"),
      ...vintage,
    },
    ({ ids, ...query }) => ask("/corrections", { ids: ids?.join(), ...query }),
  );
  return server;
}

/** The API takes plain decimals; JavaScript writes small numbers with an exponent. */
const listOf = (amounts: readonly number[] | undefined): string | undefined =>
  amounts?.map((amount) => amount.toFixed(AMOUNT_DECIMALS).replace(/\.?0+$/, "")).join();

/** What the API answered, its JSON unchanged, with where it came from; the detail of a refusal. */
function resultOf({ isRefused, address, publication, sha256, body }: ApiAnswer) {
  const text = isRefused
    ? body
    : `${JSON.stringify({ publication, address, sha256 }).slice(0, -1)},"answer":${body.trim()}}`;
  return { content: [{ type: "text" as const, text }], isError: isRefused };
}

/** The contracts of a board in which all words occur. */
function foundIn(board: string, words: string): string {
  const { memory = [], semiconductor = [] } = JSON.parse(board) as Record<string, BoardRow[]>;
  const wanted = words.toLowerCase().split(/\s+/);
  const rows = [...memory, ...semiconductor]
    .map(({ id, ticker, name, segment, unit }) => ({ id, ticker, name, segment, unit }))
    .filter((row) => {
      const text = Object.values(row).join(" ").toLowerCase();
      return wanted.every((word) => text.includes(word));
    });
  return JSON.stringify({ found: rows.length, contracts: rows.slice(0, FOUND_MAX) });
}

type BoardRow = Readonly<Record<"id" | "ticker" | "name" | "segment" | "unit", string>>;
