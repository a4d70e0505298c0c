/** Problems as HTTP: the document for programs, and a page for a browser. Also the answer to OPTIONS. */
import { utf8 } from "../lib/bytes.ts";
import { PROBLEM_MEDIA_TYPE, problemBody, type Denial } from "../public/problems.ts";
import { CORS_HEADERS, rawOf, VARY } from "./serve/entity.ts";
import { parseWeights } from "./serve/intent.ts";
import { uncached, type Asked, type Reply } from "./outcome.ts";
import { HTML_TYPE, JSON_TYPE } from "../store/media-types.ts";
import { fieldIn, type FieldsByName } from "./ask.ts";
import { GUARDED } from "./serve/document.ts";
import type { World } from "./world.ts";

/** The methods that every address accepts. */
export const ALLOWED_METHODS = "GET, HEAD, OPTIONS";

/** The request fields that a page may send, whether its preflight names them or not. */
const ALLOWED_FIELDS =
  "Authorization, X-Api-Key, Accept, Cache-Control, If-Match, If-Modified-Since, If-None-Match, " +
  "If-Range, If-Unmodified-Since, Pragma, Range";
/** As many further names, of at most so many characters, are allowed as a preflight asks for. */
const FURTHER_FIELDS_MAX = 32;
const FIELD_NAME = /^[\w-]{1,64}$/;

/**
 * The answer to a preflight (Fetch, 4.8) and to any other OPTIONS request. Libraries and tracers in browsers add fields
 * by themselves. All are allowed: a page can send nothing that any other program could not, and nothing of the answer
 * depends on such a field.
 */
export function optionsReply(headers: FieldsByName): Reply {
  const wanted = fieldIn(headers, "access-control-request-headers") ?? "";
  const names = wanted.split(",", FURTHER_FIELDS_MAX).map((name) => name.trim());
  const allowed = [ALLOWED_FIELDS, ...names.filter((name) => FIELD_NAME.test(name))];
  return {
    kind: "reply",
    status: 204,
    raw: rawOf({
      ...CORS_HEADERS,
      allow: ALLOWED_METHODS,
      "access-control-allow-methods": ALLOWED_METHODS,
      "access-control-allow-headers": allowed.join(", "),
      "access-control-max-age": "86400",
      "cache-control": "no-store",
    }),
    body: null,
  };
}

/** The paths below it are for programs, which always get the document. */
export const PROGRAMS = "/api/";

/**
 * The answer to a request that is refused: a page where the request prefers one, else the problem document.
 * Addresses in the document begin with the service's address, if it is known.
 */
export function problemReply(
  denial: Denial,
  { path, headers, requestId }: Pick<Asked, "path" | "headers" | "requestId">,
  { publicUrl, pages }: Pick<World, "publicUrl" | "pages">,
): Reply & { readonly body: Uint8Array } {
  const { status, code, retryAfterMs, sizeBytes } = denial;
  const isForPrograms = path.startsWith(PROGRAMS);
  const isForPeople = !isForPrograms && prefersPage(fieldIn(headers, "accept"));
  const page = isForPeople ? pages.problem(denial, path, requestId) : null;
  const body = page ?? utf8(problemBody(denial, publicUrl ?? "", requestId));
  const fields = {
    ...uncached(body, page === null ? PROBLEM_MEDIA_TYPE : HTML_TYPE),
    ...(page !== null && GUARDED),
    ...(!isForPrograms && { vary: `${VARY}, Accept` }),
    // RFC 6750, 3: a bare challenge without credentials, otherwise the error in them.
    ...(status === 401 && {
      "www-authenticate": code === "invalid_key" ? 'Bearer error="invalid_token"' : "Bearer",
    }),
    ...(status === 405 && { allow: ALLOWED_METHODS }),
    ...(retryAfterMs !== undefined && {
      // In whole seconds (RFC 9110, 10.2.3), at least 1.
      "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1000))),
    }),
    // RFC 9110, 15.5.17.
    ...(sizeBytes !== undefined && { "content-range": `bytes */${sizeBytes}` }),
  };
  return { kind: "reply", status, code, raw: rawOf(fields), body };
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
    ...[PROBLEM_MEDIA_TYPE, JSON_TYPE].map((type) => weightOf(type, "application/*", "*/*")),
  );
  return html > json;
}
