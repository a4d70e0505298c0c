/**
 * The state as a serving proxy uses it: verdicts on keys, counts of calls, and the entry of the log that
 * was seen. It checks the state twice a second and reports why it does not answer. Verdicts and counts are
 * values; only commands see exceptions.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../lib/clock.ts";
import { reasonOf, UnreachableError } from "../lib/errors.ts";
import { Counts } from "./counts.ts";
import type { StateDriver, Subject } from "./driver.ts";
import type { LogMemory, SeenEntry } from "../snapshot/log/seen.ts";
import { addressSecret, addressSubject, see, seenIn } from "./facts.ts";
import { Verdicts, type Checked } from "./verdicts.ts";

const LOOK_MS = 500;
const FORGET_MS = 60_000;
/** How long `close` tries to write the unwritten counts. */
const CLOSE_PATIENCE_MS = 3_000;
const CLOSE_RETRY_MS = 100;

/** Receives the reason why the state does not answer, once for each reason; null: it answers again. */
export type OnTrouble = (trouble: string | null) => void;

/** A state that is open to serve (see openGatekeeper). */
export class Gatekeeper implements LogMemory, Checked {
  readonly verdicts: Verdicts;
  readonly counts: Counts;
  /** Why the state does not answer (for the log, /readyz and metrics); null if it answers. */
  trouble: string | null = null;
  readonly #driver: StateDriver;
  readonly #clock: Clock;
  readonly #onTrouble: OnTrouble;
  readonly #timer: NodeJS.Timeout;
  #addressSecret: string;
  #looking: Promise<void> | null = null;
  #forgetAtMs = -Infinity;

  constructor(driver: StateDriver, clock: Clock, addressSecret: string, onTrouble: OnTrouble) {
    this.#driver = driver;
    this.#clock = clock;
    this.#addressSecret = addressSecret;
    this.#onTrouble = onTrouble;
    this.verdicts = new Verdicts(driver.storage, clock, this);
    this.counts = new Counts(driver, this);
    this.#timer = setInterval(() => void this.#look(), LOOK_MS).unref();
  }

  /** The subject for a normalised client address (IPv4, or an IPv6 /64). */
  addressSubject(address: string, atMs: number): Subject {
    return addressSubject(this.#addressSecret, address, atMs);
  }

  /** See LogMemory. */
  seen(): Promise<SeenEntry | null> {
    return seenIn(this.#driver.storage).catch(this.#throwExplained);
  }

  see(entry: SeenEntry): Promise<SeenEntry> {
    return see(this.#driver, entry).catch(this.#throwExplained);
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
      if (this.trouble === null) await this.counts.flush();
      else await delay(CLOSE_RETRY_MS);
    } while (this.counts.hasUnwritten && performance.now() < deadline);
    const isLost = this.counts.hasUnwritten;
    await this.#driver.close();
    if (isLost) throw new UnreachableError(`The last calls could not be written: ${this.trouble}`);
  }

  /** See Reachability. */
  failed(error: unknown): void {
    this.#say(reasonOf(this.#driver.explain(error)));
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
      const isChanged = await this.#driver.look();
      if (this.trouble !== null) await this.#recover();
      else if (isChanged) await this.#follow();
      const nowMs = this.#clock.now();
      if (nowMs < this.#forgetAtMs) return;
      const hasMore = await this.#driver.forget(nowMs);
      if (!hasMore) this.#forgetAtMs = nowMs + FORGET_MS;
    } catch (error) {
      this.failed(error);
    }
  }

  /** Accounts and keys have changed. A copy into the state brings its own secret, too. */
  async #follow(): Promise<void> {
    this.#addressSecret = await addressSecret(this.#driver, this.#addressSecret);
    this.verdicts.invalidate();
  }

  /** Makes up for an outage: the state that is back may be another one, or may have lost counts. */
  async #recover(): Promise<void> {
    await this.#follow();
    this.counts.rewrite(this.#clock.now());
    await this.counts.sendOne();
    this.#say(null);
    await this.counts.flush();
  }

  #say(trouble: string | null): void {
    if (trouble === this.trouble) return;
    this.trouble = trouble;
    this.#onTrouble(trouble);
  }
}
