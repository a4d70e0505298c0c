/**
 * The state in Redis, for commands and for any number of proxies on any machines. A batch of counts
 * is one script. connection.ts lists the keys.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Redis, Result } from "ioredis";
import pLimit from "p-limit";
import type { Storage } from "unstorage";
import { ChipboardError } from "../../lib/errors.ts";
import type {
  Change,
  CountName,
  CountReply,
  CountRequest,
  StateContent,
  StateDriver,
  StatePurpose,
  StoredCount,
} from "../driver.ts";
import { writeItems } from "../accounts.ts";
import { newerSeen, parseSeen, seenText, type SeenEntry } from "../log-memory.ts";
import { COUNT_SCRIPT, FILL_SCRIPT, SEE_SCRIPT } from "./scripts.ts";
import {
  connectRedis,
  countNameOf,
  itemKey,
  itemOf,
  keysBelowPrefix,
  REDIS_FORMAT,
  REDIS_KEYS,
  redisFailure,
  requireSameState,
  type RedisConnection,
} from "./connection.ts";

const ATTEMPTS = 100;
const READ_AT_ONCE = 1_000;
const RETRY_MAX_MS = 50;
const WRITER_TTL_SECONDS = 40 * 24 * 3_600;
const NO_LIMIT = -1;
const AS_BEFORE = -1;

declare module "ioredis" {
  interface RedisCommander<Context> {
    chipboardCount(
      numberOfKeys: number,
      ...args: readonly (string | number)[]
    ): Result<number[], Context>;
  }
}

/** Connects to the state at `url`. Throws InputError for a bad address, and UnreachableError. */
export async function openRedis(url: string, purpose: StatePurpose): Promise<StateDriver> {
  return new RedisState(await connectRedis(url, purpose));
}

