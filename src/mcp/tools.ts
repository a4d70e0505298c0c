/**
 * The tools for agents (Model Context Protocol, 2026-07-28). Each reads the public API alone, so that
 * tiers, quotas and refusals are the API's, and passes figures on as the published file has them.
 */
import { McpServer, type StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { z } from "zod";
import { MAX_ITEMS } from "../lib/limits.ts";
import { PROGRAM } from "../lib/version.ts";
import type { Ask } from "./api.ts";
import { asAgentsSend, withSchemasMadeOnce } from "./arguments.ts";
import {
  ANSWER_CHARACTERS_MAX,
  boardFor,
  closesFor,
  found,
  foundIn,
  prices,
  withoutConstituents,
  type AgentAnswer,
} from "./short-answers.ts";

const WORDS_CHARACTERS = 200;
const SETTLED_KINDS = ["contract", "index"] as const;
/** How many closes an answer has unless the agent says a number, and at most. */
const CLOSES_DEFAULT = 30;
const CLOSES_MAX = 400;
const ENTRIES_DEFAULT = 20;
const ENTRIES_MAX = 100;
const AMOUNT_DECIMALS = 9;
const MIN_AMOUNT = 1e-9;

/*
 * Vendors compile the schemas of all tools together, and refuse all for a pattern with a lookaround or an escape. So
 * patterns have classes, groups and quantifiers alone, and checks beyond them are refinements, which no schema shows.
 */

const A_DATE = "expected a date, such as 2026-11-01";
const AN_ID = "expected an id, without commas and slashes, from find_contracts";
/** A comma would make it a list of ids; a slash or a dot segment would lead to another path. */
const id = z
  .string()
  .regex(/^[^,/]+$/, AN_ID)
  .refine((text) => text !== "." && text !== "..", AN_ID);
const ids = z.array(id).min(1).max(MAX_ITEMS);
const contractIds = ids.describe("Ids of contracts, from find_contracts");
const segment = id.describe("A segment by its name or the id of its index, such as dram");
const amounts = z.array(z.number().min(MIN_AMOUNT)).max(MAX_ITEMS);
const page = z.int().min(1).default(1).describe("Page number of a long answer");
const date = z
  .string()
  .regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/, A_DATE)
  .refine((text) => z.iso.date().safeParse(text).success, A_DATE);
/** Which closes. */
const closes = {
  last: z
    .int()
    .min(1)
    .optional()
    .describe(
      `How many days, the newest; at most ${CLOSES_MAX}. ${CLOSES_DEFAULT} without from and to`,
    ),
  from: date.optional().describe("Only days from this date on, such as 2026-11-01"),
  to: date.optional().describe("Only days up to this date, included"),
};
/** The data as it was published then. */
const vintage = {
  publication: z.int().min(1).optional().describe("As entry N of the log published it"),
  as_of: z.string().optional().describe("As published at this instant, or at the end of this date"),
  session: z
    .string()
    .optional()
    .describe("As last published for this session, such as 2026-11-25T12Z"),
};

const record = z.looseObject({ id: z.string().describe("The contract or index") });
const history = z.array(z.looseObject({ date: z.string() })).describe("Daily closes, ascending");
const envelope = {
  session_utc: z.string().describe("The 12-hour session that the figures belong to"),
  delayed_sessions: z.number().describe("How many sessions the figures are behind"),
};
const index = {
  ...envelope,
  name: z.string(),
  level: z.number().nullable(),
  chg_24h_pct: z.number().nullable(),
  chg_30d_pct: z.number().nullable(),
};

const INSTRUCTIONS =
  "Price levels of memory and semiconductor contracts in US dollars, published every 12 hours. " +
  "Find the ids of contracts first. Cite the publication and the session with each figure. " +
  "sha256 is the SHA-256 of the whole answer at the address beside it.";

