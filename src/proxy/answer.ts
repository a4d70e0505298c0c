/**
 * Answers: what a handler returns (`Reply`), the header fields that all answers share, and the
 * response that Node sends (`PreparedAnswer`). Everything in it except the remaining quota is made
 * before the request arrives.
 */
import { validateHeaderValue } from "node:http";
import { FastResponse } from "srvx";
import { PROBLEM_MEDIA_TYPE, problemBody, type Denial, type ProblemCode } from "./problems.ts";

/** Header fields by lower-case name, in sending order. */
export type HeaderFields = Readonly<Record<string, string>>;

/** Header fields as a flat list, the form that Node writes fastest: name, value, name, value, … */
export type FlatFields = readonly string[];

/** The bytes of a body. A string holds one byte per character (latin1). */
export type Body = Buffer | string;

/** What a handler answers with. */
export interface Reply {
  readonly status: number;
  readonly fields: FlatFields;
  /** Null: no body. A list is one body. Node leaves the body out for HEAD. */
  readonly body: Body | readonly Buffer[] | ReadableStream<Uint8Array> | null;
  /** Set if it depends on the time of the request; otherwise `fields` holds it. */
  readonly cacheControl?: string;
  /** The remaining calls, if the handler looked them up or counted a call. */
  readonly remaining?: number;
  /** The code of a problem, for the log. */
  readonly code?: ProblemCode;
}

/** Node writes a string up to this size, together with the header, without copying it first. */
const TEXT_MAX_BYTES = 15 * 1024;

/**
 * The cheapest form of a body that is sent many times. A small one becomes a string: Node writes it
 * together with its header, which saves a quarter of the work of a request.
 */
export const quickBody = (bytes: Buffer): Body =>
  bytes.length <= TEXT_MAX_BYTES ? bytes.toString("latin1") : bytes;

/** Throws a TypeError for a value that a header cannot hold (RFC 9110, 5.5). */
export function flatFields(fields: HeaderFields): FlatFields {
  for (const [name, value] of Object.entries(fields)) validateHeaderValue(name, value);
  return Object.entries(fields).flat();
}

/** A response with header and body in the form that Node sends; see node-listener.ts. */
export class PreparedAnswer extends FastResponse {
  override readonly status: number;
  readonly fields: FlatFields;
  readonly content: Reply["body"];

  constructor(status: number, fields: FlatFields, content: Reply["body"]) {
    super(null);
    this.status = status;
    this.fields = fields;
    this.content = content;
  }
}

/** Says that an answer is what its media type says: a browser must not guess (Fetch Standard). */
export const NO_SNIFFING = ["x-content-type-options", "nosniff"] as const;

/** The fields that each answer gets when it is sent. `remaining` is how many calls the caller has left. */
export const sentFields = ({ fields }: Reply, remaining: number): string[] => [
  ...fields,
  ...NO_SNIFFING,
  "x-ratelimit-remaining",
  String(remaining),
];

/** The response to send. `remaining` is the number of calls that the caller has left. */
export function responseOf(reply: Reply, remaining: number): Response {
  const { status, body, cacheControl } = reply;
  const fields = sentFields(reply, remaining);
  if (cacheControl !== undefined) fields.push("cache-control", cacheControl);
  return new PreparedAnswer(status, fields, body);
}

/** The methods that every address accepts. */
export const ALLOWED_METHODS = "GET, HEAD, OPTIONS";

/** On every answer (Fetch, 3.3): scripts of any page may read it and these fields. */
export const CORS_HEADERS = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "Accept-Ranges, Content-Disposition, Content-Length, Content-Range, ETag, Last-Modified, " +
    "Retry-After, Unencoded-Digest, Vary, WWW-Authenticate, X-Delayed-Sessions, X-Publication, " +
    "X-RateLimit-Remaining, X-Session-UTC, X-Snapshot",
} as const;

/** The request fields that the answer depends on (RFC 9110, 12.5.5). */
export const VARY = "Authorization, X-Api-Key, Accept-Encoding";

/** The answer to a preflight (Fetch, 4.8) and to any other OPTIONS request. */
export const OPTIONS_REPLY: Reply = {
  status: 204,
  fields: flatFields({
    ...CORS_HEADERS,
    allow: ALLOWED_METHODS,
    "access-control-allow-methods": ALLOWED_METHODS,
    "access-control-allow-headers":
      "Authorization, X-Api-Key, Accept, Cache-Control, If-Modified-Since, If-None-Match, If-Range, " +
      "Pragma, Range",
    "access-control-max-age": "86400",
    "cache-control": "no-store",
  }),
  body: null,
};

/** A small JSON document that caches must not store. */
export function jsonReply(value: unknown): Reply {
  const body = Buffer.from(`${JSON.stringify(value)}\n`);
  return { status: 200, fields: flatFields(uncached(body, "application/json")), body };
}

/** The address of something has changed for good (RFC 9110, 15.4.9); the method stays the same. */
export const movedReply = (location: string): Reply => ({
  status: 308,
  fields: flatFields({
    ...CORS_HEADERS,
    location,
    "content-length": "0",
    "cache-control": "no-store",
    vary: VARY,
  }),
  body: null,
});

/** In what form a problem is sent. */
export interface ProblemForm {
  readonly mediaType: string;
  readonly body: string;
  readonly headers?: HeaderFields;
}

/** Turns a denial into HTTP: status, fields and body, the problem document (RFC 9457) unless `form` says another. */
export function problemReply(
  denial: Denial,
  form: ProblemForm = { mediaType: PROBLEM_MEDIA_TYPE, body: problemBody(denial) },
): Reply {
  const { code, status, retryAfterMs, sizeBytes } = denial;
  const body = Buffer.from(form.body);
  const fields = flatFields({
    ...uncached(body, form.mediaType),
    ...form.headers,
    ...(status === 401 && { "www-authenticate": challenge(code) }),
    ...(status === 405 && { allow: ALLOWED_METHODS }),
    ...(retryAfterMs !== undefined && {
      // In whole seconds (RFC 9110, 10.2.3), at least 1.
      "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1000))),
    }),
    // RFC 9110, 15.5.17.
    ...(sizeBytes !== undefined && { "content-range": `bytes */${sizeBytes}` }),
  });
  return { status, code, fields, body };
}

const uncached = (body: Buffer, mediaType: string): HeaderFields => ({
  ...CORS_HEADERS,
  "content-type": mediaType,
  "content-length": String(body.length),
  "cache-control": "no-store",
  vary: VARY,
});

/** RFC 6750, 3: a bare challenge without credentials, otherwise the error in them. */
const challenge = (code: ProblemCode): string =>
  code === "invalid_key" ? 'Bearer error="invalid_token"' : "Bearer";
