/**
 * The state as a serving proxy uses it: verdicts on keys, counts of calls, and the entry of the log that
 * was seen. It checks the state twice a second and reports why it does not answer. Verdicts and counts are
 * values; only commands see exceptions.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../lib/clock.ts";
import { reasonOf, UnreachableError } from "../lib/errors.ts";
import type { Accounts } from "../ports/accounts.ts";
import { Counts } from "./counts.ts";
import type { StateDriver, Subject } from "../ports/state.ts";
import type { LogMemory, SeenLog } from "../snapshot/log/lost.ts";
import { countAccounts } from "./accounts.ts";
import { addressSecret, addressSubject } from "./address-secret.ts";
import { see, seenIn } from "./seen-logs.ts";
import { Verdicts, type Checked } from "./verdicts.ts";

const LOOK_MS = 500;
const SURVEY_MS = 60_000;
/** How long `close` tries to write the unwritten counts. */
const CLOSE_PATIENCE_MS = 3_000;
const CLOSE_RETRY_MS = 100;

/** What a proxy tells of its state. */
export interface Listeners {
  /** Receives the reason why the state does not answer, once for each reason; null: it answers again. */
  readonly onTrouble?: (trouble: string | null) => void;
  /** Receives the reason why the state takes no writes, once for each reason; null: it takes them again. */
  readonly onRefusal?: (refusal: string | null) => void;
  /** Receives the policy by which the state's Redis may drop keys from now on; null: it drops none any more. */
  readonly onEviction?: (policy: string | null) => void;
}

/** The state as it was when it was opened. */
interface Found {
  readonly addressSecret: string;
  readonly accounts: number;
  readonly refusal: string | null;
}

/** A state that is open to serve (see openAccounts). */
export class StateAccounts implements Accounts, LogMemory, Checked {
  readonly verdicts: Verdicts;
  readonly counts: Counts;
  /** Why the state does not answer (for the log, /readyz and metrics); null if it answers. */
  trouble: string | null = null;
  /** Why the state takes no writes, although it answers reads (also for those); null if it takes them. */
  refusal: string | null = null;
  /** See StateDriver; asked every minute. */
  evictionPolicy: string | null = null;
  /** How many accounts there are: counted after each change and every minute, while the state answers. */
  size: number;
  readonly #driver: StateDriver;
  readonly #clock: Clock;
  readonly #listeners: Listeners;
  readonly #timer: NodeJS.Timeout | undefined;
  #addressSecret: string;
  #looking: Promise<void> | null = null;
  #surveyAtMs = -Infinity;
  #isCounting = false;

  /** `lookMs`: how often it looks at the state; null: only when `check` is called. */
  constructor(
    driver: StateDriver,
    clock: Clock,
    found: Found,
    listeners: Listeners,
    lookMs: number | null = LOOK_MS,
  ) {
    this.#driver = driver;
    this.#clock = clock;
    this.#listeners = listeners;
    this.#addressSecret = found.addressSecret;
    this.size = found.accounts;
    this.#tell(null, found.refusal);
    this.verdicts = new Verdicts(driver.storage, clock, this);
    this.counts = new Counts(driver, this);
    if (lookMs !== null) this.#timer = setInterval(() => void this.#look(), lookMs).unref();
  }

