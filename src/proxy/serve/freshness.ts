/**
 * How late the data is by the clock. A session is due 12 hours after the one before; it counts as
 * missing once it is late by the grace period.
 */
import { SESSION_MS, sessionStartMs, type Session } from "../../market/session.ts";

/** What the due time of the next sessions depends on. */
export interface Expectation {
  /** The newest session published. */
  readonly head: Session;
  /** How late a session may be before it counts as missing. */
  readonly graceMs: number;
}

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

/** Sessions that should have been published after `head` by `nowMs`: ⌊(now − head − grace) / 12 h⌋, at least 0. */
export const overdueSessions = ({ head, graceMs }: Expectation, nowMs: number): number =>
  Math.max(0, Math.floor((nowMs - sessionStartMs(head) - graceMs) / SESSION_MS));

/** How long before `head` the clock is: one of the two is wrong. 0: it is not. */
export const behindMs = ({ head }: Pick<Expectation, "head">, nowMs: number): number =>
  Math.max(0, sessionStartMs(head) - nowMs);

/** When the answer last changed: at publication, or when the last session became overdue. */
export function modifiedMsOf(
  { publishedAtMs, head, graceMs }: SnapshotStamp,
  overdue: number,
): number {
  if (overdue === 0) return publishedAtMs;
  return Math.max(publishedAtMs, sessionStartMs(head) + graceMs + overdue * SESSION_MS);
}

/**
 * The next instant after `nowMs` at which an answer may change: a session is due (every 12 hours
 * after the head), or one more counts as missing.
 */
function nextChangeMs({ head, graceMs }: Expectation, nowMs: number): number {
  const headMs = sessionStartMs(head);
  return Math.min(nextTick(headMs, nowMs), nextTick(headMs + graceMs, nowMs));
}

const LONGEST_AGE_SECONDS = 60;
const CACHE_CONTROL = Array.from(
  { length: LONGEST_AGE_SECONDS + 1 },
  (_, seconds) => `private, max-age=${seconds}`,
);

/** Fresh for at most a minute, and never beyond the instant at which the answer may change. */
export const cacheControl = (expectation: Expectation, nowMs: number): string =>
  CACHE_CONTROL[maxAgeSeconds(expectation, nowMs)] as string;

/** The same for an answer that is equal for everybody. */
export const publicCacheControl = (expectation: Expectation, nowMs: number): string =>
  `public, max-age=${maxAgeSeconds(expectation, nowMs)}`;

function maxAgeSeconds(expectation: Expectation, nowMs: number): number {
  const seconds = Math.floor((nextChangeMs(expectation, nowMs) - nowMs) / 1000);
  return Math.min(LONGEST_AGE_SECONDS, Math.max(0, seconds));
}

/** The first instant `from + k × 12 h` with k ≥ 1 that is later than `nowMs`. */
const nextTick = (fromMs: number, nowMs: number): number =>
  fromMs + Math.max(1, Math.floor((nowMs - fromMs) / SESSION_MS) + 1) * SESSION_MS;
