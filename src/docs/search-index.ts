/**
 * The index of the search on pages: every page, every endpoint and error, and every section of the documents with the
 * words that stand in few others. A script of the pages loads it when a reader comes to the search.
 */
import { PROBLEMS } from "../public/problems.ts";
import { API } from "../public/routes.ts";
import { PAGES, type Page } from "../public/uncounted-routes.ts";
import { unescaped } from "../site/text.js";
import { documentedRoutes } from "./openapi-operations.ts";

/** Address below the root, name, kind, and further words: a word is found as it begins. */
type Entry = readonly [address: string, name: string, kind: string, words: string];

/** The documents with sections, and their names. */
const DOCUMENTS = { guide: "Guide", methodology: "Methodology", alerts: "Alerts" } as const;

const SUBJECT =
  "/** What the search on pages finds beside contracts and indices; made by docs/search-index.ts */";

const WORD = /[\p{L}\p{N}][\p{L}\p{N}_-]{2,}/gu;
/** A word of more sections finds none of them. */
const MOST_SECTIONS = 8;

/** A module with the entries as its default. `documents` are the texts of makeDocuments. */
export function searchIndex(
  documents: Readonly<Record<`${keyof typeof DOCUMENTS}.html`, string>>,
): string {
  const sections = Object.entries(DOCUMENTS).flatMap(([name, title]) =>
    sectionsOf(documents[`${name as keyof typeof DOCUMENTS}.html`]).map((section) => ({
      ...section,
      address: `${name}#${section.anchor}`,
      kind: title,
    })),
  );
  const counts = new Map<string, number>();
  for (const { words } of sections)
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const entries: Entry[] = [
    ...Object.values<Page>(PAGES).flatMap(({ path, link, further, description }): Entry[] => {
      const name = link ?? further;
      return name === undefined ? [] : [[path.slice(1), name, "page", description ?? ""]];
    }),
    ...documentedRoutes().map(({ operationId, summary, path }): Entry => [
      `docs#${operationId}`,
      path.replace(API, ""),
      "endpoint",
      summary,
    ]),
    ...Object.entries(PROBLEMS).map(([code, { title, status }]): Entry => [
      `docs#${code}`,
      title,
      "error",
      `${code} ${status}`,
    ]),
    ...sections.map(({ address, title, kind, words }): Entry => {
      const rare = [...words].filter((word) => Number(counts.get(word)) <= MOST_SECTIONS);
      return [address, title, kind, rare.join(" ")];
    }),
  ];
  const lines = entries.map((entry) => ` ${JSON.stringify(entry)},\n`);
  return `${SUBJECT}\nexport default [\n${lines.join("")}];\n`;
}

/** The sections of a document, each with its words in lower case. */
function sectionsOf(html: string): { anchor: string; title: string; words: Set<string> }[] {
  const parts = html.split(/<h[23] id="([^"]+)">/).slice(1);
  return parts.flatMap((anchor, at) => {
    if (at % 2 === 1) return [];
    const [head = "", ...body] = (parts[at + 1] ?? "").split(/<\/h[23]>/);
    const text = plainOf(body.join(" ")).toLowerCase();
    return [{ anchor, title: plainOf(head).trim(), words: new Set(text.match(WORD) ?? []) }];
  });
}

/** The text of HTML of our own, without slots. */
const plainOf = (html: string): string =>
  unescaped(html.replaceAll(/<[^>]*>|\{\{[^}]*\}\}/g, " ")).replaceAll(/\s+/g, " ");
