/** The reference in the browser: draws it with Swagger UI, which the page loads before. */
import { ROOT, storedKey } from "./api.js";
import { withKey } from "./key.js";
import { counted, escaped, instantHtml } from "./text.js";

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));

const dark = matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followScheme);
followScheme();

/** What Swagger UI leaves out for keyboards and screen readers. */
function complete() {
  const inside = byId("reference");
  for (const main of inside.querySelectorAll("main:not([role])")) {
    main.setAttribute("role", "group");
    main.setAttribute("aria-labelledby", "addresses");
  }
  for (const select of inside.querySelectorAll(".examples-select-element:not([aria-label])")) {
    select.setAttribute("aria-label", "Example");
  }
  for (const code of inside.querySelectorAll("pre:not([tabindex])")) {
    code.setAttribute("tabindex", "0");
  }
}
new MutationObserver(complete).observe(byId("reference"), { childList: true, subtree: true });

/** @type {any} */ (globalThis).SwaggerUIBundle({
  url: new URL("openapi.json", ROOT).href,
  dom_id: "#reference",
  deepLinking: false,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  tryItOutEnabled: true,
  validatorUrl: null,
  syntaxHighlight: false,
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
  const served = byId("served");
  if (!response.ok) {
    served.textContent = body.detail;
    return;
  }
  const late = body.overdue > 0 ? `, ${counted(body.overdue, "session")} overdue` : "";
  served.innerHTML = `Serving ${escaped(body.snapshot)}, session ${instantHtml(body.session_utc)}${late}`;
  byId("attribution").textContent = body.attribution;
}

await showServed();
await withKey(() => {});