  /** The subject for a normalised client address (IPv4, or an IPv6 /64). */
  addressSubject(address: string, atMs: number): Subject {
    return addressSubject(this.#addressSecret, address, atMs);
  }

  /** See LogMemory. */
  seen(): Promise<readonly SeenLog[]> {
    return seenIn(this.#driver.storage).catch(this.#throwExplained);
  }

  see(log: SeenLog): Promise<void> {
    return see(this.#driver, log).catch(this.#throwExplained);
  }

  readonly #throwExplained = (error: unknown): never => {
    throw this.#driver.explain(error);
  };

  /** Writes the unwritten counts and closes the state. Throws UnreachableError if it cannot write them. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const deadline = performance.now() + CLOSE_PATIENCE_MS;
    do {
      // If the file was replaced, the first look closes the old one and the second opens the new one.
      await this.#look();
      if (this.trouble === null && this.refusal === null) await this.counts.flush();
      else await delay(CLOSE_RETRY_MS);
    } while (this.counts.hasUnwritten && performance.now() < deadline);
    const isLost = this.counts.hasUnwritten;
    await this.#driver.close();
    if (isLost)
      throw new UnreachableError(
        `The last calls could not be written: ${this.trouble ?? this.refusal}`,
      );
  }

  /** See Reachability. */
  failed(error: unknown): void {
    this.#tell(reasonOf(this.#driver.explain(error)), null);
    this.counts.answerHere();
  }

  /** See Reachability. */
  failedToWrite(error: unknown): void {
    const refusal = this.#driver.refusal(error);
    if (refusal === null) return this.failed(error);
    this.#tell(this.trouble, refusal);
    this.counts.answerHere();
  }

  /** See Checked. */
  async check(): Promise<void> {
    await this.#looking;
    await this.#look();
  }

  #look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #lookOnce(): Promise<void> {
    try {
      const { isChanged, refusal } = await this.#driver.look();
      const wasRefused = this.refusal !== null && refusal === null;
      if (this.trouble !== null || wasRefused) await this.#recover(refusal);
      else if (isChanged) await this.#follow();
      else if (refusal !== null) this.#tell(null, refusal);
      const nowMs = this.#clock.now();
      if (nowMs < this.#surveyAtMs) return;
      void this.#countAccounts();
      await this.#askPolicy();
      const hasMore = refusal === null && (await this.#forget(nowMs));
      if (!hasMore) this.#surveyAtMs = nowMs + SURVEY_MS;
    } catch (error) {
      this.failed(error);
    }
  }

  async #forget(nowMs: number): Promise<boolean> {
    try {
      return await this.#driver.forget(nowMs);
    } catch (error) {
      this.failedToWrite(error);
      return false;
    }
  }

  /** No look waits for it: a scan of a large Redis takes a while. */
  async #countAccounts(): Promise<void> {
    if (this.#isCounting) return;
    this.#isCounting = true;
    try {
      this.size = await countAccounts(this.#driver.storage);
    } catch {
      // The looks report a state that does not answer.
    } finally {
      this.#isCounting = false;
    }
  }

  async #askPolicy(): Promise<void> {
    const policy = await this.#driver.evictionPolicy();
    if (policy === this.evictionPolicy) return;
    this.evictionPolicy = policy;
    this.#listeners.onEviction?.(policy);
  }

  /** Accounts and keys have changed. A copy into the state also brings its own secret. */
  async #follow(): Promise<void> {
    this.#addressSecret = await addressSecret(this.#driver, this.#addressSecret);
    this.verdicts.invalidate();
    void this.#countAccounts();
  }

  /** Makes up for an outage: the state that is back may be another one, or may have lost counts. */
  async #recover(refusal: string | null): Promise<void> {
    await this.#follow();
    this.counts.rewrite(this.#clock.now());
    if (refusal !== null) return this.#tell(null, refusal);
    try {
      await this.counts.sendOne();
    } catch (error) {
      return this.failedToWrite(error);
    }
    this.#tell(null, null);
    await this.counts.flush();
  }

  #tell(trouble: string | null, refusal: string | null): void {
    const isTrouble = trouble !== this.trouble;
    const isRefusal = refusal !== this.refusal;
    [this.trouble, this.refusal] = [trouble, refusal];
    if (isTrouble) this.#listeners.onTrouble?.(trouble);
    // Of a state that does not answer, nobody knows whether it would take writes.
    if (isRefusal && trouble === null) this.#listeners.onRefusal?.(refusal);
  }
}
