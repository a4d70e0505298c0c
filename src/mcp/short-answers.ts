/**
 * Answers that agents can read: they stop at about 25,000 tokens, and a longer answer pushes earlier context
 * out.
 */
import { z } from "zod";
import { cacheOf } from "../lib/caches.ts";
import type { ApiAnswer } from "./api.ts";

/** The characters of an answer: a token of such text has about 2.5. */
export const ANSWER_CHARACTERS_MAX = 50_000;
/** Of a page of short rows, with the text around it. */
const ROWS_CHARACTERS_MAX = 19_000;
const FOUND_EACH_PAGE = 20;

/** An answer for an agent. */
export interface AgentAnswer extends ApiAnswer {
  /** The parts that it leaves out, and how to get them. */
  readonly more?: string;
}

/** In a published file each element of a list has its own line, and the end of the list has one. */
const CONSTITUENTS = /"(?:contributions|last_used)":\[[^\]]*\],|,"levels":\[[^\]]*\]/g;

/** An index without the fields of each constituent. */
export const withoutConstituents = (answer: ApiAnswer): AgentAnswer => {
  const body = answer.body.replace(CONSTITUENTS, "");
  if (answer.isRefused || body === answer.body) return answer;
  const more = "The constituents are left out: contributions true lists them.";
  return { ...answer, body, more };
};

/** The columns of a short row, in their order. */
const COLUMNS = [
  "id",
  "name",
  "unit",
  "spot_usd",
  "chg_24h_pct",
  "chg_30d_pct",
  "chg_yoy_pct",
  "as_of",
  "basis",
] as const;
const cell = z.union([z.string(), z.number(), z.null()]);
const boardRow = z.looseObject({});
const board = z.looseObject({
  memory: z.array(boardRow),
  semiconductor: z.array(boardRow),
});

/** A board, or its contracts in short rows. */
export const prices = z.looseObject({
  session_utc: z.string().describe("The 12-hour session that the levels belong to"),
  delayed_sessions: z.number().describe("How many sessions the levels are behind"),
  memory: z.array(boardRow).optional().describe("Contracts as published"),
  semiconductor: z.array(boardRow).optional().describe("Contracts as published"),
  columns: z.array(z.string()).optional().describe("The names of the cells of each row"),
  rows: z.array(z.array(cell)).optional().describe("Contracts in short rows"),
  contracts: z.number().optional().describe("How many contracts there are on all pages"),
});

/** A board as it was published, if it is asked for by name and fits the rows of a page. */
export function boardFor(answer: ApiAnswer, isWhole: boolean, page: number): AgentAnswer {
  if (answer.isRefused) return answer;
  if (!isWhole && answer.body.length <= ROWS_CHARACTERS_MAX) return answer;
  const { memory, semiconductor, ...fields } = board.parse(JSON.parse(answer.body));
  const all = [...memory, ...semiconductor].map((row) => COLUMNS.map((name) => row[name] ?? null));
  const pages = pagesOf(all, ROWS_CHARACTERS_MAX - JSON.stringify(fields).length);
  const rows = pages[page - 1] ?? [];
  const body = JSON.stringify({ ...fields, contracts: all.length, columns: COLUMNS, rows });
  const more = [
    pageOf(page, Math.max(1, pages.length), "rows"),
    "Ask by ids for all fields of some contracts.",
  ];
  return { ...answer, body, more: more.join(" ") };
}

/** Where a page stands among all, and how to get the next one. */
function pageOf(page: number, pages: number, what: string): string {
  if (page > pages) return `There is no page ${page}: the last one is page ${pages}.`;
  const next = page < pages ? ` Ask for page ${page + 1} for the next ${what}.` : "";
  return `Page ${page} of ${pages}.${next}`;
}

/** The rows in pages of at most so many characters; at least one row each. */
function pagesOf<T>(rows: readonly T[], characters: number): T[][] {
  const pages: T[][] = [];
  let left = 0;
  for (const row of rows) {
    const size = JSON.stringify(row).length + 1;
    if (size > left || pages.length === 0) {
      pages.push([]);
      left = characters;
    }
    pages.at(-1)?.push(row);
    left -= size;
  }
  return pages;
}

