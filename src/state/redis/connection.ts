/**
 * A connection to the Redis that holds the state. Everything is under the prefix `chipboard:`:
 *
 *   chipboard:format                       1; marks the prefix as ours. "emptied": Redis lost
 *                                          everything while a proxy used it
 *   chipboard:version                      counts the changes of the registry
 *   chipboard:accounts:… keys:… key-ids:…  the registry's items (accounts.ts), read by unstorage's
 *   chipboard:facts:…                      redis driver
 *   chipboard:calls:<month>:<subject>      calls counted; expire by themselves
 *   chipboard:writers:<id>                 the last batch of counts that a process wrote
 *
 * Calls to Redis fail at once without a connection, and after a second without a reply (those of the
 * program's commands after 30 seconds); they never queue.
 * The client reconnects by itself.
 */
import type { Redis } from "ioredis";
import { createStorage, type Storage } from "unstorage";
import redisDriver from "unstorage/drivers/redis";
import { ChipboardError, InputError, reasonOf, UnreachableError } from "../../lib/errors.ts";
import { redactedUrl } from "../../lib/text.ts";
import { NoStateError, type CountName, type StatePurpose, type Subject } from "../driver.ts";

/** The keys of Redis that this room names. unstorage names those of the registry. */
export const REDIS_KEYS = {
  format: "chipboard:format",
  version: "chipboard:version",
  calls: (month: string, subject: string) => `chipboard:calls:${month}:${subject}`,
  writer: (id: string) => `chipboard:writers:${id}`,
} as const;

/** The item of the registry that a key of Redis holds, or null. */
export const itemOf = (key: string): string | null =>
  /^chipboard:((?:accounts|keys|key-ids|facts):[^]+)$/.exec(key)?.[1] ?? null;

/** The key of Redis that holds an item of the registry. */
export const itemKey = (item: string): string => `${PREFIX}:${item}`;

/** The count that a key of Redis holds, or null. */
export function countNameOf(key: string): CountName | null {
  const [, month, subject] = /^chipboard:calls:(\d{4}-\d{2}):([^]+)$/.exec(key) ?? [];
  return month === undefined ? null : { month, subject: subject as Subject };
}

/** The value of `chipboard:format`. A state with another number belongs to a later version. */
export const REDIS_FORMAT = "2";
const EMPTIED = "emptied";
const PREFIX = "chipboard";
/** The keys that are written beside the format. If they exist without it, Redis lost the rest. */
const OUR_KEY = /^chipboard:(?:version|(?:accounts|keys|key-ids|facts|calls|writers):[^]+)$/;
const CONNECT_TIMEOUT_MS = 5_000;
/** A proxy must not wait long. */
const REPLY_TIMEOUT_MS = 1_000;
/** A command can, and a copy writes a whole state in one step. */
const PATIENT_TIMEOUT_MS = 30_000;
const RECONNECT_MAX_MS = 500;

/** A connection to a Redis whose prefix is ours. */
export interface RedisConnection {
  /** For messages; without a password. */
  readonly location: string;
  readonly client: Redis;
  /** Whether this connection marked the prefix, which was unused before. */
  readonly isNew: boolean;
  /** Whether a copy fills it: it marks the prefix itself, and restores a state that Redis lost. */
  readonly mayBeEmpty: boolean;
  /** The items of the registry, over the same connection. */
  readonly storage: Storage;
  /** The last error of the connection. */
  readonly lastError: () => unknown;
}

/**
 * Connects, and checks that the prefix is ours. "create" and "serve" mark an unused prefix. Throws
 * InputError for a text that is not such an address, UnreachableError if Redis does not answer,
 * cannot be used or holds no state.
 */
export async function connectRedis(url: string, purpose: StatePurpose): Promise<RedisConnection> {
  const location = redactedUrl(url);
  requireRedisUrl(url, location);
  const driver = redisDriver({
    url,
    base: PREFIX,
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: purpose === "serve" ? REPLY_TIMEOUT_MS : PATIENT_TIMEOUT_MS,
    // The check needs INFO. A Redis that is still loading says so in every reply anyway.
    enableReadyCheck: false,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: (attempt) => Math.min(50 * attempt, RECONNECT_MAX_MS),
  });
  const client = driver.getInstance?.() as Redis;
  let lastError: unknown;
  client.on("error", (error) => (lastError = error));
  client.on("connect", () => (lastError = undefined));
  try {
    await client.connect();
    const isNew = await requireOurPrefix(client, location, purpose);
    const storage = createStorage({ driver });
    return {
      location,
      client,
      isNew,
      mayBeEmpty: purpose === "fill",
      storage,
      lastError: () => lastError,
    };
  } catch (error) {
    client.disconnect();
    throw redisFailure({ location, lastError: () => lastError }, error);
  }
}

