/** The guide and the methodology, as pages and as Markdown, and the summary for language models. */
import { filled, siteFile } from "../../../site/files.ts";
import { escaped } from "../../../site/text.js";
import { PAGES } from "../../uncounted-routes.ts";
import { framed } from "./frame.ts";
import { ORIGIN, rendered } from "./markdown.ts";
import type { PageSource } from "./pages.ts";
import { withSlots, type Settings } from "./slots.ts";

/**
 * The texts that are the same for every snapshot. `origin` is the address of the service without a
 * slash at its end, `https://host/prefix`; commands name it.
 */
export function textPages(origin: Promise<string>): PageSource[] {
  const read = (file: string): string => withSlots(siteFile(file));
  const guide = read("guide.md");
  return [
    page(PAGES.guide.path, guide, origin),
    plain(PAGES.guideMarkdown.path, MARKDOWN_TYPE, guide, origin),
    plain(PAGES.llms.path, "text/plain; charset=utf-8", read("llms.txt"), origin),
  ];
}

/** The methodology, as a page or as Markdown. */
export function methodology(path: string, origin: Promise<string>, settings: Settings): PageSource {
  const text = withSlots(siteFile("methodology.md"), settings);
  return path === PAGES.methodology.path
    ? page(path, text, origin)
    : plain(path, MARKDOWN_TYPE, text, origin);
}

function page(path: string, text: string, origin: Promise<string>): PageSource {
  const { body, ...source } = prosePage(path, text);
  const html = body.toString();
  return { ...source, body: origin.then((is) => withOrigin(html, escaped(is))) };
}

const plain = (
  path: string,
  mediaType: string,
  text: string,
  origin: Promise<string>,
): PageSource => ({
  path,
  mediaType,
  body: origin.then((is) => withOrigin(text, is)),
});

const MARKDOWN_TYPE = "text/markdown; charset=utf-8";

/** A text with the address of the service. */
export const withOrigin = (text: string, origin: string): Buffer =>
  Buffer.from(text.replaceAll(ORIGIN, () => origin));

/** A text in the frame, with a list of its sections. */
function prosePage(path: string, markdown: string): PageSource & { readonly body: Buffer } {
  const { title, ...parts } = rendered(markdown);
  return framed({
    path,
    title,
    main: filled(siteFile("prose.html"), { title: escaped(title), ...parts }),
    script: "prose.js",
    styles: ["assets/prose.css"],
  });
}
