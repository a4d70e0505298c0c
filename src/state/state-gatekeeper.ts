/** The gatekeeper over a driver. It checks the state twice a second and reports why it does not answer. */
import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../lib/clock.ts";
import { ChipboardError, reasonOf, UnreachableError } from "../lib/errors.ts";
import { addressSecret, addressSubject } from "./address-subject.ts";
import { Counts } from "./counts.ts";
import type { StateDriver } from "./driver.ts";
import type { Gatekeeper, KeyVerdict, Subject, TakeResult } from "./gatekeeper.ts";
import type { SeenEntry } from "../snapshot/log/seen.ts";
import { see, seenIn } from "./seen-entry.ts";
import { Verdicts, type Reachability } from "./verdicts.ts";

const LOOK_MS = 500;
const FORGET_MS = 60_000;
/** How long `close` tries to write the unwritten counts. */
const CLOSE_PATIENCE_MS = 3_000;
const CLOSE_RETRY_MS = 100;

/** Receives the reason why the state does not answer, once for each reason; null: it answers again. */
export type OnTrouble = (trouble: string | null) => void;

/** Makes a gatekeeper over a state that was opened to serve. If that fails, it closes the state. */
export async function createGatekeeper(
  driver: StateDriver,
  clock: Clock,
  onTrouble: OnTrouble,
): Promise<Gatekeeper> {
  try {
    const secret = await addressSecret(driver);
    await driver.look();
    return new StateGatekeeper(driver, clock, secret, onTrouble);
  } catch (error) {
    await driver.close();
    throw driver.explain(error);
  }
}

class StateGatekeeper implements Gatekeeper, Reachability {
  readonly #driver: StateDriver;
  readonly #clock: Clock;
  readonly #onTrouble: OnTrouble;
  readonly #verdicts: Verdicts;
  readonly #counts: Counts;
  readonly #timer: NodeJS.Timeout;
  #addressSecret: string;
  #trouble: string | null = null;
  #looking: Promise<void> | null = null;
  #forgetAtMs = -Infinity;

  constructor(driver: StateDriver, clock: Clock, addressSecret: string, onTrouble: OnTrouble) {
    this.#driver = driver;
    this.#clock = clock;
    this.#addressSecret = addressSecret;
    this.#onTrouble = onTrouble;
    this.#verdicts = new Verdicts(driver.storage, clock, this);
    this.#counts = new Counts(driver, clock, this);
    this.#timer = setInterval(() => void this.#look(), LOOK_MS).unref();
  }

  get trouble(): string | null {
    return this.#trouble;
  }

  authenticate(key: string): Promise<KeyVerdict> {
    return this.#verdicts.authenticate(key);
  }

  knownVerdict(key: string): KeyVerdict | null {
    return this.#verdicts.known(key);
  }

  addressSubject(address: string, atMs: number): Subject {
    return addressSubject(this.#addressSecret, address, atMs);
  }

  take(
    subject: Subject,
    limit: number | null,
    atMs: number,
    keyId: string | null = null,
  ): Promise<TakeResult> {
    return this.#counts.take(subject, limit, atMs, keyId);
  }

  used(subject: Subject, atMs: number): Promise<number> {
    return this.#counts.used(subject, atMs);
  }

  known(subject: Subject, atMs: number): number | null {
    return this.#counts.known(subject, atMs);
  }

  async seen(): Promise<SeenEntry | null> {
    return this.#explained(() => seenIn(this.#driver.storage));
  }

  async see(entry: SeenEntry): Promise<SeenEntry> {
    return this.#explained(() => see(this.#driver, entry));
  }

  async #explained<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      const explained = this.#driver.explain(error);
      if (explained instanceof ChipboardError) throw explained;
      const reason = `The state does not say what it remembers of the log: ${reasonOf(explained)}`;
      throw new UnreachableError(reason, [], { cause: error });
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    const deadline = performance.now() + CLOSE_PATIENCE_MS;
    // If the file was replaced, the first look closes the old one and the second opens the new one.
    await this.#look();
    while (this.#counts.hasUnwritten && performance.now() < deadline) {
      await this.#look();
      if (this.#trouble === null) await this.#counts.flush();
      else await delay(CLOSE_RETRY_MS);
    }
    const isWritten = !this.#counts.hasUnwritten;
    await this.#driver.close();
    if (isWritten) return;
    throw new UnreachableError(`The last calls could not be written: ${this.#trouble}`);
  }

  failed(error: unknown): void {
    this.#say(reasonOf(this.#driver.explain(error)));
    this.#counts.answerHere();
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
      if (this.#trouble !== null) await this.#recover();
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
    this.#verdicts.invalidate();
  }

  /** Makes up for an outage: the state that is back may be another one, or may have lost counts. */
  async #recover(): Promise<void> {
    await this.#follow();
    this.#counts.rewrite();
    await this.#counts.sendOne();
    this.#say(null);
    await this.#counts.flush();
  }

  #say(trouble: string | null): void {
    if (trouble === this.#trouble) return;
    this.#trouble = trouble;
    this.#onTrouble(trouble);
  }
}
