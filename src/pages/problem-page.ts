/** The page that tells a person of a refusal. */
import { fillTemplate, siteFile } from "../site/site-files.ts";
import { escaped, readableText } from "../site/text.js";
import { PROBLEMS, type Denial } from "../public/problems.ts";
import { shownText } from "../public/query.ts";
import { PAGES } from "../public/uncounted-routes.ts";
import { asSent, framePage, hrefOf, rootOf, type PageService } from "./page-frame.ts";

/** No page is deeper. A path of nothing but slashes must not make a page of megabytes. */
const MAX_DEPTH = 16;

/** Another plan may be the way on. */
const OF_PLANS: readonly number[] = [401, 403, 429];

/** The page for a request of `path`; null: no page is so deep. */
export function problemPage(
  { code, status, detail, extras }: Denial,
  path: string,
  requestId: string,
  service: PageService,
): Uint8Array | null {
  const depth = path.split("/").length - 1;
  if (!path.startsWith("/") || depth > MAX_DEPTH) return null;
  const { title } = PROBLEMS[code];
  // The addresses of lists are for programs.
  const said = readableText(detail.replace(/; \/\w+ lists all ids\.$/, "."));
  const root = rootOf(path);
  const near = (extras.did_you_mean ?? []).map(
    (id) => `<a href="${root}contracts/${escaped(id)}">${escaped(id)}</a>`,
  );
  const main = fillTemplate(siteFile("problem.html"), {
    title: escaped(title),
    detail: escaped(said),
    way: OF_PLANS.includes(status) ? `<a href="${root}plans">See the plans</a>` : "",
    asked: status === 404 ? escaped(shownText(path)) : "",
    near: near.join(" or "),
    root,
    home: hrefOf(root, PAGES.market.path),
    status: String(status),
    code,
    request: requestId,
  });
  // No page of the navigation has this path, so that none is marked as the current one.
  const page = { path: `${"/".repeat(depth)}-`, title, main, description: said };
  const framing = { script: "page.js", styles: ["problem.css"], isIndexed: false };
  return asSent(framePage({ ...page, ...framing }), service).body;
}
