/**
 * Accounts by objects. Requests share values here, never promises: the platform ends a promise with the request that made
 * it. So each counted call is one call of its account's object, and each request looks at the registry if nobody has for
 * half a second.
 */
import type { Clock } from "../../lib/clock.ts";
import { reasonOf, UnreachableError } from "../../lib/errors.ts";
import type {
  Accounts,
  Counts,
  KeyVerdict,
  TakeResult,
  Verdicts as VerdictsPort,
} from "../../ports/accounts.ts";
import { dayAt, monthOf } from "../../ports/month.ts";
import type { Subject } from "../../ports/state.ts";
import type { LogMemory, SeenLog } from "../../snapshot/log/lost.ts";
import { addressSecret, addressSubject } from "../../state/address-secret.ts";
import {
  objectOf,
  ObjectsState,
  type Call,
  type CallsOperations,
} from "../../state/objects/objects-state.ts";
import { see, seenIn } from "../../state/seen-logs.ts";
import { Verdicts, type Checked } from "../../state/verdicts.ts";
import { OneAtATime } from "./one-at-a-time.ts";
import { cacheOf } from "../../lib/caches.ts";

const LOOK_MS = 500;
const REMEMBERED = 20_000;

/** Lets work go on after the answer. */
export type GoOn = (work: Promise<unknown>) => void;

/** What an isolate knows of a count of calls. */
interface Known {
  used: number;
  /** Granted while the object did not answer. */
  unwritten: number;
}

export class EdgeAccounts implements Accounts, LogMemory, Checked, Counts {
  readonly verdicts: VerdictsPort;
  readonly counts: Counts = this;
  trouble: string | null = null;
  readonly refusal = null;
  readonly evictionPolicy = null;
  readonly #call: Call;
  readonly #state: ObjectsState;
  readonly #goOn: GoOn;
  readonly #verdicts: Verdicts;
  readonly #known = cacheOf<Known>(REMEMBERED);
  /** The subjects of keys that were identified. */
  readonly #subjects = cacheOf<Subject>(REMEMBERED);
  readonly #noted = cacheOf<true>(REMEMBERED);
  #lookedAtMs = -Infinity;
  #secret: string | null = null;
  readonly #first = new OneAtATime();

  constructor(call: Call, clock: Clock, goOn: GoOn) {
    this.#call = call;
    this.#goOn = goOn;
    this.#state = new ObjectsState(call, "serve", null);
    this.#verdicts = new Verdicts(this.#state.storage, clock, this);
    const noted = (verdict: KeyVerdict): KeyVerdict => {
      if (verdict.keyId !== null && verdict.subject !== null)
        this.#subjects.set(verdict.keyId, verdict.subject);
      return verdict;
    };
    this.verdicts = {
      known: (key) => this.#verdicts.known(key),
      authenticate: (key, prefix) => {
        const verdict = this.#verdicts.authenticate(key, prefix);
        return verdict instanceof Promise ? verdict.then(noted) : noted(verdict);
      },
    };
  }

  /** Whether the registry has answered this isolate. */
  get isOpen(): boolean {
    return this.#secret !== null;
  }

  /** Looks at the registry, unless somebody did lately. Call it before a request is answered. */
  async refresh(): Promise<void> {
    if (this.#secret === null) return this.#first.run(() => this.check());
    const nowMs = performance.now();
    if (nowMs - this.#lookedAtMs < LOOK_MS) return;
    this.#lookedAtMs = nowMs;
    await this.check();
  }

  /** See Checked. */
  async check(): Promise<void> {
    try {
      const { isChanged } = await this.#state.look();
      if (isChanged || this.#secret === null) {
        this.#secret = await addressSecret(this.#state);
        this.#verdicts.invalidate();
      }
      this.trouble = null;
    } catch (error) {
      this.failed(error);
    }
  }

  /** See Reachability. */
  failed(error: unknown): void {
    this.trouble = reasonOf(error);
  }

  failedToWrite(error: unknown): void {
    this.failed(error);
  }

  addressSubject(address: string, atMs: number): Subject {
    return addressSubject(this.#secret ?? "", address, atMs);
  }

  seen(): Promise<readonly SeenLog[]> {
    return seenIn(this.#state.storage);
  }

  see(log: SeenLog): Promise<void> {
    return see(this.#state, log);
  }

  async take(
    subject: Subject,
    limit: number | null,
    atMs: number,
    keyId: string | null,
  ): Promise<TakeResult> {
    const known = this.#knownOf(subject, atMs);
    const added = known.unwritten;
    known.unwritten = 0;
    try {
      const call = { subject, atMs, keyId, limit, added };
      const taken = await this.#ask(subject, "take", [call]);
      known.used = taken.used;
      return taken;
    } catch (error) {
      this.failed(error);
      known.unwritten += added;
      const granted = limit === null || known.used < limit;
      if (granted) {
        known.unwritten += 1;
        known.used += 1;
      }
      return { granted, used: known.used };
    }
  }

  giveBack(subject: Subject, atMs: number, keyId: string | null): void {
    const known = this.#knownOf(subject, atMs);
    known.used = Math.max(0, known.used - 1);
    const giving = this.#ask(subject, "giveBack", [{ subject, atMs, keyId }]);
    this.#goOn(giving.catch(() => void (known.unwritten -= 1)));
  }

  async used(subject: Subject, atMs: number): Promise<number> {
    const known = this.#knownOf(subject, atMs);
    try {
      const name = { subject, month: monthOf(atMs) };
      const [used = 0] = await this.#ask(subject, "used", [[name]]);
      known.used = used + known.unwritten;
    } catch (error) {
      this.failed(error);
    }
    return known.used;
  }

  known(subject: Subject, atMs: number): number | null {
    return this.#known.get(`${subject} ${monthOf(atMs)}`)?.used ?? null;
  }

  noteUse(keyId: string, atMs: number): void {
    const name = `${keyId} ${dayAt(atMs)}`;
    const subject = this.#subjects.get(keyId);
    if (subject === undefined || this.#noted.get(name) !== undefined) return;
    this.#noted.set(name, true);
    const noting = this.#ask(subject, "note", [{ subject, atMs, keyId }]);
    this.#goOn(noting.catch(() => this.#noted.delete(name)));
  }

  /**
   * Asks the object with the calls of a subject. Without the secret, an address has a subject of which everybody can
   * calculate the address, and which nobody asks about later: no object gets to know it.
   */
  async #ask<N extends keyof CallsOperations>(
    subject: Subject,
    operation: N,
    args: Parameters<CallsOperations[N]>,
  ): Promise<ReturnType<CallsOperations[N]>> {
    if (!this.isOpen && subject.startsWith("address:"))
      throw new UnreachableError("The registry has not answered yet");
    return this.#call(objectOf(subject), operation, args);
  }

  #knownOf(subject: Subject, atMs: number): Known {
    const name = `${subject} ${monthOf(atMs)}`;
    const known = this.#known.get(name) ?? { used: 0, unwritten: 0 };
    this.#known.set(name, known);
    return known;
  }
}
