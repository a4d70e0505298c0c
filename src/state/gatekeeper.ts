/**
 * The proxy's two questions to the state: who holds this key, and may this caller make one more
 * call? Answers are values; only the commands see exceptions. The state also remembers the log for the
 * proxy.
 */
import type { KeyTierName } from "../market/tier.ts";
import type { LogMemory } from "../snapshot/log/seen.ts";

/** The account that a key belongs to. */
export interface KeyHolder {
  readonly account: string;
  readonly tier: KeyTierName;
  /** The subject that the key's calls are counted for. */
  readonly subject: Subject;
  readonly keyId: string;
}

/** The verdict on a key. This list is complete; the proxy maps each code to HTTP in one place. */
export type KeyVerdict =
  | ({ readonly ok: true } & KeyHolder)
  | ({ readonly ok: false; readonly code: "key_suspended" | "trial_lapsed" } & KeyHolder)
  | { readonly ok: false; readonly code: "invalid_key" | "state_unavailable" };

/**
 * What calls are counted for: an account (all its keys together), the keyed hash of a client address,
 * or a key by its KEYID. The first two have a limit; the calls of a key are those of its account, too.
 */
export type Subject = `account:${string}` | `address:${string}` | `key:${string}`;

/** The answer to one more call. */
export interface TakeResult {
  /** Whether the call is granted. Exactly the granted calls are counted. */
  readonly granted: boolean;
  /** The subject's calls in the month, with this one if it is granted. */
  readonly used: number;
}

/** A value that is there, or one that must be waited for. */
export type MaybePromise<T> = T | Promise<T>;

/** The state as a serving proxy sees it. */
export interface Gatekeeper extends LogMemory {
  /** The verdict on a key as it was sent (any text). Never throws. */
  authenticate(key: string): Promise<KeyVerdict>;

  /** The same from this process's memory, without asking the state; null if it does not know the key. */
  knownVerdict(key: string): KeyVerdict | null;

  /** The subject for a normalised client address (IPv4, or an IPv6 /64). */
  addressSubject(address: string, atMs: number): Subject;

  /**
   * Counts one call in the calendar month UTC of `atMs` if fewer than `limit` are counted (null:
   * no limit). Exactly `limit` calls succeed, however many processes ask at once. A granted call is
   * in the state, and counted for the key that it came with (null: none) in the same step; while the
   * state does not answer, it is in memory and is written when the state is back.
   */
  take(
    subject: Subject,
    limit: number | null,
    atMs: number,
    keyId?: string | null,
  ): Promise<TakeResult>;

  /** Calls counted so far in the month of `atMs`. */
  used(subject: Subject, atMs: number): Promise<number>;

  /** The same from this process's memory, without asking the state; null if it does not know it. */
  known(subject: Subject, atMs: number): number | null;

  /** Why the state does not answer (for the log, /readyz and metrics); null if it answers. */
  readonly trouble: string | null;

  /** Writes the unwritten counts and closes the state. Throws UnreachableError if it cannot write them. */
  close(): Promise<void>;
}
