/**
 * Counts calls in Redis: all calls that arrive while a batch is on its way make the next one, and a
 * batch is one script, so that proxies together grant exactly the limit.
 *
 * A reply may be lost after its batch was counted. So every batch carries its writer's id and a
 * number; Redis keeps the last number and its reply, and a batch sent again is answered, not counted
 * again. While Redis does not answer, calls are granted from what is known here, and the difference
 * between what callers were told and what Redis counted is written with a later batch.
 */
import { randomUUID } from "node:crypto";
import type { Redis, Result } from "ioredis";
import type { Clock } from "../../clock.ts";
import type { MaybePromise, Subject, TakeResult } from "../gatekeeper.ts";
import { GenerationCache } from "../../generation-cache.ts";
import { forgetAtMs, monthOf } from "../month.ts";
import { REDIS_KEYS } from "./connection.ts";
import type { Reachability } from "../verdicts.ts";

const REMEMBERED_COUNTS = 200_000;
/** While Redis does not answer, at most this many subjects are counted in memory. */
const UNWRITTEN_COUNTS = 500_000;
const ITEMS_PER_BATCH = 1_000;
const WRITER_TTL_SECONDS = 40 * 24 * 3_600;
const MIN_COUNT_TTL_SECONDS = 60;
const NO_LIMIT = -1;

/**
 * KEYS: the writer, then a count for each item. ARGV: the batch's number, the writer's time to
 * live, then for each item the calls wanted, the limit (-1: none), calls to add whatever the limit,
 * and the count's time to live. Returns granted and used for each item; nothing for an old batch.
 */
const SCRIPT = `
local last = tonumber(redis.call('HGET', KEYS[1], 'batch') or '0')
local batch = tonumber(ARGV[1])
if batch < last then return {} end
if batch == last then return cjson.decode(redis.call('HGET', KEYS[1], 'reply')) end
local reply = {}
for i = 2, #KEYS do
  local at = 3 + (i - 2) * 4
  local used = tonumber(redis.call('GET', KEYS[i]) or '0')
  local granted = tonumber(ARGV[at])
  local limit = tonumber(ARGV[at + 1])
  if limit >= 0 then granted = math.max(0, math.min(granted, limit - used)) end
  local change = math.max(granted + tonumber(ARGV[at + 2]), -used)
  if change ~= 0 then
    used = redis.call('INCRBY', KEYS[i], change)
    redis.call('EXPIRE', KEYS[i], ARGV[at + 3])
  end
  reply[#reply + 1] = granted
  reply[#reply + 1] = used
end
redis.call('HSET', KEYS[1], 'batch', ARGV[1], 'reply', cjson.encode(reply))
redis.call('EXPIRE', KEYS[1], ARGV[2])
return reply
`;

declare module "ioredis" {
  interface RedisCommander<Context> {
    chipboardCount(
      numberOfKeys: number,
      ...args: readonly (string | number)[]
    ): Result<number[], Context>;
  }
}

/** A count as far as it is known here. */
interface Count {
  readonly id: string;
  readonly subject: Subject;
  readonly month: string;
  /** As Redis last told. */
  written: number;
  /** Calls granted here and not yet in `written`; below 0 where Redis counted too many. */
  unwritten: number;
}

/** Calls of one count under one limit, decided together. */
interface Item {
  readonly count: Count;
  readonly limit: number | null;
  readonly callers: ((result: TakeResult) => void)[];
  /** Those who only want to know the count. */
  readonly readers: ((used: number) => void)[];
  /** Calls granted without Redis, to be counted whatever the limit. */
  readonly added: number;
  /** Whether the callers were answered from memory, because the reply did not come. */
  isAnswered: boolean;
}

interface Batch {
  readonly number: number;
  readonly items: readonly Item[];
}

/**
 * The counter of one process. Promises of `take` and `used` never reject: where Redis fails they
 * are answered from what is known here.
 */
export class RedisMeter {
  readonly #client: Redis;
  readonly #clock: Clock;
  readonly #state: Reachability;
  readonly #writer = REDIS_KEYS.writer(randomUUID());
  readonly #counts = new GenerationCache<Count>(REMEMBERED_COUNTS);
  readonly #unwritten = new Map<string, Count>();
  readonly #waiting = new Map<string, Item>();
  /** The batch that has no reply yet. Nothing else is sent before it has. */
  #batch: Batch | null = null;
  #batchNumber = 0;
  #sending: Promise<boolean> | null = null;

  constructor(client: Redis, clock: Clock, state: Reachability) {
    this.#client = client;
    this.#clock = clock;
    this.#state = state;
    client.defineCommand("chipboardCount", { lua: SCRIPT });
  }

  /** Whether Redis lacks calls that were granted, or callers wait for it. */
  get hasUnwritten(): boolean {
    return this.#batch !== null || this.#unwritten.size > 0 || this.#waiting.size > 0;
  }

