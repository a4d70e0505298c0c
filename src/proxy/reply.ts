/** An answer before it is sent, and the header fields that answers share. */
import { headerText, type HeaderFields, type HeaderText } from "./header-text.ts";
import {
  PROBLEM_MEDIA_TYPE,
  PROBLEMS,
  problemBody,
  type ProblemCode,
  type ProblemExtras,
} from "./problems.ts";

/** The bytes of a body; as text, one character a byte (latin1). */
export type Body = Buffer | string;

/** Up to here, with room for the header, Node's server writes a text without making a copy first. */
const TEXT_MAX_BYTES = 15 * 1024;

/**
 * The form in which a body that is sent over and over costs least: a small one as text goes out in
 * one piece with its header, which saves a quarter of a request.
 */
export const quickBody = (bytes: Buffer): Body =>
  bytes.length <= TEXT_MAX_BYTES ? bytes.toString("latin1") : bytes;

/** An answer but for what depends on the connection and on the quota. */
export interface Reply {
  readonly status: number;
  readonly headers: HeaderText;
  /** Null where there is none, and for HEAD. */
  readonly body: Body | ReadableStream<Uint8Array> | null;
  /** For logs and metrics. */
  readonly code?: ProblemCode;
}

const ALLOWED_METHODS = "GET, HEAD, OPTIONS";

/** On every answer (Fetch, 3.3): any page may read it, these fields included. */
export const CORS_HEADERS = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "Content-Disposition, Content-Length, ETag, Last-Modified, Retry-After, Vary, WWW-Authenticate, " +
    "X-Delayed-Sessions, X-RateLimit-Remaining, X-Session-UTC, X-Snapshot",
} as const;

/** What the answer depends on beside the address (RFC 9110, 12.5.5). */
export const VARY = "Authorization, X-Api-Key, Accept-Encoding";

/** To a preflight (Fetch, 4.8), and to any other OPTIONS request. */
export const OPTIONS_REPLY: Reply = {
  status: 204,
  headers: headerText({
    ...CORS_HEADERS,
    allow: ALLOWED_METHODS,
    "access-control-allow-methods": ALLOWED_METHODS,
    "access-control-allow-headers":
      "Authorization, X-Api-Key, Accept, Cache-Control, If-None-Match, If-Modified-Since, Pragma",
    "access-control-max-age": "86400",
    "cache-control": "no-store",
  }),
  body: null,
};

/** Members and header fields of one problem that differ from case to case. */
interface ProblemOptions extends ProblemExtras {
  /** Where faults of a parameter make a 404 code a 400. */
  readonly status?: number;
  /** When to come back; told in whole seconds, rounded up, 1 at least (RFC 9110, 10.2.3). */
  readonly retryAfterMs?: number;
}

/** `detail` says, in a sentence, what is wrong with this request and what was expected. */
export function problemReply(
  code: ProblemCode,
  detail: string,
  { status = PROBLEMS[code].status, retryAfterMs, ...extras }: ProblemOptions = {},
): Reply {
  const body = Buffer.from(problemBody(code, detail, status, extras));
  return {
    status,
    code,
    body,
    headers: headerText({
      ...uncached(body, PROBLEM_MEDIA_TYPE),
      ...(status === 401 && { "www-authenticate": challenge(code) }),
      ...(status === 405 && { allow: ALLOWED_METHODS }),
      ...(retryAfterMs !== undefined && {
        "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1000))),
      }),
    }),
  };
}

/** A small JSON document of the moment. */
export function jsonReply(value: unknown): Reply {
  const body = Buffer.from(`${JSON.stringify(value)}\n`);
  return {
    status: 200,
    body,
    headers: headerText(uncached(body, "application/json")),
  };
}

/** To a method other than GET, HEAD and OPTIONS. */
export const methodNotAllowed = (method: string | undefined): Reply =>
  problemReply("method_not_allowed", `Method ${method}: expected ${ALLOWED_METHODS}.`);

const uncached = (body: Buffer, mediaType: string): HeaderFields => ({
  ...CORS_HEADERS,
  "content-type": mediaType,
  "content-length": String(body.length),
  "cache-control": "no-store",
  vary: VARY,
});

/** RFC 6750, 3: without credentials a bare challenge, otherwise what was wrong with them. */
const challenge = (code: ProblemCode): string =>
  code === "invalid_key" ? 'Bearer error="invalid_token"' : "Bearer";
