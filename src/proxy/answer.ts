/**
 * Answers: what a handler gives back (`Reply`), the header fields that all of them share, and the
 * response that is sent (`PreparedAnswer`), of which all but what is left of the quota was made
 * before anybody asked.
 */
import { STATUS_CODES, validateHeaderValue } from "node:http";
import { FastResponse } from "srvx";
import { PROBLEM_MEDIA_TYPE, problemBody, type Denial, type ProblemCode } from "./problems.ts";

/** Header fields by name, in lower case, in the order in which they are sent. */
export type HeaderFields = Readonly<Record<string, string>>;

/** The same as Node takes them without a detour: name, value, name, value, … */
export type FlatFields = readonly string[];

/** The bytes of a body; as text, one character a byte (latin1). */
export type Body = Buffer | string;

/** What a handler answers with. */
export interface Reply {
  readonly status: number;
  readonly fields: FlatFields;
  /** Null where there is none. Node leaves it out where the method is HEAD. */
  readonly body: Body | ReadableStream<Uint8Array> | null;
  /** Where it depends on the moment; otherwise it is among the fields. */
  readonly cacheControl?: string;
  /** What is left of the quota where it was asked for or a call was counted. */
  readonly remaining?: number;
  /** Of a problem, for log and metrics. */
  readonly code?: ProblemCode;
}

/** Up to here, with room for the header, Node writes a text without making a copy first. */
const TEXT_MAX_BYTES = 15 * 1024;

/**
 * The form in which a body that is sent over and over costs least: a small one as text goes out in
 * one piece with its header, which saves a quarter of a request.
 */
export const quickBody = (bytes: Buffer): Body =>
  bytes.length <= TEXT_MAX_BYTES ? bytes.toString("latin1") : bytes;

/** Throws a TypeError for a value that cannot be in a header (RFC 9110, 5.5). */
export function flatFields(fields: HeaderFields): FlatFields {
  for (const [name, value] of Object.entries(fields)) validateHeaderValue(name, value);
  return Object.entries(fields).flat();
}

/** A response whose header and body are there as Node sends them; see node-listener.ts. */
export class PreparedAnswer extends FastResponse {
  override readonly status: number;
  readonly fields: FlatFields;
  readonly content: Body | null;

  constructor(status: number, fields: FlatFields, content: Body | null) {
    super(null);
    this.status = status;
    this.fields = fields;
    this.content = content;
  }
}

/** The response to send. `remaining` is what is left of the caller's quota. */
export function responseOf(reply: Reply, remaining: number): Response {
  const { status, body, cacheControl } = reply;
  const fields = [...reply.fields, "x-ratelimit-remaining", String(remaining)];
  if (cacheControl !== undefined) fields.push("cache-control", cacheControl);
  if (!(body instanceof ReadableStream)) return new PreparedAnswer(status, fields, body);
  const headers: [string, string][] = [];
  for (let at = 0; at < fields.length; at += 2) {
    headers.push([fields[at] as string, fields[at + 1] as string]);
  }
  return new FastResponse(body, { status, statusText: STATUS_CODES[status] ?? "", headers });
}

/** All methods that an address takes. */
export const ALLOWED_METHODS = "GET, HEAD, OPTIONS";

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
  fields: flatFields({
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

/** A small JSON document of the moment. */
export function jsonReply(value: unknown): Reply {
  const body = Buffer.from(`${JSON.stringify(value)}\n`);
  return { status: 200, fields: flatFields(uncached(body, "application/json")), body };
}

/** The one place where a denial becomes HTTP: its status, its fields and its document (RFC 9457). */
export function problemReply(denial: Denial): Reply {
  const { code, status, retryAfterMs } = denial;
  const body = Buffer.from(problemBody(denial));
  const fields = flatFields({
    ...uncached(body, PROBLEM_MEDIA_TYPE),
    ...(status === 401 && { "www-authenticate": challenge(code) }),
    ...(status === 405 && { allow: ALLOWED_METHODS }),
    ...(retryAfterMs !== undefined && {
      // In whole seconds, 1 at least (RFC 9110, 10.2.3).
      "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1000))),
    }),
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

/** RFC 6750, 3: without credentials a bare challenge, otherwise what was wrong with them. */
const challenge = (code: ProblemCode): string =>
  code === "invalid_key" ? 'Bearer error="invalid_token"' : "Bearer";
