/**
 * What the proxy asks of the state: who holds this key, and may this caller have one more call.
 * Answers are values; only the commands see exceptions. Where an answer is known without waiting
 * it is returned directly, not as a promise.
 */
import type { KeyTierName } from "../market/tier.ts";

/** Whose key it is. */
export interface KeyHolder {
  readonly account: string;
  readonly tier: KeyTierName;
  /** Whom the key's calls are counted for. */
  readonly subject: Subject;
}

/** What a presented key is worth. The closed list of outcomes; the proxy maps each to HTTP once. */
export type KeyVerdict =
  | ({ readonly ok: true } & KeyHolder)
  | ({ readonly ok: false; readonly code: "key_suspended" | "trial_lapsed" } & KeyHolder)
  | { readonly ok: false; readonly code: "invalid_key" | "state_unavailable" };

/**
 * Whom a call is counted for: an account (all its keys together), or a client address, known only
 * by a keyed hash.
 */
export type Subject = `account:${string}` | `address:${string}`;

/** What became of one more call. */
export interface TakeResult {
  /** Whether the call was granted (and counted). */
  readonly granted: boolean;
  /** Calls counted for the subject in the month, this one included if it was granted. */
  readonly used: number;
}

/** A value that is there, or one that must be waited for. */
export type MaybePromise<T> = T | Promise<T>;

/** The view of the state that a serving proxy holds. */
export interface Gatekeeper {
  /** Judges a key as it was presented (any text). Never throws. */
  authenticate(key: string): MaybePromise<KeyVerdict>;

  /** The same by what this process remembers of the key, without asking; null where that is nothing. */
  knownVerdict(key: string): KeyVerdict | null;

  /** The subject for a normalised client address (IPv4, or an IPv6 /64). */
  addressSubject(address: string, atMs: number): Subject;

  /**
   * Counts one call in the calendar month UTC of `atMs` if fewer than `limit` are counted (null:
   * no limit). Exactly `limit` succeed, however many processes ask at once. What is granted is in
   * the state; while the state does not answer it is in memory, and written on its return.
   */
  take(subject: Subject, limit: number | null, atMs: number): MaybePromise<TakeResult>;

  /** Calls counted so far in the month of `atMs`. */
  used(subject: Subject, atMs: number): MaybePromise<number>;

  /** The same as far as this process knows it without asking the state; null: not at all. */
  known(subject: Subject, atMs: number): number | null;

  /** Why the state does not answer at the moment (for the log, /readyz and metrics); null: it does. */
  readonly trouble: string | null;

  /** Writes what is not written yet, and lets go of the state. Throws UnreachableError where it cannot. */
  close(): Promise<void>;
}
