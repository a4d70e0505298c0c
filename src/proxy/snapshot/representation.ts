/**
 * A representation of a file: its bytes in one coding and the header fields that describe them. It
 * is made once, not per request.
 */
import { sessionUtc, type Session } from "../../market/session.ts";
import { digestField, sha256Hex } from "../../snapshot/digest.ts";
import {
  CORS_HEADERS,
  flatFields,
  quickBody,
  VARY,
  type Body,
  type FlatFields,
  type HeaderFields,
} from "../answer.ts";
import type { Coding } from "../coding.ts";
import type { Denial } from "../problems.ts";
import { overdueSinceMs, type Expectation } from "./freshness.ts";
import type { ByteRange, Pace } from "./stream.ts";

/** The facts that all files of a snapshot share. */
export interface SnapshotStamp extends Expectation {
  /** `2026-11-21T00Z/r1`. */
  readonly text: string;
  readonly manifestSha256: string;
  /** The number of the entry that made it the head. */
  readonly publication: number;
  /** The publication's own time (epoch milliseconds). */
  readonly publishedAtMs: number;
}

/** The session of a tier's payloads, and its delay when nothing is overdue. */
export interface TierPosition {
  readonly session: Session;
  /** Sessions of 12 hours behind the head. */
  readonly delayedSessions: number;
}

/**
 * Opens a new stream of the file, or of a part of it, for one answer; each piece waits until `pace`
 * resolves. Rejects if it cannot.
 */
export type OpenBody = (range?: ByteRange, pace?: Pace) => Promise<ReadableStream<Uint8Array>>;

/** A body in one coding, with its header fields. */
export interface Representation {
  /** 206: a part of the file. */
  readonly status: 200 | 206;
  /** The answer if the caller does not already have the file; it costs no call. */
  readonly refusal?: Denial;
  readonly etag: string;
  /** For Last-Modified and If-Modified-Since (epoch milliseconds). */
  readonly modifiedMs: number;
  /** Of the whole body. */
  readonly sizeBytes: number;
  /** The fields of the answer, without those that depend on the request: cache-control, quota, date. */
  readonly fields: FlatFields;
  /** The fields of a 304, without the same ones. */
  readonly notModifiedFields: FlatFields;
  readonly body: Body | OpenBody;
}

interface Parts {
  readonly stamp: SnapshotStamp;
  readonly position: TierPosition;
  readonly overdue: number;
  readonly etag: string;
  readonly plain: Buffer | OpenBody;
  /** SHA-256 (hex) of the identity bytes of the whole body; without it that of `plain`, a Buffer. */
  readonly sha256?: string;
  /** The size of a stream; a Buffer knows its own. */
  readonly sizeBytes?: number;
  readonly coding?: Coding;
  /** Header fields that describe the body: media type, file name. */
  readonly content: HeaderFields;
}

/** The representation while `overdue` sessions are missing. */
export function representation(parts: Parts): Representation {
  const { stamp, position, overdue, etag, plain, coding = "identity" } = parts;
  const modifiedMs = modifiedMsOf(stamp, overdue);
  const shared = {
    ...CORS_HEADERS,
    vary: VARY,
    "last-modified": new Date(modifiedMs).toUTCString(),
    "x-session-utc": sessionUtc(position.session),
    "x-delayed-sessions": String(position.delayedSessions + overdue),
    "x-snapshot": stamp.text,
    "x-publication": String(stamp.publication),
    etag,
  };
  // Only a stream lacks the length, and `sizeBytes` says it.
  const sizeBytes = Buffer.isBuffer(plain) ? plain.length : (parts.sizeBytes as number);
  const sha256 = parts.sha256 ?? sha256Hex(plain as Buffer);
  return {
    status: 200,
    etag,
    modifiedMs,
    sizeBytes,
    fields: flatFields({
      ...shared,
      ...parts.content,
      "content-length": String(sizeBytes),
      "unencoded-digest": digestField(sha256),
      ...(coding !== "identity" && { "content-encoding": coding }),
    }),
    // Without the digest: a 304 costs no call, and a level could be guessed from it.
    notModifiedFields: flatFields(shared),
    body: Buffer.isBuffer(plain) ? quickBody(plain) : plain,
  };
}

/** When the answer last changed: at publication, or when the last session became overdue. */
const modifiedMsOf = (stamp: SnapshotStamp, overdue: number): number =>
  overdue === 0
    ? stamp.publishedAtMs
    : Math.max(stamp.publishedAtMs, overdueSinceMs(stamp, overdue));
