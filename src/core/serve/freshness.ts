/**
 * How late the data is by the clock. A session is due 12 hours after the one before; it counts as
 * missing once it is late by the grace period.
 */
import { SESSION_MS, sessionStartMs, type Session } from "../../market/session.ts";
import type { Publication } from "../../snapshot/log/entry.ts";
import { snapshotText } from "../../store/paths.ts";

/** The facts that all files of a snapshot share. */
export interface SnapshotStamp {
  /** The newest session published. */
  readonly head: Session;
  /** When it began (epoch milliseconds). */
  readonly headMs: number;
  /** How late a session may be before it counts as missing. */
  readonly graceMs: number;
  /** `2026-11-21T00Z/r1`. */
  readonly text: string;
  readonly manifestSha256: string;
  /** The number of the entry that made it the head. */
  readonly publication: number;
  /** The publication's own time (epoch milliseconds). */
  readonly publishedAtMs: number;
}

/** What all files of the publication's snapshot share. `graceMs` Infinity: it is never overdue. */
export const makeStamp = (publication: Publication, graceMs: number): SnapshotStamp => ({
  text: snapshotText(publication),
  manifestSha256: publication.manifest_sha256,
  publication: publication.number,
  head: publication.session,
  headMs: sessionStartMs(publication.session),
  publishedAtMs: Date.parse(publication.at),
  graceMs,
});

/** Sessions that should have been published after `head` by `nowMs`: ⌊(now − head − grace) / 12 h⌋, at least 0. */
export const overdueSessions = ({ headMs, graceMs }: SnapshotStamp, nowMs: number): number =>
  Math.max(0, Math.floor((nowMs - headMs - graceMs) / SESSION_MS));

/** How long before `head` the clock is: one of the two is wrong. 0: it is not. */
export const behindMs = ({ headMs }: SnapshotStamp, nowMs: number): number =>
  Math.max(0, headMs - nowMs);

/** When the answer last changed: at publication, or when the last session became overdue. */
export function modifiedMsOf(
  { publishedAtMs, headMs, graceMs }: SnapshotStamp,
  overdue: number,
): number {
  if (overdue === 0) return publishedAtMs;
  return Math.max(publishedAtMs, headMs + graceMs + overdue * SESSION_MS);
}

const LONGEST_AGE_SECONDS = 60;

/**
 * Fresh for at most a minute, and never beyond the instant at which the answer may change: a session is
 * due (every 12 hours after the head), or one more counts as missing.
 */
export function cacheControl(
  whose: "private" | "public",
  { headMs, graceMs }: SnapshotStamp,
  nowMs: number,
): string {
  const changesMs = Math.min(nextTick(headMs, nowMs), nextTick(headMs + graceMs, nowMs));
  const seconds = Math.floor((changesMs - nowMs) / 1000);
  return `${whose}, max-age=${Math.min(LONGEST_AGE_SECONDS, Math.max(0, seconds))}`;
}

/** The first instant `from + k × 12 h` with k ≥ 1 that is later than `nowMs`. */
const nextTick = (fromMs: number, nowMs: number): number =>
  fromMs + Math.max(1, Math.floor((nowMs - fromMs) / SESSION_MS) + 1) * SESSION_MS;
