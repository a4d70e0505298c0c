/**
 * Counts the calls of one process in a state that other processes share. The calls of one turn of the
 * event loop are one batch, or several if they are many. While the state decides on a batch, the next one
 * gathers. A caller waits until its call is in the state.
 *
 * While the state does not answer, or takes no writes, this process grants calls from the counts that it knows, and adds
 * them when the state takes writes again. Only a call that is given back decreases a count within its month: every
 * batch contains the counts that this process knows, and the state takes the larger number.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { cacheOf } from "../lib/caches.ts";
import type { Counts as CountsPort, TakeResult } from "../ports/accounts.ts";
import type { CountName, CountReply, CountRequest, StateDriver, Subject } from "../ports/state.ts";
import { dayCount, dayAt, forgetAtMs, monthOf } from "../ports/month.ts";
import type { Reachability } from "./verdicts.ts";

const REMEMBERED_COUNTS = 200_000;
/** While the state does not answer, at most this many subjects are counted in memory. */
const UNWRITTEN_COUNTS = 500_000;
/** SQLite counts so many in about 3 ms, in which this process does nothing else. */
const REQUESTS_PER_BATCH = 200;

/** What this process knows of a count. */
interface Count extends CountName {
  readonly id: string;
  /** What the state holds, as far as this process knows, when it replies to the running batch. */
  known: number;
  /** Calls that were granted from memory, less those given back, that are in no batch yet. */
  unwritten: number;
  /** Calls given back that the running batch subtracts. Until its reply, the state may hold so many more. */
  returning: number;
  /** Calls given back that the state has subtracted. A read that began before may still count them. */
  returned: number;
  /** The instant from which it may be forgotten, and the instant of its latest call (epoch milliseconds). */
  readonly forgetAtMs: number;
  atMs: number;
}

/** Calls of one caller under one limit. The state decides on them together. */
interface CallGroup {
  /** See #countsOf. */
  readonly counts: readonly [Count, ...Count[]];
  readonly limit: number | null;
  readonly takers: ((result: TakeResult) => void)[];
  /** Whether the callers got an answer from memory, because the state sent no reply. */
  isAnswered: boolean;
}

interface Batch {
  readonly number: number;
  readonly groups: readonly CallGroup[];
  readonly requests: readonly CountRequest[];
}

type CountingDriver = Pick<StateDriver, "count" | "used">;

/**
 * `take` and `used` never reject: if the state fails, they answer from memory. While it only refuses writes, both
 * still read it.
 */
export class Counts implements CountsPort {
  readonly #driver: CountingDriver;
  readonly #state: Reachability;
  readonly #counts = cacheOf<Count>(REMEMBERED_COUNTS);
  /** Counts to write although nobody waits: they have calls to add, or the state may hold less. */
  readonly #unwritten = new Map<string, Count>();
  readonly #waiting = new Map<string, CallGroup>();
  /** The keys of which this day's use is noted. */
  #noted = { day: "", keys: new Set<string>() };
  /** The batch that has no reply yet. The next one is sent after the reply. */
  #batch: Batch | null = null;
  #batchNumber = 0;
  #sending: Promise<void> | null = null;

  constructor(driver: CountingDriver, state: Reachability) {
    this.#driver = driver;
    this.#state = state;
  }

  /** Whether the state lacks calls that were granted. */
  get hasUnwritten(): boolean {
    return this.#batch !== null || this.#unwritten.size > 0 || this.#waiting.size > 0;
  }

