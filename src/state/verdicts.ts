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
import { GenerationCache } from "../generation-cache.ts";
import {
  findAccount,
  findKey,
  keyItem,
  trialLapsesAtMs,
  voidAtMs,
  type AccountRecord,
  type KeyRecord,
} from "./accounts.ts";
import type { KeyHolder, KeyVerdict, MaybePromise } from "./gatekeeper.ts";
import { keySha256, looksLikeKey } from "./keys.ts";

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

/** How the state is doing, as those who ask it need to know and to say. */
export interface Reachability {
  /** Why the state does not answer; null: it does. */
  readonly trouble: string | null;
  /** The state failed with `error`. */
  failed(error: unknown): void;
}

/** What one process remembers of keys; it asks the state for what it does not. */
export class Verdicts {
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #state: Reachability;
  /** By the key itself, in memory only: hashing it would cost a request more than all else here. */
  readonly #known = new GenerationCache<Remembered>(REMEMBERED_KEYS);
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
    const known = this.#known.get(key);
    const isAnswering = this.#state.trouble === null;
    if (known?.epoch === this.#epoch && isAnswering) {
      known.seenAtMs = nowMs;
      return judge(known.holding, nowMs);
    }
    if (!looksLikeKey(key)) return INVALID_KEY;
    if (!isAnswering) return this.#lastKnown(key, nowMs);
    return this.#unknown.get(key) === this.#epoch ? INVALID_KEY : this.#lookUpOnce(key);
  }

  /** Judges a key by what is remembered, be it of before the latest change; null: nothing is. */
  known(key: string): KeyVerdict | null {
    const known = this.#known.get(key);
    if (known !== undefined) return judge(known.holding, this.#clock.now());
    const isInvalid = !looksLikeKey(key) || this.#unknown.get(key) !== undefined;
    return isInvalid ? INVALID_KEY : null;
  }

  /** Accounts or keys may have changed. */
  invalidate(): void {
    this.#epoch += 1;
    this.#lookUps.clear();
  }

  #lookUpOnce(key: string): Promise<KeyVerdict> {
    const running = this.#lookUps.get(key);
    if (running !== undefined) return running;
    const lookUp = this.#lookUp(key).finally(() => {
      if (this.#lookUps.get(key) === lookUp) this.#lookUps.delete(key);
    });
    this.#lookUps.set(key, lookUp);
    return lookUp;
  }

  async #lookUp(key: string): Promise<KeyVerdict> {
    // A change that arrives while the state is being asked makes the answer stale, too.
    const epoch = this.#epoch;
    try {
      const holding = await this.#holding(keySha256(key));
      const nowMs = this.#clock.now();
      if (holding === null) {
        this.#unknown.set(key, epoch);
        this.#known.delete(key);
        return INVALID_KEY;
      }
      this.#known.set(key, { holding, epoch, seenAtMs: nowMs });
      return judge(holding, nowMs);
    } catch (error) {
      // One damaged record is no reason to distrust the whole state.
      if (!(error instanceof DamageError)) this.#state.failed(error);
      return this.#lastKnown(key, this.#clock.now());
    }
  }

  async #holding(sha256: string): Promise<Holding | null> {
    const key = await findKey(this.#storage, sha256);
    if (key === null) return null;
    const account = await findAccount(this.#storage, key.account);
    if (account !== null) return holdingOf(key, account);
    throw new DamageError(`State record "${keyItem(sha256)}" names an account that is not there`);
  }

  #lastKnown(key: string, nowMs: number): KeyVerdict {
    const known = this.#known.get(key);
    if (known === undefined || nowMs - known.seenAtMs > GRACE_MS) return STATE_UNAVAILABLE;
    return judge(known.holding, nowMs);
  }
}

/** What a stored key is worth, prepared so that judging it costs nothing. */
interface Holding {
  /** From this instant on the key is void: revoked, or rotated out. */
  readonly voidAtMs: number;
  readonly isSuspended: boolean;
  /** When the trial lapses; infinity without one. */
  readonly lapsesAtMs: number;
  /** The three verdicts that are possible before it is void, made once. */
  readonly valid: KeyVerdict;
  readonly suspended: KeyVerdict;
  readonly lapsed: KeyVerdict;
}

/** What the key is worth, as long as neither it nor its account changes. */
function holdingOf(key: KeyRecord, account: AccountRecord): Holding {
  const { name, tier } = account;
  const holder: KeyHolder = { account: name, tier, subject: `account:${name}` };
  return {
    voidAtMs: voidAtMs(key),
    isSuspended: key.suspended || account.suspended,
    lapsesAtMs: trialLapsesAtMs(account),
    valid: { ok: true, ...holder },
    suspended: { ok: false, code: "key_suspended", ...holder },
    lapsed: { ok: false, code: "trial_lapsed", ...holder },
  };
}

/** Verdicts that name no account. */
const INVALID_KEY: KeyVerdict = { ok: false, code: "invalid_key" };
/** The state cannot be asked, and nothing is known of the key. */
const STATE_UNAVAILABLE: KeyVerdict = { ok: false, code: "state_unavailable" };

/** The verdict on a key at an instant, in the order in which refusals come. */
function judge(holding: Holding, nowMs: number): KeyVerdict {
  if (nowMs >= holding.voidAtMs) return INVALID_KEY;
  if (holding.isSuspended) return holding.suspended;
  return nowMs >= holding.lapsesAtMs ? holding.lapsed : holding.valid;
}
