/** The frame around every page: head, masthead, foot, and the content security policy. */
import { perTier, TIERS } from "../../../market/tier.ts";
import { PROGRAM } from "../../../lib/version.ts";
import { filled, siteAssets, siteFile } from "../../../site/files.ts";
import { escaped } from "../../../site/text.js";
import { ASSETS_PATH, PAGES } from "../../uncounted-routes.ts";
import type { PageSource } from "./pages.ts";

export const HTML_TYPE = "text/html; charset=utf-8";

/** Scripts, styles and answers of this service only; nothing inline. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The header fields of every page. */
export const GUARDED = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "referrer-policy": "no-referrer",
};

/** What scripts must know of the tier that /usage names: JSON in an attribute. */
const OFFERS = escaped(
  JSON.stringify(
    perTier((name) => {
      const { delaySessions, history, index, baskets } = TIERS[name];
      const depthDays =
        history === null ? 0 : "days" in history ? history.days : history.years * 365;
      return { delaySessions, depthDays, index, baskets };
    }),
  ),
);

/** What a page puts into the frame. */
export interface PageContent {
  /** Its address; `/contracts/x` is one folder deep. */
  readonly path: string;
  /** Plain text. */
  readonly title: string;
  /** HTML. */
  readonly main: string;
  /** The module that the page loads, `market.js`; it loads the others. Without one there is no key field. */
  readonly script?: string;
  /** Scripts that run before it, by their address from the root. */
  readonly libraries?: readonly string[];
  /** Style sheets beside that of all pages, by their address from the root. */
  readonly styles?: readonly string[];
  /** The credit line of the figures on the page, if there are any (plain text). */
  readonly attribution?: string;
}

/** The whole page. All addresses are relative, so that the service works below a prefix. */
export function framed({
  path,
  title,
  main,
  script,
  libraries = [],
  styles = [],
  attribution,
}: PageContent): PageSource {
  const root = rootOf(path);
  const links = Object.values(PAGES).flatMap((page) => {
    if (!("link" in page)) return [];
    const current = page.path === path ? ' aria-current="page"' : "";
    return [`<a href="${hrefOf(root, page.path)}"${current}>${page.link}</a>`];
  });
  const body = filled(siteFile("frame.html"), {
    title: escaped(`${title} · ${PROGRAM.name}`),
    root,
    home: hrefOf(root, "/"),
    head: [
      ...styles.map((style) => `<link rel="stylesheet" href="${root}${style}">`),
      ...libraries.map((library) => `<script defer src="${root}${library}"></script>`),
      ...(script === undefined
        ? []
        : [`<script type="module" src="${root}assets/${script}"></script>`]),
    ].join("\n"),
    navigation: links.join("\n"),
    offers: OFFERS,
    main,
    foot:
      `<p id="attribution">${escaped(attribution ?? "")}</p>\n` +
      `<p><a href="${root}feed.atom">Feed of publications</a> · <a href="${root}llms.txt">llms.txt</a> · ` +
      `${escaped(PROGRAM.name)} ${escaped(PROGRAM.version)}</p>`,
  });
  return { path, mediaType: HTML_TYPE, body: Buffer.from(body), headers: GUARDED };
}

/** The way from a page to the service's root: `../` for `/contracts/x`. */
export const rootOf = (path: string): string => "../".repeat(path.split("/").length - 2);

/** An address relative to a page whose way to the root is `root`. */
export const hrefOf = (root: string, path: string): string => `${root}${path.slice(1)}` || ".";

const ASSET_TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/** The files that pages load. */
export const assets = (): PageSource[] =>
  siteAssets().map((name) => ({
    path: `${ASSETS_PATH}${name}`,
    mediaType: ASSET_TYPES[name.slice(name.lastIndexOf(".") + 1)] as string,
    body: Buffer.from(siteFile(name)),
  }));
