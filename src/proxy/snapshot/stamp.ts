/** What every answer says of the snapshot it comes from. */
import { sessionUtc, type Session } from "../../market/session.ts";
import { overdueSinceMs, type Expectation } from "./freshness.ts";
import type { HeaderFields } from "../header-text.ts";
import { CORS_HEADERS, VARY } from "../reply.ts";

/** What all files of a snapshot share. */
export interface SnapshotStamp extends Expectation {
  /** `2026-11-21T00Z/r1`. */
  readonly text: string;
  /** When the publication says it was made (epoch milliseconds). */
  readonly publishedAtMs: number;
}

/** The session of a tier's payloads, and its delay when nothing is overdue. */
export interface TierPosition {
  readonly session: Session;
  /** Sessions of 12 hours behind the head. */
  readonly delayedSessions: number;
}

/** When the answer last changed while `overdue` sessions are missing: published, or found missing. */
export const modifiedMs = (stamp: SnapshotStamp, overdue: number): number =>
  overdue === 0
    ? stamp.publishedAtMs
    : Math.max(stamp.publishedAtMs, overdueSinceMs(stamp, overdue));

/**
 * The fields of every answer from the snapshot, 304 included, while `overdue` sessions are
 * missing.
 */
export const snapshotHeaders = (
  stamp: SnapshotStamp,
  { session, delayedSessions }: TierPosition,
  overdue: number,
): HeaderFields => ({
  ...CORS_HEADERS,
  vary: VARY,
  "last-modified": new Date(modifiedMs(stamp, overdue)).toUTCString(),
  "x-session-utc": sessionUtc(session),
  "x-delayed-sessions": String(delayedSessions + overdue),
  "x-snapshot": stamp.text,
});
