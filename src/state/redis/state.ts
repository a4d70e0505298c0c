/**
 * The state in Redis, for commands and for any number of proxies on any machines. A batch of counts
 * is one script. connection.ts lists the keys.
 */
import { randomUUID } from "node:crypto";
import type { Redis, Result } from "ioredis";
import type { Storage } from "unstorage";
import { ChipboardError } from "../../lib/errors.ts";
import type {
  CountName,
  CountReply,
  CountRequest,
  Item,
  KeptCount,
  StateContent,
  StateDriver,
  StatePurpose,
  StoredCount,
} from "../driver.ts";
import { COUNT_SCRIPT, WRITE_SCRIPT } from "./scripts.ts";
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
const WRITER_TTL_SECONDS = 40 * 24 * 3_600;
const NO_LIMIT = -1;
const AS_BEFORE = -1;
/** What WRITE_SCRIPT returns. */
const WRITTEN = 1;
const GONE = -1;

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
  #version: string | null | undefined;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
    this.#client = connection.client;
    this.storage = connection.storage;
    this.created = connection.isNew ? connection.location : null;
    this.#client.defineCommand("chipboardCount", { lua: COUNT_SCRIPT });
  }

  async version(): Promise<string> {
    return (await this.#client.get(REDIS_KEYS.version)) ?? "";
  }

  async write(
    version: string,
    items: readonly Item<string | null>[],
    counts: readonly KeptCount[] = [],
  ): Promise<boolean> {
    const values = [
      ...items.map(([name, json]) => [itemKey(name), json ?? ""]),
      ...counts.map(({ month, subject, used, keptMs }) => [
        REDIS_KEYS.calls(month, subject),
        String(used),
        secondsOf(keptMs),
      ]),
    ];
    const written = await this.#client.eval(
      WRITE_SCRIPT,
      2,
      REDIS_KEYS.format,
      REDIS_KEYS.version,
      REDIS_FORMAT,
      this.#connection.mayBeEmpty ? "fill" : "",
      version,
      JSON.stringify(values),
    );
    if (written === GONE) return this.#gone();
    return written === WRITTEN;
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
      secondsOf(keptMs),
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
    if (reply.length === 0) return this.#gone();
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

  /** Reads again if accounts or keys changed meanwhile. */
  async readAll(): Promise<StateContent> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const version = await this.version();
      const content = await this.#readOnce();
      if (version === (await this.version())) return content;
    }
    throw redisFailure(this.#connection, new Error(`others changed it, ${ATTEMPTS} times`));
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
    return { items, counts };
  }

  explain(error: unknown): unknown {
    return isOfRedis(error) ? redisFailure(this.#connection, error) : error;
  }

  async close(): Promise<void> {
    this.#client.disconnect();
  }

  /** A script found no state: throws why. */
  async #gone(): Promise<never> {
    await this.look();
    throw redisFailure(this.#connection, new Error("the state was gone for a moment"));
  }
}

const secondsOf = (ms: number): string => String(Math.ceil(ms / 1_000));

/** ioredis has no class for all of its errors; they differ by name, code or message. */
function isOfRedis(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof ChipboardError) return false;
  return (
    ["ReplyError", "AbortError", "MaxRetriesPerRequestError"].includes(error.name) ||
    "syscall" in error ||
    /^(Connection is closed|Command timed out|Stream isn't writeable)/.test(error.message)
  );
}