  /**
   * See the port. The call is counted in the same step for the account's day and for the key. While the state does
   * not answer, it is in memory, and is written when the state is back.
   */
  take(
    subject: Subject,
    limit: number | null,
    atMs: number,
    keyId: string | null = null,
  ): TakeResult | Promise<TakeResult> {
    // A key has one account. Most calls join others of their key, whose counts are found once.
    const id = `${dayAt(atMs)} ${keyId ?? subject} ${limit}`;
    let group = this.#waiting.get(id);
    if (group === undefined) {
      group = groupOf(this.#countsOf(subject, atMs, keyId), limit);
      if (this.#state.trouble !== null) return this.#takeHere(group.counts, limit);
      if (this.#state.refusal !== null) return this.#takeByReading(group, atMs, keyId);
      const used = usedOf(group.counts[0]);
      if (limit !== null && used >= limit) return { granted: false, used };
      this.#waiting.set(id, group);
      void this.flush();
    }
    const { takers } = group;
    return new Promise((resolve) => {
      takers.push(resolve);
    });
  }

  /**
   * Gives back one call that `take` granted with the same subject, instant and key: the request failed
   * after it was counted. This process sees the lower count at once; the state gets it with the next
   * batch, or when it is back. Never throws.
   *
   * If other processes also count the subject, the count may stay too high by the calls given back, and is
   * never too low: another process takes the lower number for a loss of the state, and writes its own.
   * The same is true of calls that were answered from memory while the state counted them.
   */
  giveBack(subject: Subject, atMs: number, keyId: string | null = null): void {
    for (const count of this.#countsOf(subject, atMs, keyId)) this.#add(count, -1);
    this.#flushIfTaken();
  }

  /** Notes that the key was used on the day UTC of `atMs`: with the next batch, once a day. */
  noteUse(keyId: string, atMs: number): void {
    const today = dayAt(atMs);
    if (today !== this.#noted.day || this.#noted.keys.size === REMEMBERED_COUNTS) {
      this.#noted = { day: today, keys: new Set() };
    }
    if (this.#noted.keys.has(keyId)) return;
    this.#noted.keys.add(keyId);
    const count = this.#count(`key:${keyId}:day`, atMs);
    const day = Number(today.slice(8));
    if (count.known >= day) return;
    count.known = day;
    this.#unwritten.set(count.id, count);
    this.#flushIfTaken();
  }

  async used(subject: Subject, atMs: number): Promise<number> {
    const count = this.#count(subject, atMs);
    if (this.#state.trouble !== null) return usedOf(count);
    const returnedBefore = count.returned;
    try {
      const [stored = 0] = await this.#driver.used([count]);
      if (stored < count.known) this.#unwritten.set(count.id, count);
      // It may have been read before the running batch was counted, and before one whose reply came meanwhile.
      const mayBeReturned = count.returning + count.returned - returnedBefore;
      count.known = Math.max(count.known, stored - mayBeReturned);
      if (this.hasUnwritten) this.#flushIfTaken();
    } catch (error) {
      this.#state.failed(error);
    }
    return usedOf(count);
  }

  /** The same from this process's memory, without asking the state; null if it does not know it. */
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
    for (const group of this.#waiting.values()) this.#answerHere(group);
    this.#waiting.clear();
    // The state may have counted these. Its reply tells, and the difference is written then.
    for (const group of this.#batch?.groups ?? []) this.#answerHere(group);
  }

  /** Marks all known counts of this month to be written again, because the state may have lost some. */
  rewrite(nowMs: number): void {
    const month = monthOf(nowMs);
    for (const count of this.#counts.values()) {
      if (count.month === month && count.known > 0) this.#unwritten.set(count.id, count);
    }
  }

  async #send(): Promise<void> {
    try {
      do {
        // The calls that come in the rest of this turn join the batch, and between two the process works on.
        await nextTurn();
        if (this.hasUnwritten) await this.#sendBatch();
      } while (this.hasUnwritten);
    } catch (error) {
      this.#state.failedToWrite(error);
    } finally {
      // In the same step as the last check of `hasUnwritten`: a call that comes later starts a new run.
      this.#sending = null;
    }
  }

  async #sendBatch(): Promise<void> {
    this.#batch ??= this.#nextBatch();
    const { number, groups, requests } = this.#batch;
    const replies = await this.#driver.count(number, requests);
    this.#batch = null;
    let at = 0;
    for (const group of groups) {
      const end = at + group.counts.length;
      this.#settle(group, replies.slice(at, end));
      at = end;
    }
  }

  /** Passes the state's reply to the counts of a group, and to its callers. */
  #settle({ counts, takers, isAnswered }: CallGroup, replies: readonly CountReply[]): void {
    counts.forEach((count, at) => {
      const { granted, used } = replies[at] as CountReply;
      count.known = Math.max(count.known, used);
      count.returned += count.returning;
      count.returning = 0;
      // The callers got their answers from memory, and the state has counted them now.
      if (isAnswered && granted > 0) this.#add(count, -granted);
    });
    if (isAnswered) return;
    const { granted, used } = replies[0] as CountReply;
    takers.forEach((answer, at) => {
      const isGranted = at < granted;
      answer({ granted: isGranted, used: isGranted ? used - granted + at + 1 : used });
    });
  }

  #nextBatch(): Batch {
    // Calls that were granted already are counted before new ones, and leave room for those.
    const unwritten = [...this.#unwritten.values().take(REQUESTS_PER_BATCH / 2)];
    for (const { id } of unwritten) this.#unwritten.delete(id);
    const groups = unwritten.map((count) => groupOf([count], null));
    let room = REQUESTS_PER_BATCH - groups.length;
    for (const [id, group] of this.#waiting) {
      room -= group.counts.length;
      if (room < 0) break;
      this.#waiting.delete(id);
      groups.push(group);
    }
    const requests = groups.flatMap(({ counts, limit, takers }) =>
      counts.map((count, at) => {
        const { subject, month, known, unwritten: added } = count;
        // A batch is sent until there is a reply, and then they are in the state.
        count.known = usedOf(count);
        count.unwritten = 0;
        if (added < 0) count.returning = -added;
        const decides = { limit: at === 0 ? limit : null, follows: at > 0 };
        // Relative to the instant of the call, so that a clock that jumps does not shorten it.
        const keptMs = count.forgetAtMs - count.atMs;
        return { subject, month, known, added, wanted: takers.length, ...decides, keptMs };
      }),
    );
    this.#batchNumber += 1;
    return { number: this.#batchNumber, groups, requests };
  }

  #answerHere(group: CallGroup): void {
    if (group.isAnswered) return;
    group.isAnswered = true;
    for (const answer of group.takers) answer(this.#takeHere(group.counts, group.limit));
  }

  /**
   * While the state takes no writes, the limit is for the calls that it holds and those that are kept here. If it takes
   * them again after the read, it decides: the running batch may have the last call of the limit.
   */
  async #takeByReading(
    { counts, limit }: CallGroup,
    atMs: number,
    keyId: string | null,
  ): Promise<TakeResult> {
    const [{ subject }] = counts;
    if (limit !== null) await this.used(subject, atMs);
    if (this.#takesWrites) return this.take(subject, limit, atMs, keyId);
    return this.#takeHere(counts, limit);
  }

  get #takesWrites(): boolean {
    return this.#state.trouble === null && this.#state.refusal === null;
  }

  /** While the state takes no writes, its looks find out when it takes them again. */
  #flushIfTaken(): void {
    if (this.#takesWrites) void this.flush();
  }

  #takeHere(counts: CallGroup["counts"], limit: number | null): TakeResult {
    const [count] = counts;
    const used = usedOf(count);
    const isFull = this.#unwritten.size >= UNWRITTEN_COUNTS && !this.#unwritten.has(count.id);
    if (isFull || (limit !== null && used >= limit)) return { granted: false, used };
    for (const each of counts) this.#add(each, 1);
    return { granted: true, used: used + 1 };
  }

  /** Adds calls in memory, to be written with a later batch. */
  #add(count: Count, calls: number): void {
    count.unwritten += calls;
    this.#unwritten.set(count.id, count);
  }

  /** The count that decides on a call, then the counts of an account's day, and of the key that it comes with. */
  #countsOf(subject: Subject, atMs: number, keyId: string | null): CallGroup["counts"] {
    const [kind, id = ""] = subject.split(":");
    const ofDay = kind === "account" ? [dayCount(id, dayAt(atMs)).subject] : [];
    const ofKey = keyId === null ? [] : [`key:${keyId}` as const];
    const others = [...ofDay, ...ofKey].map((other) => this.#count(other, atMs));
    return [this.#count(subject, atMs), ...others];
  }

  #count(subject: Subject, atMs: number): Count {
    const month = monthOf(atMs);
    const id = idOf(subject, month);
    let count = this.#counts.get(id) ?? this.#unwritten.get(id);
    if (count === undefined) {
      const none = { known: 0, unwritten: 0, returning: 0, returned: 0, atMs };
      count = { id, subject, month, ...none, forgetAtMs: forgetAtMs(subject, month) };
      this.#counts.set(id, count);
    }
    count.atMs = atMs;
    return count;
  }
}

const idOf = (subject: Subject, month: string): string => `${month} ${subject}`;

/** A count that was forgotten here may have more calls to give back than this process knows of. */
const usedOf = ({ known, unwritten }: Count): number => Math.max(0, known + unwritten);

const groupOf = (counts: CallGroup["counts"], limit: number | null): CallGroup => ({
  counts,
  limit,
  takers: [],
  isAnswered: false,
});