/** Makes a one-line message of a failure of Redis. Returns a ChipboardError as it is. */
export function redisFailure(
  { location, lastError }: Pick<RedisConnection, "location" | "lastError">,
  cause: unknown,
): ChipboardError {
  if (cause instanceof ChipboardError) return cause;
  // An event says why a connection failed; a command only says that there is no connection.
  const isVague = cause instanceof Error && /^(Connection is|Stream isn't)/.test(cause.message);
  const reason = firstReason(isVague ? (lastError() ?? "there is no connection") : cause);
  const hint = /NOAUTH|WRONGPASS/.test(reason) ? "; give it as redis://:password@host:port" : "";
  const message = `State ${location} (--state) cannot be used: ${reason}${hint}`;
  return new UnreachableError(message, [], { cause });
}

function firstReason(cause: unknown): string {
  // If Node tried several addresses, its error has no message, but a list of errors.
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

/**
 * Throws unless `format` is still ours. A proxy calls it whenever it looks at its state. If the format
 * is gone, Redis has lost everything; this leaves a mark, so that commands report it, too.
 */
export async function requireSameState(
  { client, location }: RedisConnection,
  format: string | null,
): Promise<void> {
  if (format === null) await client.set(REDIS_KEYS.format, EMPTIED, "NX");
  requireFormat(location, format ?? EMPTIED);
}

/** Returns whether this call marked the prefix. */
async function requireOurPrefix(
  client: Redis,
  location: string,
  purpose: StatePurpose,
): Promise<boolean> {
  let format = await client.get(REDIS_KEYS.format);
  if (format === null) {
    const key = await anyKey(client);
    // Another chipboard may have marked the prefix during the scan.
    format = await client.get(REDIS_KEYS.format);
    if (format === null && key !== null) {
      if (OUR_KEY.test(key)) throw emptied(location);
      throw new Error(`its keys "${PREFIX}:…" belong to another application`);
    }
  }
  // A copy marks the prefix itself, and restores a state that Redis lost.
  if (purpose === "fill" && (format === null || format === EMPTIED)) return false;
  if (format !== null) {
    requireFormat(location, format);
    return false;
  }
  if (purpose === "read" || purpose === "change") throw new NoStateError(location);
  const isNew = (await client.set(REDIS_KEYS.format, REDIS_FORMAT, "NX")) === "OK";
  if (!isNew) requireFormat(location, (await client.get(REDIS_KEYS.format)) ?? EMPTIED);
  return isNew;
}

function requireFormat(location: string, format: string): void {
  if (format === REDIS_FORMAT) return;
  if (format === EMPTIED) throw emptied(location);
  throw new Error(
    `"${REDIS_KEYS.format}" is ${JSON.stringify(format.slice(0, 40))}, expected "${REDIS_FORMAT}"`,
  );
}

const emptied = (location: string): UnreachableError =>
  new UnreachableError(
    `State ${location} (--state): the Redis is empty; it held a chipboard state before (FLUSHALL, or a failover to an empty server). ` +
      `Restore it with "state copy" from a backup, or delete the key "${REDIS_KEYS.format}" to begin with an empty state`,
  );

/** Any key below the prefix, or null. */
async function anyKey(client: Redis): Promise<string | null> {
  for await (const [key] of keysBelowPrefix(client)) if (key !== undefined) return key;
  return null;
}

/** All keys below the prefix, in parts. A key may come twice. */
export async function* keysBelowPrefix(client: Redis): AsyncGenerator<readonly string[]> {
  let cursor = "0";
  do {
    const [next, found] = await client.scan(cursor, "MATCH", `${PREFIX}:*`, "COUNT", 1_000);
    yield found;
    cursor = next;
  } while (cursor !== "0");
}
