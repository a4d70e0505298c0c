/** Who calls, and how many calls are counted: what the core asks of accounts, keys and counts. */
import type { Tier } from "../market/tier.ts";
import type { Subject } from "./state.ts";

/** Why a key is refused. This list is complete; the core maps each to HTTP in one place. */
type Refusal = "invalid_key" | "key_suspended" | "trial_lapsed" | "state_unavailable";

/** The verdict on a key, and who holds it: null in each field if it names no account. */
export interface KeyVerdict {
  readonly account: string | null;
  readonly tier: Tier | null;
  /** The subject that the key's calls are counted for. */
  readonly subject: Subject | null;
  readonly keyId: string | null;
  /** The path of a link; null: it is a key. */
  readonly path: string | null;
  /** When the account's trial ends, and the key (epoch milliseconds); null: no end is set. */
  readonly trialEndsAtMs: number | null;
  readonly keyExpiresAtMs: number | null;
  /** Null: the key is admitted. */
  readonly refusal: Refusal | null;
  /** Whether it is refused because another key took its place. */
  readonly isReplaced: boolean;
}

/** The fields of a verdict on nobody. */
export const NO_HOLDER = {
  account: null,
  tier: null,
  subject: null,
  keyId: null,
  path: null,
  trialEndsAtMs: null,
  keyExpiresAtMs: null,
  isReplaced: false,
} as const;

export interface Verdicts {
  /**
   * The verdict on a key as it was sent, or, with their prefix, on a link's token. It is a promise only if the
   * state must be asked. Never throws.
   */
  authenticate(key: string, prefix?: string): KeyVerdict | Promise<KeyVerdict>;
  /** The verdict from memory, even from before the latest change; null if the key is not remembered. */
  known(key: string): KeyVerdict | null;
}

/** The answer to one more call. */
export interface TakeResult {
  /** Whether the call is granted. Exactly the granted calls are counted. */
  readonly granted: boolean;
  /** The subject's calls in the month, with this one if it is granted. */
  readonly used: number;
}

/** Calls by calendar month UTC. No function throws or rejects: while the state does not answer, memory does. */
export interface Counts {
  /**
   * Counts one call in the month of `atMs` (epoch) if fewer than `limit` are counted (null: no limit). Exactly
   * `limit` calls succeed, however many processes ask at once. A granted call is in the state, also for the key that
   * it came with (null: none).
   */
  take(
    subject: Subject,
    limit: number | null,
    atMs: number,
    keyId: string | null,
  ): TakeResult | Promise<TakeResult>;
  /** Gives back one call that `take` granted with the same subject, instant and key. */
  giveBack(subject: Subject, atMs: number, keyId: string | null): void;
  /** Calls counted so far in the month of `atMs`. */
  used(subject: Subject, atMs: number): Promise<number>;
  /** The same without asking the state; null: it is not known here. */
  known(subject: Subject, atMs: number): number | null;
  /** Notes that the key was used on the day UTC of `atMs`. */
  noteUse(keyId: string, atMs: number): void;
}

export interface Accounts {
  readonly verdicts: Verdicts;
  readonly counts: Counts;
  /** The subject for a normalised client address (IPv4, or an IPv6 /64): a keyed hash, another one each month. */
  addressSubject(address: string, atMs: number): Subject;
  /** Why the state does not answer; null if it answers. */
  readonly trouble: string | null;
  /** Why the state takes no writes, although it answers reads; null if it takes them. */
  readonly refusal: string | null;
  /** The policy by which the state's database may drop entries; null: it drops none. */
  readonly evictionPolicy: string | null;
}
