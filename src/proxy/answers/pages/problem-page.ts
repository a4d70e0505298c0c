/** Problems as pages: what a browser shows where a program gets the problem document. */
import { filled } from "../../../site/files.ts";
import { escaped } from "../../../site/text.js";
import { parseWeights } from "../../serve/intent.ts";
import { PROBLEM_MEDIA_TYPE, PROBLEMS, type Denial } from "../../problems.ts";
import { PAGES } from "../../uncounted-routes.ts";
import { framed, hrefOf, rootOf } from "./frame.ts";

/** No page is deeper. A path of nothing but slashes must not make a page of megabytes. */
const MAX_DEPTH = 16;

/** The page (HTML) for a request of `path`; null: the Accept field does not prefer one, or the path is too deep. */
export function problemPage(
  { code, status, detail }: Denial,
  path: string,
  accept: string | undefined,
): string | null {
  const frame = prefersPage(accept) ? frameAt(path) : null;
  if (frame === null) return null;
  return filled(frame, {
    title: escaped(PROBLEMS[code].title),
    detail: escaped(detail),
    status: String(status),
    code,
  });
}

/** Whether an Accept field weighs HTML higher than JSON (RFC 9110, 12.5.1). Programs send none, or any type. */
function prefersPage(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const weights = parseWeights(accept);
  const weightOf = (...types: readonly string[]): number => {
    const named = types.find((type) => weights.has(type));
    return named === undefined ? 0 : (weights.get(named) as number);
  };
  const html = weightOf("text/html", "text/*", "*/*");
  const json = Math.max(
    ...[PROBLEM_MEDIA_TYPE, "application/json"].map((type) =>
      weightOf(type, "application/*", "*/*"),
    ),
  );
  return html > json;
}

const frames = new Map<number, string>();

/** The page at `path` with slots for the problem; null: there are no pages so deep. */
function frameAt(path: string): string | null {
  const depth = path.split("/").length - 1;
  if (!path.startsWith("/") || depth > MAX_DEPTH) return null;
  const known = frames.get(depth);
  if (known !== undefined) return known;
  const root = rootOf(path);
  const main = `<h1>{{title}}</h1>
<p>{{detail}}</p>
<p><a href="${hrefOf(root, PAGES.market.path)}">The market</a> names the contracts; <a href="${hrefOf(root, PAGES.reference.path)}">the reference</a> names all addresses.</p>
<p class="note">Status {{status}}, code <a href="${hrefOf(root, PAGES.reference.path)}#{{code}}"><code>{{code}}</code></a>.</p>`;
  // No page of the navigation has this path, so that none is marked as the current one.
  const frame = framed({ path: `${"/".repeat(depth)}-`, title: "{{title}}", main }).body.toString();
  frames.set(depth, frame);
  return frame;
}
