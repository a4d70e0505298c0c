/** The registry and the counts in Redis, as commands use them beside running proxies. */
import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import type { Storage } from "unstorage";
import { ChipboardError } from "../../errors.ts";
import { Limiter } from "../../limiter.ts";
import type { Subject } from "../gatekeeper.ts";
import { connectRedis, REDIS_KEYS, redisFailure, type RedisConnection } from "./connection.ts";
import type { Change, RegistryState, StatePurpose } from "../driver.ts";

const ATTEMPTS = 100;
const RETRY_MAX_MS = 50;

/** Connects to the registry. Throws InputError for a bad address, or UnreachableError. */
export async function openRedisRegistry(
  url: string,
  purpose: StatePurpose,
): Promise<RegistryState> {
  return new RedisRegistry(await connectRedis(url, purpose));
}

class RedisRegistry implements RegistryState {
  readonly location: string;
  readonly storage: Storage;
  readonly #client: Redis;
  /** Changes of this connection, one after the other: a watched key belongs to the connection. */
  readonly #changes = new Limiter(1);

  constructor({ location, client, storage }: RedisConnection) {
    this.location = location;
    this.storage = storage;
    this.#client = client;
  }

  /** Optimistic: every change moves the version, and one that was planned on an older one is lost. */
  change<T>(plan: () => Promise<Change<T>>): Promise<T> {
    return this.#changes.run(() => this.#changeAlone(plan));
  }

  async counts(subjects: readonly Subject[], month: string): Promise<number[]> {
    if (subjects.length === 0) return [];
    const keys = subjects.map((subject) => REDIS_KEYS.calls(month, subject));
    return (await this.#client.mget(keys)).map((count) => Number(count ?? 0));
  }

  explain(error: unknown): unknown {
    return isOfRedis(error) ? redisFailure(this.location, error) : error;
  }

  close(): Promise<void> {
    return this.#changes.run(async () => this.#client.disconnect());
  }

  async #changeAlone<T>(plan: () => Promise<Change<T>>): Promise<T> {
    try {
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        await this.#client.watch(REDIS_KEYS.version);
        const { writes, result } = await plan();
        if (await this.#write(writes)) return result;
        await delay(Math.random() * RETRY_MAX_MS);
      }
      throw new Error(`others changed it first, ${ATTEMPTS} times`);
    } catch (error) {
      await this.#client.unwatch().catch(() => undefined);
      throw error instanceof ChipboardError ? error : redisFailure(this.location, error);
    }
  }

  /** Writes through unstorage inside MULTI and EXEC. False where the version moved meanwhile. */
  async #write(writes: ReadonlyMap<string, object>): Promise<boolean> {
    await this.#client.multi({ pipeline: false });
    await this.storage.setItems([...writes].map(([key, value]) => ({ key, value })));
    await this.#client.incr(REDIS_KEYS.version);
    return (await this.#client.exec()) !== null;
  }
}

/** ioredis marks its errors by name or code, and has no class of its own for all of them. */
function isOfRedis(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof ChipboardError) return false;
  return (
    ["ReplyError", "AbortError", "MaxRetriesPerRequestError"].includes(error.name) ||
    "syscall" in error ||
    /^(Connection is closed|Command timed out|Stream isn't writeable)/.test(error.message)
  );
}
