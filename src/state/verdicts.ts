/**
 * The verdicts a serving proxy remembers, so that a key costs the state one look-up, not one a
 * request. Remembered is what the registry holds; the verdict is made at the instant of the request,
 * so that trials and overlaps end on time.
 *
 * A change of the registry makes everything remembered stale (`invalidate`), to be looked up again.
 * While the state does not answer, keys that were presented within the hour before go on with what
 * was last known; all others are `state_unavailable`.
 */
import type { Storage } from "unstorage";
import { HOUR_MS, type Clock } from "../clock.ts";
import { DamageError } from "../errors.ts";
import type { KeyVerdict, MaybePromise } from "./gatekeeper.ts";
import { GenerationCache } from "../generation-cache.ts";
import { KEY_CHARACTERS, keySha256, looksLikeKey } from "./keys.ts";
import {
  holdingOf,
  INVALID_KEY,
  judge,
  keyItem,
  STATE_UNAVAILABLE,
  type Holding,
} from "./accounts.ts";
import { findAccount, findKey } from "./stored-records.ts";

const REMEMBERED_KEYS = 100_000;
/** Unknown keys have a place of their own, so that guesses cannot push out the good ones. */
const REMEMBERED_MISSES = 10_000;
const GRACE_MS = HOUR_MS;

interface Remembered {
  readonly holding: Holding;
  readonly epoch: number;
  /** When the key was last presented while the state answered. */
  seenAtMs: number;
}

/** How the driver's state is doing, as the verdicts need to know and to tell. */
export interface Reachability {
  /** False from a failure until the driver finds the state in order. */
  readonly healthy: boolean;
  /** A look-up failed with `error`. */
  failed(error: unknown): void;
}

/** What one process remembers of keys; it asks the state for what it does not. */
export class Verdicts {
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #state: Reachability;
  readonly #known = new GenerationCache<Remembered>(REMEMBERED_KEYS);
  /** By the key itself, in memory only: hashing it would cost a request more than all else here. */
  readonly #presented = new GenerationCache<Remembered>(REMEMBERED_KEYS);
  readonly #unknown = new GenerationCache<number>(REMEMBERED_MISSES);
  readonly #lookUps = new Map<string, Promise<KeyVerdict>>();
  #epoch = 1;

  constructor(storage: Storage, clock: Clock, state: Reachability) {
    this.#storage = storage;
    this.#clock = clock;
    this.#state = state;
  }

  /** Judges a key as presented; waits only where the state must be asked. Never throws. */
  authenticate(key: string): MaybePromise<KeyVerdict> {
    const nowMs = this.#clock.now();
    const lately = this.#presented.get(key);
    if (lately?.epoch === this.#epoch && this.#state.healthy) {
      lately.seenAtMs = nowMs;
      return judge(lately.holding, nowMs);
    }
    if (key.length !== KEY_CHARACTERS) return INVALID_KEY;
    const sha256 = keySha256(key);
    if (!this.#state.healthy) {
      return looksLikeKey(key) ? this.#lastKnown(sha256, nowMs) : INVALID_KEY;
    }
    const known = this.#known.get(sha256);
    if (known?.epoch === this.#epoch) {
      this.#presented.set(key, known);
      known.seenAtMs = nowMs;
      return judge(known.holding, nowMs);
    }
    if (this.#unknown.get(sha256) === this.#epoch) return INVALID_KEY;
    // Checked this late, since it costs more than finding a key that is known.
    if (!looksLikeKey(key)) return INVALID_KEY;
    return this.#lookUpOnce(sha256);
  }

  /** Accounts or keys may have changed. */
  invalidate(): void {
    this.#epoch += 1;
    this.#lookUps.clear();
  }

  #lookUpOnce(sha256: string): Promise<KeyVerdict> {
    const running = this.#lookUps.get(sha256);
    if (running !== undefined) return running;
    const lookUp = this.#lookUp(sha256).finally(() => {
      if (this.#lookUps.get(sha256) === lookUp) this.#lookUps.delete(sha256);
    });
    this.#lookUps.set(sha256, lookUp);
    return lookUp;
  }

  async #lookUp(sha256: string): Promise<KeyVerdict> {
    // A change that arrives while the state is being asked makes the answer stale, too.
    const epoch = this.#epoch;
    try {
      const holding = await this.#holding(sha256);
      const nowMs = this.#clock.now();
      if (holding === null) {
        this.#unknown.set(sha256, epoch);
        this.#known.delete(sha256);
        return INVALID_KEY;
      }
      this.#known.set(sha256, { holding, epoch, seenAtMs: nowMs });
      return judge(holding, nowMs);
    } catch (error) {
      // One damaged record is no reason to distrust the whole state.
      if (!(error instanceof DamageError)) this.#state.failed(error);
      return this.#lastKnown(sha256, this.#clock.now());
    }
  }

  async #holding(sha256: string): Promise<Holding | null> {
    const key = await findKey(this.#storage, sha256);
    if (key === null) return null;
    const account = await findAccount(this.#storage, key.account);
    if (account !== null) return holdingOf(key, account);
    throw new DamageError(`State record "${keyItem(sha256)}" names an account that is not there`);
  }

  #lastKnown(sha256: string, nowMs: number): KeyVerdict {
    const known = this.#known.get(sha256);
    if (known === undefined || nowMs - known.seenAtMs > GRACE_MS) return STATE_UNAVAILABLE;
    return judge(known.holding, nowMs);
  }
}
