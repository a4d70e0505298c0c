/**
 * What is sent of a file: its bytes in one coding, with the header fields that are said about them,
 * made once.
 */
import { sessionUtc, type Session } from "../../market/session.ts";
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
import { overdueSinceMs, type Expectation } from "./freshness.ts";

/** What all files of a snapshot share. */
export interface SnapshotStamp extends Expectation {
  /** `2026-11-21T00Z/r1`. */
  readonly text: string;
  readonly manifestSha256: string;
  /** When the publication says it was made (epoch milliseconds). */
  readonly publishedAtMs: number;
}

/** The session of a tier's payloads, and its delay when nothing is overdue. */
export interface TierPosition {
  readonly session: Session;
  /** Sessions of 12 hours behind the head. */
  readonly delayedSessions: number;
}

/** Opens a stream: each answer needs its own. Rejects where it cannot be opened. */
export type OpenBody = () => Promise<ReadableStream<Uint8Array>>;

/** What is sent: the bytes in one coding, with what is said about them. */
export interface Representation {
  readonly etag: string;
  /** For Last-Modified and If-Modified-Since (epoch milliseconds). */
  readonly modifiedMs: number;
  /** Of a 200, but for what is said of the moment: cache-control, quota, date. */
  readonly fields: FlatFields;
  /** Of a 304, likewise. */
  readonly notModifiedFields: FlatFields;
  readonly body: Body | OpenBody;
}

/** What a representation is made of. */
interface Parts {
  readonly stamp: SnapshotStamp;
  readonly position: TierPosition;
  readonly overdue: number;
  readonly etag: string;
  readonly plain: Buffer | OpenBody;
  /** Of a stream; bytes have a length. */
  readonly sizeBytes?: number;
  readonly coding?: Coding;
  /** Fields that describe the body: its type, its name. */
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
    etag,
  };
  const sizeBytes = Buffer.isBuffer(plain) ? plain.length : parts.sizeBytes;
  return {
    etag,
    modifiedMs,
    fields: flatFields({
      ...shared,
      ...parts.content,
      "content-length": String(sizeBytes),
      ...(coding !== "identity" && { "content-encoding": coding }),
    }),
    notModifiedFields: flatFields(shared),
    body: Buffer.isBuffer(plain) ? quickBody(plain) : plain,
  };
}

/** When the answer last changed while `overdue` sessions are missing: published, or found missing. */
const modifiedMsOf = (stamp: SnapshotStamp, overdue: number): number =>
  overdue === 0
    ? stamp.publishedAtMs
    : Math.max(stamp.publishedAtMs, overdueSinceMs(stamp, overdue));
