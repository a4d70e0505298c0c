/** The reference of the interface, `/docs`: Swagger UI, from this process, and the table of problems. */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { filled, siteFile } from "../../../site/files.ts";
import { escaped } from "../../../site/text.js";
import { JSON_TYPE } from "../../../store/media-types.ts";
import { openApiDocument } from "../../docs/openapi.ts";
import { PROBLEMS, type Problem } from "../../problems.ts";
import { PAGES, UNCOUNTED_ROUTES } from "../../uncounted-routes.ts";
import { assetType, framed, type PageSource } from "./pages.ts";

/** The OpenAPI document, the page, and the files of Swagger UI. `server` is the address of the service. */
export function referencePages(server: string): [openApi: PageSource, ...others: PageSource[]] {
  const articles = Object.entries(PROBLEMS).map(([code, problem]) => article(code, problem));
  const page = framed({
    path: PAGES.reference.path,
    title: "API reference",
    main: filled(siteFile("reference.html"), { problems: articles.join("\n") }),
    script: "reference.js",
    libraries: [PAGES.swaggerScript.path.slice(1)],
    styles: [PAGES.swaggerStyle.path.slice(1), "assets/reference.css"],
  });
  const document = Buffer.from(`${JSON.stringify(openApiDocument(server), null, 1)}\n`);
  return [
    { path: UNCOUNTED_ROUTES.openApi.path, mediaType: JSON_TYPE, body: document },
    page,
    swagger(PAGES.swaggerScript.path),
    swagger(PAGES.swaggerStyle.path),
  ];
}

const swagger = (path: string): PageSource => {
  const module = import.meta.resolve(`swagger-ui-dist/${basename(path)}`);
  return { path, mediaType: assetType(path), body: readFileSync(fileURLToPath(module)) };
};

/** `type` of a problem document is the address of its article. */
const article = (code: string, { status, title, meaning, remedy }: Problem): string =>
  `<article id="${code}"><h3><code>${code}</code> ${status}: ${escaped(title)}</h3>` +
  `<p>${escaped(meaning)} ${escaped(remedy)}</p></article>`;
