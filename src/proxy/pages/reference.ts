/** The reference of the interface, `/docs`: Swagger UI, from this process, and the table of problems. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { filled, siteFile } from "../../site/files.ts";
import { escaped } from "../../site/text.js";
import { openApiDocument } from "../docs/openapi.ts";
import { PROBLEMS, type Problem } from "../problems.ts";
import { DOCS_PATH, OPENAPI_PATH, SWAGGER_SCRIPT, SWAGGER_STYLE } from "../routes.ts";
import { framed } from "./frame.ts";
import type { PageSource } from "./pages.ts";

/** The OpenAPI document, the page, and the files of Swagger UI. */
export function referencePages(): [openApi: PageSource, ...others: PageSource[]] {
  const articles = Object.entries(PROBLEMS).map(([code, problem]) => article(code, problem));
  const page = framed({
    path: DOCS_PATH,
    title: "API reference",
    main: filled(siteFile("reference.html"), { problems: articles.join("\n") }),
    script: "reference.js",
    libraries: [SWAGGER_SCRIPT.slice(1)],
    styles: [SWAGGER_STYLE.slice(1), "assets/reference.css"],
  });
  const document = `${JSON.stringify(openApiDocument(), null, 1)}\n`;
  return [
    file(OPENAPI_PATH, "application/json", Buffer.from(document)),
    page,
    file(SWAGGER_SCRIPT, "text/javascript; charset=utf-8", swagger("swagger-ui-bundle.js")),
    file(SWAGGER_STYLE, "text/css; charset=utf-8", swagger("swagger-ui.css")),
  ];
}

const file = (path: string, mediaType: string, body: Buffer): PageSource => ({
  path,
  mediaType,
  body,
});

const swagger = (name: string): Buffer =>
  readFileSync(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)));

/** `type` of a problem document is the address of its article. */
const article = (code: string, { status, title, meaning, remedy }: Problem): string =>
  `<article id="${code}"><h3><code>${code}</code> ${status}: ${escaped(title)}</h3>` +
  `<p>${escaped(meaning)} ${escaped(remedy)}</p></article>`;