/** What an agent needs of a contract; the rest is dropped. */
const contractRow = z.object({
  id: z.string(),
  ticker: z.string(),
  name: z.string(),
  board: z.string(),
  segment: z.string(),
  unit: z.string(),
  price_type: z.string().nullish().describe("Spot, contract or another type"),
  free: z.boolean().describe("Whether its level needs no key"),
  formerly: z.array(z.string()).describe("Its former ids"),
  delisted_on: z.string().nullable().describe("Off the boards from this date on; null: listed"),
});
const catalog = z.looseObject({ session_utc: z.string(), contracts: z.array(contractRow) });

/** The contracts that were found. */
export const found = z.looseObject({
  found: z.number().describe("How many contracts there are on all pages"),
  ignored: z.array(z.string()).describe("Words that occur in no contract"),
  contracts: z.array(contractRow),
});

/** The contracts of an answer, each with the text in which words are looked for. */
interface Searched extends z.infer<typeof catalog> {
  readonly texts: readonly string[];
}

/** All callers ask about the same contracts, and no call is counted. */
const searched = cacheOf<Searched>(2);

function searchedIn(body: string): Searched {
  const { contracts, session_utc } = catalog.parse(JSON.parse(body));
  const texts = contracts.map(
    ({ id, ticker, name, board: of, segment, unit, price_type: type, formerly }) =>
      squeezed([id, ticker, name, of, segment, unit, type ?? "", ...formerly].join(" ")),
  );
  return { contracts, session_utc, texts };
}

/** A text without blanks and case: `16 Gbit` is found as `16gbit`. */
const squeezed = (text: string): string => text.toLowerCase().replaceAll(/\s/g, "");

/**
 * The contracts of the catalog in which all words occur. Words that occur in none are ignored, and told. A number and
 * the word after it are one word where a contract has them together.
 */
export function foundIn(answer: ApiAnswer, words: string, page: number): AgentAnswer {
  if (answer.isRefused) return answer;
  const kept = searched.get(answer.body) ?? searchedIn(answer.body);
  searched.set(answer.body, kept);
  const { session_utc, contracts, texts } = kept;
  const occurs = (word: string): boolean => texts.some((text) => text.includes(word));
  const wanted: string[] = [];
  for (const word of words.toLowerCase().split(/\s+/)) {
    const both = `${wanted.at(-1)}${word}`;
    if (/^\d+$/.test(wanted.at(-1) ?? "") && occurs(both)) wanted[wanted.length - 1] = both;
    else if (word !== "") wanted.push(word);
  }
  const ignored = wanted.filter((word) => !occurs(word));
  const known = wanted.filter((word) => !ignored.includes(word));
  const isNone = wanted.length > 0 && known.length === 0;
  const matches = contracts.filter(
    (_, at) => !isNone && known.every((word) => texts[at]?.includes(word)),
  );
  const start = (page - 1) * FOUND_EACH_PAGE;
  const pageOfMatches = matches.slice(start, start + FOUND_EACH_PAGE);
  const body = JSON.stringify({
    session_utc,
    found: matches.length,
    ignored,
    contracts: pageOfMatches,
  });
  const pages = Math.max(1, Math.ceil(matches.length / FOUND_EACH_PAGE));
  const more = `${pageOf(page, pages, "contracts")} More words find fewer.`;
  return { ...answer, body, ...(page !== pages && { more }) };
}

const withCloses = z.looseObject({
  history: z.array(z.unknown()).optional(),
  series: z.looseObject({ history: z.array(z.unknown()) }).optional(),
});

/** The answer with closes: says if there may be earlier ones than the `asked` that were asked for. */
export function closesFor(answer: AgentAnswer, wanted: number, asked: number): AgentAnswer {
  if (answer.isRefused || wanted <= asked) return answer;
  const { history, series } = withCloses.parse(JSON.parse(answer.body));
  if ((history ?? series?.history ?? []).length < asked) return answer;
  const more = [
    answer.more,
    `At most ${asked} closes, the newest. Ask with to, the day before the first, for earlier ones.`,
  ];
  return { ...answer, more: more.filter((sentence) => sentence !== undefined).join(" ") };
}
