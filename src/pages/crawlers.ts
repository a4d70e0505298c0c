/** For programs that collect pages: what to read, which pages there are, and what data is free. */
import type { Contract } from "../market/contract.ts";
import { PROGRAM } from "../lib/version.ts";
import type { Board } from "../site/board.js";
import { DATA_ROUTES } from "../public/routes.ts";
import { PAGES, type Page } from "../public/uncounted-routes.ts";
import { xmlText } from "../core/publications/atom-feed.ts";
import type { PageSource } from "../core/serve/document.ts";
import { fileAt } from "./page-frame.ts";

/** `/robots.txt`. `origin` is the address of the service. */
export const robots = (origin: string): PageSource =>
  fileAt(PAGES.robots.path, `User-agent: *\nAllow: /\nSitemap: ${origin}${PAGES.sitemap.path}\n`);

/** The fixed pages, and the page of each contract (sitemaps.org). */
export function sitemap(origin: string, catalog: readonly Contract[]): PageSource {
  const paths = [
    ...Object.values<Page>(PAGES)
      .filter(({ path, description }) => description !== undefined && path !== PAGES.contract.path)
      .map(({ path }) => path),
    ...catalog.map(({ id }) => PAGES.contract.path.replace("{id}", id)),
  ];
  const urls = paths.map((path) => `<url><loc>${xmlText(origin + path)}</loc></url>`);
  const body = `<?xml version="1.0" encoding="utf-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${urls.join("\n")}
</urlset>
`;
  return fileAt(PAGES.sitemap.path, body);
}

/** The data for callers without a key, as a Dataset of schema.org. */
export const datasetOf = (board: Board, origin: string): object => ({
  "@context": "https://schema.org",
  "@type": "Dataset",
  name: "Memory and semiconductor prices",
  description: `${PAGES.market.description} ${board.attribution}`,
  url: `${origin}${PAGES.market.path}`,
  creator: { "@type": "Organization", name: PROGRAM.name, url: `${origin}${PAGES.market.path}` },
  license: { "@type": "CreativeWork", name: board.license, url: `${origin}${PAGES.plans.path}` },
  isAccessibleForFree: true,
  temporalCoverage: board.session_utc,
  distribution: {
    "@type": "DataDownload",
    encodingFormat: "application/json",
    contentUrl: `${origin}${DATA_ROUTES.board.path}`,
  },
});
