/** The requests that handlers get, and their outcomes. answer.ts calls them. */
import { utf8 } from "../lib/bytes.ts";
import type { Place } from "../lib/turns.ts";
import type { Tier } from "../market/tier.ts";
import type { Platform } from "../ports/platform.ts";
import type { Subject } from "../ports/state.ts";
import type { Denial, ProblemCode } from "../public/problems.ts";
import type { Query } from "../public/query.ts";
import { JSON_TYPE } from "../store/media-types.ts";
import type { FieldsByName } from "./ask.ts";
import {
  CORS_HEADERS,
  VARY,
  entityOf,
  rawOf,
  tagOf,
  type Entity,
  type Forms,
  type HeaderFields,
  type RawFields,
  type Validators,
} from "./serve/entity.ts";

/** A request, as handlers see it. */
export interface Asked {
  /** The path as sent: not decoded, dot segments not resolved. */
  readonly path: string;
  readonly query: Query;
  readonly headers: FieldsByName;
  /** The path template of the route that answers. */
  readonly route: string;
  /** When the request arrived (epoch milliseconds, by the service's clock). */
  readonly nowMs: number;
  /** Names the request in its answer and in the log. */
  readonly requestId: string;
  /** The refusal of a request with a body; null: it has none. */
  bodyFault(): Denial | null;
}

/** The caller that an answer is for. */
export interface Reader {
  /** Null: a caller without a key. */
  readonly account: string | null;
  readonly tier: Tier;
  /** Whose calls are counted. */
  readonly subject: Subject;
}

interface Sendable {
  readonly cacheControl: string;
  /** Whether a body in memory is there for this request alone; a body that is made says so by its place. */
  readonly isPrivate?: boolean;
  /** Gives the refusal if the body cannot be made or opened, or throws the error. */
  readonly unopened?: (error: unknown) => Promise<Denial>;
}

/** Something to send: all of it, a part or a 304, as the request means it. */
export interface Found extends Sendable {
  readonly kind: "found";
  readonly forms: Forms;
}

/** The same, whose bytes are made once the call is counted. */
export interface Deferred extends Sendable {
  readonly kind: "deferred";
  readonly tags: Forms<Validators>;
  /** Whether they are made for this caller alone, who then needs a place in the queue. */
  readonly isLaborious: boolean;
  /** Makes the bytes, in its turn. */
  make(place: Place): Promise<Forms | Denial>;
}

/**
 * An answer of which only its tags are known: the quota, and the tags that the caller names, decide before anything is
 * read for it.
 */
export interface Unread extends Sendable {
  readonly kind: "unread";
  /** In each coding that it may have; null: they are known once it is read. */
  readonly tags: Forms<Validators> | null;
  read(): Promise<ReadOutcome>;
}

/** Bytes, of which a list is one body, or a stream of them. */
export type Body = Exclude<Entity["body"], Function> | ReadableStream<Uint8Array>;

/** An answer as it is sent, whatever the request's preconditions. */
export interface Reply {
  readonly kind: "reply";
  readonly status: number;
  /** The fields that answers with the same content share. */
  readonly raw: RawFields;
  /** Of an answer whose other fields are shared; undefined: they say it. */
  readonly cacheControl?: string;
  /** Null: no body. */
  readonly body: Body | null;
  /** The code of a problem, for the log. */
  readonly code?: ProblemCode;
}

/** Each has its `kind`: something to send, which preconditions and the quota may stop, or an answer as it is. */
export type ReadOutcome = Found | Deferred | Reply | Denial;
export type Outcome = ReadOutcome | Unread;

/** Whether preconditions and the quota may stop it. */
export const isSendable = (outcome: ReadOutcome): outcome is Found | Deferred =>
  outcome.kind === "found" || outcome.kind === "deferred";

/** Something to send, before it is known how long caches may keep it. */
export type Content = Omit<Found, "cacheControl"> | Omit<Deferred, "cacheControl">;

/** A document that caches must not store. */
export const uncached = (body: Uint8Array, mediaType: string): HeaderFields => ({
  ...CORS_HEADERS,
  "content-type": mediaType,
  "content-length": String(body.length),
  "cache-control": "no-store",
  vary: VARY,
});

/** A small JSON document, made for each request, that caches must not store. It has no level that its tag could tell. */
export function jsonDocument(value: unknown, platform: Platform): Found {
  const text = `${JSON.stringify(value)}\n`;
  const content = { "content-type": JSON_TYPE };
  const entity = entityOf({
    etag: tagOf(platform, text),
    modifiedMs: null,
    content,
    body: utf8(text),
  });
  return { kind: "found", forms: { identity: entity }, cacheControl: "no-store" };
}

/** The address of something has changed for good (RFC 9110, 15.4.9); the method stays the same. */
export const movedReply = (location: string): Reply => ({
  kind: "reply",
  status: 308,
  raw: rawOf({
    ...CORS_HEADERS,
    location,
    "content-length": "0",
    "cache-control": "no-store",
    vary: VARY,
  }),
  body: null,
});
