/**
 * A connection to the Redis that holds the state. Everything is under the prefix `chipboard:`:
 *
 *   chipboard:format                       1; marks the prefix as ours
 *   chipboard:version                      counts the changes of the registry
 *   chipboard:accounts:… keys:… key-ids:…  the registry, by unstorage's redis driver
 *   chipboard:calls:<month>:<subject>      calls counted; expire by themselves
 *   chipboard:writers:<id>                 the last batch of counts a process has written
 *   chipboard:address-secret               the secret for addresses
 *
 * Commands fail at once while there is no connection, and after a second without a reply; nothing
 * is queued. The connection comes back by itself.
 */
import type { Redis } from "ioredis";
import { createStorage, type Storage } from "unstorage";
import redisDriver from "unstorage/drivers/redis";
import { ChipboardError, InputError, reasonOf, UnreachableError } from "../../errors.ts";
import { redactedUrl } from "../../redact.ts";
import type { StatePurpose } from "../driver.ts";

/** Every key of Redis that is asked for by name; unstorage makes those of the registry. */
export const REDIS_KEYS = {
  format: "chipboard:format",
  version: "chipboard:version",
  addressSecret: "chipboard:address-secret",
  calls: (month: string, subject: string) => `chipboard:calls:${month}:${subject}`,
  writer: (id: string) => `chipboard:writers:${id}`,
} as const;

/** What `chipboard:format` holds. Another value is a later version's, and is not touched. */
export const REDIS_FORMAT = "1";
const PREFIX = "chipboard";
const CONNECT_TIMEOUT_MS = 5_000;
const REPLY_TIMEOUT_MS = 1_000;
const RECONNECT_MAX_MS = 500;

/** A connection that has proven the prefix to be ours. */
export interface RedisConnection {
  /** For messages; without a password. */
  readonly location: string;
  readonly client: Redis;
  /** The items of the registry, over the same connection. */
  readonly storage: Storage;
}

/**
 * Connects, and makes sure that the prefix is ours; "change" marks it where it is unused. Throws
 * InputError for a text that is no such address, UnreachableError where Redis does not answer or
 * is unfit.
 */
export async function connectRedis(url: string, purpose: StatePurpose): Promise<RedisConnection> {
  const location = redactedUrl(url);
  requireRedisUrl(url, location);
  const driver = redisDriver({
    url,
    base: PREFIX,
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: REPLY_TIMEOUT_MS,
    // The check would need INFO; a Redis that is still loading says so in every reply.
    enableReadyCheck: false,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: (attempt) => Math.min(50 * attempt, RECONNECT_MAX_MS),
  });
  const client = driver.getInstance?.() as Redis;
  let lastError: unknown;
  client.on("error", (error) => {
    lastError = error;
  });
  try {
    await client.connect();
    await requireOurPrefix(client, purpose);
    return { location, client, storage: createStorage({ driver }) };
  } catch (error) {
    client.disconnect();
    // A refused connection is told by an event; the call itself only says that there is none.
    const isVague = error instanceof Error && /^(Connection is|Stream isn't)/.test(error.message);
    throw redisFailure(location, isVague ? (lastError ?? error) : error);
  }
}

/** A failure of Redis in one line; failures that are told already stay as they are. */
export function redisFailure(location: string, cause: unknown): ChipboardError {
  if (cause instanceof ChipboardError) return cause;
  const reason = firstReason(cause);
  const hint = /NOAUTH|WRONGPASS/.test(reason) ? "; give it as redis://:password@host:port" : "";
  const message = `State ${location} (--state) cannot be used: ${reason}${hint}`;
  return new UnreachableError(message, [], { cause });
}

function firstReason(cause: unknown): string {
  // Node tells of several addresses tried at once in an error without a message.
  const isOfSeveral = cause instanceof AggregateError && cause.errors.length > 0;
  return reasonOf(isOfSeveral ? cause.errors[0] : cause).split("\n")[0] as string;
}

function requireRedisUrl(url: string, location: string): void {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed !== null && parsed.hostname !== "" && /^\/?$|^\/\d{1,5}$/.test(parsed.pathname))
    return;
  throw new InputError(
    `--state ${JSON.stringify(location)}: expected redis://[:password@]host:port/db`,
  );
}

async function requireOurPrefix(client: Redis, purpose: StatePurpose): Promise<void> {
  let format = await client.get(REDIS_KEYS.format);
  if (format === null && (await hasForeignKeys(client))) {
    // Somebody may have begun to use the prefix, and rightly, while it was looked through.
    format = await client.get(REDIS_KEYS.format);
    if (format === null) {
      throw new Error(`its keys "${PREFIX}:…" belong to another application`);
    }
  }
  if (format === null && purpose === "change") {
    await client.set(REDIS_KEYS.format, REDIS_FORMAT, "NX");
    format = await client.get(REDIS_KEYS.format);
  }
  if (format === null || format === REDIS_FORMAT) return;
  throw new Error(
    `"${REDIS_KEYS.format}" is ${JSON.stringify(format.slice(0, 40))}, expected "${REDIS_FORMAT}"`,
  );
}

async function hasForeignKeys(client: Redis): Promise<boolean> {
  let cursor = "0";
  do {
    const [next, found] = await client.scan(cursor, "MATCH", `${PREFIX}:*`, "COUNT", 1_000);
    if (found.length > 0) return true;
    cursor = next;
  } while (cursor !== "0");
  return false;
}
