/**
 * The verdicts that a proxy remembers: it looks up a key once, not for each request. It remembers what the
 * registry says and decides at the instant of the request, so that trials and overlaps end on time.
 *
 * After a change of the registry (`invalidate`) it looks up every key again. While the state does not
 * answer, keys that were used within the last hour keep their last verdict; all others are
 * `state_unavailable`.
 */
import type { Storage } from "unstorage";
import { HOUR_MS, type Clock } from "../lib/clock.ts";
import { cacheOf } from "../lib/caches.ts";
import { DamageError } from "../lib/errors.ts";
import { TIERS } from "../market/tier.ts";
import { findAccount, findKey, trialLapsesAtMs, voidAtMs } from "./accounts.ts";
import { NO_HOLDER, type KeyVerdict, type Verdicts as VerdictsPort } from "../ports/accounts.ts";
import { KEY_PREFIX } from "../lib/secrets.ts";
import { keySha256, looksLikeKey, looksLikeLink } from "./api-keys.ts";

const REMEMBERED_KEYS = 100_000;
/** Unknown keys are remembered apart, so that guesses cannot push out valid keys. */
const REMEMBERED_MISSES = 10_000;
const GRACE_MS = HOUR_MS;

interface Remembered {
  readonly admitted: KeyVerdict;
  readonly isSuspended: boolean;
  /** Whether a rotation, and nothing else, makes the key void. */
  readonly isReplaced: boolean;
  /** The instants (epoch milliseconds) from which the key is void, and the account's trial over. */
  readonly voidAtMs: number;
  readonly lapsesAtMs: number;
  readonly epoch: number;
  /** When the key was last used while the state answered. */
  seenAtMs: number;
}

/** Whether the state answers. Those that use the state read it and report failures to it. */
export interface Reachability {
  /** Why the state does not answer; null if it answers. */
  readonly trouble: string | null;
  /** Why the state takes no writes, although it answers reads; null if it takes them. */
  readonly refusal: string | null;
  /** Reports that reading from the state failed with `error`. */
  failed(error: unknown): void;
  /** Reports that writing to the state failed with `error`. */
  failedToWrite(error: unknown): void;
}

/** The same, and can look at the state now. */
export interface Checked extends Reachability {
  /** Resolves after a look at the state that began later than the call. Never rejects. */
  check(): Promise<void>;
}

/** What one process remembers of keys. It asks the state for the others. See the port. */
export class Verdicts implements VerdictsPort {
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #state: Checked;
  /** By the key itself, in memory only: to hash it would take longer than all other steps here. */
  readonly #known = cacheOf<Remembered>(REMEMBERED_KEYS);
  /** The epoch of each miss, by SHA-256: the text may be a part of its whole header field, and would keep that in memory. */
  readonly #unknown = cacheOf<number>(REMEMBERED_MISSES);
  #epoch = 1;

  constructor(storage: Storage, clock: Clock, state: Checked) {
    this.#storage = storage;
    this.#clock = clock;
    this.#state = state;
  }

  authenticate(key: string, prefix = KEY_PREFIX): KeyVerdict | Promise<KeyVerdict> {
    if (!key.startsWith(prefix)) return INVALID_KEY;
    const nowMs = this.#clock.now();
    const known = this.#known.get(key);
    const isAnswering = this.#state.trouble === null;
    if (known?.epoch === this.#epoch && isAnswering) {
      known.seenAtMs = nowMs;
      return judge(known, nowMs);
    }
    if (!looksLikeKey(key) && !looksLikeLink(key)) return INVALID_KEY;
    if (!isAnswering) return this.#lastKnown(key, nowMs);
    const sha256 = keySha256(key);
    return this.#unknown.get(sha256) === this.#epoch ? INVALID_KEY : this.#lookUp(key, sha256);
  }

  known(key: string): KeyVerdict | null {
    // A link's token is also remembered.
    if (!key.startsWith(KEY_PREFIX)) return INVALID_KEY;
    const known = this.#known.get(key);
    if (known !== undefined) return judge(known, this.#clock.now());
    const isInvalid = !looksLikeKey(key) || this.#unknown.get(keySha256(key)) !== undefined;
    return isInvalid ? INVALID_KEY : null;
  }

  /** Call it when accounts or keys may have changed. */
  invalidate(): void {
    this.#epoch += 1;
  }

  async #lookUp(key: string, sha256: string): Promise<KeyVerdict> {
    // A change that arrives while the state is being asked also makes the answer stale.
    const epoch = this.#epoch;
    try {
      const record = await findKey(this.#storage, sha256);
      const account = record && (await findAccount(this.#storage, record.account));
      // A key and its account are removed in one step, which may come between these reads.
      if (record === null || account === null) {
        // A state that was emptied, or an old copy of it, lacks keys that are valid.
        await this.#state.check();
        if (this.#state.trouble !== null) return this.#lastKnown(key, this.#clock.now());
        this.#unknown.set(sha256, epoch);
        this.#known.delete(key);
        return INVALID_KEY;
      }
      const { id, name, tier } = account;
      const { path } = record;
      const nowMs = this.#clock.now();
      const known: Remembered = {
        admitted: {
          account: name,
          tier: TIERS[tier],
          subject: `account:${id}`,
          keyId: record.key_id,
          path,
          trialEndsAtMs: endOf(trialLapsesAtMs(account)),
          keyExpiresAtMs: endOf(voidAtMs(record)),
          refusal: null,
          isReplaced: false,
        },
        isReplaced: record.replaced_by !== null && record.revoked_at === null,
        isSuspended: record.suspended || account.suspended,
        voidAtMs: voidAtMs(record),
        lapsesAtMs: trialLapsesAtMs(account),
        epoch,
        seenAtMs: nowMs,
      };
      this.#known.set(key, known);
      return judge(known, nowMs);
    } catch (error) {
      // One damaged record does not mean that the state does not answer.
      if (!(error instanceof DamageError)) this.#state.failed(error);
      return this.#lastKnown(key, this.#clock.now());
    }
  }

  #lastKnown(key: string, nowMs: number): KeyVerdict {
    const known = this.#known.get(key);
    if (known === undefined || nowMs - known.seenAtMs > GRACE_MS) return STATE_UNAVAILABLE;
    return judge(known, nowMs);
  }
}

const INVALID_KEY: KeyVerdict = { ...NO_HOLDER, refusal: "invalid_key" };
/** The state does not answer, and this process does not know the key. */
const STATE_UNAVAILABLE: KeyVerdict = { ...NO_HOLDER, refusal: "state_unavailable" };

const endOf = (ms: number): number | null => (Number.isFinite(ms) ? ms : null);

/** The verdict on a key at an instant. If several refusals apply, the first in this order counts. */
function judge(known: Remembered, nowMs: number): KeyVerdict {
  if (nowMs >= known.voidAtMs) return { ...INVALID_KEY, isReplaced: known.isReplaced };
  if (known.isSuspended) return { ...known.admitted, refusal: "key_suspended" };
  if (nowMs >= known.lapsesAtMs) return { ...known.admitted, refusal: "trial_lapsed" };
  return known.admitted;
}
