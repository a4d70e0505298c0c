/** The reference in the browser: draws it with Swagger UI, which the page loads before. */
import { ROOT, storedKey } from "./api.js";
import { withKey } from "./key.js";

const dark = matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followScheme);
followScheme();

/** @type {any} */ (globalThis).SwaggerUIBundle({
  url: new URL("openapi.json", ROOT).href,
  dom_id: "#reference",
  deepLinking: false,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  tryItOutEnabled: true,
  validatorUrl: null,
  persistAuthorization: false,
  requestInterceptor: withStoredKey,
});

/**
 * Data is asked for with the key of the masthead; the reference has no field of its own for it.
 *
 * @param {{ url: string, headers: Record<string, string> }} request
 */
function withStoredKey(request) {
  const key = storedKey();
  const isData = request.url.startsWith(new URL("api/", ROOT).href);
  if (key !== null && isData) request.headers["x-api-key"] = key;
  return request;
}

/** Says what the service serves. The page is whole without it. */
async function showServed() {
  const response = await fetch(new URL("readyz", ROOT)).catch(() => null);
  if (response === null) return;
  const body = await response.json();
  const overdue = body.overdue > 0 ? `, ${body.overdue} overdue` : "";
  const served = /** @type {HTMLElement} */ (document.getElementById("served"));
  served.textContent = response.ok
    ? `Serving ${body.snapshot} (session ${body.session_utc}${overdue}). ${body.attribution}`
    : body.detail;
}

await showServed();
await withKey(() => {});
