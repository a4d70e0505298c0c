/**
 * The documentation page and the OpenAPI document. The page is rendered by Swagger UI, served from
 * this process; its content security policy forbids every other host.
 */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { PROGRAM } from "../../lib/version.ts";
import { escaped } from "./html.ts";
import { openApiDocument } from "./openapi.ts";
import type { PageSource } from "../pages/pages.ts";
import { PROBLEMS, type Problem } from "../problems.ts";
import { guidePage } from "./guide.ts";
import { DOCS_ASSETS, DOCS_PATH, GUIDE_PATH, OPENAPI_PATH } from "../routes.ts";

/** Swagger UI sets inline styles and draws its icons from data: URLs. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The page at `/`, the guide, the OpenAPI document, and the files that the page loads. */
export async function documentationPages(): Promise<readonly PageSource[]> {
  const text = (path: string, mediaType: string, body: string): PageSource => ({
    path,
    mediaType,
    body: Buffer.from(body),
    headers: { "x-content-type-options": "nosniff" },
  });
  const page = text(DOCS_PATH, "text/html; charset=utf-8", html());
  const guide = text(GUIDE_PATH, "text/html; charset=utf-8", guidePage());
  const [script, style, bundle] = DOCS_ASSETS;
  const guarded = (html: PageSource): PageSource => ({
    ...html,
    headers: {
      ...html.headers,
      "content-security-policy": CONTENT_SECURITY_POLICY,
      "referrer-policy": "no-referrer",
    },
  });
  return [
    guarded(page),
    guarded(guide),
    text(OPENAPI_PATH, "application/json", `${JSON.stringify(openApiDocument(), null, 1)}\n`),
    text(script, "text/javascript; charset=utf-8", SCRIPT),
    text(style, "text/css; charset=utf-8", await swaggerFile("swagger-ui.css")),
    text(bundle, "text/javascript; charset=utf-8", await swaggerFile("swagger-ui-bundle.js")),
  ];
}

const swaggerFile = (name: string): Promise<string> =>
  readFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)), "utf8");

/** Relative addresses, so that the page also works under a prefix. */
const SCRIPT = `
const status = document.getElementById("status");
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#reference",
  deepLinking: false,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  tryItOutEnabled: true,
  validatorUrl: null,
  persistAuthorization: false,
});
fetch("readyz").then(async (response) => {
  const body = await response.json();
  status.textContent = response.ok
    ? \`Serving \${body.snapshot} (session \${body.session_utc}\${body.overdue > 0 ? \`, \${body.overdue} overdue\` : ""}). \${body.attribution}\`
    : body.detail;
});
`;

const html = (): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${PROGRAM.name} API</title>
<link rel="icon" href="data:,">
<link rel="alternate" type="application/atom+xml" href="feed.atom">
<link rel="stylesheet" href="docs/swagger-ui.css">
<style>
body { margin: 0; font-family: sans-serif; color: #3b4151; }
main, header { max-width: 1460px; margin: 0 auto; padding: 0 20px; box-sizing: border-box; }
#status { padding: 12px 0 0; }
#reference .renderedMarkdown table { display: block; overflow-x: auto; }
#reference .renderedMarkdown th, #reference .renderedMarkdown td { padding-right: 12px; }
#problems article { border-top: 1px solid #d8dde7; padding: 8px 0; }
#problems article:target { background: #fff6d6; }
#problems h3 { font-size: 16px; margin: 4px 0; }
#problems p { margin: 4px 0; }
</style>
</head>
<body>
<header><p id="status" role="status"></p><p><a href="guide">Guide</a>: first call, polling, how the numbers are made, recipes.</p></header>
<main>
<noscript><p>The reference is drawn by a script; <a href="openapi.json">openapi.json</a> says the same.</p></noscript>
<div id="reference"></div>
<section id="problems">
<h2>Problems</h2>
<p>Every refusal is a problem document (RFC 9457, application/problem+json); its member code is one of these.</p>
${Object.entries(PROBLEMS)
  .map(([code, problem]) => article(code, problem))
  .join("\n")}
</section>
</main>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/page.js"></script>
</body>
</html>
`;

const article = (code: string, { status, title, meaning, remedy }: Problem): string =>
  `<article id="${code}"><h3><code>${code}</code> (${status}): ${title}</h3>` +
  `<p>${escaped(meaning)}</p><p>${escaped(remedy)}</p></article>`;
