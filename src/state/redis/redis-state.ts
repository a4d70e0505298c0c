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
  Look,
  StateContent,
  StateDriver,
  StatePurpose,
  StoredCount,
  Subject,
} from "../../ports/state.ts";
import { COUNT_SCRIPT, WRITE_SCRIPT } from "./scripts.ts";
import {
  callsKey,
  connectRedis,
  EMPTIED,
  FORMAT_KEY,
  keyOf,
  reasonIn,
  REDIS_FORMAT,
  requireFormat,
  VERSION_KEY,
  type RedisConnection,
} from "./connection.ts";

const ATTEMPTS = 100;
const READ_AT_ONCE = 1_000;
const ITEM_NAME = /^(?:accounts|keys|key-ids|facts):/;
const COUNT_NAME = /^calls:(\d{4}-\d{2}):(.+)$/;
const KEEPS_ALL = "noeviction";
const WRITER_TTL_SECONDS = 40 * 24 * 3_600;
/** What WRITE_SCRIPT returns. */
const WRITTEN = 1;
const GONE = -1;

/** These replies mean that another server is the primary, or will be when this one is ready. */
const OTHER_SERVER = /^(?:READONLY|LOADING|CLUSTERDOWN|MASTERDOWN|MOVED|CROSSSLOT|NOAUTH)\b/;

declare module "ioredis" {
  interface RedisCommander<Context> {
    chipboardCount(...args: readonly (string | number)[]): Result<string, Context>;
  }
}

/** Connects to the state at `url`. Throws InputError for a bad address, and UnreachableError. */
export async function openRedis(url: string, purpose: StatePurpose): Promise<StateDriver> {
  return new RedisState(await connectRedis(url, purpose), purpose);
}

class RedisState implements StateDriver {
  readonly storage: Storage;
  readonly created: string | null;
  readonly #connection: RedisConnection;
  readonly #purpose: StatePurpose;
  readonly #client: Redis;
  readonly #writer = keyOf(`writers:${randomUUID()}`);
  #version: string | null | undefined;

  constructor(connection: RedisConnection, purpose: StatePurpose) {
    this.#connection = connection;
    this.#purpose = purpose;
    this.#client = connection.client;
    this.storage = connection.storage;
    this.created = connection.created;
    this.#client.defineCommand("chipboardCount", { numberOfKeys: 2, lua: COUNT_SCRIPT });
  }

  async version(): Promise<string> {
    return (await this.#client.get(VERSION_KEY)) ?? "";
  }

  async write(
    version: string,
    items: readonly Item<string | null>[],
    counts: readonly KeptCount[] = [],
  ): Promise<boolean> {
    const values = [
      ...items.map(([name, json]) => [keyOf(name), json ?? ""]),
      ...counts.map((count) => [callsKey(count), String(count.used), secondsOf(count.keptMs)]),
    ];
    const written = await this.#client.eval(
      WRITE_SCRIPT,
      2,
      FORMAT_KEY,
      VERSION_KEY,
      REDIS_FORMAT,
      this.#purpose,
      version,
      JSON.stringify(values),
    );
    if (written === GONE) return this.#gone();
    return written === WRITTEN;
  }

  async used(names: readonly CountName[]): Promise<number[]> {
    if (names.length === 0) return [];
    return (await this.#client.mget(names.map(callsKey))).map((count) => Number(count ?? 0));
  }

  async count(number: number, batch: readonly CountRequest[]): Promise<CountReply[]> {
    // Relative, because CHIPBOARD_NOW may set the clock here, and Redis uses the real one.
    const requests = batch.map((request) => ({
      ...request,
      key: callsKey(request),
      ttl: secondsOf(request.keptMs),
    }));
    const reply = await this.#client.chipboardCount(
      FORMAT_KEY,
      this.#writer,
      REDIS_FORMAT,
      number,
      WRITER_TTL_SECONDS,
      JSON.stringify(requests),
    );
    return reply === "" ? this.#gone() : (JSON.parse(reply) as CountReply[]);
  }

  /**
   * Also shows whether this server takes writes: after a failover the old primary, now a replica, keeps its
   * connections and answers reads. If it is the wrong server, or does not answer, the next look has a new connection,
   * which reaches the server that the address leads to by then.
   */
  async look(): Promise<Look> {
    try {
      // Writes nothing while the format is there.
      const marking = this.#client.set(FORMAT_KEY, EMPTIED, "NX").then(
        () => null,
        (error: unknown) => error,
      );
      const reading = this.#client.mget(FORMAT_KEY, VERSION_KEY);
      const [[format = null, version], failure] = await Promise.all([reading, marking]);
      requireFormat(this.#connection.location, format);
      const refusal = failure === null ? null : this.refusal(failure);
      if (failure !== null && refusal === null) throw failure;
      const isChanged = version !== this.#version;
      this.#version = version;
      return { isChanged, refusal };
    } catch (error) {
      if (this.#client.status === "ready") this.#client.disconnect(true);
      throw error;
    }
  }

  refusal(error: unknown): string | null {
    const isReply = error instanceof Error && error.name === "ReplyError";
    return isReply && !OTHER_SERVER.test(error.message) ? reasonIn(error) : null;
  }

  /** Managed servers forbid CONFIG; INFO says the same. */
  async evictionPolicy(): Promise<string | null> {
    try {
      const info = await this.#client.info("memory");
      const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? KEEPS_ALL;
      return policy === KEEPS_ALL ? null : policy;
    } catch (error) {
      // A user without the right to ask.
      if (error instanceof Error && error.message.startsWith("NOPERM")) return null;
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
    throw this.#connection.failure(new Error(`others changed it, ${ATTEMPTS} times`));
  }

  async #readOnce(): Promise<StateContent> {
    // A scan may name a key more than once.
    const names = [...new Set(await this.storage.getKeys())].sort();
    const items: Item<string>[] = [];
    const counts: StoredCount[] = [];
    for (let start = 0; start < names.length; start += READ_AT_ONCE) {
      const part = names.slice(start, start + READ_AT_ONCE);
      const values = await this.#client.mget(part.map(keyOf));
      for (const [at, name] of part.entries()) {
        const value = values[at] ?? null;
        const [, month, subject] = COUNT_NAME.exec(name) ?? [];
        if (value === null) continue;
        if (month !== undefined) {
          counts.push({ month, subject: subject as Subject, used: Number(value) });
        } else if (ITEM_NAME.test(name)) items.push([name, value]);
      }
    }
    return { items, counts };
  }

  explain(error: unknown): unknown {
    return isOfRedis(error) ? this.#connection.failure(error) : error;
  }

  async close(): Promise<void> {
    this.#client.disconnect();
  }

  /** A script found no state: throws why. */
  async #gone(): Promise<never> {
    await this.look();
    throw this.#connection.failure(new Error("the state was gone for a moment"));
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
