/** Files that are the same for everybody until the next release, such as the files that pages load, as answers. */
import type { Found } from "../core/outcome.ts";
import { pageForms, PUBLIC_CACHE, type PageSource } from "../core/serve/document.ts";
import type { Platform } from "../ports/platform.ts";
import { ASSETS_PATH, PAGES } from "../public/uncounted-routes.ts";
import { siteBytes } from "../site/site-files.ts";
import { assetFiles } from "./assets.ts";
import { fileAt } from "./page-frame.ts";

/** For files that never change under their name. */
const IMMUTABLE = "public, max-age=31536000, immutable";

/** Pictures and fonts are compressed already. */
const isText = (mediaType: string): boolean => /^(?:text|application)\/|svg/.test(mediaType);

/** The answers of fixed files by path. `startedMs` (epoch) dates them. */
export async function fixedPages(
  platform: Platform,
  sources: readonly PageSource[],
  startedMs: number,
): Promise<ReadonlyMap<string, () => Found>> {
  const pages = sources.map(async (source): Promise<[string, () => Found]> => {
    const found = await fixedPage(platform, source, startedMs);
    return [source.path, () => found];
  });
  return new Map(await Promise.all(pages));
}

/** The answer of one fixed file. */
export async function fixedPage(
  platform: Platform,
  source: PageSource,
  startedMs: number,
): Promise<Found> {
  const isAsset = source.path.startsWith(ASSETS_PATH);
  const forms = await pageForms(platform, source, startedMs, {
    isCoded: isText(source.mediaType),
    // A page loads dozens of them.
    isExposed: !isAsset,
  });
  const cacheControl = isAsset ? IMMUTABLE : PUBLIC_CACHE;
  return { kind: "found", forms, cacheControl };
}

/** The files that pages load. */
export const assets = (): PageSource[] => [
  ...[...assetFiles()].map(([path, bytes]) => fileAt(path, bytes)),
  fileAt(PAGES.favicon.path, siteBytes("favicon.ico")),
];
