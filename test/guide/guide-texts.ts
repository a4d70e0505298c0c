/** The documents of src/site as a proxy sends them that serves the recorded market, and their blocks of code. */
import { slotValues } from "../../src/pages/document-pages.ts";
import { fillSlots } from "../../src/pages/document-slots.ts";
import { pythonClient, siteFile } from "../../src/site/site-files.ts";
import { blocksOf, type Block } from "../docs/blocks.ts";

export const ORIGIN = "https://prices.example";

/** A file below src/site with all slots filled. `origin` is the service's address in its commands. */
export const textOf = (file: string, origin = ORIGIN): string => filled(siteFile(file), origin);

/** /client.py of the service at `origin`. */
export const clientOf = (origin: string): string => filled(pythonClient(), origin);

const filled = (text: string, origin: string): string =>
  fillSlots(text, slotValues({ origin, graceMs: 3_600_000 }, null, null));

/** The text under a heading, up to the next one of the same or a higher level. */
export function under(markdown: string, heading: string): string {
  const lines = markdown.split("\n");
  const start = lines.findIndex((line) => /^#+ (.*)/.exec(line)?.[1] === heading);
  if (start < 0) throw new Error(`no heading ${heading}`);
  const level = lines[start]?.indexOf(" ") ?? 0;
  const end = lines.findIndex((line, at) => at > start && isHeadingUpTo(level, line));
  return lines.slice(start + 1, end < 0 ? undefined : end).join("\n");
}

/** In Python a comment, which begins with `#` and a space, stands in a block: ours are indented. */
const isHeadingUpTo = (level: number, line: string): boolean =>
  (/^(#+) /.exec(line)?.[1]?.length ?? Infinity) <= level;

/** The blocks under a heading, without answers. */
export const programsUnder = (markdown: string, heading: string): Block[] =>
  blocksOf(under(markdown, heading)).filter(({ language }) =>
    ["sh", "python", "js", "sql", "r"].includes(language),
  );

/** The cells of the rows of the tables in a text, without their headers. */
export const rowsOf = (markdown: string): string[][] =>
  markdown
    .split("\n")
    .filter((line, at, lines) => line.startsWith("|") && !/^\|[-| :]+\|$/.test(lines[at + 1] ?? ""))
    .filter((line) => !/^\|[-| :]+\|$/.test(line))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