class RedisState implements StateDriver {
  readonly storage: Storage;
  readonly created: string | null;
  readonly #connection: RedisConnection;
  readonly #client: Redis;
  readonly #writer = REDIS_KEYS.writer(randomUUID());
  /** Runs this connection's changes one after the other, because WATCH belongs to the connection. */
  readonly #changes = pLimit(1);
  #version: string | null | undefined;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
    this.#client = connection.client;
    this.storage = connection.storage;
    this.created = connection.isNew ? connection.location : null;
    this.#client.defineCommand("chipboardCount", { lua: COUNT_SCRIPT });
  }

  /** Optimistic: every change increments the version. A change planned on an older version runs again. */
  change<T>(plan: () => Promise<Change<T>>): Promise<T> {
    return this.#changes(async () => {
      try {
        for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
          await this.#client.watch(REDIS_KEYS.version);
          const { writes, result } = await plan();
          if (await this.#write(writes)) return result;
          await delay(Math.random() * RETRY_MAX_MS);
        }
        throw changedFirst();
      } catch (error) {
        await this.#client.unwatch().catch(() => undefined);
        throw error instanceof ChipboardError ? error : redisFailure(this.#connection, error);
      }
    });
  }

  async used(names: readonly CountName[]): Promise<number[]> {
    if (names.length === 0) return [];
    const keys = names.map(({ month, subject }) => REDIS_KEYS.calls(month, subject));
    return (await this.#client.mget(keys)).map((count) => Number(count ?? 0));
  }

  async count(number: number, batch: readonly CountRequest[]): Promise<CountReply[]> {
    const keys = batch.map(({ month, subject }) => REDIS_KEYS.calls(month, subject));
    // Relative, because CHIPBOARD_NOW may set the clock here, and Redis uses the real one.
    const values = batch.flatMap(({ known, added, wanted, follows, limit, keptMs }) => [
      known,
      added,
      follows ? AS_BEFORE : wanted,
      limit ?? NO_LIMIT,
      Math.ceil(keptMs / 1_000),
    ]);
    const reply = await this.#client.chipboardCount(
      keys.length + 2,
      REDIS_KEYS.format,
      this.#writer,
      ...keys,
      REDIS_FORMAT,
      number,
      WRITER_TTL_SECONDS,
      ...values,
    );
    if (reply.length === 0) {
      await this.look();
      throw goneForAMoment();
    }
    return batch.map((_, at) => ({
      granted: Number(reply[2 * at]),
      used: Number(reply[2 * at + 1]),
    }));
  }

  async look(): Promise<boolean> {
    try {
      const [format = null, version] = await this.#client.mget(
        REDIS_KEYS.format,
        REDIS_KEYS.version,
      );
      await requireSameState(this.#connection, format);
      const isChanged = version !== this.#version;
      this.#version = version;
      return isChanged;
    } catch (error) {
      // A broken connection may give no reply for minutes. A new one helps.
      const isSilent = error instanceof Error && error.message === "Command timed out";
      if (isSilent && this.#client.status === "ready") this.#client.disconnect(true);
      throw error;
    }
  }

  /** Does nothing: counts expire by themselves. */
  async forget(): Promise<boolean> {
    return false;
  }

  async addressSecret(proposed: string): Promise<string> {
    await this.#client.set(REDIS_KEYS.addressSecret, proposed, "NX");
    return String(await this.#client.get(REDIS_KEYS.addressSecret));
  }

  async seen(): Promise<SeenEntry | null> {
    return parseSeen(await this.#client.get(REDIS_KEYS.seenEntry));
  }

  async see(entry: SeenEntry): Promise<SeenEntry> {
    const { format, seenEntry } = REDIS_KEYS;
    const values = [REDIS_FORMAT, entry.number, seenText(entry)];
    const kept = parseSeen(
      (await this.#client.eval(SEE_SCRIPT, 2, format, seenEntry, ...values)) || null,
    );
    if (kept !== null) return kept;
    await this.look();
    throw goneForAMoment();
  }

  async forgetSeen(): Promise<SeenEntry | null> {
    return parseSeen(await this.#client.getdel(REDIS_KEYS.seenEntry));
  }

  /** Reads again if accounts or keys changed meanwhile. */
  async readAll(): Promise<StateContent> {
    return (await this.#readAt()).content;
  }

  async writeAll(
    { items, counts, addressSecret, seenEntry }: StateContent,
    keptMs: (name: CountName) => number,
  ): Promise<boolean> {
    const { content: held, version } = await this.#readAt();
    if (held.items.length + held.counts.length > 0) return false;
    const seen = newerSeen(held.seenEntry, seenEntry);
    const entries = [
      ...items.map(([name, json]) => [itemKey(name), json, ""]),
      ...counts.map(({ used, ...name }) => [
        REDIS_KEYS.calls(name.month, name.subject),
        String(used),
        String(Math.ceil(keptMs(name) / 1_000)),
      ]),
      ...(addressSecret === null ? [] : [[REDIS_KEYS.addressSecret, addressSecret, ""]]),
      ...(seen === null ? [] : [[REDIS_KEYS.seenEntry, seenText(seen), ""]]),
    ];
    const { format, version: versionKey } = REDIS_KEYS;
    const values = [REDIS_FORMAT, version, JSON.stringify(entries)];
    return (await this.#client.eval(FILL_SCRIPT, 2, format, versionKey, ...values)) === 1;
  }

  async #readAt(): Promise<{ content: StateContent; version: string }> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const version = (await this.#client.get(REDIS_KEYS.version)) ?? "";
      const content = await this.#readOnce();
      if (version === ((await this.#client.get(REDIS_KEYS.version)) ?? "")) {
        return { content, version };
      }
    }
    throw changedFirst();
  }

  async #readOnce(): Promise<StateContent> {
    const keys = new Set<string>();
    for await (const found of keysBelowPrefix(this.#client)) for (const key of found) keys.add(key);
    const items: [string, string][] = [];
    const counts: StoredCount[] = [];
    const sorted = [...keys].sort();
    for (let start = 0; start < sorted.length; start += READ_AT_ONCE) {
      const part = sorted.slice(start, start + READ_AT_ONCE);
      const wanted = part.filter((key) => itemOf(key) !== null || countNameOf(key) !== null);
      if (wanted.length === 0) continue;
      const values = await this.#client.mget(wanted);
      wanted.forEach((key, at) => {
        const value = values[at] ?? null;
        const item = itemOf(key);
        const name = countNameOf(key);
        if (value === null) return;
        if (item !== null) items.push([item, value]);
        else if (name !== null) counts.push({ ...name, used: Number(value) });
      });
    }
    const addressSecret = await this.#client.get(REDIS_KEYS.addressSecret);
    return { items, counts, addressSecret, seenEntry: await this.seen() };
  }

  explain(error: unknown): unknown {
    return isOfRedis(error) ? redisFailure(this.#connection, error) : error;
  }

  close(): Promise<void> {
    return this.#changes(async () => this.#client.disconnect());
  }

  /** Writes through unstorage between MULTI and EXEC. False if the version has changed meanwhile. */
  async #write(writes: ReadonlyMap<string, object | null>): Promise<boolean> {
    await this.#client.multi({ pipeline: false });
    await writeItems(this.storage, writes);
    await this.#client.incr(REDIS_KEYS.version);
    return (await this.#client.exec()) !== null;
  }
}

const goneForAMoment = (): Error => new Error("the state was gone for a moment");

const changedFirst = (): Error => new Error(`others changed it first, ${ATTEMPTS} times`);

/** ioredis has no class for all of its errors; they differ by name, code or message. */
function isOfRedis(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof ChipboardError) return false;
  return (
    ["ReplyError", "AbortError", "MaxRetriesPerRequestError"].includes(error.name) ||
    "syscall" in error ||
    /^(Connection is closed|Command timed out|Stream isn't writeable)/.test(error.message)
  );
}
