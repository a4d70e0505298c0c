/**
 * An entity: the bytes of an answer in one coding, and the header fields that describe them. Files of
 * snapshots, baskets, entries of the log and pages are sent as entities, which are made once, not per
 * request.
 */
import { base64, fromHex, sizeOf } from "../../lib/bytes.ts";
import type { Platform } from "../../ports/platform.ts";
import type { OpenBody } from "./stream.ts";

/** A content coding (RFC 9110, 8.4); identity: not coded. */
export type Coding = keyof Forms;

/** Header fields by lower-case name, in sending order. */
export type HeaderFields = Readonly<Record<string, string>>;
/** The same in the order in which they are written: a name, its value, the next name. */
export type RawFields = readonly string[];

/** The properties of an entity before its body is made: enough for preconditions, and for a 304. */
export interface Validators {
  readonly etag: string;
  /** For Last-Modified and If-Modified-Since (epoch milliseconds); null: it has no date. */
  readonly modifiedMs: number | null;
  /** The fields of a 304, without those that depend on the request. */
  readonly notModified: RawFields;
}

export interface Entity extends Validators {
  /** Of the whole body. */
  readonly sizeBytes: number;
  /** The fields of an answer with it, without those that depend on the request. */
  readonly fields: HeaderFields;
  readonly raw: RawFields;
  /** A list is one body. */
  readonly body: Uint8Array | readonly Uint8Array[] | OpenBody;
}

/** An entity in each coding that it has. */
export interface Forms<E = Entity> {
  readonly identity: E;
  readonly gzip?: E;
}

/** On every answer (Fetch, 3.3): scripts of any page may read it and these fields. */
export const CORS_HEADERS = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "Accept-Ranges, Content-Disposition, Content-Length, Content-Range, ETag, Last-Modified, " +
    "Retry-After, Unencoded-Digest, Vary, WWW-Authenticate, X-Asked, X-Delayed-Sessions, X-History-From, " +
    "X-Publication, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, " +
    "X-Session-UTC, X-Snapshot",
} as const;

/** The request fields that the answer depends on (RFC 9110, 12.5.5). */
export const VARY = "Authorization, X-Api-Key, Accept-Encoding";

interface Tagged extends Pick<Validators, "etag" | "modifiedMs"> {
  /** False: only pages of the service load the file, so that no script of another origin needs its fields. */
  readonly isExposed?: boolean;
  /** Further fields of every answer, also of a 304. */
  readonly shared?: HeaderFields;
}

interface Parts extends Tagged, Pick<Entity, "body"> {
  /** Fields that describe the body: media type, file name. */
  readonly content: HeaderFields;
  /** Identity unless it is given. */
  readonly coding?: Coding;
  /** Of a body that is opened; bytes know their own. */
  readonly sizeBytes?: number;
  /** SHA-256 (hex) of the whole body in identity; undefined: the answer does not say it. */
  readonly sha256?: string;
}

export const rawOf = (fields: HeaderFields): RawFields => Object.entries(fields).flat();

export const validatorsOf = (tagged: Tagged): Validators => ({
  etag: tagged.etag,
  modifiedMs: tagged.modifiedMs,
  notModified: rawOf(notModifiedFields(tagged)),
});

const { "access-control-expose-headers": _, ...READABLE } = CORS_HEADERS;

const notModifiedFields = ({
  etag,
  modifiedMs,
  shared,
  isExposed = true,
}: Tagged): HeaderFields => ({
  ...(isExposed ? CORS_HEADERS : READABLE),
  vary: VARY,
  ...(modifiedMs !== null && { "last-modified": new Date(modifiedMs).toUTCString() }),
  ...shared,
  etag,
});

export function entityOf(parts: Parts): Entity {
  const { body, content, coding = "identity", sha256 } = parts;
  const sizeBytes =
    typeof body === "function"
      ? (parts.sizeBytes as number)
      : sizeOf(body instanceof Uint8Array ? [body] : body);
  const fields = {
    ...notModifiedFields(parts),
    ...content,
    "content-length": String(sizeBytes),
    // Not in a 304, which costs no call: a level could be guessed from the digest.
    ...(sha256 !== undefined && { "unencoded-digest": digestField(sha256) }),
    ...(coding !== "identity" && { "content-encoding": coding }),
  };
  return { ...validatorsOf(parts), sizeBytes, fields, raw: rawOf(fields), body };
}

/** 128 bits in hex. */
const TAG_DIGITS = 32;

/**
 * A strong entity tag (RFC 9110, 8.8.3). `parts` name the content but do not include its bytes, so
 * that nobody can guess levels and check them against a tag.
 */
export function tagOf(platform: Platform, ...parts: readonly string[]): string {
  const digest = platform.sha256(parts.join("\n")).slice(0, TAG_DIGITS);
  // Base64 for addresses, without padding (RFC 4648, 5).
  const text = base64(fromHex(digest)).replaceAll("+", "-").replaceAll("/", "_");
  return `"${text.replace(/=+$/, "")}"`;
}

/**
 * The value of Unencoded-Digest (draft-ietf-httpbis-unencoded-digest) for a SHA-256 (hex): it is over the
 * bytes without content coding. RFC 9530, 2 defines its form.
 */
export const digestField = (sha256: string): string => `sha-256=:${base64(fromHex(sha256))}:`;