/** The API takes plain decimals; JavaScript writes small numbers with an exponent. */
const listOf = (amounts: readonly number[] | undefined): string | undefined =>
  amounts?.map((amount) => amount.toFixed(AMOUNT_DECIMALS).replace(/\.?0+$/, "")).join();

/** What a tool says: the answer, with where it came from. */
const resultWith = (answer: z.ZodType) =>
  z.looseObject({
    publication: z.int().nullable().describe("The entry of the log that published the answer"),
    address: z.string(),
    sha256: z
      .string()
      .nullable()
      .describe("SHA-256 of the whole answer at that address, of which this may be a part"),
    more: z.string().optional().describe("The parts left out here, and how to get them"),
    answer,
  });

interface Tool {
  readonly name: string;
  readonly settings: {
    readonly description: string;
    readonly inputSchema: ReturnType<typeof asAgentsSend>;
    readonly outputSchema: StandardSchemaWithJSON;
    readonly annotations: Record<string, boolean>;
  };
  answer(ask: Ask): (input: unknown) => Promise<AgentAnswer>;
}

/** Made once: a server has them all, and there is one for each request. */
const TOOLS: Tool[] = [];

/** A server with the tools, whose answers come from `ask`. */
export function mcpServer(ask: Ask): McpServer {
  const server = new McpServer(
    { name: PROGRAM.name, version: PROGRAM.version },
    { instructions: INSTRUCTIONS },
  );
  for (const { name, settings, answer } of TOOLS) {
    const answered = answer(ask);
    server.registerTool(name, settings, async (input: unknown) => resultOf(await answered(input)));
  }
  return server;
}

function tool<S extends z.ZodRawShape>(
  name: string,
  description: string,
  shape: S,
  answered: z.ZodType,
  answer: (ask: Ask) => (input: z.infer<z.ZodObject<S>>) => Promise<AgentAnswer>,
): void {
  const settings = {
    description,
    inputSchema: asAgentsSend(z.strictObject(shape)),
    outputSchema: withSchemasMadeOnce(resultWith(answered)),
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  };
  TOOLS.push({ name, settings, answer: answer as Tool["answer"] });
}

async function closesOf(
  ask: Ask,
  path: string,
  { last, ...query }: Readonly<Record<string, string | number | undefined>>,
): Promise<AgentAnswer> {
  const isDated = query["from"] !== undefined || query["to"] !== undefined;
  const wanted = Number(last ?? (isDated ? Infinity : CLOSES_DEFAULT));
  const asked = Math.min(wanted, CLOSES_MAX);
  return closesFor(await ask(path, { last: asked, ...query }), wanted, asked);
}

