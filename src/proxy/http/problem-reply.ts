/** Problems as HTTP: the document for programs, and a page for a browser. Also the answer to OPTIONS. */
import { uncached, type Asked, type Reply } from "../answers/answer.ts";
import { GUARDED, HTML_TYPE } from "../answers/pages/frame.ts";
import { problemPage } from "../answers/pages/problem-page.ts";
import { PROBLEM_MEDIA_TYPE, problemBody, type Denial, type ProblemCode } from "../problems.ts";
import { CORS_HEADERS, VARY } from "../serve/entity.ts";

/** The methods that every address accepts. */
export const ALLOWED_METHODS = "GET, HEAD, OPTIONS";

/** The answer to a preflight (Fetch, 4.8) and to any other OPTIONS request. */
export const OPTIONS_REPLY: Reply = {
  status: 204,
  fields: {
    ...CORS_HEADERS,
    allow: ALLOWED_METHODS,
    "access-control-allow-methods": ALLOWED_METHODS,
    "access-control-allow-headers":
      "Authorization, X-Api-Key, Accept, Cache-Control, If-Modified-Since, If-None-Match, If-Range, " +
      "Pragma, Range",
    "access-control-max-age": "86400",
    "cache-control": "no-store",
  },
  body: null,
};

/** The paths below it are for programs, which always get the document. */
export const PROGRAMS = "/api/";
/** The answer depends on these request fields. */
const CHOSEN = { vary: `${VARY}, Accept` };

/** The answer to a request that is refused: a page where the request prefers one, else the problem document. */
export function problemReply(
  denial: Denial,
  { path, headers }: Pick<Asked, "path" | "headers">,
): Reply & { readonly body: Buffer } {
  const { status, code, retryAfterMs, sizeBytes } = denial;
  const isForPrograms = path.startsWith(PROGRAMS);
  const page = isForPrograms ? null : problemPage(denial, path, headers.accept);
  const body = Buffer.from(page ?? problemBody(denial));
  const fields = {
    ...uncached(body, page === null ? PROBLEM_MEDIA_TYPE : HTML_TYPE),
    ...(page !== null && GUARDED),
    ...(!isForPrograms && CHOSEN),
    ...(status === 401 && { "www-authenticate": challenge(code) }),
    ...(status === 405 && { allow: ALLOWED_METHODS }),
    ...(retryAfterMs !== undefined && {
      // In whole seconds (RFC 9110, 10.2.3), at least 1.
      "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1000))),
    }),
    // RFC 9110, 15.5.17.
    ...(sizeBytes !== undefined && { "content-range": `bytes */${sizeBytes}` }),
  };
  return { status, code, fields, body };
}

/** RFC 6750, 3: a bare challenge without credentials, otherwise the error in them. */
const challenge = (code: ProblemCode): string =>
  code === "invalid_key" ? 'Bearer error="invalid_token"' : "Bearer";
