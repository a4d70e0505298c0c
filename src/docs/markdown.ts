/**
 * Markdown of our own as HTML: headings that are links to themselves, a list of the sections, tables
 * that scroll by themselves, code that a script can give a button to copy it.
 */
import { Marked, type Token, type Tokens } from "marked";
import { slotOf } from "../pages/document-slots.ts";
import { escaped } from "../site/text.js";

const ORIGIN = slotOf("origin");

/** A text in its parts, each HTML. */
export interface Rendered {
  /** Plain text: its heading of the first level. */
  readonly title: string;
  /** The paragraphs before the first section. */
  readonly lead: string;
  /** A list of links to the sections. */
  readonly contents: string;
  readonly sections: string;
}

/**
 * Renders a text that begins with its title. HTML in it passes through, so it must be our own. The address of the
 * service stays `{{origin}}`, in an element that a script finds. Throws if two headings have one anchor.
 */
export function renderMarkdown(markdown: string): Rendered {
  const anchors = new Set<string>();
  const marked = new Marked({ renderer: { heading, table, code, codespan } });
  const tokens = marked.lexer(markdown);
  for (const { text } of tokens.filter(isHeading)) {
    const anchor = anchorOf(text);
    if (anchors.has(anchor)) throw new Error(`Two headings have the anchor ${anchor}`);
    anchors.add(anchor);
  }
  const first = tokens.findIndex(isSection);
  const links = tokens.filter(isListed).map(({ depth, text }) => {
    return `<li class="h${depth}"><a href="#${anchorOf(text)}">${escaped(text)}</a></li>`;
  });
  return {
    title: tokens.find(isHeading)?.text ?? "",
    lead: marked.parser(tokens.slice(1, first)),
    contents: `<ul>\n${links.join("\n")}\n</ul>`,
    sections: withTabs(marked.parser(tokens.slice(first))),
  };
}

const isHeading = (token: Token): token is Tokens.Heading => token.type === "heading";
const isSection = (token: Token): token is Tokens.Heading => isHeading(token) && token.depth === 2;
/** Sections and their parts. */
const isListed = (token: Token): token is Tokens.Heading =>
  isHeading(token) && token.depth > 1 && token.depth < 4;

/** The anchor of a heading: its letters and digits in lower case, with `-` between the words. */
const anchorOf = (heading: string): string =>
  (heading.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join("-");

/** The part that is used here of the `this` that marked gives to a renderer. */
interface Renderer {
  readonly parser: { parseInline(tokens: Tokens.Generic[]): string };
}

function heading(this: Renderer, { depth, text, tokens }: Tokens.Heading): string {
  const anchor = anchorOf(text);
  const words = this.parser.parseInline(tokens).replace(/, (\d{4}-\d\d-\d\d)$/, " <time>$1</time>");
  return `<h${depth} id="${anchor}"><a href="#${anchor}">${words}</a></h${depth}>\n`;
}

/** Where the first column has no heading, its cells are the headings of their rows. */
function table(this: Renderer, { header, rows }: Tokens.Table): string {
  const words = ({ tokens }: Tokens.TableCell): string => this.parser.parseInline(tokens);
  const alignment = ({ align }: Tokens.TableCell): string =>
    align === "right" ? ' class="n"' : "";
  const hasRowHeads = header[0]?.text === "";
  const headings = header.map((cell) =>
    cell.text === "" ? "<td></td>" : `<th scope="col"${alignment(cell)}>${words(cell)}</th>`,
  );
  const head = header.some(({ text }) => text !== "")
    ? `<thead><tr>${headings.join("")}</tr></thead>\n`
    : "";
  const lines = rows.map((row) => {
    const cells = row.map((cell, at) =>
      hasRowHeads && at === 0
        ? `<th scope="row">${words(cell)}</th>`
        : `<td${alignment(cell)}>${words(cell)}</td>`,
    );
    return `<tr>${cells.join("")}</tr>`;
  });
  return `<div class="scroll" tabindex="0"><table>\n${head}<tbody>\n${lines.join("\n")}\n</tbody></table></div>\n`;
}

/** A block of the language `formula` is mathematics, not code: products, fractions and parentheses stay whole. */
function code({ text, lang = "" }: Tokens.Code): string {
  const whole = text.replaceAll(/\([^()]*\)| [/×] |[ΣΠ(] | \)/g, (part) =>
    part.replaceAll(" ", "\u{a0}"),
  );
  if (lang === "formula") return `<pre class="formula" tabindex="0">${escaped(whole)}</pre>\n`;
  return `<div class="code" data-language="${lang}"><pre tabindex="0"><code>${withOrigin(text)}\n</code></pre></div>\n`;
}

const LABELS: Readonly<Record<string, string>> = { sh: "curl", python: "Python", js: "JavaScript" };
const PROGRAM =
  /<div class="code" data-language="(sh|python|js)"><pre[^>]*><code>((?:(?!<\/code>)[^])*)<\/code><\/pre><\/div>\n/g;
const SIBLINGS = new RegExp(`(?:${PROGRAM.source}){2,}`, "g");

/** Programs without a word between them, the same in several languages, become one block. */
const withTabs = (html: string): string =>
  html.replaceAll(SIBLINGS, (blocks) => {
    const programs = [...blocks.matchAll(PROGRAM)];
    return tabsHtml(programs.map(([, language = "", text = ""]) => [LABELS[language] ?? "", text]));
  });

/** A block of programs by their label, each HTML. One shows at a time, the first without a script. */
const tabsHtml = (programs: readonly (readonly [label: string, html: string])[]): string =>
  `<div class="code tabs">${programs
    .map(
      ([label, html], at) =>
        `<details${at === 0 ? " open" : ""}><summary>${label}</summary>` +
        `<pre tabindex="0"><code>${html}</code></pre></details>`,
    )
    .join("")}</div>\n`;

const codespan = ({ text }: Tokens.Codespan): string => `<code>${withOrigin(text)}</code>`;

/** Long addresses break before a slash. */
const withOrigin = (text: string): string =>
  escaped(text)
    .replaceAll(/(?<=[\w}])\//g, "<wbr>/")
    .replaceAll(ORIGIN, `<span data-origin>${ORIGIN}</span>`);
