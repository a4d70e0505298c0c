/** The frame around every page: head, masthead, notice bar and foot, and its content security policy. */
import { perTier, PLAN_PLACES, TIERS } from "../market/tier.ts";
import { PROGRAM } from "../lib/version.ts";
import { fillTemplate, siteFile } from "../site/site-files.ts";
import { LOCK } from "../site/board.js";
import { escaped } from "../site/text.js";
import { placeHtml, PLACE_WORDS, type PlanTerms } from "./plan-terms.ts";
import { FILES_POLICY, GUARDED, type PageSource } from "../core/serve/document.ts";
import { textOf, utf8 } from "../lib/bytes.ts";
import { HTML_TYPE, mediaTypeOf } from "../store/media-types.ts";
import { isExact } from "../public/routes.ts";
import { PAGES, type Page } from "../public/uncounted-routes.ts";
import { assetPath, modulePaths } from "./assets.ts";

/** The facts of each tier that scripts need, by the name in /usage: JSON in an attribute. */
const OFFERS = escaped(
  JSON.stringify(
    perTier((name) => {
      const { title, delaySessions, history, index, baskets } = TIERS[name];
      const depthDays =
        history === null ? 0 : "days" in history ? history.days : history.years * 365;
      return { title, delaySessions, depthDays, index, baskets };
    }),
  ),
);

export interface PageContent {
  /** Its address; `/contracts/x` is one folder deep. */
  readonly path: string;
  /** Plain text. */
  readonly title: string;
  /** HTML. */
  readonly main: string;
  /** The module that the page loads, `market.js`; it loads the others. Without one there is no key field. */
  readonly script?: string;
  /** Style sheets beside the common one, by their names in src/site. */
  readonly styles?: readonly string[];
  /** Its content in words, for search engines and previews (plain text). The default is in PAGES. */
  readonly description?: string;
  /** False: search engines leave it out, and it does not name its own address. */
  readonly isIndexed?: boolean;
  /** A description of its data (schema.org). */
  readonly dataset?: object;
}

/** Stand in a page for what the service that sends it says. Escaped text holds no comment. */
const MARKS = {
  address: "<!--address-->",
  files: "<!--files-head-->",
  attribution: "<!--attribution-->",
  operator: "<!--operator-->",
};

/** The picture of a link to a page. Programs that show it need an absolute address. */
const CARD = "card.png";

/** How pages are made for a site of files, which answers no request of a program. */
export interface FilesSite {
  /** The address of the service that has the rest, without a slash at its end; null: there is none. */
  readonly service: string | null;
  /** When the publication after this one is due (ISO 8601). */
  readonly nextSessionUtc: string;
  /** How late it may be before the page says so. */
  readonly graceMs: number;
}

/**
 * Parts of pages stand between `<!--name-->` and `<!--/name-->`. A service sends `served` and `service`. A site of files
 * has `files`, with `service` if it names a service, or else with `alone`.
 */
const PARTS = {
  served: (site: FilesSite | null) => site === null,
  service: (site: FilesSite | null) => site === null || site.service !== null,
  files: (site: FilesSite | null) => site !== null,
  alone: (site: FilesSite | null) => site !== null && site.service === null,
} as const;

/** The page with the parts that it has on such a site. Parts of different names may hold each other. */
function withParts(html: string, site: FilesSite | null): string {
  return Object.entries(PARTS).reduce(
    (text, [name, isThere]) =>
      text.replaceAll(new RegExp(`<!--${name}-->(.*?)<!--/${name}-->`, "gs"), (_, part: string) =>
        isThere(site) ? part : "",
      ),
    PARTS.alone(site) ? html.replaceAll(LOCK, '<span class="lock">not public</span>') : html,
  );
}

/** In the head of a page that comes from a file: what a service sends in header fields, and when the page is late. */
const filesHead = ({ nextSessionUtc, graceMs }: FilesSite, root: string): string =>
  [
    `<meta http-equiv="content-security-policy" content="${escaped(FILES_POLICY)}" />`,
    '<meta name="referrer" content="no-referrer" />',
    `<meta name="next-session" content="${nextSessionUtc}" data-grace-ms="${graceMs}" />`,
    `<script type="module" src="${hrefOf(root, assetPath("late.js"))}"></script>`,
  ].join("\n");

/** The facts of the service that sends the pages, as far as they stand on them. */
export interface PageService {
  /** Null: the pages are served. */
  readonly files?: FilesSite | null;
  /** `https://host/prefix`; null: nobody said, no page names its own address, and commands name the socket's. */
  readonly publicUrl?: string | null;
  /** Prices, support and places, if not the usual ones. */
  readonly plans?: PlanTerms | undefined;
}

