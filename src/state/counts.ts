/**
 * Counts the calls of one process in a state that other processes share. The calls of one turn of the
 * event loop are one batch. While the state decides on a batch, the next one gathers. A caller waits
 * until its call is in the state.
 *
 * While the state does not answer, this process grants calls from the counts that it knows, and adds
 * them when the state is back. A count never decreases within its month: every batch contains the
 * counts that this process knows, and the state takes the larger number.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../lib/clock.ts";
import { GenerationCache } from "../lib/generation-cache.ts";
import type { CountName, CountReply, CountRequest, StateDriver } from "./driver.ts";
import type { MaybePromise, Subject, TakeResult } from "./gatekeeper.ts";
import { forgetAtMs, monthOf } from "./month.ts";
import type { Reachability } from "./verdicts.ts";

const REMEMBERED_COUNTS = 200_000;
/** While the state does not answer, at most this many subjects are counted in memory. */
const UNWRITTEN_COUNTS = 500_000;
const REQUESTS_PER_BATCH = 1_000;

/** What this process knows of a count. */
interface Count extends CountName {
  readonly id: string;
  /** The largest number that the state has returned. */
  known: number;
  /** Calls that were granted from memory and are not yet in the state. */
  unwritten: number;
  /** When it may be forgotten (epoch milliseconds, by the clock of its calls). */
  readonly forgetAtMs: number;
  keptMs: number;
}

/** Calls of one count under one limit. The state decides on them together. */
interface Item {
  readonly count: Count;
  readonly limit: number | null;
  readonly takers: ((result: TakeResult) => void)[];
  /** Callers that only read the count. */
  readonly readers: ((used: number) => void)[];
  /** Whether the callers got an answer from memory, because the state sent no reply. */
  isAnswered: boolean;
}

interface Batch {
  readonly number: number;
  readonly items: readonly Item[];
  readonly requests: readonly CountRequest[];
}

/** `take` and `used` never reject: if the state fails, they answer from memory. */
export class Counts {
  readonly #driver: StateDriver;
  readonly #clock: Clock;
  readonly #state: Reachability;
  readonly #counts = new GenerationCache<Count>(REMEMBERED_COUNTS);
  /** Counts to write although nobody waits: they have calls to add, or the state may hold less. */
  readonly #unwritten = new Map<string, Count>();
  readonly #waiting = new Map<string, Item>();
  /** The batch that has no reply yet. The next one is sent after the reply. */
  #batch: Batch | null = null;
  #batchNumber = 0;
  #sending: Promise<void> | null = null;

  constructor(driver: StateDriver, clock: Clock, state: Reachability) {
    this.#driver = driver;
    this.#clock = clock;
    this.#state = state;
  }

  /** Whether the state lacks calls that were granted. */
  get hasUnwritten(): boolean {
    return this.#batch !== null || this.#unwritten.size > 0 || this.#waiting.size > 0;
  }

