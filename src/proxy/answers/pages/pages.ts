/**
 * Files for everybody, such as pages, and how answers are made of them; the frame around every page: head,
 * masthead, foot, and the content security policy.
 */
import { createHash } from "node:crypto";
import { perTier, TIERS } from "../../../market/tier.ts";
import { PROGRAM } from "../../../lib/version.ts";
import { filled, siteAssets, siteFile } from "../../../site/files.ts";
import { escaped } from "../../../site/text.js";
import type { Found } from "../answer.ts";
import { coded } from "../../../snapshot/coded.ts";
import { HTML_TYPE } from "../../../store/media-types.ts";
import {
  entityOf,
  tagOf,
  type Coding,
  type Entity,
  type Forms,
  type HeaderFields,
} from "../../serve/entity.ts";
import { ASSETS_PATH, PAGES } from "../../uncounted-routes.ts";

/** Short, so that a change is seen soon; the tags make asking again cheap. */
export const PUBLIC_CACHE = "public, max-age=60";

/** A fixed file as it is made; answers are made of it. */
export interface PageSource {
  readonly path: string;
  readonly mediaType: string;
  readonly body: Buffer;
  /** Further header fields of this file. */
  readonly headers?: HeaderFields;
}

/** The answers of fixed files by path. `startedMs` (epoch) dates them. */
export const fixedPages = (
  sources: readonly PageSource[],
  startedMs: number,
): ReadonlyMap<string, Promise<Found>> =>
  new Map(
    sources.map((source) => {
      const forms = pageForms(source, startedMs);
      return [source.path, forms.then((found) => ({ forms: found, cacheControl: PUBLIC_CACHE }))];
    }),
  );

/** Makes the forms of a page that changed last at `modifiedMs` (epoch). Unless `isCoded`, it is sent as it is. */
export async function pageForms(
  {
    path,
    body,
    mediaType,
    headers,
  }: Omit<PageSource, "body"> & { readonly body: Buffer | readonly Buffer[] },
  modifiedMs: number,
  isCoded = true,
): Promise<Forms> {
  const pieces = Buffer.isBuffer(body) ? [body] : body;
  const hash = createHash("sha256");
  for (const piece of pieces) hash.update(piece);
  const sha256 = hash.digest("hex");
  const content = { ...headers, "content-type": mediaType };
  const entityAs = (coding: Coding, bytes: Entity["body"]): Entity =>
    entityOf({ etag: tagOf(path, sha256, coding), modifiedMs, content, coding, body: bytes });
  const identity = entityAs("identity", body);
  if (!isCoded) return { identity };
  return { identity, gzip: entityAs("gzip", await coded(Buffer.concat(pieces))) };
}

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
export function framed(content: PageContent): PageSource {
  const { path, title, main, script, libraries = [], styles = [], attribution } = content;
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

export const assetType = (path: string): string =>
  ASSET_TYPES[path.slice(path.lastIndexOf(".") + 1)] as string;

export const assets = (): PageSource[] =>
  siteAssets().map((name) => ({
    path: `${ASSETS_PATH}${name}`,
    mediaType: assetType(name),
    body: Buffer.from(siteFile(name)),
  }));