/**
 * A page as the service sends it: with its own address, where one asks and reads the terms, and the credit line of
 * the served snapshot, empty if there is none. Other files stay as they are.
 */
export function asSent(source: PageSource, service: PageService, attribution = ""): PageSource {
  const { path, mediaType, body } = source;
  if (mediaType !== HTML_TYPE) return source;
  const { publicUrl = null, plans = {}, files = null } = service;
  const address = escaped(`${publicUrl}${path}`);
  const own = [
    `<link rel="canonical" href="${address}" />`,
    `<meta property="og:url" content="${address}" />`,
    `<meta property="og:image" content="${escaped(`${publicUrl}${assetPath(CARD)}`)}" />`,
    '<meta name="twitter:card" content="summary_large_image" />',
  ].join("\n");
  const links = PLAN_PLACES.map((place) => placeHtml(plans[place], PLACE_WORDS[place]));
  const html = withParts(textOf(body), files)
    .replace(MARKS.address, () => (publicUrl === null ? "" : own))
    .replace(MARKS.files, () => (files === null ? "" : filesHead(files, rootOf(path))))
    .replace(MARKS.attribution, () => escaped(attribution))
    .replace(MARKS.operator, () => links.map((link) => link && `<li>${link}</li>`).join(""));
  return { ...source, body: utf8(html) };
}

/** The whole page. All addresses are relative, so that the service works below a prefix. */
export function framePage(content: PageContent): PageSource {
  const { path, title, main, script, styles = [], isIndexed = true } = content;
  const root = rootOf(path);
  const page: Page | undefined = Object.values(PAGES).find((known) => isExact(path, known.path));
  const { description = page?.description ?? "" } = content;
  const at = (name: string): string => hrefOf(root, assetPath(name));
  const linksBy = (name: "link" | "further"): string =>
    Object.values<Page>(PAGES)
      .flatMap(({ path: to, [name]: words }) => {
        if (words === undefined) return [];
        const current = to === path ? ' aria-current="page"' : "";
        return [`<a href="${hrefOf(root, to)}"${current}>${words}</a>`];
      })
      .join("\n");
  const body = fillTemplate(siteFile("frame.html"), {
    page: escaped(`${title} · ${PROGRAM.name}`),
    title: escaped(title),
    description: escaped(description),
    address: isIndexed ? MARKS.address : '<meta name="robots" content="noindex" />',
    files: MARKS.files,
    root,
    early: at("early.js"),
    style: at("style.css"),
    frame: at("frame.css"),
    font: at("figtree.woff2"),
    icon: at("icon.svg"),
    touch_icon: at("icon.png"),
    home: hrefOf(root, "/"),
    head: [
      ...(content.dataset === undefined ? [] : [dataHtml(content.dataset)]),
      ...styles.map((style) => `<link rel="stylesheet" href="${at(style)}" />`),
      ...(script === undefined ? [] : scriptsHtml(root, script)),
    ].join("\n"),
    navigation: linksBy("link"),
    further: linksBy("further"),
    offers: OFFERS,
    attribution: page?.hasFigures === true ? MARKS.attribution : "",
    main,
    operator: MARKS.operator,
    program: escaped(`${PROGRAM.name} ${PROGRAM.version}`),
  });
  return { path, mediaType: HTML_TYPE, body: utf8(body), headers: GUARDED };
}

/** The scripts of the search and of the page. The browser asks for their imports at once, not as it finds each import. */
function scriptsHtml(root: string, script: string): string[] {
  const own = [script, "search.js"].map(assetPath);
  const all = [...new Set([script, "search.js"].flatMap(modulePaths))];
  return all
    .map((path) => [hrefOf(root, path), own.includes(path)] as const)
    .map(([href, isOwn]) =>
      isOwn
        ? `<script type="module" src="${href}"></script>`
        : `<link rel="modulepreload" href="${href}" />`,
    );
}

/** A block of data, which no text in it can end. */
const dataHtml = (data: object): string =>
  `<script type="application/ld+json">${JSON.stringify(data).replaceAll("<", String.raw`\u003c`)}</script>`;

/** The way from a page to the service's root: `../` for `/contracts/x`. */
export const rootOf = (path: string): string => "../".repeat(path.split("/").length - 2);

/** An address relative to a page whose way to the root is `root`. */
export const hrefOf = (root: string, path: string): string => `${root}${path.slice(1)}` || ".";

/** A file whose media type follows from its path. */
export const fileAt = (path: string, body: Uint8Array | string): PageSource => ({
  path,
  mediaType: mediaTypeOf(path),
  body: typeof body === "string" ? utf8(body) : body,
});