  /** See Gatekeeper. */
  take(subject: Subject, limit: number | null, atMs: number): MaybePromise<TakeResult> {
    const count = this.#count(subject, atMs);
    if (this.#state.trouble !== null) return this.#takeHere(count, limit);
    if (limit !== null && count.known >= limit) return { granted: false, used: count.known };
    return new Promise((resolve) => {
      this.#item(count, limit).takers.push(resolve);
    });
  }

  /** See Gatekeeper. */
  used(subject: Subject, atMs: number): MaybePromise<number> {
    const count = this.#count(subject, atMs);
    if (this.#state.trouble !== null) return usedOf(count);
    return new Promise((resolve) => {
      this.#item(count, null).readers.push(resolve);
    });
  }

  /** See Gatekeeper. */
  known(subject: Subject, atMs: number): number | null {
    const count = this.#counts.get(idOf(subject, monthOf(atMs)));
    return count === undefined ? null : usedOf(count);
  }

  /** Sends one batch: the one without a reply, or else a new one. Rejects if the state fails. */
  async sendOne(): Promise<void> {
    await this.#sending;
    if (this.hasUnwritten) await this.#sendBatch();
  }

  /** Sends all batches. If the state fails, this reports the failure and keeps the rest. */
  flush(): Promise<void> {
    this.#sending ??= this.#send();
    return this.#sending;
  }

  /** Answers all waiting callers from memory. Call it when the state does not answer. */
  answerHere(): void {
    for (const item of this.#waiting.values()) this.#answerHere(item);
    this.#waiting.clear();
    // The state may have counted these. Its reply tells, and the difference is written then.
    for (const item of this.#batch?.items ?? []) this.#answerHere(item);
  }

  /** Marks all known counts of this month to be written again, because the state may have lost some. */
  rewrite(): void {
    const month = monthOf(this.#clock.now());
    for (const count of this.#counts.values()) {
      if (count.month === month && count.known > 0) this.#unwritten.set(count.id, count);
    }
  }

  async #send(): Promise<void> {
    // The calls that come in the rest of this turn join the batch.
    await nextTurn();
    try {
      while (this.hasUnwritten) await this.#sendBatch();
    } catch (error) {
      this.#state.failed(error);
    } finally {
      // In the same step as the last check of `hasUnwritten`: a call that comes later starts a new run.
      this.#sending = null;
    }
  }

  async #sendBatch(): Promise<void> {
    this.#batch ??= this.#nextBatch();
    const { number, items, requests } = this.#batch;
    const replies = await this.#replies(number, requests);
    this.#batch = null;
    items.forEach((item, at) => {
      this.#settle(item, requests[at] as CountRequest, replies[at] as CountReply);
    });
  }

  async #replies(number: number, requests: readonly CountRequest[]): Promise<CountReply[]> {
    if (requests.every(({ added, wanted }) => added + wanted === 0)) {
      const counts = await this.#driver.used(requests);
      if (counts.every((used, at) => used >= (requests[at] as CountRequest).known)) {
        return counts.map((used) => ({ granted: 0, used }));
      }
    }
    return this.#driver.count(number, requests);
  }

  #nextBatch(): Batch {
    const items = [...this.#waiting.values().take(REQUESTS_PER_BATCH)];
    for (const item of items) this.#waiting.delete(itemIdOf(item.count, item.limit));
    const unwritten = [...this.#unwritten.values().take(REQUESTS_PER_BATCH)];
    // First: calls that were granted already are counted before new ones.
    items.unshift(...unwritten.map((count) => itemOf(count, null)));
    for (const { id } of unwritten) this.#unwritten.delete(id);
    const added = new Set<Count>();
    const requests = items.map(({ count, limit, takers }) => {
      const isFirst = !added.has(count);
      added.add(count);
      const { subject, month, known, keptMs } = count;
      const wanted = takers.length;
      return { subject, month, known, added: isFirst ? count.unwritten : 0, wanted, limit, keptMs };
    });
    this.#batchNumber += 1;
    return { number: this.#batchNumber, items, requests };
  }

  #settle(item: Item, { added }: CountRequest, { granted, used }: CountReply): void {
    const { count, takers, readers } = item;
    count.known = Math.max(count.known, used);
    count.unwritten -= added;
    if (item.isAnswered) {
      // The calls that the state granted, too, are in its count now.
      count.unwritten = Math.max(0, count.unwritten - granted);
    } else {
      const before = used - granted;
      takers.forEach((answer, at) => {
        const isGranted = at < granted;
        answer({ granted: isGranted, used: isGranted ? before + at + 1 : used });
      });
      for (const answer of readers) answer(used);
    }
    if (count.unwritten > 0) this.#unwritten.set(count.id, count);
  }

  #answerHere(item: Item): void {
    if (item.isAnswered) return;
    item.isAnswered = true;
    for (const answer of item.takers) answer(this.#takeHere(item.count, item.limit));
    for (const answer of item.readers) answer(usedOf(item.count));
  }

  #takeHere(count: Count, limit: number | null): TakeResult {
    const used = usedOf(count);
    const isFull = this.#unwritten.size >= UNWRITTEN_COUNTS && !this.#unwritten.has(count.id);
    if (isFull || (limit !== null && used >= limit)) return { granted: false, used };
    count.unwritten += 1;
    this.#unwritten.set(count.id, count);
    return { granted: true, used: used + 1 };
  }

  #count(subject: Subject, atMs: number): Count {
    const month = monthOf(atMs);
    const id = idOf(subject, month);
    let count = this.#counts.get(id) ?? this.#unwritten.get(id);
    if (count === undefined) {
      const none = { known: 0, unwritten: 0, keptMs: 0 };
      count = { id, subject, month, ...none, forgetAtMs: forgetAtMs(subject, month) };
      this.#counts.set(id, count);
    }
    // Relative to the instant of the call, so that a clock that jumps does not shorten it.
    count.keptMs = count.forgetAtMs - atMs;
    return count;
  }

  #item(count: Count, limit: number | null): Item {
    const id = itemIdOf(count, limit);
    let item = this.#waiting.get(id);
    if (item === undefined) {
      item = itemOf(count, limit);
      this.#waiting.set(id, item);
      void this.flush();
    }
    return item;
  }
}

const idOf = (subject: Subject, month: string): string => `${month} ${subject}`;

const itemIdOf = ({ id }: Count, limit: number | null): string => `${id} ${limit}`;

const usedOf = ({ known, unwritten }: Count): number => known + unwritten;

const itemOf = (count: Count, limit: number | null): Item => ({
  count,
  limit,
  takers: [],
  readers: [],
  isAnswered: false,
});