tool(
  "find_contracts",
  "Finds contracts by words of their id, former ids, ticker, name, board, segment, unit or type of price. Words that no contract has are ignored, and told. Needs no key and costs no call.",
  {
    words: z
      .string()
      .max(WORDS_CHARACTERS)
      .default("")
      .describe("All that a contract has must occur, such as ddr5 16gb spot; none: every contract"),
    page,
  },
  found,
  (ask) =>
    async ({ words, page }) =>
      foundIn(await ask("/contracts", {}), words, page),
);
tool(
  "get_prices",
  "The current level of contracts, with unit, changes over 24 hours, 30 days and a year, and date. The whole board comes in short rows. Contracts selected by ids or segment come with all their fields, if these fit.",
  { ids: contractIds.optional(), segment: segment.optional(), page, ...vintage },
  prices,
  (ask) =>
    async ({ ids, page, ...query }) => {
      const isWhole = ids === undefined && query.segment === undefined;
      return boardFor(await ask("/prices", { ids: ids?.join(), ...query }), isWhole, page);
    },
);
tool(
  "get_history",
  "A contract with its daily closes. Needs a key whose tier has history.",
  { id, ...closes, ...vintage },
  z.looseObject({ ...envelope, ...record.shape, history }),
  (ask) =>
    ({ id, ...query }) =>
      closesOf(ask, `/prices/${encodeURIComponent(id)}`, query),
);
tool(
  "list_indices",
  "All indices with their level and changes: the composite and one for each segment. Needs a key whose tier has indices.",
  vintage,
  z.looseObject({ ...envelope, indices: z.array(record) }),
  (ask) => (query) => ask("/indices", query),
);
tool(
  "get_index",
  "An index with its daily closes: the composite, rebased to 100 a year ago, or the index of a segment. Needs a key whose tier has indices.",
  {
    id: id.default("composite"),
    ...closes,
    contributions: z
      .boolean()
      .default(false)
      .describe("Whether to list each constituent; the answer is then long"),
    ...vintage,
  },
  z.looseObject({ ...index, series: z.looseObject({ history }) }),
  (ask) =>
    async ({ id, contributions, ...query }) => {
      const answer = await closesOf(ask, `/indices/${encodeURIComponent(id)}`, query);
      return contributions ? answer : withoutConstituents(answer);
    },
);
tool(
  "get_settlements",
  "The settled months of a contract or an index: average, last, high and low over all calendar days, which never change, and with _now as known now. Needs a key of the fullest tier.",
  {
    id,
    kind: z.enum(SETTLED_KINDS).default("contract").describe("Of which of both the id is"),
    ...vintage,
  },
  z.looseObject({ ...envelope, id: z.string(), settlements: z.array(z.looseObject({})) }),
  (ask) =>
    ({ id, kind, ...query }) => {
      const folder = kind === "index" ? "indices" : "contracts";
      return ask(`/settlements/${folder}/${encodeURIComponent(id)}`, query);
    },
);
tool(
  "price_basket",
  "The cost of contracts together, now and earlier, by quantities or weights; equal parts without either. Needs a key whose tier has baskets.",
  {
    ids,
    quantities: amounts
      .optional()
      .describe("The quantity of each, in its unit, in the order of ids"),
    weights: amounts.optional().describe("The weight of each, in the order of ids"),
    ...vintage,
  },
  z.looseObject(index),
  (ask) =>
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
    after: z
      .int()
      .nonnegative()
      .optional()
      .describe("Only corrections first published after entry N"),
    since: date.optional().describe("Only corrections first published on this date or later"),
    ...vintage,
  },
  z.looseObject({ ...envelope, corrections: z.array(z.looseObject({})) }),
  (ask) =>
    ({ ids, ...query }) =>
      ask("/corrections", { ids: ids?.join(), ...query }),
);
tool(
  "list_publications",
  "All entries of the log with their times: publications, rollbacks and prunes, with the numbers that publication takes. Costs no call.",
  {
    after: z
      .int()
      .nonnegative()
      .optional()
      .describe("Entries after this number; without it the newest"),
    limit: z
      .int()
      .min(1)
      .max(ENTRIES_MAX)
      .default(ENTRIES_DEFAULT)
      .describe("How many entries at most"),
  },
  z.looseObject({ publications: z.array(z.looseObject({ number: z.int() })) }),
  (ask) => (query) => ask("/publications", query),
);

/** What the API answered, its JSON unchanged, with where it came from; the detail of a refusal. */
function resultOf({ isRefused, address, publication, sha256, more, body }: AgentAnswer) {
  const content = (text: string) => [{ type: "text" as const, text }];
  if (isRefused) return { content: content(body), isError: true };
  const source = JSON.stringify({ publication, address, sha256, more });
  const text = `${source.slice(0, -1)},"answer":${body.trim()}}`;
  if (text.length > ANSWER_CHARACTERS_MAX) {
    const detail = `The answer has ${text.length} characters, and agents read ${ANSWER_CHARACTERS_MAX}: ask for fewer contracts or days, or read ${address}`;
    return {
      content: content(JSON.stringify({ title: "Answer too long", detail })),
      isError: true,
    };
  }
  const structuredContent = JSON.parse(text) as Record<string, unknown>;
  return { content: content(text), structuredContent, isError: false };
}