  /** As Gatekeeper has it; at once only while Redis does not answer. */
  take(subject: Subject, limit: number | null, atMs: number): MaybePromise<TakeResult> {
    const count = this.#count(subject, monthOf(atMs));
    if (!this.#state.healthy) return this.#takeHere(count, limit);
    return new Promise((resolve) => {
      this.#item(count, limit).callers.push(resolve);
      void this.flush();
    });
  }

  /** As Gatekeeper has it; at once only while Redis does not answer. */
  used(subject: Subject, atMs: number): MaybePromise<number> {
    const count = this.#count(subject, monthOf(atMs));
    if (!this.#state.healthy) return usedOf(count);
    return new Promise((resolve) => {
      this.#item(count, null).readers.push(resolve);
      void this.flush();
    });
  }

  /** Sends all that waits or is unwritten. False where Redis failed before the end. */
  flush(): Promise<boolean> {
    this.#sending ??= this.#send();
    return this.#sending;
  }

  /** Answers from memory all who wait. To be called when Redis turns out not to answer. */
  answerHere(): void {
    for (const item of this.#waiting.values()) this.#answerHere(item);
    this.#waiting.clear();
    // These may have been counted. Their reply will tell, and the difference is written then.
    for (const item of this.#batch?.items ?? []) this.#answerHere(item);
  }

  async #send(): Promise<boolean> {
    // The rest of this turn's callers shall be in the same batch.
    await Promise.resolve();
    try {
      while (this.hasUnwritten) {
        this.#batch ??= this.#nextBatch();
        const reply = await this.#client.chipboardCount(...this.#argumentsOf(this.#batch));
        this.#batch.items.forEach((item, index) => {
          this.#settle(item, Number(reply[2 * index]), Number(reply[2 * index + 1]));
        });
        this.#batch = null;
      }
      return true;
    } catch (error) {
      this.#state.failed(error);
      return false;
    } finally {
      // In the same step as the last look at what waits, so that nobody is left waiting.
      this.#sending = null;
    }
  }

  #nextBatch(): Batch {
    // What was granted already is counted before what is asked for.
    const additions = [...this.#unwritten.values().take(ITEMS_PER_BATCH)].map((count) =>
      itemOf(count, null, count.unwritten),
    );
    const waiting = [...this.#waiting.entries().take(ITEMS_PER_BATCH)];
    for (const [id] of waiting) this.#waiting.delete(id);
    this.#batchNumber += 1;
    return { number: this.#batchNumber, items: [...additions, ...waiting.map(([, item]) => item)] };
  }

  #argumentsOf({ number, items }: Batch): [number, ...(string | number)[]] {
    const keys = items.map(({ count }) => REDIS_KEYS.calls(count.month, count.subject));
    const values = items.flatMap(({ count, limit, callers, added }) => [
      callers.length,
      limit ?? NO_LIMIT,
      added,
      this.#ttlSeconds(count),
    ]);
    return [keys.length + 1, this.#writer, ...keys, number, WRITER_TTL_SECONDS, ...values];
  }

  /** Relative, because the clock here may be a rehearsal's, and Redis knows only the real one. */
  #ttlSeconds({ subject, month }: Count): number {
    const ms = forgetAtMs(subject, month) - this.#clock.now();
    return Math.max(MIN_COUNT_TTL_SECONDS, Math.ceil(ms / 1_000));
  }

  #settle(item: Item, granted: number, used: number): void {
    const { callers, readers } = item;
    // The count may have been forgotten and begun anew while the item was on its way.
    const count = this.#unwritten.get(item.count.id) ?? item.count;
    count.written = used;
    count.unwritten -= item.added;
    if (item.isAnswered) {
      count.unwritten -= granted;
    } else {
      const before = used - granted;
      callers.forEach((answer, index) => {
        const isGranted = index < granted;
        answer({ granted: isGranted, used: isGranted ? before + index + 1 : used });
      });
      for (const answer of readers) answer(used);
    }
    this.#keepUnwritten(count);
  }

  #answerHere(item: Item): void {
    if (item.isAnswered) return;
    item.isAnswered = true;
    for (const answer of item.callers) answer(this.#takeHere(item.count, item.limit));
    for (const answer of item.readers) answer(usedOf(item.count));
  }

  #takeHere(count: Count, limit: number | null): TakeResult {
    const used = usedOf(count);
    const isFull = this.#unwritten.size >= UNWRITTEN_COUNTS && !this.#unwritten.has(count.id);
    if (isFull || (limit !== null && used >= limit)) return { granted: false, used };
    count.unwritten += 1;
    this.#keepUnwritten(count);
    return { granted: true, used: used + 1 };
  }

  #keepUnwritten(count: Count): void {
    if (count.unwritten === 0) this.#unwritten.delete(count.id);
    else this.#unwritten.set(count.id, count);
  }

  #count(subject: Subject, month: string): Count {
    const id = `${month} ${subject}`;
    const known = this.#counts.get(id) ?? this.#unwritten.get(id);
    if (known !== undefined) return known;
    const count = { id, subject, month, written: 0, unwritten: 0 };
    this.#counts.set(id, count);
    return count;
  }

  #item(count: Count, limit: number | null): Item {
    const id = `${count.id} ${limit}`;
    const waiting = this.#waiting.get(id);
    if (waiting !== undefined) return waiting;
    const item = itemOf(count, limit, 0);
    this.#waiting.set(id, item);
    return item;
  }
}

const usedOf = ({ written, unwritten }: Count): number => Math.max(0, written + unwritten);

const itemOf = (count: Count, limit: number | null, added: number): Item => ({
  count,
  limit,
  callers: [],
  readers: [],
  added,
  isAnswered: false,
});
